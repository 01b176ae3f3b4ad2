"""The page of the plan language, from the JSON Schema that also checks plans in an editor."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from harness.vocabulary import words
from nemesis.registry import FAULTS
from plans.reading.schema import json_schema
from reports.marks import cell, table, wrapped

Schema = dict[str, Any]

_SECTIONS = {
    "Step": (
        "Steps",
        "A step is one entry of a plan's `steps`. Faults are steps too. Besides its own key, a step may have "
        "`at_s` (seconds since its block began), `when` (a condition), `outcome` (how a client's step or "
        "`admin` must end), `note` (a text for the report) and `only` (values of parameters with which the "
        "step is executed).",
    ),
    "Condition": (
        "Conditions",
        "`wait_for` waits for a condition; a step with `when` starts as soon as its condition holds.",
    ),
    "Expectation": ("Expectations", "What a plan's `expect` states for each mode."),
}
_WORDS_FOR_TYPES = {"object": "a mapping", "array": "a list", "null": "nothing", "boolean": "true or false"}
_SPECIAL = {
    "wait_for": "Wait for one of the [conditions](#conditions).",
    "together": "A list of branches. Each is a list of steps, and all branches run at the same time.",
}
"""Steps whose value is not a mapping of keys."""
_EXAMPLE = re.compile(r"[<>=]*\d")


def plan_language() -> Iterator[str]:
    """The lines of the page: the keys of a plan, then every step, condition and expectation."""
    schema = json_schema(words())
    known: dict[str, Schema] = schema["$defs"]
    yield "# Plan language"
    yield ""
    yield "Every key of a plan with its values and defaults. [Plans](plans.md) explains them with"
    yield "examples; `fencepost list schema` prints the same as a JSON Schema."
    yield from ("", "## Keys of a plan", "")
    yield from _keys(schema, known)
    for name in ("ClusterSpec", "Disks", "Limits", "Series", "Control"):
        yield from ("", f"### {name}", "", *wrapped(_about(known[name])), "")
        yield from _keys(known[name], known)
    for name, (title, about) in _SECTIONS.items():
        yield from ("", f"## {title}", "", *wrapped(about))
        yield from _choices(known[name], known)


def _choices(schema: Schema, known: dict[str, Schema]) -> Iterator[str]:
    for choice in schema["oneOf"]:
        if "const" in choice:
            continue
        key = choice["required"][0]
        yield from ("", f"### {key}", "")
        if key in _SPECIAL:
            yield from wrapped(_SPECIAL[key])
            continue
        for body in _bodies(choice["properties"][key], known):
            yield from _body(key, body, known)


def _bodies(schema: Schema, known: dict[str, Schema]) -> list[Schema]:
    """What may be the value of a step's key: one mapping, or one for each workload."""
    body = _resolved(schema, known)
    return [_resolved(one, known) for one in body.get("oneOf", [body])]


def _body(key: str, body: Schema, known: dict[str, Schema]) -> Iterator[str]:
    workload = body.get("properties", {}).get("workload", {}).get("const")
    fault = FAULTS.get(key)
    about = fault.about[0].upper() + fault.about[1:] + "." if fault else _about(body)
    text = f"`workload: {workload}`. {about}" if workload else about
    if text:
        yield from (*wrapped(text), "")
    yield from _keys(body, known)
    yield ""


def _keys(schema: Schema, known: dict[str, Schema]) -> Iterator[str]:
    required = schema.get("required", [])
    properties: dict[str, Schema] = schema.get("properties", {})
    rows = [
        (f"`{key}`", _value(value, known), _default(key, value, required))
        for key, value in properties.items()
        if _without_vary(value).get("const") is None
    ]
    yield from table(("key", "value", "default"), rows) if rows else ()


def _default(key: str, schema: Schema, required: list[str]) -> str:
    if key in required:
        return "required"
    default = schema.get("default", _without_vary(schema).get("default"))
    return "-" if default is None or isinstance(default, dict) else f"`{json.dumps(default)}`"


def _value(schema: Schema, known: dict[str, Schema]) -> str:
    schema = _without_vary(schema)
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_value(one, known) for one in choices if one.get("type") != "null"))
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        items = schema.get("items")
        return f"a list, each {_value(items, known)}" if isinstance(items, dict) else "a list"
    if about := schema.get("description"):
        return f"for example `{about}`" if _EXAMPLE.match(about) else cell(about)
    return f"{_type(schema)}{_bounds(schema)}"


def _type(schema: Schema) -> str:
    types = schema.get("type", "any value")
    return " or ".join(
        _WORDS_FOR_TYPES.get(one, one) for one in ([types] if isinstance(types, str) else types)
    )


def _bounds(schema: Schema) -> str:
    """Limits of a number, or nothing; limits of a text's length are left to the error message."""
    words_of = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
    limits = [f"{text} {schema[key]}" for key, text in words_of.items() if key in schema]
    return f", {', '.join(limits)}" if limits else ""


def _without_vary(schema: Schema) -> Schema:
    """The schema of the value itself: almost every value may also be a parameter of the plan."""
    choices = [one for one in schema.get("anyOf", []) if one.get("$ref") != "#/$defs/Vary"]
    return choices[0] if len(choices) == 1 else schema


def _resolved(schema: Schema, known: dict[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return known[reference.rpartition("/")[2]] if isinstance(reference, str) else schema


def _about(schema: Schema) -> str:
    return cell(str(schema.get("description", "")).partition("\n\n")[0])
