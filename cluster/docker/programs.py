"""The programs in the images (where Java, the jars and the proxy lie in a container), and Docker Compose.

The same places as in Apache's own image where that has them, so only the release decides which image
runs.
"""

from __future__ import annotations

import subprocess
from functools import cache

from cluster.docker.images import bookkeeper_image, client_image, proxy_image
from cluster.servers.runner import CLIENT, Java, Programs
from protocol.addresses import PROXY
from protocol.errors import PrerequisiteError

MACHINE = "fencepost"
"""The host name of every container: none of the run's own names, which are in the hosts files."""

_COMPOSE_TIMEOUT_S = 30
_JARS = "/opt/bookkeeper/lib/*"
_CLIENT_JAR = "/opt/fencepost/fencepost-client.jar"


def _java(version: str, role: str) -> Java:
    """An image's Java and jars; the image holds its own class-data archive."""
    if role == CLIENT:
        return Java("/opt/java/bin/java", f"{_JARS}:{_CLIENT_JAR}", home=client_image(version).name)
    return Java("/opt/java/bin/java", _JARS, home=bookkeeper_image(version).name)


PROGRAMS = Programs(MACHINE, _java, lambda: "/usr/local/bin/fencepost-proxy")
"""The programs of containers; ``home`` of a program is its image's name."""


def image_of(name: str, version: str, clients: frozenset[str]) -> str:
    """The image in which a server or client of a release runs."""
    if name == PROXY:
        return proxy_image().name
    return (client_image(version) if name in clients else bookkeeper_image(version)).name


def images_of(versions: list[str]) -> list[str]:
    """Every image that a run with these releases needs."""
    servers = [make(version).name for version in versions for make in (bookkeeper_image, client_image)]
    return [proxy_image().name, *servers]


@cache
def compose_command() -> tuple[str, ...]:
    """The command that starts Compose here, as the plugin (2.x) or as the program that Debian has (1.29).

    ``PrerequisiteError`` when Compose is missing.
    """
    for words in (("docker", "compose"), ("docker-compose",)):
        try:
            subprocess.run([*words, "version"], check=True, capture_output=True, timeout=_COMPOSE_TIMEOUT_S)
        except (OSError, subprocess.SubprocessError):
            continue
        return words
    raise PrerequisiteError(
        "Docker Compose is missing: neither `docker compose` nor `docker-compose` can be started",
        remedy="scripts/images --compose brings it",
    )
