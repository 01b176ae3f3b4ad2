"""Checks of a machine before a run in containers, and leftovers of killed runs."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from cluster.docker.engine import Engine
from cluster.docker.images import socket_path
from cluster.docker.labels import abandoned, identity, is_alive
from cluster.docker.machine import difference, taken_octets
from protocol.errors import IncapableError, ServerError

HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def route(destination: str, mask: str) -> str:
    return f"eth0\t{destination}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"


def test_blocks_that_lead_somewhere_are_taken(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    routes.write_text(
        HEADER
        + route("00000000", "00000000")  # the default route
        + route("0000000A", "000000FF")  # all of 10/8
        + route("00024D0A", "00FFFFFF")  # 10.77.2.0/24
        + route("0000100A", "0000FEFF")  # 10.16.0.0/15
        + route("000012AC", "0000FFFF")  # 172.18/16
    )
    assert taken_octets(routes) == [16, 17, 77]


OURS = ["boot", "time:[1]", ".seen-1"]


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        (OURS, ""),
        (["other", *OURS[1:]], "another kernel"),
        (["boot", "time:[2]", ".seen-1"], "a separate clock (time namespace time:[2], ours is time:[1])"),
        ([*OURS[:2], "none"], "do not see this machine's folder /results"),
        (["sh:", "not", "found", "at", "all"], "sh: not found at all"),
    ],
)
def test_containers_must_be_on_this_very_machine(theirs: list[str], why: str) -> None:
    result = difference(theirs, OURS, Path("/results"))
    assert why in result
    assert bool(result) == bool(why)


MINE = {"fencepost.run": "mine", "fencepost.keeper": identity(os.getpid())}
GONE = {"fencepost.run": "gone", "fencepost.keeper": f"{os.getpid()}:1"}
CONTAINERS = [
    {"Id": "1" * 64, "Names": ["/mine-b1"], "Labels": MINE},
    {"Id": "2" * 64, "Names": ["/gone-b1"], "Labels": GONE},
    {"Id": "4" * 64, "Names": ["/gone-b2"], "Labels": GONE},
]
NETWORKS = [{"Id": "3" * 64, "Name": "gone_b1", "Labels": GONE}]


class FakeApi:
    """What it was asked to remove, of two runs, of which this process owns one."""

    def __init__(self, code: int = 409, why: str = "removal of container 2 is already in progress") -> None:
        self.removed: list[str] = []
        answer = SimpleNamespace(status_code=code, url="", reason="")
        self.refusal = APIError(why, response=answer, explanation=why)

    def containers(self, *, all: bool, filters: Any) -> Any:  # noqa: A002  # as in the SDK
        return self.labelled(CONTAINERS, filters)

    def networks(self, *, filters: Any) -> Any:
        return self.labelled(NETWORKS, filters)

    def labelled(self, found: Any, filters: Any) -> Any:
        key, _, value = filters["label"][0].partition("=")
        return [one for one in found if value in ("", one["Labels"][key])]

    def remove_container(self, container: str, *, force: bool, v: bool) -> None:
        assert force and v
        self.removed.append(container[:1])
        if container[:1] == "2":
            raise self.refusal

    def remove_network(self, network: str) -> None:
        self.removed.append(network[:1])


def engine_on(api: FakeApi) -> Engine:
    engine = Engine.__new__(Engine)
    engine._api = api
    return engine


def test_what_has_no_living_keeper_is_abandoned() -> None:
    assert abandoned([*CONTAINERS, *NETWORKS]) == {"gone": ["gone-b1", "gone-b2", "gone_b1"]}


@pytest.mark.parametrize("code", [404, 409])
def test_sweeping_takes_one_run_and_leaves_others(code: int) -> None:
    api = FakeApi(code)
    engine_on(api).sweep("fencepost.run=gone")
    assert sorted(api.removed) == ["2", "3", "4"]


def test_what_cannot_be_removed_is_an_error() -> None:
    with pytest.raises(ServerError, match="device busy"):
        engine_on(FakeApi(500, "device busy")).sweep("fencepost.run=gone")


def test_a_pid_that_came_again_is_another_process() -> None:
    assert is_alive(identity(os.getpid()))
    assert not is_alive(f"{os.getpid()}:1")
    assert not is_alive("") and not is_alive("x:y")


def test_an_engine_elsewhere_has_no_socket_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(OSError, match="DOCKER_HOST=tcp"):
        socket_path()
    with pytest.raises(IncapableError, match="the engine is not on this machine: DOCKER_HOST=tcp"):
        Engine()
    monkeypatch.delenv("DOCKER_HOST")
    assert socket_path() == "/var/run/docker.sock"
