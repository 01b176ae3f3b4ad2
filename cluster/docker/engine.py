"""A Docker engine through its SDK, its errors translated: containers started, signalled, watched, removed.

The SDK is imported in this folder only. Knows containers by id, not what runs in them.
The keeper starts ``python -m cluster.docker.engine LABEL`` when the harness is gone, to remove all that has
the label.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException
from docker.types import CancellableStream

from cluster.docker.images import socket_path
from protocol.errors import FencepostError, IncapableError, ServerError

Item = dict[str, Any]
"""A container or a network as the engine describes it."""
LOCAL_ENGINE = "use an engine that runs on this machine itself, or the local backend"
_TIMEOUT_S = 60
_CONNECTIONS = 64


class Engine:
    """One engine on this machine; thread-safe. Every error is a ``ServerError``."""

    def __init__(self) -> None:
        try:
            socket_path()
        except OSError as error:
            seen = f"the engine is not on this machine: {error}"
            raise IncapableError(seen, remedy=LOCAL_ENGINE) from error
        try:
            self._client = docker.from_env(timeout=_TIMEOUT_S, max_pool_size=_CONNECTIONS)
            self._api = self._client.api
        except (DockerException, requests.RequestException) as error:
            raise IncapableError(
                f"no Docker engine answers: {error}", remedy="start Docker, or set DOCKER_HOST"
            ) from error

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def missing(self, images: list[str]) -> list[str]:
        """Which of the images it does not have."""
        with _translated("list images"):
            there = {tag for image in self._api.images() for tag in image.get("RepoTags") or ()}
        return [image for image in images if image not in there]

    def output_of(self, image: str, script: str, *, user: str, labels: Mapping[str, str], folder: str) -> str:
        """What a shell script says in a short-lived container without a network that sees ``folder``."""
        with _translated(f"run {image}"):
            output: bytes = self._client.containers.run(
                image,
                ["-c", script],
                entrypoint="/bin/sh",
                user=user,
                labels=dict(labels),
                volumes=[f"{folder}:{folder}"],
                network_mode="none",
                remove=True,
            )
        return output.decode(errors="replace")

    def containers(self, label: str) -> list[Item]:
        """Every container with a label (``key`` or ``key=value``), running or not."""
        with _translated("list containers"):
            found: list[Item] = self._api.containers(all=True, filters={"label": [label]})
        return found

    def networks(self, label: str) -> list[Item]:
        """Every network with a label."""
        with _translated("list networks"):
            found: list[Item] = self._api.networks(filters={"label": [label]})
        return found

    def sweep(self, label: str) -> None:
        """Remove every container and then every network with a label; what is gone already is no error."""
        with ThreadPoolExecutor(8) as pool:
            remove_container = partial(_remove, self._api.remove_container, force=True, v=True)
            list(pool.map(remove_container, self.containers(label)))
            list(pool.map(partial(_remove, self._api.remove_network), self.networks(label)))

    def start(self, container: str) -> int:
        """Start it; the process id of its program on this machine, 0 when it has ended already."""
        with _translated("start a container"):
            self._api.start(container)
        return int(self._inspected(container)["State"]["Pid"])

    def kill(self, container: str, signal: int) -> None:
        """Send its program a signal."""
        with _translated("signal a container"):
            self._api.kill(container, signal)

    def exit_code(self, container: str) -> int | None:
        """The exit code of its program; None while it runs."""
        state = self._inspected(container)["State"]
        return None if state["Running"] else int(state["ExitCode"])

    def disconnect(self, container: str, network: str) -> None:
        """Take a container off a network."""
        with _translated("disconnect a container"):
            self._api.disconnect_container_from_network(container, network)

    def connect(self, container: str, network: str, address: str) -> None:
        """Put a container on a network with an address."""
        with _translated("connect a container"):
            self._api.connect_container_to_network(container, network, ipv4_address=address)

    def networks_of(self, container: str) -> frozenset[str]:
        """The names of the networks that a container is on."""
        return frozenset(self._inspected(container)["NetworkSettings"]["Networks"])

    def network_stack(self, container: str) -> str:
        """The file by which the machine knows a container's network stack; empty while it is down."""
        return str(self._inspected(container)["NetworkSettings"]["SandboxKey"])

    def deaths(self, label: str) -> Deaths:
        """A stream of the deaths of containers with a label, from now on."""
        with _translated("watch containers"):
            filters = {"type": ["container"], "event": ["die"], "label": [label]}
            return Deaths(self._api.events(filters=filters, decode=True))

    def _inspected(self, container: str) -> Any:
        with _translated("inspect a container"):
            return self._api.inspect_container(container)


def _remove(remove: Callable[..., None], one: Item, **options: bool) -> None:
    with _translated("remove what a run left"):
        try:
            remove(one["Id"], **options)
        except APIError as error:
            if error.status_code != 404 and "is already in progress" not in str(error):
                raise


class Deaths:
    """Containers that end, as (id, exit code); the iteration ends when it is closed or the engine is gone."""

    def __init__(self, stream: CancellableStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[tuple[str, int]]:
        try:
            for event in self._stream:
                actor = event["Actor"]
                yield actor["ID"], int(actor["Attributes"]["exitCode"])
        except (DockerException, requests.RequestException, OSError, ValueError):
            return

    def close(self) -> None:
        """End the iteration."""
        self._stream.close()


@contextmanager
def _translated(what: str) -> Iterator[None]:
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise ServerError(f"the Docker engine did not {what}: {error}") from error


if __name__ == "__main__":
    try:
        with closing(Engine()) as own:
            own.sweep(sys.argv[1])
    except FencepostError as failed:
        sys.exit(str(failed))
