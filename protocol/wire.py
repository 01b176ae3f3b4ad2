"""BookKeeper's bytes: ledger metadata as ZooKeeper holds it, and protocol V3 requests and answers.

Pure: bytes in, objects out; no sockets, ZooKeeper client or files. The fields that this project reads or
sends are described here (numbers and types from DataFormats.proto and BookkeeperProtocol.proto of
BookKeeper 4.14 to 4.18); others are passed over.
"""

# mypy: disable-error-code="import-untyped"
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError

from protocol.addresses import name_of_id
from protocol.metadata import LedgerMetadata, LedgerState
from protocol.quorums import Fragment, Quorums

EOK = 0
NO_LEDGER = 402
NO_ENTRY = 403
UNKNOWN_STATE = 507
READ_ENTRY = 1
FRAME_HEADER_BYTES = 4
MAX_FRAME_BYTES = 5 << 20
_VERSION_THREE = 3
_HEADER = re.compile(rb"BookieMetadataFormatVersion\t(\d{1,10})\n")
_V1_IN_RECOVERY = -102
_LEDGER_PATH = re.compile(r"/(\d{2,3})((?:/\d{4})+)/L(\d{4})")

_F = descriptor_pb2.FieldDescriptorProto
_OPTIONAL, _REPEATED = _F.LABEL_OPTIONAL, _F.LABEL_REPEATED
_STATE = "State"
_MESSAGES: dict[str, dict[str, tuple[int, Any]]] = {
    "Segment": {"ensembleMember": (1, [_F.TYPE_STRING]), "firstEntryId": (2, _F.TYPE_INT64)},
    "LedgerMetadataFormat": {
        "quorumSize": (1, _F.TYPE_INT32),
        "ensembleSize": (2, _F.TYPE_INT32),
        "length": (3, _F.TYPE_INT64),
        "lastEntryId": (4, _F.TYPE_INT64),
        "state": (5, _STATE),
        "segment": (6, ["Segment"]),
        "ackQuorumSize": (9, _F.TYPE_INT32),
    },
    "Header": {
        "version": (1, _F.TYPE_INT32),
        "operation": (2, _F.TYPE_INT32),
        "txnId": (3, _F.TYPE_UINT64),
    },
    "ReadRequest": {"ledgerId": (1, _F.TYPE_INT64), "entryId": (2, _F.TYPE_INT64)},
    "Request": {"header": (1, "Header"), "readRequest": (100, "ReadRequest")},
    "ReadResponse": {
        "status": (1, _F.TYPE_INT32),
        "ledgerId": (2, _F.TYPE_INT64),
        "entryId": (3, _F.TYPE_INT64),
        "body": (4, _F.TYPE_BYTES),
    },
    "Response": {
        "header": (1, "Header"),
        "status": (2, _F.TYPE_INT32),
        "readResponse": (100, "ReadResponse"),
    },
}


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to a V3 request; ``status`` is the read's own when it carries one."""

    txn: int
    operation: int
    status: int
    ledger: int
    entry: int
    body: bytes


def decode_metadata(data: bytes) -> LedgerMetadata:
    """One version of a ledger's metadata from its znode's bytes, formats 1 to 3.

    Bookies come as names (``b1`` for ``b1:3181``). ``ValueError`` for anything else.
    """
    header = _HEADER.match(data)
    if header is None:
        raise ValueError(f"ledger metadata begins with {data[:40]!r}")
    version, rest = int(header[1]), data[header.end() :]
    if version == 1:
        return _decode_lines(rest.decode())
    message = _message("LedgerMetadataFormat")
    try:
        if version == _VERSION_THREE:
            message.ParseFromString(_delimited(rest))
        elif version == 2:
            text_format.Parse(rest.decode(), message, allow_unknown_field=True)
        else:
            raise ValueError(f"ledger metadata has format {version}, known are 1, 2 and 3")
    except (DecodeError, text_format.ParseError) as error:
        raise ValueError(f"ledger metadata of format {version} is damaged: {error}") from error
    return _metadata(message)


def encode_metadata(**fields: object) -> bytes:
    """A znode's bytes in format 3, of these fields of ``LedgerMetadataFormat``."""
    content: bytes = _classes()["LedgerMetadataFormat"](**fields).SerializeToString()
    return b"BookieMetadataFormatVersion\t3\n" + _varint(len(content)) + content


