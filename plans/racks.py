"""Failure domains as a plan gives them: the rack of each bookie. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from plans.names import BookieName
from protocol.addresses import NAME, bookie_name


def _rack(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(
            f"`{value}` is no rack's name, such as `r1`: a lower-case letter, then letters or digits"
        )
    return value


Racks = dict[BookieName, Annotated[str, AfterValidator(_rack)]]
"""Bookie -> its rack."""


def assert_placed(racks: Mapping[str, str], bookies: int, min_racks: int) -> None:
    """Refuse, with ``ValueError``, bookies without a rack, and fewer racks than a write set must span."""
    names = [bookie_name(number) for number in range(1, bookies + 1)]
    missing = [name for name in names if name not in racks]
    if missing:
        raise ValueError(f"no rack is given for {', '.join(missing)}; each bookie needs one, or none has any")
    if len(set(racks.values())) < min_racks:
        raise ValueError(
            f"there are fewer racks ({', '.join(sorted(set(racks.values())))}) than min_racks {min_racks}"
        )
