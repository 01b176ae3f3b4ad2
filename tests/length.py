"""Which parameters of a test are long: parameters that show nothing beyond the quick ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick_and_long(parameters: Iterable[str], long: Collection[str]) -> list[Any]:
    """The parameters of a test, those in ``long`` marked so."""
    return [pytest.param(one, marks=pytest.mark.long if one in long else ()) for one in parameters]
