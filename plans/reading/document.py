"""A plan's text as plain values, and the line and column of each of them.

Reads YAML 1.2 (ruamel, imported when first needed). What YAML can say and a plan cannot (tags,
dates, keys that are no text, several documents) is an error here, with its place. Does not
interpret the plan.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from protocol.errors import PlanError

Path = tuple[str | int, ...]
"""How to reach a value from the top: keys and, in lists, numbers from 0."""

KEY = "[key]"
"""Last in pydantic's location of a key, where any other location is that of a value."""

Place = tuple[int, int]
"""Line and column, both from 1."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a path; ``at_key`` means the key that leads there, not its value."""

    path: Path
    text: str
    at_key: bool = False


@dataclass(frozen=True)
class Document:
    """Plain values (``tree``) with the places they came from; without places for JSON."""

    source: str
    tree: Any
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)

    def where(self, problem: Problem) -> str:
        """``file:line:column``, or ``file: at steps[2].create`` where lines are not known."""
        place = self._place(problem)
        if place is not None:
            return f"{self.source}:{place[0]}:{place[1]}"
        return f"{self.source}: at {path_text(problem.path)}" if problem.path else self.source

    def problem(self, location: Path, text: str) -> Problem:
        """The problem at a ``location`` in a model; parts of it that only models have are left out."""
        path: Path = ()
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


def everything(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The value and all that is in it, each with its path, from the outside in."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from everything(one, (*path, key))


def path_text(path: Path) -> str:
    """``steps[2].create.ledger``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def parse_file(path: pathlib.Path, what: str = "plan") -> Document:
    """Read a file of one YAML document, a ``what``; ``PlanError`` when there is none or it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PlanError(f"there is no {what} file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path}: the file cannot be read as UTF-8 text: {error}") from error
    return parse(text, str(path))


def parse(text: str, source: str) -> Document:
    """Read one YAML document; ``PlanError`` says file, line, column and what is wrong."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.version = None
    try:
        loaded = yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        raise PlanError(f"{source}{place}: {_yaml_problem(error.problem or str(error))}") from error
    except (YAMLError, ValueError) as error:
        raise PlanError(f"{source}: this is no YAML text: {' '.join(str(error).split())}") from error
    if loaded is None:
        raise PlanError(f"{source}:1:1: the file is empty; a plan is a mapping that begins with `name:`")
    return _Plain(source).document(loaded)


def _yaml_problem(problem: str) -> str:
    text = " ".join(problem.split())
    if "'\\t'" in text:
        return "a tab stands here; YAML is indented with spaces only"
    if text.startswith("found duplicate key"):
        key = text.removeprefix("found duplicate key ").partition(" with value")[0]
        return f"the key {key} stands twice in one mapping"
    if "expected a single document" in text or "but found another document" in text:
        return "a second document begins here; a plan is one document"
    return f"this is no YAML: {text}"


class _Plain:
    """Turns ruamel's result into plain values, and notes places and values that a plan cannot hold."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._keys: dict[Path, Place] = {}
        self._values: dict[Path, Place] = {(): (1, 1)}
        self._problems: list[Problem] = []
        self._open: list[int] = []

    def document(self, loaded: Any) -> Document:
        tree = self._value((), loaded)
        document = Document(self._source, tree, self._keys, self._values)
        if self._problems:
            raise document.error(self._problems)
        return document

    def _value(self, path: Path, value: Any) -> Any:
        if not isinstance(value, dict | list):
            return self._scalar(path, value)
        if id(value) in self._open:
            self._problems.append(Problem(path, "this alias stands inside the value it repeats"))
            return None
        tag = str(getattr(getattr(value, "tag", None), "value", None) or "")
        if tag and not tag.startswith("tag:yaml.org,2002:"):
            self._problems.append(Problem(path, f"the tag {tag} means nothing in a plan"))
        self._open.append(id(value))
        plain = self._mapping(path, value) if isinstance(value, dict) else self._sequence(path, value)
        self._open.pop()
        return plain

    def _mapping(self, path: Path, value: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        if not path:
            self._values[()] = (value.lc.line + 1, value.lc.col + 1)
        places = value.lc.data or {}
        for key, inner in value.items():
            name = str(key)
            below = (*path, name)
            if key in places:
                line, column, value_line, value_column = places[key]
                self._keys[below] = (line + 1, column + 1)
                self._values[below] = (value_line + 1, value_column + 1)
            if not isinstance(key, str):
                text = f"the key {name} is no text; put it in quotes"
                self._problems.append(Problem(below, text, at_key=True))
            plain[name] = self._value(below, inner)
        return plain

    def _sequence(self, path: Path, value: Any) -> list[Any]:
        if not path:
            self._values[()] = (value.lc.line + 1, value.lc.col + 1)
        places = value.lc.data or {}
        plain = []
        for index, inner in enumerate(value):
            below = (*path, index)
            if index in places:
                line, column = places[index][:2]
                self._values[below] = (line + 1, column + 1)
            plain.append(self._value(below, inner))
        return plain

    def _scalar(self, path: Path, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if type(value).__name__ == "ScalarBoolean":
            return bool(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                self._problems.append(Problem(path, f"{value} is no number that a plan can use"))
            return float(value)
        if isinstance(value, str):
            return str(value)
        self._problems.append(Problem(path, f"`{value}` is neither text nor a number; put it in quotes"))
        return None
