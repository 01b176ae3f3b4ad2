"""The process that carries all links of a run; ``cluster.links`` sends its requests."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cluster.processes.process import Process, Rung
from cluster.processes.runner import Launch
from cluster.processes.site import Site
from cluster.servers.answers import listening, reply
from protocol.addresses import PROXY


class ProxyProcess(Process):
    """The proxy; ready when its REST API reports its version."""

    def __init__(self, site: Site) -> None:
        super().__init__(PROXY, site)
        self.address = site.addresses.proxy

    def _launch(self, boot: int) -> Launch:  # noqa: ARG002 - every boot is alike
        host, port = self.address
        argv = [self._site.programs.proxy(), "-host", host, "-port", str(port)]
        return Launch(argv, {"PATH": os.environ.get("PATH", os.defpath)})

    def _rungs(self) -> Sequence[Rung]:
        return (("listening", lambda: listening(self.address)), ("answering", self._answers))

    def _answers(self) -> bool:
        host, port = self.address
        request = f"GET /version HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n"
        return b" 200 " in reply(self.address, request.encode()).partition(b"\r\n")[0] + b" "
