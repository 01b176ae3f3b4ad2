"""The programs in the images: where Java, the jars and the proxy lie in a container.

The same places as in Apache's own image where that has them, so only the release decides which image
runs.
"""

from __future__ import annotations

from cluster.docker.images import bookkeeper_image, client_image, proxy_image
from cluster.servers.runner import CLIENT, Java
from protocol.addresses import PROXY

MACHINE = "fencepost"
"""The host name of every container: none of the run's own names, which are in the hosts files."""

_JARS = "/opt/bookkeeper/lib/*"
_CLIENT_JAR = "/opt/fencepost/fencepost-client.jar"


class ImagePrograms:
    """As :class:`cluster.servers.programs.Programs`; ``home`` of a program is its image's name."""

    @property
    def machine(self) -> str:
        """The name that every container has."""
        return MACHINE

    def java(self, version: str, role: str) -> Java:
        """The image's Java and jars; the image holds its own class-data archive."""
        if role == CLIENT:
            return Java("/opt/java/bin/java", f"{_JARS}:{_CLIENT_JAR}", home=client_image(version).name)
        return Java("/opt/java/bin/java", _JARS, home=bookkeeper_image(version).name)

    def proxy(self) -> str:
        """Where the image of the proxy has its program."""
        return "/usr/local/bin/fencepost-proxy"


def image_of(name: str, version: str, clients: frozenset[str]) -> str:
    """The image in which a server or client of a release runs."""
    if name == PROXY:
        return proxy_image().name
    return (client_image(version) if name in clients else bookkeeper_image(version)).name


def images_of(versions: list[str]) -> list[str]:
    """Every image that a run with these releases needs."""
    servers = [make(version).name for version in versions for make in (bookkeeper_image, client_image)]
    return [proxy_image().name, *servers]
