"""Durations on the command line: ``90s``, ``5m``, ``2h``, or a plain number of seconds."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_FORM = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


class _Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        matched = _FORM.fullmatch(str(value))
        seconds = float(matched[1]) * _UNITS[matched[2]] if matched else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no duration above 0, such as 90s, 5m or 2h", param, ctx)
        return seconds


DURATION = _Duration()
