"""The proxy's numbers are the evidence's numbers: the Go sources are read and compared."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from evidence.codes import Direction, FrameFlag, Message, Status
from evidence.raw import wirelog as layout

PROXY = Path(__file__).parents[3] / "proxy"
RECORD_GO = (PROXY / "wirelog" / "record.go").read_text()
KINDS_GO = (PROXY / "frames" / "kinds.go").read_text()
STATUS_GO = (PROXY / "frames" / "status.go").read_text()
FIELDS = {
    "size": "size_bytes",
    "status": "status",
    "direction": "way",
    "operation": "op",
    "place": "batch_place",
    "entries": "batch_size",
    "CRC32": "crc",
    "magic": "magic",
    "run": "run_id",
    "number": "number",
    "records": "records",
}
"""The first word of a field in the layout's comment, where it is not the field's own name."""
SHARED_WORDS = {
    layout.HEADER_BYTES: {12: "record_bytes", 24: "first_seq"},
    layout.RECORD_BYTES: {60: "delivered"},
}
"""Fields whose comment begins with another field's word."""


def constant(name: str) -> int:
    found = re.search(rf"^\t{name} += ([\d_]+)$", RECORD_GO, re.MULTILINE)
    assert found, name
    return int(found[1].replace("_", ""))


def documented(after: str) -> dict[int, str]:
    """Offset -> first word, of the table in the package's comment that follows ``after``."""
    text = RECORD_GO.split(after)[1].split("\n//\n")[1]
    return {
        int(at): word
        for at, word in re.findall(r"^//\t {0,2}(\d+) +(?:[ui]\d+ |u8 )?([A-Za-z]\w*)", text, re.MULTILINE)
    }


def test_sizes_and_places_agree() -> None:
    assert constant("RecordBytes") == layout.RECORD_BYTES == layout.RECORD.itemsize
    assert constant("HeaderBytes") == layout.HEADER_BYTES == layout.HEADER.itemsize
    assert constant("RecordsPerSegment") == layout.RECORDS
    assert constant("version") == layout.VERSION
    assert constant("headerCRCOffset") == _at(layout.HEADER, "crc")
    assert constant("crcOffset") == layout.CRC_AT == _at(layout.RECORD, "crc")
    assert constant("askedOffset") == _at(layout.RECORD, "asked_ns")
    assert constant("forwardedOffset") == _at(layout.RECORD, "forwarded_ns")
    assert f'magic             = "{layout.MAGIC.decode()[:-1]}\\n"' in RECORD_GO


def test_a_record_is_the_struct_that_was_agreed() -> None:
    assert struct.calcsize("<QqqqqqIIiiIIHHHBBBBHIqIIq") == layout.RECORD_BYTES
    codes = {"<i8": "q", "<u4": "I", "<i4": "i", "<u2": "H", "|u1": "B"}
    written = "".join(codes[layout.RECORD[name].str] for name in layout.RECORD.names or ())
    assert written == "qqqqqqIIiiIIHHHBBBBHIqIIq"  # the number of a record never needs its sign


def test_every_field_lies_where_the_proxy_says() -> None:
    for after, known in (
        ("A segment is a header", layout.HEADER),
        ("A log that was closed cleanly", layout.RECORD),
    ):
        results = {at: FIELDS.get(word, word) for at, word in documented(after).items() if word != "zero"}
        own = {_at(known, name): name for name in known.names or () if not name.startswith("zero")}
        assert results | SHARED_WORDS[known.itemsize] == own


def test_kinds_agree() -> None:
    (listed,) = re.findall(r"var Kinds = \[\]string\{(.*?)\}", KINDS_GO, re.DOTALL)
    assert re.findall(r'"(\w+)"', listed) == [Message(number).name.lower() for number in range(len(Message))]


def test_flags_agree() -> None:
    (listed,) = re.findall(r"^// Flags of a record\.\nconst \((.*?)^\)", RECORD_GO, re.DOTALL | re.MULTILINE)
    names = re.findall(r"^\t(\w+)", listed, re.MULTILINE)
    assert {name.upper(): 1 << place for place, name in enumerate(names)} == {
        flag.name: flag.value for flag in FrameFlag
    }


def test_statuses_agree() -> None:
    listed = {name: int(number) for name, number in re.findall(r'"(E\w+)": (\d+)', STATUS_GO)}
    assert listed | {"NONE": -1} == {status.name: status.value for status in Status}
    assert "const NoStatus int32 = -1" in STATUS_GO


def test_ways_agree() -> None:
    ways = {name: int(number) for name, number in re.findall(r"(Requests|Answers) +Way = (\d)", KINDS_GO)}
    assert ways == {"Requests": Direction.REQUEST, "Answers": Direction.ANSWER}


def _at(known: np.dtype[np.void], name: str) -> int:
    assert known.fields is not None
    return known.fields[name][1]
