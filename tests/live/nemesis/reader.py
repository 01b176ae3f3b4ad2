"""A client and a bookie that speak BookKeeper's protocol V3 as far as plain reads go."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from protocol.wire import FRAME_HEADER_BYTES, READ_ENTRY, parse_response, read_request

LEDGER = 7
PATIENCE_S = 20.0
QUIET_S = 1.0
_READ_RESPONSE = 100


def frames(connection: socket.socket) -> Iterator[bytes]:
    """Payloads until the connection ends."""
    buffer = b""
    while data := connection.recv(65536):
        buffer += data
        while len(buffer) >= FRAME_HEADER_BYTES:
            size = FRAME_HEADER_BYTES + int.from_bytes(buffer[:FRAME_HEADER_BYTES], "big")
            if len(buffer) < size:
                break
            yield buffer[FRAME_HEADER_BYTES:size]
            buffer = buffer[size:]


def varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def read_answer(txn: int, entry: int) -> bytes:
    header = number(1, 3) + number(2, READ_ENTRY) + number(3, txn)
    body = number(1, 0) + number(2, LEDGER) + number(3, entry)
    payload = message(1, header) + number(2, 0) + message(_READ_RESPONSE, body)
    return len(payload).to_bytes(FRAME_HEADER_BYTES, "big") + payload


def hang_up(
    listener: socket.socket, connections: list[socket.socket], threads: list[threading.Thread]
) -> None:
    """End what stands where a server would: its listener, its connections, and who reads them."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    for thread in threads:
        thread.join(PATIENCE_S)


class Bookie:
    """Answers each read with EOK; ``arrived`` are the entries asked for, in their order.

    A request's transaction is its entry, so that no request has to be taken apart.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.arrived: list[int] = []
        self._listener = socket.create_server(address)
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, name="bookie", daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), name="bookie", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for payload in frames(connection):
                # A request and an answer have the same header, which is all that is needed here.
                entry = parse_response(payload).txn
                self.arrived.append(entry)
                connection.sendall(read_answer(entry, entry))

    def close(self) -> None:
        hang_up(self._listener, self._connections, self._threads)


class Reader:
    """Reads entries over one connection; the transaction of a read is its entry.

    It waits ``PATIENCE_S`` for an expected answer, and ``QUIET_S`` for an answer that must not come.
    """

    def __init__(self, connection: socket.socket, bookie: Bookie) -> None:
        self._connection = connection
        self._bookie = bookie
        self._answers: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._listen, name="reader", daemon=True)
        self._thread.start()

    @property
    def arrived(self) -> list[int]:
        return list(self._bookie.arrived)

    def send(self, entry: int) -> None:
        self._connection.sendall(read_request(entry, LEDGER, entry))

    def read(self, entry: int) -> bool:
        return self.status(entry) is not None

    def unanswered(self, entry: int) -> bool:
        self.send(entry)
        return self.no_answer(entry)

    def status(self, entry: int) -> int | None:
        """The status of the answer to a read, None when none comes."""
        self.send(entry)
        return self._take(entry, PATIENCE_S)

    def has_answer(self, entry: int) -> bool:
        """Whether an answer comes that was not taken yet."""
        return self._take(entry, PATIENCE_S) is not None

    def no_answer(self, entry: int) -> bool:
        """Whether no answer comes that was not taken yet."""
        return self._take(entry, QUIET_S) is None

    def timed_s(self, entry: int) -> float:
        """How long a read takes."""
        began = time.monotonic()
        assert self.read(entry)
        return time.monotonic() - began

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._thread.join(PATIENCE_S)

    def _take(self, entry: int, within_s: float) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: any(txn == entry for txn, _ in self._answers), within_s)
            for answer in self._answers:
                if answer[0] == entry:
                    self._answers.remove(answer)
                    return answer[1]
        return None

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            for payload in frames(self._connection):
                answer = parse_response(payload)
                with self._changed:
                    self._answers.append((answer.txn, answer.status))
                    self._changed.notify_all()
