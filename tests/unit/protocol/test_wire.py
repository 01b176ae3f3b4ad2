"""The bytes below were recorded from running servers; only what they mean is stated here."""

from __future__ import annotations

import pytest

from protocol.metadata import LedgerMetadata, LedgerState
from protocol.quorums import Fragment, Quorums
from protocol.wire import decode_metadata, ledger_of_path, ledger_path, parse_response, read_request

HEADER = "426f6f6b69654d65746164617461466f726d617456657273696f6e09"
Q = Quorums(3, 3, 2)
CHANGED_18 = (
    HEADER + "330a6a08031003180020ffffffffffffffffff012801321d0a0762333a333138310a0762323a333138310a0762343a"
    "333138311000321d0a0762313a333138310a0762323a333138310a0762343a333138311003"
    "3803420966656e6365706f737448025a060a01611201626000"
)
OPEN_14 = (
    HEADER + "330a5308031003180020ffffffffffffffffff012801321d0a0762323a333138310a0762333a333138310a0762343a"
    "3331383110003803420966656e6365706f737448025a060a016112016260dea2c5d0e495c6fc13"
)
CLOSED_18 = (
    HEADER + "330a620803100318800320052803321d0a0762333a333138310a0762323a333138310a0762343a333138311000"
    "321d0a0762313a333138310a0762323a333138310a0762343a333138311003"
    "3803420966656e6365706f737448025a060a01611201626000"
)
RECOVERING_TEXT = (
    HEADER + "320a71756f72756d53697a653a20330a656e73656d626c6553697a653a20330a6c656e6774683a20300a6c617374"
    "456e74727949643a202d310a73746174653a20494e5f5245434f564552590a7365676d656e74207b0a2020656e73656d62"
    "6c654d656d6265723a202262333a33313831220a2020656e73656d626c654d656d6265723a202262343a33313831220a20"
    "20656e73656d626c654d656d6265723a202262323a33313831220a20206669727374456e74727949643a20300a7d0a6469"
    "67657374547970653a204352433332430a70617373776f72643a202266656e6365706f7374220a61636b51756f72756d53"
    "697a653a20320a"
)
CLOSED_LINES = (
    HEADER + "310a330a330a3338340a300962343a333138310962323a333138310962313a333138310a330962333a333138310962"
    "323a333138310962313a333138310a3509434c4f534544"
)
RECOVERING_LINES = (
    HEADER + "310a330a330a300a300962333a333138310962313a333138310962323a333138310a2d31303209434c4f534544"
)


def fragment(first: int, *bookies: str) -> Fragment:
    return Fragment(first, bookies)


