"""Checks of a machine before a run in containers, and leftovers of killed runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cluster.docker.labels import abandoned, identity, is_alive
from cluster.docker.machine import difference, taken_octets
from cluster.docker.sweep import EngineSocket, socket_path, sweep

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


class FakeEngine(EngineSocket):
    """What it was asked; two runs, of which this process owns one."""

    def __init__(self) -> None:
        super().__init__("/nowhere")
        self.removed: list[str] = []
        mine = {"fencepost.run": "mine", "fencepost.keeper": identity(os.getpid())}
        gone = {"fencepost.run": "gone", "fencepost.keeper": f"{os.getpid()}:1"}
        self.found: dict[str, list[dict[str, Any]]] = {
            "/containers/json": [
                {"Id": "1" * 64, "Names": ["/mine-b1"], "Labels": mine},
                {"Id": "2" * 64, "Names": ["/gone-b1"], "Labels": gone},
            ],
            "/networks": [{"Id": "3" * 64, "Name": "gone_b1", "Labels": gone}],
        }

    def ask(self, verb: str, path: str, **query: Any) -> Any:
        if verb == "DELETE":
            self.removed.append(path.split("/")[2][:1])
            if self.removed[-1] == "2":
                raise OSError("DELETE /containers/2: 409 removal of container 2 is already in progress")
            return None
        key, _, value = query["filters"]["label"][0].partition("=")
        return [one for one in self.found[path] if value in ("", one["Labels"][key])]


def test_what_has_no_living_keeper_is_abandoned() -> None:
    assert abandoned(FakeEngine()) == {"gone": ["gone-b1", "gone_b1"]}


def test_sweeping_takes_one_run_and_leaves_others() -> None:
    engine = FakeEngine()
    assert sweep(engine, "fencepost.run=gone") == ["gone-b1", "gone_b1"]
    assert sorted(engine.removed) == ["2", "3"]


def test_a_pid_that_came_again_is_another_process() -> None:
    assert is_alive(identity(os.getpid()))
    assert not is_alive(f"{os.getpid()}:1")
    assert not is_alive("") and not is_alive("x:y")


def test_an_engine_elsewhere_has_no_socket_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(OSError, match="DOCKER_HOST=tcp"):
        socket_path()
    monkeypatch.delenv("DOCKER_HOST")
    assert socket_path() == "/var/run/docker.sock"
