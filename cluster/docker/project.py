"""A composed cluster of one run, created and removed by Docker Compose. A container is found by its service.

Compose makes networks and containers and removes them (testcontainers' ``DockerCompose``); it starts
none, because what is started in which order, how often and with which command line is the run's matter.
So ``up --no-start`` takes the place of ``DockerCompose.start``, which cannot be asked for it.
"""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ruamel.yaml import YAML
from testcontainers.compose import DockerCompose

from cluster.docker.composing import Composition, network_owner
from cluster.docker.engine import Engine
from cluster.docker.images import compose_command
from cluster.docker.labels import RUN_LABEL, SERVICE_LABEL
from protocol.errors import ServerError

FILE = "compose.yaml"
_TIMEOUT_S = 300


class Project:
    """The containers of one run by name; each is created once, and again only when its image changes."""

    def __init__(self, engine: Engine, composition: Composition, folder: Path) -> None:
        self._engine = engine
        self._composition = composition
        self._images: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._file = folder / FILE
        self._compose = _Compose(str(folder), compose_file_name=FILE)
        self._compose.project = composition.labels[RUN_LABEL]

    def up(self) -> None:
        """Create every network and container, and start the containers that hold the servers' networks.

        ``ServerError`` with Compose's message when that fails.
        """
        self._write()
        self._make()
        owners = [self._ids[network_owner(server)] for server in self._composition.servers()]
        with ThreadPoolExecutor(len(owners)) as pool:
            list(pool.map(self._engine.start, owners))

    def down(self) -> None:
        """Remove all containers and networks."""
        try:
            self._compose.stop()
        except subprocess.CalledProcessError as error:
            raise ServerError(f"the containers were not removed: {_words(error.stderr)}") from error

    def container(self, name: str, image: str) -> str:
        """The id of a server's container, which is created again when it has another image."""
        if image and image != self._images.get(name, self._composition.image(name)):
            self._images[name] = image
            self._write()
            self._make(name)
        return self._ids[name]

    def place(self, name: str) -> tuple[str, str]:
        """The container that is in the network of a server or client, and the network's name."""
        service = network_owner(name) if name in self._composition.servers() else name
        return self._ids[service], f"{self._compose.project}_{name}"

    def address(self, name: str) -> str:
        """The address of a server or client in its network."""
        return self._composition.addresses.own(self._composition.numbers()[name])

    def _make(self, *names: str) -> None:
        words = [*self._compose.docker_compose_command(), "up", "--no-start", *names]
        try:
            subprocess.run(
                words, cwd=self._compose.context, check=True, capture_output=True, timeout=_TIMEOUT_S
            )
        except subprocess.CalledProcessError as error:
            raise ServerError(f"the containers could not be made: {_words(error.stderr)}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServerError(f"the containers could not be made: {error}") from error
        found = self._engine.containers(f"{RUN_LABEL}={self._compose.project}")
        self._ids = {one["Labels"][SERVICE_LABEL]: one["Id"] for one in found}

    def _write(self) -> None:
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        with self._file.open("w", encoding="utf-8") as file:
            yaml.dump(self._composition.document(self._images), file)


class _Compose(DockerCompose):
    """Compose with a project's name, as plugin (2.x) or as the program that Debian has (1.29)."""

    project: str = ""

    @property
    def compose_command_property(self) -> list[str]:
        return [*compose_command(), "-p", self.project, "-f", FILE]


def _words(output: bytes | str | None) -> str:
    text = output.decode(errors="replace") if isinstance(output, bytes) else str(output or "")
    return text.strip()[-800:]
