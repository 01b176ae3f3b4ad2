"""The specification of a cluster, as the harness gives it, and the settings that follow.

Data only: nothing is started or written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cluster.configuration import (
    AUTORECOVERY_BASE,
    BOOKIE_BASE,
    CLIENT_BASE,
    OBSERVER_BASE,
    Layers,
    autorecovery_properties,
    bookie_properties,
    client_properties,
)
from cluster.releases.versions import DEFAULT_VERSION
from evidence.folder import RunFolder
from evidence.shapes import Conf
from plans.cluster import Disks
from protocol.addresses import (
    ADMIN,
    ADMIN_NUMBER,
    OBSERVER,
    ZOOKEEPER_PORT,
    autorecovery_names,
    autorecovery_number,
    bookie_name,
    client_numbers,
)
from protocol.modes import Mode

HEAP_MB = 192
READY_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class RunSpec:
    """A cluster for one run of one mode, whatever its backend."""

    folder: RunFolder
    mode: Mode
    bookies: int = 3
    clients: tuple[str, ...] = ()
    run_id: int = 1
    version: str = DEFAULT_VERSION
    versions: Mapping[str, str] = field(default_factory=dict)
    """Release by server or client name, where it differs from ``version``."""
    bookie_conf: Mapping[str, str] = field(default_factory=dict)
    """The plan's; the same for ``client_conf``."""
    client_conf: Mapping[str, str] = field(default_factory=dict)
    user_bookie_conf: Mapping[str, str] = field(default_factory=dict)
    """The user's own; the same for ``user_client_conf``."""
    user_client_conf: Mapping[str, str] = field(default_factory=dict)
    autorecovery: int = 0
    """Number of repair processes."""
    autorecovery_conf: Mapping[str, str] = field(default_factory=dict)
    disks: Disks | None = None
    """Gives each bookie dedicated file systems."""
    following: tuple[str, ...] = ()
    """Bookies that use ``zk2``."""
    linked: bool = True
    """False leaves out the proxy: every name means the server itself (for tests and training)."""
    logged: bool = True
    """Whether the wire log of the links is kept in the run folder."""
    observed: bool = True
    forget_registrations: bool = True
    """Whether a killed bookie's registration is deleted before its restart."""
    administered: bool = False
    """Whether admin commands get separate links."""
    changes: tuple[str, ...] = ()
    """Instructions for the agent (:mod:`plans.defects`), for plain processes only."""
    unrecorded: frozenset[str] = frozenset()
    """Clients without a history, only to measure what recording costs."""
    client_heap_mb: int = HEAP_MB
    """More than the default where a client keeps very many adds in flight."""
    ready_timeout_s: float = READY_TIMEOUT_S
    stop_timeout_s: float = STOP_TIMEOUT_S

    @property
    def bookie_names(self) -> list[str]:
        """``b1`` to ``bN``."""
        return [bookie_name(number) for number in range(1, self.bookies + 1)]

    @property
    def client_numbers(self) -> dict[str, int]:
        """Source numbers of the clients and of the observer."""
        numbers = client_numbers(list(self.clients))
        return numbers if self.observed else {name: numbers[name] for name in self.clients}

    @property
    def other_numbers(self) -> dict[str, int]:
        """Source numbers of autorecovery, and of admin commands; none of these is a client or a bookie."""
        repairers = {name: autorecovery_number(name) for name in autorecovery_names(self.autorecovery)}
        return repairers | ({ADMIN: ADMIN_NUMBER} if self.administered else {})

    @property
    def sources(self) -> dict[str, int]:
        """Source numbers of everything that has links."""
        bookies = {name: number for number, name in enumerate(self.bookie_names, 1)}
        return self.client_numbers | bookies | self.other_numbers

    def version_of(self, name: str) -> str:
        """The release of a server or client at its first boot."""
        return self.versions.get(name, self.version)

    def bookie_layers(self) -> Layers:
        """A bookie's settings before the run's own addresses and folders."""
        return Layers(BOOKIE_BASE, self.mode.bookie, self.bookie_conf, self.user_bookie_conf)

    def client_layers(self, name: str) -> Layers:
        """A client's settings before the run's own; the observer's are not the plan's or the user's.

        What a plan does to its clients (short time-outs, another protocol) must not weaken the
        reads by which the run is judged.
        """
        if name == OBSERVER:
            return Layers({**CLIENT_BASE, **OBSERVER_BASE}, {}, {}, {})
        return Layers(CLIENT_BASE, {}, self.client_conf, self.user_client_conf)

    def autorecovery_layers(self) -> Layers:
        """The settings of autorecovery before the run's own."""
        return Layers(AUTORECOVERY_BASE, {}, self.autorecovery_conf, {})

    def describe(self, network: str = "127") -> Conf:
        """``conf`` of ``run.json``: settings of ``b1`` and of clients, and what the user's files lost.

        Known before anything is leased or started, so addresses read ``127.L`` (``network.L``) and folders
        are relative to the run folder.
        """
        bookie = bookie_properties(
            "b1",
            self.bookie_layers(),
            folder="servers/b1/data",
            zookeeper=(f"{network}.L.1.201", ZOOKEEPER_PORT),
            version=self.version_of("b1"),
        )
        client = client_properties(self.client_layers(""))
        conf: Conf = {
            "bookie": bookie.properties,
            "client": client.properties,
            "overridden": {"bookie": bookie.overridden, "client": client.overridden},
        }
        if self.autorecovery:
            conf["autorecovery"] = self._autorecovery(network)
        return conf

    def user_changes(self) -> dict[str, dict[str, str]]:
        """By ``bookie`` and ``client``: the settings that differ because of the user's own files."""
        ours = replace(self, user_bookie_conf={}, user_client_conf={}).describe()
        theirs = self.describe()
        both = {"bookie": (ours["bookie"], theirs["bookie"]), "client": (ours["client"], theirs["client"])}
        return {
            whose: {key: value for key, value in sorted(after.items()) if before.get(key) != value}
            for whose, (before, after) in both.items()
        }

    def _autorecovery(self, network: str) -> Mapping[str, str]:
        first = autorecovery_names(1)[0]
        link = (f"{network}.L.221.201", ZOOKEEPER_PORT)
        return autorecovery_properties(first, self.autorecovery_layers(), zookeeper=link)
