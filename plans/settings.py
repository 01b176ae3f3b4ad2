"""BookKeeper settings as a plan writes them, and the text that BookKeeper reads.

A plan may write numbers and truth values; BookKeeper's files know text only.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value


SettingText = Annotated[
    str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]

Settings = dict[str, SettingText]
"""Property name to value, both text; truth values become ``true`` and ``false``."""
