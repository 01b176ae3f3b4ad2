"""Single requests to a server at its own address, past every link.

A plain V3 read without flags changes nothing at the bookie (it does not fence). Its status shows
whether the bookie serves, and what it knows about a ledger.
"""

from __future__ import annotations

import socket
import time

from protocol.wire import FRAME_HEADER_BYTES, MAX_FRAME_BYTES, parse_response, read_request

_TXN = 1
_CONNECT_TIMEOUT_S = 1.0


def listening(address: tuple[str, int]) -> bool:
    """Whether a connection to the address is accepted now."""
    try:
        socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def reply(address: tuple[str, int], request: bytes) -> bytes:
    """All that comes back for a request until the server closes the connection; empty when it is away."""
    parts = b""
    try:
        with socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S) as connection:
            connection.sendall(request)
            while part := connection.recv(4096):
                parts += part
    except OSError:
        return b""
    return parts


def answer(address: tuple[str, int], ledger: int, entry: int, *, timeout_s: float) -> int | None:
    """The status code of a plain read (0, 402, 403, 507, ...), None when no answer came in time."""
    deadline = time.monotonic() + timeout_s
    try:
        with socket.create_connection(address, timeout=timeout_s) as connection:
            connection.sendall(read_request(_TXN, ledger, entry))
            size = int.from_bytes(_receive(connection, FRAME_HEADER_BYTES, deadline), "big")
            if size > MAX_FRAME_BYTES:
                return None
            return parse_response(_receive(connection, size, deadline)).status
    except (OSError, ValueError):
        return None


def _receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        part = connection.recv(size - len(parts))
        if not part:
            raise ConnectionResetError
        parts += part
    return bytes(parts)
