"""A plan's tree as the YAML text that a person would write: one step a line, parameters in braces.

What :func:`plans.load.load` reads back is the same tree. Depends on no key of a plan but ``steps``,
``together``, ``expect`` and the keys at the top level.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from plans.reading.document import Tree
from plans.reading.walk import MODIFIERS

_WIDTH = 104
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Plain text that some reader of YAML takes for something else."""


def plan_text(tree: Tree, comment: str = "") -> str:
    """The whole file; ``comment`` stands at its head."""
    lines = [f"# {line}" for line in textwrap.wrap(comment, _WIDTH)]
    for key, value in tree.items():
        if key == "about":
            lines += ["about: >-", *(f"  {line}" for line in textwrap.wrap(value, _WIDTH))]
        elif key == "steps":
            lines += ["steps:", *_steps(value, "  ")]
        elif isinstance(value, dict) and len(flow(value)) > _WIDTH - len(key):
            lines += [f"{key}:", *(f"  {inner}: {flow(below)}" for inner, below in value.items())]
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(lines) + "\n"


def flow(value: object) -> str:
    """A value in YAML's flow style, ``{target: b1}``."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return value if plain else json.dumps(value, ensure_ascii=False)


def _steps(steps: Sequence[Tree], indent: str) -> Iterator[str]:
    for step in steps:
        name = next(key for key in step if key not in MODIFIERS)
        if name == "together":
            yield f"{indent}- together:"
            for branch in step[name]:
                yield from _branch(branch, f"{indent}    ")
        else:
            yield f"{indent}- {name}: {flow(step[name])}"
        yield from (f"{indent}  {key}: {flow(step[key])}" for key in MODIFIERS if key in step)


def _branch(branch: Sequence[Tree], indent: str) -> Iterator[str]:
    """A branch is a list within the list: its first step stands behind two dashes."""
    first, *rest = _steps(branch, f"{indent}  ")
    yield f"{indent}- {first.lstrip()}"
    yield from rest
