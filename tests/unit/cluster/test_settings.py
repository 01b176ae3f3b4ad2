"""What a cluster is to be, before anything is started: numbers, names and settings."""

from __future__ import annotations

from pathlib import Path

from cluster.processes.settings import RunSpec
from cluster.processes.site import hosts_file
from evidence.folder import RunFolder
from protocol.addresses import AddressPlan
from protocol.modes import MODES


def spec(**more: object) -> RunSpec:
    return RunSpec(RunFolder(Path("/run")), MODES["protected"], **more)  # type: ignore[arg-type]


def test_every_source_has_its_number() -> None:
    assert spec(bookies=2, clients=("writer", "reader")).sources == {
        "writer": 101,
        "reader": 102,
        "observer": 250,
        "b1": 1,
        "b2": 2,
    }
    assert "observer" not in spec(observed=False).sources


def test_what_the_user_asked_for_and_did_not_get_is_described() -> None:
    described = spec(user_bookie_conf={"bookiePort": "1", "gcWaitTime": "9"}).describe()
    assert described["overridden"] == {
        "bookie": {"bookiePort": {"theirs": "1", "ours": "3181"}},
        "client": {},
    }
    assert described["bookie"]["gcWaitTime"] == "9"
    assert described["bookie"]["dataIntegrityChecking"] == "true"
    assert described["client"]["firstSpeculativeReadTimeout"] == "200"


def test_what_the_users_files_change_is_told_from_what_they_repeat() -> None:
    own = {"journalWriteData": "true", "dataIntegrityChecking": "true", "bookiePort": "1"}
    changes = spec(user_bookie_conf=own, user_client_conf={"numIOThreads": "5"}).user_changes()
    assert changes == {"bookie": {"journalWriteData": "true"}, "client": {"numIOThreads": "5"}}


def test_the_observer_is_not_hampered_by_the_settings_of_clients() -> None:
    given = spec(client_conf={"readEntryTimeoutSec": "1"}, user_client_conf={"useV2WireProtocol": "true"})
    writer = given.client_layers("writer").merged({}).properties
    observer = given.client_layers("observer").merged({}).properties
    assert (writer["readEntryTimeoutSec"], writer["useV2WireProtocol"]) == ("1", "true")
    assert (observer["readEntryTimeoutSec"], "useV2WireProtocol" in observer) == ("30", False)


def test_a_release_may_differ_by_name() -> None:
    given = spec(version="4.18.0", versions={"b2": "4.17.3"})
    assert [given.version_of(name) for name in ("b1", "b2", "zk1")] == ["4.18.0", "4.17.3", "4.18.0"]


def hosts(source: int, *, linked: bool = True, machine: str = "machine") -> dict[str, str]:
    lines = hosts_file(AddressPlan(9), source, 2, linked=linked, machine=machine).splitlines()
    return {name: address for address, name in map(str.split, lines)}


def test_names_mean_the_links_of_who_asks_and_a_bookie_itself_means_itself() -> None:
    local = {"localhost": "127.0.0.1", "machine": "127.0.0.1"}
    assert hosts(101) == local | {"b1": "127.9.101.1", "b2": "127.9.101.2"}
    at = {"at-b1": "127.9.0.1", "at-b2": "127.9.0.2"}
    assert hosts(2) == local | {"b1": "127.9.2.1", "b2": "127.9.0.2"} | at
    assert hosts(101, linked=False) == local | {"b1": "127.9.0.1", "b2": "127.9.0.2"}


def test_a_machine_with_a_bookies_name_does_not_take_it() -> None:
    assert hosts(101, machine="b1")["b1"] == "127.9.101.1"