def ledger_path(ledger: int) -> str:
    """The path of a ledger's metadata below the ledgers' root, ``/00/0000/L0007`` for 7."""
    if ledger < 0:
        raise ValueError(f"ledger id {ledger} is negative")
    digits = f"{ledger:010d}" if ledger < 2**31 - 1 else f"{ledger:019d}"
    first = len(digits) % 4
    parts = [digits[:first], *(digits[i : i + 4] for i in range(first, len(digits), 4))]
    return "/" + "/".join(parts[:-1]) + f"/L{parts[-1]}"


def ledger_of_path(path: str) -> int | None:
    """The inverse of :func:`ledger_path` for any path that ends so, None for other paths."""
    match = re.search(rf"{_LEDGER_PATH.pattern}$", path)
    if match is None:
        return None
    digits = "".join(match.groups()).replace("/", "")
    return int(digits) if len(digits) in (10, 19) else None


def read_request(txn: int, ledger: int, entry: int) -> bytes:
    """A plain V3 read of one entry as a frame, its 4-byte length in front."""
    message = _message("Request")
    message.header.version = _VERSION_THREE
    message.header.operation = READ_ENTRY
    message.header.txnId = txn
    message.readRequest.ledgerId = ledger
    message.readRequest.entryId = entry
    payload: bytes = message.SerializeToString()
    return len(payload).to_bytes(FRAME_HEADER_BYTES, "big") + payload


def parse_response(payload: bytes) -> Response:
    """A V3 answer from its frame's payload (without the length); ``ValueError`` if it is none."""
    message = _message("Response")
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise ValueError(f"not a V3 response: {payload[:40]!r}") from error
    read = message.readResponse
    status = read.status if message.HasField("readResponse") else message.status
    header = message.header
    return Response(header.txnId, header.operation, status, read.ledgerId, read.entryId, read.body)


def _metadata(message: Any) -> LedgerMetadata:
    write = message.quorumSize
    state = LedgerState(message.state)
    return LedgerMetadata(
        state=state,
        quorums=Quorums(message.ensembleSize, write, message.ackQuorumSize or write),
        last_entry=message.lastEntryId if state is LedgerState.CLOSED else None,
        length_bytes=message.length,
        fragments=tuple(
            Fragment(segment.firstEntryId, tuple(map(name_of_id, segment.ensembleMember)))
            for segment in message.segment
        ),
    )


def _decode_lines(text: str) -> LedgerMetadata:
    """Format 1: quorum, ensemble, length, one line a fragment, perhaps a last line for the state."""
    write, ensemble, length, *lines = text.splitlines()
    state, last_entry = LedgerState.OPEN, None
    fragments = []
    for line in lines:
        number, *fields = line.split("\t")
        if fields != ["CLOSED"]:
            fragments.append(Fragment(int(number), tuple(map(name_of_id, fields))))
        elif int(number) == _V1_IN_RECOVERY:
            state = LedgerState.IN_RECOVERY
        else:
            state, last_entry = LedgerState.CLOSED, int(number)
    quorums = Quorums(int(ensemble), int(write), int(write))
    return LedgerMetadata(state, quorums, last_entry, int(length), tuple(fragments))


def _delimited(data: bytes) -> bytes:
    """The message after its varint length, which must be all there is."""
    size = shift = 0
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            message = data[index + 1 :]
            if len(message) != size:
                raise ValueError(f"ledger metadata has {len(message)} bytes, its length says {size}")
            return message
    raise ValueError(f"ledger metadata has no length: {data[:5]!r}")


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _message(name: str) -> Any:
    return _classes()[name]()


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="fencepost.proto", package="fencepost", syntax="proto2")
    states = file.enum_type.add(name=_STATE)
    for state in LedgerState:
        states.value.add(name=state.name, number=state)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add_field(message, field, number, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"fencepost.{name}"))
        for name in _MESSAGES
    }


def _add_field(message: Any, name: str, number: int, kind: Any) -> None:
    """``kind`` is a type code or a type's name, in a list when the field repeats."""
    label, kind = (_REPEATED, kind[0]) if isinstance(kind, list) else (_OPTIONAL, kind)
    field = message.field.add(name=name, number=number, label=label)
    if isinstance(kind, str):
        field.type = _F.TYPE_ENUM if kind == _STATE else _F.TYPE_MESSAGE
        field.type_name = f".fencepost.{kind}"
    else:
        field.type = kind
