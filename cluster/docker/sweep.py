"""Plain words with a Docker engine over its socket, and the removal of everything that carries a label.

Started by the keeper as ``python -I -S sweep.py SOCKET LABEL`` when the harness is gone, and so may use
nothing but the standard library. Also what ``fencepost clean`` and ``doctor`` ask an engine with, for
which the SDK would take long to import.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict

DEFAULT_SOCKET = "/var/run/docker.sock"
_UNIX = "unix://"
_TIMEOUT_S = 60.0


class Item(TypedDict, total=False):
    """A container (``Names``, each after a slash) or a network (``Name``)."""

    Id: str
    Names: list[str]
    Name: str
    Labels: dict[str, str]


class EngineSocket:
    """Requests to the engine that listens at a path; each uses a new connection.

    Raises ``OSError`` when the engine does not answer, or answers with an error.
    """

    def __init__(self, path: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def ask(self, verb: str, path: str, **query: object) -> Any:
        """The answer's document, None for an empty one; values of ``query`` that are no text go as JSON."""
        words = {key: value if isinstance(value, str) else json.dumps(value) for key, value in query.items()}
        connection = _Connection(self._path, self._timeout_s)
        try:
            connection.request(verb, f"{path}?{urllib.parse.urlencode(words)}", headers={"Host": "docker"})
            answer = connection.getresponse()
            body = answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"the engine at {self._path} does not speak HTTP: {error!r}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise OSError(f"{verb} {path}: {answer.status} {body.decode(errors='replace').strip()}")
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return json.loads(body) if body and is_json else None

    def containers(self, label: str) -> list[Item]:
        """Every container with a label (``key`` or ``key=value``), running or not."""
        found: list[Item] = self.ask("GET", "/containers/json", all="1", filters={"label": [label]})
        return found

    def networks(self, label: str) -> list[Item]:
        """Every network with a label."""
        found: list[Item] = self.ask("GET", "/networks", filters={"label": [label]})
        return found


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("docker", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def socket_path() -> str:
    """The path of the engine's socket; ``OSError`` when ``DOCKER_HOST`` names none on this machine."""
    host = os.environ.get("DOCKER_HOST") or _UNIX + DEFAULT_SOCKET
    if not host.startswith(_UNIX):
        raise OSError(f"DOCKER_HOST={host} is no socket of this machine")
    return host.removeprefix(_UNIX)


def sweep(engine: EngineSocket, label: str) -> list[str]:
    """Remove every container and then every network with a label; the names of what was removed.

    Something that disappeared meanwhile is no error; ``OSError`` names the first that could not be removed.
    """
    with ThreadPoolExecutor(8) as pool:
        found = engine.containers(label)
        names = [one["Names"][0].removeprefix("/") if one["Names"] else one["Id"][:12] for one in found]
        list(pool.map(lambda one: _remove(engine, f"/containers/{one['Id']}", force="1", v="1"), found))
        nets = engine.networks(label)
        list(pool.map(lambda one: _remove(engine, f"/networks/{one['Id']}"), nets))
    return [*names, *(one["Name"] for one in nets)]


def _remove(engine: EngineSocket, path: str, **query: str) -> None:
    try:
        engine.ask("DELETE", path, **query)
    except OSError as error:
        if ": 404 " not in str(error) and "is already in progress" not in str(error):
            raise


def main(argv: list[str]) -> int:
    """Entry point; ``argv`` is [program, socket, label]."""
    try:
        sweep(EngineSocket(argv[1]), argv[2])
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
