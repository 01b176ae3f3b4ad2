"""Values as models, and what pydantic refused as sentences: the value, what is allowed, the nearest.

The model of some parts depends on a name in the plan (a step, a condition, an expectation). Such a part is
:func:`validated` by a validator of what it stands in. Each level words its own mistakes, and pydantic
collects them with their locations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from plans.reading.document import KEY, Document, KeyPath
from plans.reading.nearest import instead, unknown
from protocol.errors import PlanError

M = TypeVar("M", bound=BaseModel)
_WORDED = "worded"
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


def modelled(document: Document, model: type[M], context: Mapping[str, object] | None = None) -> M:
    """A whole document as a model; ``PlanError`` lists all that is wrong with it, each with its place."""
    try:
        return validated(model, document.tree, context)
    except ValidationError as error:
        raise explained(error, document, model) from error


def explained(error: ValidationError, document: Document, model: type[BaseModel]) -> PlanError:
    """What ``model`` refused in a document, with places."""
    return document.error(document.problem(location, text) for location, text in _worded(error, model, ()))


def validated(model: type[M], value: object, context: object, *path: str | int) -> M:
    """A model of ``value``, strictly as of JSON: no text is taken for a number, lists may become tuples.

    Below a ``path`` no value (``heal:``) is a mapping without keys. Raises ``ValidationError`` with a
    sentence for each mistake, located at ``path`` and below.
    """
    try:
        own = {} if value is None and path else value
        return model.model_validate_json(json.dumps(own), strict=True, context=context)
    except ValidationError as error:
        raise _error(list(_worded(error, model, path))) from None


def refused(text: str, *path: str | int) -> ValidationError:
    """One mistake below what is being validated; a path that ends with ``KEY`` means the key itself."""
    return _error([(path, text)])


def one_named(
    value: object, what: str, known: Collection[str], beside: Collection[str] = ()
) -> tuple[str, object]:
    """The one item of a mapping, but for the keys ``beside`` it: ``kill`` and ``{target: b1}``.

    Raises ``ValueError`` for any other value.
    """
    if isinstance(value, str) and value not in known:
        raise ValueError(unknown(what, value, known))
    a = "an" if what[0] in "aeiou" else "a"
    if not isinstance(value, dict):
        hint = f"; write `{value}: {{}}`" if isinstance(value, str) else ""
        raise ValueError(f"{a} {what} is a name with its parameters, not {shown(value)}{hint}")
    names = [str(key) for key in value if key not in beside]
    if len(names) != 1:
        listed = ", ".join(f"`{name}`" for name in names) or "none"
        others = f" (beside {', '.join(beside)})" if beside else ""
        raise ValueError(f"{a} {what} has exactly one name{others}; given: {listed}")
    return names[0], value[names[0]]


def checked(check: Callable[[Any], object]) -> AfterValidator:
    """A validator that refuses what ``check`` raises ``ValueError`` for, and changes nothing."""

    def kept(value: object) -> object:
        check(value)
        return value

    return AfterValidator(kept)


def a_list(otherwise: str) -> BeforeValidator:
    """A validator of lists with one item at least; ``otherwise`` is the sentence about any other value."""

    def check(value: object) -> object:
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(otherwise)
        return tuple(value)

    return BeforeValidator(check)


def _worded(error: ValidationError, model: type[BaseModel], path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """The location and a sentence for each thing that ``model`` refused in the value at ``path``."""
    every = error.errors(include_url=False)
    within = {details["loc"][:-1] for details in every if details["loc"]}
    for details in every:
        # A list is only "too short" because its elements were refused: those are reported already.
        if not (details["type"] == "too_short" and details["loc"] in within):
            yield _sentence(details, model, path)


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys that a mapping for ``model`` may have, as plans write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def shown(value: object) -> str:
    """A value as a plan would write it, cut when long."""
    text = f"`{value}`" if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _error(mistakes: list[tuple[KeyPath, str]]) -> ValidationError:
    lines: list[InitErrorDetails] = [
        {"type": PydanticCustomError(_WORDED, "{text}", {"text": text}), "loc": location, "input": None}
        for location, text in mistakes
    ]
    return ValidationError.from_exception_data("plan", lines)


def _sentence(details: ErrorDetails, model: type[BaseModel], path: KeyPath) -> tuple[KeyPath, str]:
    kind, value, location = details["type"], details["input"], (*path, *details["loc"])
    here = next((part for part in reversed(location) if part != KEY), 0)
    name = f"`{here}`" if isinstance(here, str) else "this"
    if kind == _WORDED:
        return location, details["msg"]
    if kind == "missing":
        return location[:-1], f"{name} is missing"
    if kind == "extra_forbidden":
        return (*location, KEY), unknown("key", here, keys_of(_model_at(model, details["loc"][:-1])))
    if kind == "value_error":
        return location, str(details["ctx"]["error"])
    if kind == "literal_error":
        allowed = _ALLOWED.findall(details["ctx"]["expected"])
        return location, f"{name} cannot be {shown(value)}; {instead(value, allowed)}"
    if kind in _KINDS:
        quote = "; put it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
        return location, f"{name} must be {_KINDS[kind]}, not {_given(value)}{quote}"
    if kind in ("too_short", "string_too_short"):
        return location, f"{name} is empty, but must not be"
    message = details["msg"][0].lower() + details["msg"][1:]
    return location, f"{name} is {shown(value)}, but {message.replace('input', 'it')}"


def _given(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return f"{'a mapping' if isinstance(value, dict) else 'a list'} ({shown(value)})"
    return f"the text {shown(value)}" if isinstance(value, str) else shown(value)


def _model_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    for part in path:
        for name, field in model.model_fields.items():
            if part in (name, field.alias):
                model = _first_model(field.annotation) or model
                break
    return model


def _first_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_first_model, get_args(annotation))), None)
