"""The page of the plan language, from the JSON Schema that also checks plans in an editor."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.vocabulary import words
from plans.reading.schema import json_schema
from reports.marks import cell, table, wrapped

Schema = dict[str, Any]

_STEPS = (
    "A step is one entry of a plan's `steps`; faults are steps too. Besides its own key, a step may have "
    "`at_s` (seconds since its block began), `when` (a condition), `outcome` (how a client's step or `admin` "
    "must end), `note` (a text for the report) and `only` (values of parameters with which the step is "
    "executed)."
)
_PARTS = ("ClusterSpec", "Disks", "Limits", "Series", "Control")
_LINKED = (*_PARTS, "Step", "Condition", "Expectation")
_CONDITIONS = "`wait_for` waits for a condition; a step with `when` starts as soon as its condition holds."
_EXPECTATIONS = "What a plan's `expect` states for each mode."
_FAULTS, _OTHERS = "Faults of processes", "Loads, waits and blocks"
"""Those of faults and of steps in other modules."""
_GROUPS = {
    "Clients": ("harness.steps.clients",),
    "Servers and healing": (
        "plans.grammar.steps",
        "harness.steps.faults",
        "harness.steps.observing",
        "harness.steps.admin",
    ),
    _FAULTS: ("nemesis.processes", "nemesis.power"),
    "Faults of links and networks": ("nemesis.links", "nemesis.networks"),
    "Faults of messages": ("nemesis.messages",),
    "Faults of disks": ("nemesis.disks",),
    "Faults of stored data": ("nemesis.storage", "nemesis.corruption"),
    "Faults of ZooKeeper": ("nemesis.metadata",),
}
"""The headings of steps, and the modules that declare them."""
_ABOUT_GROUPS = {
    "Faults of messages": (
        "`way`, `kinds`, `ledger`, `entries`, `statuses`, `occurrences` and `probability` say which messages "
        "of the link a fault changes; one that is left out excludes none. "
        "[Plans](plans.md#faults-of-messages) explains them, and `as` and `may_idle`."
    ),
}
"""Text below the headings of those whose steps share keys."""
_WORDS_FOR_TYPES = {"object": "a mapping", "array": "a list", "null": "nothing", "boolean": "true or false"}
_SPECIAL = {
    "wait_for": "Wait for one of the [conditions](#conditions).",
    "together": "A list of branches. Each is a list of steps, and all branches run at the same time.",
}
"""Steps whose value is not a mapping of keys."""
_EXAMPLE = re.compile(r"[<>=]*\d")


def plan_language() -> Iterator[str]:
    """The lines of the page: the keys of a plan, then every step, condition and expectation."""
    vocabulary = words()
    schema = json_schema(vocabulary)
    known: dict[str, Schema] = schema["$defs"]
    yield "# Plan language"
    yield ""
    yield "Every key of a plan with its values and defaults. [Plans](plans.md) explains them with"
    yield "examples; `fencepost list schema` prints the same as a JSON Schema."
    yield from ("", "## Keys of a plan", "")
    yield from _keys(schema, known)
    for name in _PARTS:
        yield from ("", f"### {name}", "", *_about(known[name]))
        yield from _keys(known[name], known)
    yield from ("", "## Steps", "", *wrapped(_STEPS))
    steps = _choices(known["Step"])
    headings = {module: heading for heading, modules in _GROUPS.items() for module in modules}
    grouped = {
        name: headings.get(model.__module__, _FAULTS if name in vocabulary.faults else _OTHERS)
        for name, model in vocabulary.single.items()
    }
    for heading in (*_GROUPS, _OTHERS):
        yield from ("", f"## {heading}")
        if heading in _ABOUT_GROUPS:
            yield from ("", *wrapped(_ABOUT_GROUPS[heading]))
        for name in (one for one in steps if grouped.get(one, _OTHERS) == heading):
            yield from _choice(name, steps[name], known)
    for name, about in (("Condition", _CONDITIONS), ("Expectation", _EXPECTATIONS)):
        yield from ("", f"## {name}s", "", *wrapped(about))
        for key, value in _choices(known[name]).items():
            yield from _choice(key, value, known)


def _choices(schema: Schema) -> dict[str, Schema]:
    """Of a schema of mappings with one key each, the value of every key."""
    keyed = [choice for choice in schema["oneOf"] if "const" not in choice]
    return {(key := choice["required"][0]): choice["properties"][key] for choice in keyed}


def _choice(key: str, value: Schema, known: dict[str, Schema]) -> Iterator[str]:
    yield from ("", f"### {key}", "")
    if key in _SPECIAL:
        yield from wrapped(_SPECIAL[key])
        return
    body = _resolved(value, known)
    for one in (_resolved(one, known) for one in body.get("oneOf", [body])):
        workload = one.get("properties", {}).get("workload", {}).get("const")
        yield from ("", f"#### {workload}", "") if workload else ()
        yield from _about(one)
        yield from _keys(one, known)


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
    if default is None or isinstance(default, dict):
        return "-"
    return f"`{default:g}`" if isinstance(default, float) else f"`{json.dumps(default)}`"


def _value(schema: Schema, known: dict[str, Schema]) -> str:
    schema = _without_vary(schema)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        section = name.lower() if name in _PARTS else f"{name.lower()}s"
        return f"[{name}](#{section})" if name in _LINKED else _value(known[name], known)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        if all(len(one.get("properties", ())) == 1 for one in choices):
            return f"a mapping with one of {_listed(key for one in choices for key in one['properties'])}"
        return " or ".join(dict.fromkeys(_value(one, known) for one in choices if one.get("type") != "null"))
    if "enum" in schema:
        return _listed(schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if pair := schema.get("prefixItems"):
        return f"[{', '.join(_value(one, known) for one in pair)}]"
    if schema.get("type") == "array":
        return f"a list, each {_value(schema['items'], known)}"
    if schema.get("type") == "object":
        return _mapping(schema, known)
    if about := schema.get("description"):
        return f"for example `{about}`" if _EXAMPLE.match(about) else cell(about)
    return f"{_type(schema)}{_bounds(schema)}"


def _mapping(schema: Schema, known: dict[str, Schema]) -> str:
    """What its keys and its values are; where its keys are fixed, all have values of one kind."""
    fixed: dict[str, Schema] = schema.get("properties", {})
    values = list(fixed.values()) or [schema["additionalProperties"]]
    keys = _listed(fixed) if fixed else schema.get("propertyNames", {}).get("description", "names")
    about = f"{schema['description']} A mapping" if "description" in schema else "a mapping"
    return f"{cell(about)}; keys: {cell(keys)}; values: {_value(values[0], known)}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in words)


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


def _about(schema: Schema) -> Iterator[str]:
    """Its docstring, a blank line after each paragraph."""
    for paragraph in schema.get("description", "").split("\n\n"):
        yield from (*wrapped(cell(paragraph)), "")
