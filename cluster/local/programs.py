"""The programs of this machine: its Java, the jars in the cache, and what was built here."""

from __future__ import annotations

import os
import socket
from functools import cache

from cluster import artifacts
from cluster.local.archives import Archives
from cluster.servers.runner import CLIENT, Java
from protocol.java import java


class LocalPrograms:
    """As :class:`cluster.servers.programs.Programs`."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives

    @property
    def machine(self) -> str:
        """The name that this machine has."""
        return socket.gethostname()

    def java(self, version: str, role: str) -> Java:
        """Java, the jars of a release, and for clients the client's jar."""
        jars = [_checked(version).class_path, *([str(artifacts.client_jar())] if role == CLIENT else [])]
        return Java(str(java()), os.pathsep.join(jars), tuple(self._archives.options(version, role)))

    def proxy(self) -> str:
        """The proxy that set-up built."""
        return str(artifacts.proxy_binary())


@cache
def _checked(version: str) -> artifacts.ServerArtifacts:
    """The jars of a release, checked once per process of the harness."""
    return artifacts.class_path(version)
