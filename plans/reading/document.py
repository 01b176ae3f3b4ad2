"""A plan's text as plain values, and the line and column of each of them.

Reads YAML 1.2 (ruamel and libyaml, imported when first needed). What YAML can say and a plan cannot (tags,
dates, keys that are no text, several documents) is an error here, with its place. Does not
interpret the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from protocol.errors import PlanError

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

Tree = dict[str, Any]
"""A mapping of YAML or JSON."""
KeyPath = tuple[str | int, ...]
"""How to reach a value from the top: keys and, in lists, numbers from 0."""

_OF_YAML = "tag:yaml.org,2002:"
KEY = "[key]"
"""Last in pydantic's location of a key, where any other location names a value."""

Place = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a path; ``at_key`` means the key that leads there, not its value."""

    path: KeyPath
    text: str
    at_key: bool = False


@dataclass(frozen=True)
class Document:
    """Plain values (``tree``) with the places they came from; without places for JSON."""

    source: str
    tree: Any
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Place] = field(default_factory=dict)

    def where(self, problem: Problem) -> str:
        """``file:line:column``, or ``file: at steps[2].create`` where lines are not known."""
        place = self._place(problem)
        if place is not None:
            return f"{self.source}:{place[0]}:{place[1]}"
        return f"{self.source}: at {path_text(problem.path)}" if problem.path else self.source

    def problem(self, location: KeyPath, text: str) -> Problem:
        """The problem at a ``location`` in a model; parts of it that only models have are left out."""
        path: KeyPath = ()
        value = self.tree
        for part in location:
            keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
            if part in keys:
                path, value = (*path, part), value[part]
        return Problem(path, text, at_key=location[-1:] == (KEY,))

    def error(self, problems: Iterable[Problem]) -> PlanError:
        """One error that lists every problem once, in the order of the file."""
        unique = list(dict.fromkeys(problems))
        unique.sort(key=lambda problem: self._place(problem) or (0, 0))
        lines = [f"{self.where(problem)}: {problem.text}" for problem in unique]
        if len(lines) == 1:
            return PlanError(lines[0])
        return PlanError("\n  ".join([f"{self.source} has {len(lines)} problems", *lines]))

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Raise the error that lists them, if there are any."""
        if found := list(problems):
            raise self.error(found)

    def _place(self, problem: Problem) -> Place | None:
        if problem.at_key and problem.path in self.keys:
            return self.keys[problem.path]
        for length in range(len(problem.path), -1, -1):
            if problem.path[:length] in self.values:
                return self.values[problem.path[:length]]
        return None


def everything(value: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """The value and all that is in it, each with its path, from the outside in."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from everything(one, (*path, key))


def changed(value: object, change: Callable[[object], object]) -> Any:
    """The value after ``change``, and all that is in it, from the outside in."""
    value = change(value)
    if isinstance(value, dict):
        return {key: changed(inner, change) for key, inner in value.items()}
    return [changed(inner, change) for inner in value] if isinstance(value, list) else value


def path_text(path: KeyPath) -> str:
    """``steps[2].create.ledger``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_file(path: Path, what: str = "plan") -> Document:
    """Read a file of one YAML document, a ``what``; ``PlanError`` when there is none or it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PlanError(f"there is no {what} file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: the file cannot be read as UTF-8 text: {error}") from error
    return parse(text, str(path))


@lru_cache(maxsize=512)
def parse(text: str, source: str) -> Document:
    """Read one YAML document; ``PlanError`` says file, line, column and what is wrong.

    Kept, for a series reads each plan once for each protocol, control and parameter. No tree is changed.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    try:
        try:
            # libyaml takes a seventh of the time; it allows tabs, and its errors say less
            node = YAML(typ="safe", pure="\t" in text).compose(text)
        except YAMLError:
            node = yaml.compose(text)
        if node is None:
            raise PlanError(f"{source}:1:1: the file is empty; it must begin with `name:`")
        plain = _Plain(yaml.constructor.construct_object)
        document = Document(source, plain.value((), node), plain.keys, plain.values)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise PlanError(f"{source}{place}: {_yaml_problem(error.problem or str(error))}") from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise PlanError(f"{source}: this is no YAML text: {' '.join(str(error).split())}") from error
    document.refuse(plain.problems)
    return document


def _yaml_problem(problem: str) -> str:
    text = " ".join(problem.split())
    if "'\\t'" in text:
        return "a tab stands here; YAML is indented with spaces only"
    if "expected a single document" in text or "but found another document" in text:
        return "a second document begins here; a plan is one document"
    return f"this is not valid YAML: {text}"


@dataclass
class _Plain:
    """Turns YAML's nodes into plain values, and notes their places and what a plan cannot hold."""

    construct: Callable[[Node], object]
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Place] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _open: list[Node] = field(default_factory=list)

    def value(self, path: KeyPath, node: Node) -> object:
        self.values[path] = _place(node)
        if not str(node.tag).startswith(_OF_YAML):
            self.problems.append(Problem(path, f"the tag {node.tag} means nothing in a plan"))
            return None
        if any(node is outer for outer in self._open):
            self.problems.append(Problem(path, "this alias stands inside the value it repeats"))
            return None
        if isinstance(node.value, str):
            return self._scalar(path, self.construct(node))
        from ruamel.yaml.nodes import MappingNode

        self._open.append(node)
        plain: object
        if isinstance(node, MappingNode):
            plain = self._mapping(path, node)
        else:
            plain = [self.value((*path, index), inner) for index, inner in enumerate(node.value)]
        self._open.pop()
        return plain

    def _mapping(self, path: KeyPath, node: Node) -> dict[str, object]:
        plain: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key, value in node.value:
            name = key.value if isinstance(key.value, str) else "[...]"
            below = (*path, name)
            self.keys[below] = _place(key)
            if key.tag == f"{_OF_YAML}merge" and isinstance(value.value, list):
                merged |= self._mapping(path, value)
                continue
            if name in plain:
                text = f'the key "{name}" stands twice in one mapping'
                self.problems.append(Problem(below, text, at_key=True))
            if key.tag != f"{_OF_YAML}str":
                text = f"the key {name} is no text; put it in quotes"
                self.problems.append(Problem(below, text, at_key=True))
            plain[name] = self.value(below, value)
        return {**merged, **plain}

    def _scalar(self, path: KeyPath, value: object) -> object:
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.append(Problem(path, f"{value} is no number that a plan can use"))
        elif not (value is None or isinstance(value, bool | int | float | str)):
            self.problems.append(Problem(path, f"`{value}` is neither text nor a number; put it in quotes"))
        return value


def _place(node: Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1
