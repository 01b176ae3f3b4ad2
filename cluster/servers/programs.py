"""What is executed: Java with the jars of a release, and the proxy; the backend knows where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

BOOKIE, ZOOKEEPER, CLIENT = "bookie", "zookeeper", "client"
SERVERS = frozenset({BOOKIE, ZOOKEEPER})


@dataclass(frozen=True, slots=True)
class Java:
    """A JVM with the jars of a release; ``options`` are those about its class-data archive.

    ``home`` is in what it lies, where a backend has more than one such thing: an image's name.
    """

    command: str
    class_path: str
    options: tuple[str, ...] = ()
    home: str = ""


class Programs(Protocol):
    """The programs of one backend, by paths as the processes see them."""

    @property
    def machine(self) -> str:
        """The host name of the machine on which a process believes to be."""
        ...

    def java(self, version: str, role: str) -> Java:
        """What runs a program of ``role`` (bookie, zookeeper, client) of a release."""
        ...

    def proxy(self) -> str:
        """The path of the proxy's program."""
        ...
