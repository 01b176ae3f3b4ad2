"""The client's numbers are the evidence's numbers: the Java sources are read and compared."""

from __future__ import annotations

import re
from enum import IntEnum, IntFlag
from pathlib import Path

import pytest

from evidence.codes import Flag, Kind, Outcome, Proof
from evidence.raw import history

JAVA = Path(__file__).parents[3] / "client" / "src" / "main" / "java" / "fencepost" / "history"


def constants(name: str) -> dict[str, int]:
    text = (JAVA / f"{name}.java").read_text()
    body = text[text.index("{") : text.index("private final int code")]
    return {
        constant: int(code) for constant, code in re.findall(r"^ {4}([A-Z_]+)\((\d+)\)", body, re.MULTILINE)
    }


@pytest.mark.parametrize("codes", [Kind, Flag, Outcome, Proof])
def test_codes_agree(codes: type[IntEnum] | type[IntFlag]) -> None:
    expected = {code.name: int(code) for code in codes if code.name != "PENDING"}
    assert constants(codes.__name__) == expected


def test_the_layouts_agree() -> None:
    text = (JAVA / "HistoryFormat.java").read_text()
    offsets = {
        group: {
            name: int(value)
            for name, value in re.findall(
                r"static final int (\w+) = (\d+);", text.split(f"class {group} ")[1].split("private")[0]
            )
        }
        for group in ("Header", "Invoked", "Completed")
    }
    names = {"size_bytes": "SIZE", "run_id": "RUN_ID"}
    for group, layout in (
        ("Header", history.HEADER),
        ("Invoked", history.INVOKED),
        ("Completed", history.COMPLETED),
    ):
        assert layout.fields is not None
        known = {names.get(name, name.upper()): place[1] for name, place in layout.fields.items()}
        assert offsets[group].items() <= known.items()
    assert f'MAGIC = "{history.MAGIC.decode()[:-1]}\\n"' in text
    assert f"BOOT_SHIFT = {history.BOOT_SHIFT}" in text
    assert "SLOTS = 65_536" in text
