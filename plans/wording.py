"""What pydantic found wrong with a value, as one sentence: the value, what is allowed, the nearest.

Uses models only as shapes; the document supplies the place of the value.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from plans.document import Document, Path, Problem
from plans.nearest import instead, unknown

ModelT = TypeVar("ModelT", bound=BaseModel)
_LONGEST = 60
_ALLOWED = re.compile(r"'([^']*)'")
_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def problems_of(error: ValidationError, model: type[BaseModel], path: Path) -> list[Problem]:
    """One problem for each thing wrong with the value at ``path``, that ``model`` refused."""
    every = error.errors(include_url=False)
    within = {details["loc"][:-1] for details in every if details["loc"]}
    return [
        _problem(details, model, path)
        for details in every
        # A list is only "too short" because its elements were refused: those are reported already.
        if not (details["type"] == "too_short" and details["loc"] in within)
    ]


def modelled(document: Document, model: type[ModelT]) -> ModelT:
    """A whole document as a model; ``PlanError`` lists all that is wrong with it, each with its place."""
    try:
        return model.model_validate_json(json.dumps(document.tree), strict=True)
    except ValidationError as error:
        raise document.error(problems_of(error, model, ())) from error


def shown(value: Any) -> str:
    """A value as a plan would write it, cut when long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    if isinstance(value, str):
        text = f"`{value}`"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys that a mapping for ``model`` may have, as plans write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _problem(details: Any, model: type[BaseModel], path: Path) -> Problem:
    kind, value = details["type"], details["input"]
    location: Path = tuple(details["loc"])
    at_key = bool(location) and location[-1] == "[key]"
    location = tuple(part for part in location if part != "[key]")
    here = (*path, *location)
    name = f"`{here[-1]}`" if here and isinstance(here[-1], str) else "this"
    if kind == "missing":
        return Problem(here[:-1], f"{name} is missing", at_key=False)
    if kind == "extra_forbidden":
        inner = _model_at(model, location[:-1])
        return Problem(here, unknown("key", here[-1], keys_of(inner) if inner else ()), at_key=True)
    if kind == "value_error":
        return Problem(here, str(details["ctx"]["error"]), at_key=at_key)
    if kind == "literal_error":
        allowed = _ALLOWED.findall(details["ctx"]["expected"])
        return Problem(here, f"{name} cannot be {shown(value)}; {instead(value, allowed)}")
    if kind in _KINDS:
        quote = "; put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
        return Problem(here, f"{name} must be {_KINDS[kind]}, not {_given(value)}{quote}")
    if kind in ("too_short", "string_too_short"):
        return Problem(here, f"{name} is empty, but must not be", at_key=at_key)
    message = details["msg"][0].lower() + details["msg"][1:]
    return Problem(here, f"{name} is {shown(value)}, but {message.replace('input', 'it')}", at_key=at_key)


def _given(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, dict):
        return f"a mapping ({shown(value)})"
    if isinstance(value, list):
        return f"a list ({shown(value)})"
    return shown(value)


def _model_at(model: type[BaseModel], location: Path) -> type[BaseModel] | None:
    current: type[BaseModel] | None = model
    for part in location:
        if current is None or isinstance(part, int):
            continue
        for name, field in current.model_fields.items():
            if part in (name, field.alias):
                current = _first_model(field.annotation)
                break
    return current


def _first_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _first_model(inner)
        if found is not None:
            return found
    return None