@pytest.mark.parametrize(
    ("recorded", "meaning"),
    [
        (OPEN_14, LedgerMetadata(LedgerState.OPEN, Q, None, 0, (fragment(0, "b2", "b3", "b4"),))),
        (
            CHANGED_18,
            LedgerMetadata(
                LedgerState.OPEN, Q, None, 0, (fragment(0, "b3", "b2", "b4"), fragment(3, "b1", "b2", "b4"))
            ),
        ),
        (
            CLOSED_18,
            LedgerMetadata(
                LedgerState.CLOSED, Q, 5, 384, (fragment(0, "b3", "b2", "b4"), fragment(3, "b1", "b2", "b4"))
            ),
        ),
        (
            RECOVERING_TEXT,
            LedgerMetadata(LedgerState.IN_RECOVERY, Q, None, 0, (fragment(0, "b3", "b4", "b2"),)),
        ),
        (
            CLOSED_LINES,
            LedgerMetadata(
                LedgerState.CLOSED,
                Quorums(3, 3, 3),  # this format has no ack quorum, and BookKeeper reads it so too
                5,
                384,
                (fragment(0, "b4", "b2", "b1"), fragment(3, "b3", "b2", "b1")),
            ),
        ),
        (
            RECOVERING_LINES,
            LedgerMetadata(
                LedgerState.IN_RECOVERY, Quorums(3, 3, 3), None, 0, (fragment(0, "b3", "b1", "b2"),)
            ),
        ),
    ],
    ids=["4.14 open", "4.18 open", "4.18 closed", "text", "lines closed", "lines recovering"],
)
def test_metadata_in_every_format_that_a_client_writes(recorded: str, meaning: LedgerMetadata) -> None:
    assert decode_metadata(bytes.fromhex(recorded)) == meaning


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (b"", "begins with b''"),
        (b"\x00\x01", "begins with"),
        (bytes.fromhex(CLOSED_18)[:-1], "has 97 bytes, its length says 98"),
        (bytes.fromhex(HEADER + "330a"), "no length"),
        (bytes.fromhex(HEADER + "340a00"), "format 4"),
        (bytes.fromhex(HEADER + "330a03080310"), "damaged"),
        (bytes.fromhex(HEADER + "320a") + b"state: ASLEEP", "damaged"),
        (bytes.fromhex(HEADER + "310a330a"), "values"),
        (bytes.fromhex(HEADER + "330a00"), "E >= WQ >= AQ"),
    ],
)
def test_damaged_metadata_is_a_value_error(damaged: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode_metadata(damaged)


@pytest.mark.parametrize(
    ("ledger", "path"),
    [
        (0, "/00/0000/L0000"),
        (7, "/00/0000/L0007"),
        (2**31 - 2, "/21/4748/L3646"),
        (2**31 - 1, "/000/0000/0021/4748/L3647"),
        (2**63 - 1, "/922/3372/0368/5477/L5807"),
    ],
)
def test_the_path_of_a_ledger_and_back(ledger: int, path: str) -> None:
    assert ledger_path(ledger) == path
    assert ledger_of_path(path) == ledger
    assert ledger_of_path("/ledgers" + path) == ledger


@pytest.mark.parametrize(
    "path",
    [
        "/ledgers",
        "/ledgers/available/b1:3181",
        "/ledgers/idgen/ID-0000000000",
        "/ledgers/00/0000",
        "/0/L0001",
    ],
)
def test_other_paths_are_no_ledgers(path: str) -> None:
    assert ledger_of_path(path) is None


def test_a_read_request_is_one_frame_without_flags() -> None:
    frame = read_request(77, ledger=7, entry=0)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, read = "0a060803100118" + "4d", "a206040807" + "1000"
    assert frame[4:].hex() == header + read


@pytest.mark.parametrize(
    ("recorded", "status", "ledger", "entry"),
    [
        ("0a0608031001184d109303a20609089303100018c0843d", 403, 0, 10**6),
        ("0a0608031001184d109203a2060808920310e7071800", 402, 999, 0),
        ("0a0608031001184d10fb03a2060908fb03100118c0843d", 507, 1, 10**6),
    ],
)
def test_answers_without_an_entry(recorded: str, status: int, ledger: int, entry: int) -> None:
    answer = parse_response(bytes.fromhex(recorded))
    assert (answer.txn, answer.operation, answer.body) == (77, 1, b"")
    assert (answer.status, answer.ledger, answer.entry) == (status, ledger, entry)


def test_an_answer_with_an_entry() -> None:
    body = (
        "00000000000000000000000000000000ffffffffffffffff00000000000000409e3d4d134650453100000065"
        "00000000000000010000000000000000000000000000000000000040de4ae47108b4fda8c892b50ee89e8dc54072ebd9"
        "26a90e7c423166a6"
    )
    answer = parse_response(bytes.fromhex("0a0608031001184d1000a2066e0800100018002264" + body + "2804"))
    assert answer.status == 0
    assert answer.body.hex() == body
    assert answer.body[36:40] == b"FPE1"  # past ledger, entry, LAC, length and CRC32C: our payload


def test_other_bytes_are_no_answer() -> None:
    with pytest.raises(ValueError, match="not a V3 response"):
        parse_response(bytes.fromhex("0202000000000000"))
