"""The process that carries all links of a run; ``cluster.links`` sends its requests."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from cluster.answers import listening
from cluster.servers.ladder import Rung
from cluster.servers.process import OwnedProcess
from cluster.servers.runner import Launch
from cluster.servers.site import Site
from protocol.addresses import PROXY

_ASK_TIMEOUT_S = 1.0


class ProxyProcess(OwnedProcess):
    """The proxy; ready when its REST API tells its version."""

    def __init__(self, site: Site) -> None:
        super().__init__(PROXY, site.folder(PROXY), site.runner, site.events)
        self._programs = site.programs
        self.address = site.addresses.proxy

    def _launch(self, boot: int) -> Launch:  # noqa: ARG002 - every boot is alike
        host, port = self.address
        argv = [self._programs.proxy(), "-host", host, "-port", str(port)]
        return Launch(argv, {"PATH": os.environ.get("PATH", os.defpath)})

    def _rungs(self) -> Sequence[Rung]:
        return (Rung("listening", lambda: listening(self.address)), Rung("answering", self._answers))

    def _answers(self) -> bool:
        host, port = self.address
        request = f"GET /version HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n"
        try:
            with socket.create_connection(self.address, timeout=_ASK_TIMEOUT_S) as connection:
                connection.sendall(request.encode())
                return b" 200 " in connection.recv(4096).partition(b"\r\n")[0] + b" "
        except OSError:
            return False
