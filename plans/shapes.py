"""The shape of a ledger, as steps and workloads give it: E, WQ and AQ, checked against the plan."""

from __future__ import annotations

from pydantic import Field, ValidationInfo, field_validator

from plans.names import Params, names_in
from protocol.quorums import Quorums


class LedgerShape(Params):
    """Ensemble, write quorum and ack quorum; E >= WQ >= AQ >= 1, and no more than the plan's bookies."""

    ensemble: int = Field(default=3, ge=1)
    write_quorum: int = Field(default=3, ge=1)
    ack_quorum: int = Field(default=2, ge=1)

    @field_validator("ensemble")
    @classmethod
    def _enough_bookies(cls, value: int, info: ValidationInfo) -> int:
        bookies = names_in(info).bookies
        if bookies is not None and value > len(bookies):
            raise ValueError(f"ensemble {value} is more than the plan's {len(bookies)} bookies")
        return value

    @field_validator("ack_quorum")
    @classmethod
    def _ordered(cls, value: int, info: ValidationInfo) -> int:
        if "ensemble" in info.data and "write_quorum" in info.data:
            Quorums(info.data["ensemble"], info.data["write_quorum"], value)
        return value
