"""The composed cluster of one run, as the document that Docker Compose reads.

One service for each server and client, one network for each of them, and the proxy in all networks.
A server's network stack belongs to a separate container, which only sleeps. So the stack outlives the
server, and the kernel refuses a connection to a dead server at once, as on one machine. Without that
container the address would not answer, and a caller would wait for seconds.

This document shares only the images with the composed cluster at the root of the repository: here each
boot has its own command line and settings, written by the same code as for plain processes. So a
container's command is a script (``launch`` in the server's own folder) that is rewritten before each
start. Containers see what they need of the run's folder, at the same paths: only the server itself may see
a disk that is mounted below its folder, or the disk could never be unmounted. Starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.configuration import RACK_SCRIPT
from cluster.docker.images import MACHINE, image_of
from cluster.processes.settings import RunSpec
from protocol.addresses import ADMIN, PROXY, ZOOKEEPER, BridgedPlan, server_number

LAUNCH = "launch"
"""The script in a server's own folder that its container runs."""

_SLEEP = ["sleep", "infinity"]
_PROXY_POWERS = ("NET_ADMIN", "SETUID", "SETGID")


def network_owner(server: str) -> str:
    """The service that has the network stack of a bookie or ZooKeeper."""
    return f"{server}-net"


@dataclass(frozen=True, slots=True)
class Composition:
    """What a composed cluster is made of besides its specification.

    ``labels`` are on all that is made; ``user`` is ``uid:gid`` as which everything runs.
    """

    spec: RunSpec
    addresses: BridgedPlan
    labels: Mapping[str, str]
    user: str

    def numbers(self) -> dict[str, int]:
        """Processes with a network, and the network's number."""
        return {ZOOKEEPER: server_number(ZOOKEEPER), **self.spec.sources}

    def servers(self) -> list[str]:
        """Processes that are destinations of links."""
        return [ZOOKEEPER, *self.spec.bookie_names]

    def document(self, images: Mapping[str, str]) -> dict[str, object]:
        """The whole document; ``images`` replace those of the specification by name of the server."""
        numbers = self.numbers()
        services = {name: self._process(name, images.get(name, self.image(name))) for name in numbers}
        owners = {network_owner(name): self._network_owner(name) for name in self.servers()}
        networks = {name: self._network(number) for name, number in numbers.items()}
        whole = {"services": {PROXY: self._proxy(), **owners, **services}, "networks": networks}
        return {key: _escaped(value) for key, value in whole.items()}

    def image(self, name: str) -> str:
        """The image of a server at its first boot."""
        spec = self.spec
        return image_of(name, spec.version_of(name), frozenset(spec.client_numbers))

    def proxy_addresses(self) -> list[str]:
        """Every address that is a link's, which the proxy has to have."""
        return [
            self.addresses.link(number, server)[0]
            for source, number in self.spec.sources.items()
            for server in self.servers()
            if server != source
        ]

    def _process(self, name: str, image: str) -> dict[str, object]:
        if name in self.servers():
            network: dict[str, object] = {"network_mode": f"service:{network_owner(name)}"}
        else:
            network = self._place(name)
        return {**self._service(name, image, self._folders(name)), **self._powerless(), **network}

    def _network_owner(self, server: str) -> dict[str, object]:
        return {
            **self._container(self.image(PROXY)),
            **self._powerless(),
            **self._place(server),
            "entrypoint": _SLEEP,
            "stop_signal": "SIGKILL",  # the first process of a container heeds no other unless it says so
        }

    def _place(self, name: str) -> dict[str, object]:
        address = self.addresses.own(self.numbers()[name])
        return {"hostname": MACHINE, "networks": {name: {"ipv4_address": address}}}

    def _powerless(self) -> dict[str, object]:
        return {"user": self.user, "cap_drop": ["ALL"]}

    def _proxy(self) -> dict[str, object]:
        folders = [self._own(PROXY), self.spec.folder.frames]
        networks = {
            name: {"ipv4_address": self.addresses.proxy_in(number)} for name, number in self.numbers().items()
        }
        return {
            **self._service(PROXY, self.image(PROXY), folders),
            "hostname": MACHINE,
            # Root until it has its addresses; then it becomes the same user as everything else.
            "user": "0:0",
            "cap_drop": ["ALL"],
            "cap_add": list(_PROXY_POWERS),
            # It connects for one client of a link after the other, and an order on the link waits for that:
            # three seconds for a server that is off its network, which would be two minutes.
            "sysctls": {"net.ipv4.ip_forward": "0", "net.ipv4.tcp_syn_retries": "1"},
            "networks": networks,
        }

    def _service(self, name: str, image: str, folders: Iterable[Path]) -> dict[str, object]:
        own = self._own(name)
        volumes = [_bound(folder) for folder in folders]
        if (script := self.spec.folder.path / RACK_SCRIPT).exists():
            volumes.append({**_bound(script), "read_only": True})
        return {
            **self._container(image),
            "working_dir": str(own),
            "entrypoint": ["/bin/sh", f"{own}/{LAUNCH}"],
            "volumes": volumes,
        }

    def _container(self, image: str) -> dict[str, object]:
        return {
            "image": image,
            "pull_policy": "never",
            "command": [],
            "restart": "no",
            "healthcheck": {"disable": True},
            "labels": dict(self.labels),
        }

    def _folders(self, name: str) -> Iterator[Path]:
        spec = self.spec
        yield self._own(name)
        if name in spec.client_numbers:
            yield spec.folder.operations
        if name == ADMIN:  # its commands read the files of a bookie that is down
            yield from map(self._own, spec.bookie_names)

    def _own(self, name: str) -> Path:
        return self.spec.folder.server(name).absolute()

    def _network(self, number: int) -> dict[str, object]:
        pool = {"subnet": self.addresses.network(number), "gateway": self.addresses.gateway(number)}
        # Internal: there is no way out but to those who are in it, which are its owner and the proxy.
        return {
            "driver": "bridge",
            "internal": True,
            "ipam": {"config": [pool]},
            "labels": dict(self.labels),
        }


def _bound(path: Path) -> dict[str, object]:
    place = str(path.absolute())
    return {"type": "bind", "source": place, "target": place}


def _escaped(value: object) -> object:
    """The same with every ``$`` doubled, for Compose would replace what looks like a variable."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, dict):
        return {key: _escaped(inner) for key, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list) else value
