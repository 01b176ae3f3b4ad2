"""Which fault of the plan a rule of the proxy was: the wire log knows a rule by its number on a link."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from checkers.contract import RunFacts
from checkers.facts.wire import source_name
from checkers.facts.wording import bookie_name
from protocol.addresses import link_name


def link_text(run: RunFacts, source: int, bookie: int) -> str:
    """``writer-b2``."""
    return link_name(source_name(run, source), bookie_name(run, bookie))


def rule_text(run: RunFacts, source: int, bookie: int, rule: int) -> str:
    """``fault 3 (forge recoverer-b1)`` where the fault is known by its proof, else the rule and its link."""
    link = link_text(run, source, bookie)
    for fault in run.faults:
        if any(said.get("link") == link and said.get("number") == rule for said in _proofs(fault)):
            return f"fault {fault['fault']} ({fault['kind']} {fault['target']}, rule {rule} of link {link})"
    return f"rule {rule} of link {link}"


def _proofs(fault: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What each phase of a fault's life left as its proof."""
    phases = json.loads(fault["proof"] or "{}")
    return (said for said in phases.values() if isinstance(said, dict))
