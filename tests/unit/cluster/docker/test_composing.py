"""The composed cluster of a run as a document: who is in which network, and who sees which folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster.configuration import RACK_SCRIPT
from cluster.docker.backend import open_cluster
from cluster.docker.composing import Composition
from cluster.processes.settings import RunSpec
from evidence.folder import RunFolder
from protocol.addresses import BridgedPlan
from protocol.errors import UsageError
from protocol.modes import MODES

LABELS = {"fencepost.run": "fencepost-1"}


def composition(folder: Path = Path("/run"), **more: Any) -> Composition:
    spec = RunSpec(RunFolder(folder), MODES["protected"], bookies=2, clients=("writer",), **more)
    return Composition(spec, BridgedPlan(9), LABELS, "1000:100")


def document(folder: Path = Path("/run"), **more: Any) -> dict[str, Any]:
    return composition(folder, **more).document({})


def folders(service: dict[str, Any]) -> list[str]:
    assert all(one["source"] == one["target"] for one in service["volumes"])
    return [one["source"] for one in service["volumes"]]


def test_everybody_has_a_network_that_only_the_proxy_shares() -> None:
    whole = document()
    names = {"zk1", "b1", "b2", "writer", "observer"}
    assert set(whole["networks"]) == names
    assert all(network["internal"] for network in whole["networks"].values())
    services = whole["services"]
    assert set(services) == names | {"proxy", "zk1-net", "b1-net", "b2-net"}
    there = {name: service["networks"] for name, service in services.items() if "networks" in service}
    assert there.pop("proxy")["b2"] == {"ipv4_address": "10.9.2.252"}
    assert there == {
        "zk1-net": {"zk1": {"ipv4_address": "10.9.201.201"}},
        "b1-net": {"b1": {"ipv4_address": "10.9.1.1"}},
        "b2-net": {"b2": {"ipv4_address": "10.9.2.2"}},
        "writer": {"writer": {"ipv4_address": "10.9.101.101"}},
        "observer": {"observer": {"ipv4_address": "10.9.250.250"}},
    }
    assert set(services["proxy"]["networks"]) == names


def test_the_network_of_a_server_outlives_it() -> None:
    services = document()["services"]
    joined = {name: one["network_mode"] for name, one in services.items() if "network_mode" in one}
    assert joined == {"zk1": "service:zk1-net", "b1": "service:b1-net", "b2": "service:b2-net"}
    # An engine takes no host name for a container that joins another's network.
    assert not any("hostname" in services[name] for name in joined)
    owner = services["b1-net"]
    assert (owner["image"], owner["user"], owner["cap_drop"]) == (
        services["proxy"]["image"], "1000:100", ["ALL"]
    )  # fmt: skip
    assert "volumes" not in owner  # a disk that it saw could not be unmounted


def test_the_proxy_has_an_address_for_each_link() -> None:
    assert sorted(composition(observed=False).proxy_addresses()) == [
        "10.9.1.2",
        "10.9.1.201",
        "10.9.101.1",
        "10.9.101.2",
        "10.9.101.201",
        "10.9.2.1",
        "10.9.2.201",
    ]


def test_a_container_sees_its_own_folder_and_no_other_servers() -> None:
    services = document(administered=True)["services"]
    assert folders(services["b1"]) == ["/run/servers/b1"]
    assert folders(services["writer"]) == ["/run/servers/writer", "/run/raw/operations"]
    assert folders(services["proxy"]) == ["/run/servers/proxy", "/run/raw/frames"]
    assert folders(services["admin"]) == ["/run/servers/admin", "/run/servers/b1", "/run/servers/b2"]


def test_the_script_that_tells_racks_is_there_where_a_plan_has_racks(tmp_path: Path) -> None:
    (tmp_path / RACK_SCRIPT).touch()
    assert str(tmp_path / RACK_SCRIPT) in folders(document(tmp_path)["services"]["b1"])


def test_only_the_proxy_has_powers_and_all_run_as_this_user() -> None:
    services = document()["services"]
    assert {name for name, service in services.items() if service.get("cap_add")} == {"proxy"}
    assert {service["user"] for name, service in services.items() if name != "proxy"} == {"1000:100"}
    assert all(service["labels"] == LABELS for service in services.values())


def test_the_release_decides_the_image() -> None:
    made = composition(versions={"b2": "4.17.3"})
    services = made.document({"b1": "fencepost/bookkeeper:4.16.4"})["services"]
    assert {name: services[name]["image"] for name in ("zk1", "b1", "b2", "writer")} == {
        "zk1": "fencepost/bookkeeper:4.18.0",
        "b1": "fencepost/bookkeeper:4.16.4",
        "b2": "fencepost/bookkeeper:4.17.3",
        "writer": "fencepost/client:4.18.0",
    }


def test_compose_shall_not_take_a_dollar_for_a_variable() -> None:
    services = document(Path("/a$b"))["services"]
    assert services["b1"]["working_dir"] == "/a$$b/servers/b1"


def test_a_cluster_without_links_cannot_be_had_in_containers() -> None:
    spec = RunSpec(RunFolder(Path("/run")), MODES["protected"], linked=False)
    with pytest.raises(UsageError, match="only through links"):
        open_cluster(spec).__enter__()
