"""A JSON Schema of plan files, for editors.

It describes shapes; names of servers, clients and ledgers, quorums and contradictions are left to
the loader. Every value may also be a reference ``{vary: name}`` to a parameter of the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from plans.expected.expectations import EXPECTATIONS
from plans.grammar.names import name_of
from plans.grammar.sequence import Chaos, ChaosFault, StepSpec, Together, Vocabulary
from plans.grammar.steps import HasOutcome
from plans.models import Control, Plan
from plans.reading.document import Tree
from plans.reading.parameters import ONLY
from protocol.modes import MODES

Schema = Tree
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"
_SINGLE = ("boolean", "integer", "number", "string")
_VARY: Schema = {
    "type": "object",
    "description": "the value of a parameter named under the plan's `vary`",
    "properties": {"vary": {"type": "string"}},
    "required": ["vary"],
    "additionalProperties": False,
}


_ONLY: Schema = {
    "type": "object",
    "description": "parameters of the plan and the values for which this stands",
    "additionalProperties": {"type": list(_SINGLE)},
    "minProperties": 1,
}


def json_schema(vocabulary: Vocabulary, *, modes: Iterable[str] = tuple(MODES)) -> Schema:
    """The schema of a plan whose steps ``vocabulary`` defines; plain values, ready for JSON."""
    whole = (Chaos, ChaosFault, StepSpec, Together)
    inlined: list[type[BaseModel]] = [*whole, *vocabulary.workloads.values()]
    named = [*vocabulary.single.values(), *vocabulary.conditions.values(), *EXPECTATIONS.values()]
    models: list[type[BaseModel]] = sorted({Plan, Control, *inlined, *named}, key=name_of)
    references, found = models_json_schema([(model, "validation") for model in models], by_alias=True)
    names = {model: references[(model, "validation")] for model in models}
    defs: Schema = found["$defs"]
    plan = defs.pop(_name_of(names[Plan]))
    conditions = {name: names[model] for name, model in vocabulary.conditions.items()}
    workloads = {name: names[model] for name, model in sorted(vocabulary.workloads.items())}
    for key, choices in (("condition", conditions), ("workload", workloads)):
        for name, reference in choices.items():
            defs[_name_of(reference)]["properties"][key] = {"const": name}
    defs["Step"] = {
        "oneOf": [
            _step(name, names[model], has_outcome=issubclass(model, HasOutcome))
            for name, model in sorted(vocabulary.single.items())
        ]
    }
    defs["Step"]["oneOf"] += [
        _step("wait_for", _one_of("condition", conditions, defs)),
        _step("load", _one_of("workload", workloads, defs)),
        _step("chaos", _chaos(names, defs, vocabulary)),
        _step("together", _list_of(_list_of(_ref("Step")))),
    ]
    defs["Expectation"] = {
        "oneOf": [{"const": "holds"}, *(_stated(name, names[model]) for name, model in EXPECTATIONS.items())]
    }
    defs["Condition"] = {"oneOf": [_one(name, reference) for name, reference in conditions.items()]}
    for model in inlined:
        del defs[_name_of(names[model])]
    return _document(plan, defs, list(modes))


def _document(plan: Schema, defs: Schema, modes: list[str]) -> Schema:
    stated = dict.fromkeys(modes, _list_of(_ref("Expectation")))
    plan["properties"] |= {
        "steps": _list_of(_ref("Step")),
        "control": {"oneOf": [_ref("Control"), _list_of(_ref("Control"))]},
        "modes": _list_of({"enum": modes}),
        "expect": {"type": "object", "properties": stated, "additionalProperties": False},
    }
    whole = {**plan, "$defs": {name: _varied(defs[name]) for name in sorted(defs)} | {"Vary": _VARY}}
    return {"$schema": _DIALECT, **whole, "title": "Fencepost plan"}


def _ref(name: str) -> Schema:
    return {"$ref": _REFERENCE + name}


def _name_of(reference: Schema) -> str:
    return str(reference["$ref"]).removeprefix(_REFERENCE)


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


def _one(name: str, schema: Schema) -> Schema:
    """A mapping with the one key ``name``."""
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


def _stated(name: str, schema: Schema) -> Schema:
    return {**_one(name, schema), "properties": {name: schema, ONLY: _ONLY}}


def _step(name: str, schema: Schema, *, has_outcome: bool = False) -> Schema:
    one = _one(name, schema)
    one["properties"] = {
        name: schema,
        "at_s": {"type": "number", "minimum": 0},
        "when": _ref("Condition"),
        "note": {"type": "string"},
        ONLY: _ONLY,
    }
    if has_outcome:
        one["properties"]["outcome"] = {"enum": ["ok", "unknown", "fail", "any"]}
    return one


def _one_of(key: str, choices: Mapping[str, Schema], defs: Schema) -> Schema:
    """The parameters of each choice beside the key that names it."""
    own = (defs[_name_of(reference)] for reference in choices.values())
    named = [{**one, "required": list(dict.fromkeys((key, *one.get("required", ()))))} for one in own]
    return {"oneOf": named}


def _chaos(names: Mapping[type[BaseModel], Schema], defs: Schema, vocabulary: Vocabulary) -> Schema:
    own = defs[_name_of(names[Chaos])]
    faults = [_one(name, names[model]) for name, model in sorted(vocabulary.faults.items())]
    listed = _list_of({"oneOf": faults} if faults else {"type": "object"})
    required = [*own["required"], "faults"]
    return {**own, "properties": own["properties"] | {"faults": listed}, "required": required}


def _varied(schema: object) -> object:
    """The schema with a reference to a parameter allowed for every single value of a mapping."""
    if isinstance(schema, list):
        return [_varied(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    varied = {key: _varied(inner) for key, inner in schema.items()}
    properties = varied.get("properties")
    if isinstance(properties, dict):
        varied["properties"] = {
            key: {"anyOf": [inner, _ref("Vary")]} if _is_single(inner) else inner
            for key, inner in properties.items()
        }
    others = varied.get("additionalProperties")
    if isinstance(others, dict) and _is_single(others):
        varied["additionalProperties"] = {"anyOf": [others, _ref("Vary")]}
    return varied


def _is_single(schema: Schema) -> bool:
    """Whether a schema is of a text, a number or a truth value, perhaps an optional one."""
    choices = schema.get("anyOf", [schema])
    return all(_kinds(choice) <= {*_SINGLE, "null"} for choice in choices)


def _kinds(choice: Schema) -> set[str]:
    kinds = choice.get("type", "any")
    return set(kinds) if isinstance(kinds, list) else {kinds}
