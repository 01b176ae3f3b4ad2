"""The naive twin of ``metadata``."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tests.histories.rows import Row, chain, contents, has_wrong_length, ledgers_of, wrong_length
from tests.histories.story import Fact
from tests.histories.twins import Things, TwinResult, concluded


def metadata(history: list[Fact]) -> TwinResult:
    things: Things = Counter()
    for ledger in ledgers_of(history):
        versions = contents(history, ledger)
        wrong = {
            "malformed": sum(is_malformed(version) for version in versions),
            "illegal_move": sum(follows(old, new) for old, new in pairwise(versions)),
            "two_versions": sum(old["version"] == new["version"] for old, new in pairwise(versions)),
            wrong_length(history, versions): int(has_wrong_length(history, versions, ledger)),
        }
        things += Counter({(kind, ledger): number for kind, number in wrong.items()})
    return concluded(things, any(chain(history, ledger) for ledger in ledgers_of(history)))


def is_malformed(version: Row) -> bool:
    firsts = [part["first_entry"] for part in version["fragments"]]
    shapes = [len(set(part["bookies"])) == len(part["bookies"]) for part in version["fragments"]]
    sizes = [len(part["bookies"]) == version["ensemble"] for part in version["fragments"]]
    if version["state"] == 3 and any(first > version["last_entry"] + 1 for first in firsts):
        return True
    return firsts[:1] != [0] or firsts != sorted(set(firsts)) or not all(shapes) or not all(sizes)


def follows(old: Row, new: Row) -> bool:
    """Whether ``new`` is a later version and may not follow."""
    if new["version"] == old["version"]:
        return False
    if any(old[name] != new[name] for name in ("ensemble", "write_quorum", "ack_quorum")):
        return True
    firsts = [[part["first_entry"] for part in row["fragments"]] for row in (old, new)]
    if firsts[1][: len(firsts[0])] != firsts[0] or new["state"] < old["state"]:
        return True
    moved = any(old[name] != new[name] for name in ("last_entry", "length_bytes"))
    return bool(old["state"] == 3 and (moved or firsts[0] != firsts[1]))
