"""Boots of containers by an engine that only pretends: whose end it was, and what stays open."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.docker.containers import Containers
from cluster.interface import Exit
from cluster.processes.runner import Launch
from evidence.recorders import read_lines
from protocol.errors import ServerError


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class FakeDeaths:
    def __init__(self) -> None:
        self.events: queue.Queue[tuple[str, int] | None] = queue.Queue()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        while (one := self.events.get()) is not None:
            yield one

    def close(self) -> None:
        self.events.put(None)


class FakeEngine:
    """Starts everything but what is in ``refused``; whatever is killed ends with that signal."""

    def __init__(self) -> None:
        self.stream = FakeDeaths()
        self.refused: set[str] = set()
        self.orders: list[tuple[str, str]] = []

    def deaths(self, label: str) -> FakeDeaths:
        return self.stream

    def start(self, container: str) -> int:
        if container in self.refused:
            raise ServerError("no such image")
        self.orders.append(("start", container))
        return 4711

    def kill(self, container: str, number: int) -> None:
        self.stream.events.put((container, 128 + number))

    def exit_code(self, container: str) -> int | None:
        return 0


class FakeProject:
    """Returns container ``c-<name>`` for every name, and records the requested image."""

    def __init__(self) -> None:
        self.images: list[tuple[str, str]] = []

    def container(self, name: str, image: str) -> str:
        self.images.append((name, image))
        return f"c-{name}"


class Scene:
    def __init__(self, folder: Path) -> None:
        self.engine, self.project, self.folder = FakeEngine(), FakeProject(), folder
        parts: Any = self.engine, self.project
        self.containers = Containers(*parts, folder / "events", preludes={})
        self.exits: queue.Queue[Exit] = queue.Queue()
        self.containers.on_exit(self.exits.put)
        self.containers.watch("label")

    def start(self, name: str, boot: int, **launch: Any) -> Any:
        log = self.folder / f"boot-{boot}.log"
        return self.containers.start(name, boot, Launch(["x"], {}, **launch), folder=self.folder, log=log)

    def next(self) -> Exit:
        return self.exits.get(timeout=30)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.containers.close()


def test_an_end_belongs_to_the_boot_that_was_begun_last(scene: Scene, tmp_path: Path) -> None:
    assert scene.start("b1", 1, home="image:1").pid == 4711
    scene.start("b2", 1, home="image:1")
    scene.containers.signal("b1", signal.SIGKILL)
    first = scene.next()
    assert (first.server, first.boot, first.code, first.signal) == ("b1", 1, None, 9)
    with pytest.raises(ServerError, match="no container of b1 is running"):
        scene.containers.signal("b1", signal.SIGKILL)
    scene.start("b1", 2, home="image:2")
    scene.engine.stream.events.put(("c-b1", 3))
    second = scene.next()
    assert (second.boot, second.code, second.signal) == (2, 3, None)
    assert scene.project.images == [("b1", "image:1"), ("b2", "image:1"), ("b1", "image:2")]
    lines = read_lines(tmp_path / "events").records
    assert [(line["server"], line["boot"], line["event"]) for line in lines] == [
        ("b1", 1, "started"),
        ("b2", 1, "started"),
        ("b1", 1, "exit"),
        ("b1", 2, "started"),
        ("b1", 2, "exit"),
    ]
    assert lines[1]["at_ns"] < lines[2]["earliest_ns"] <= lines[2]["at_ns"] and lines[2]["signalled"]
    # The harness did not order it, and the engine may tell late: only the start was before.
    assert lines[4]["earliest_ns"] == lines[3]["earliest_ns"] and not lines[4]["signalled"]


def test_ends_of_others_are_nobodys(scene: Scene) -> None:
    scene.engine.stream.events.put(("c-else", 137))
    scene.start("b1", 1)
    scene.containers.signal("b1", signal.SIGTERM)
    assert scene.next().server == "b1"


def test_replies_do_not_end_before_the_end_is_told(scene: Scene) -> None:
    commands, replies = scene.start("writer", 1, converses=True).ends
    os.set_blocking(replies, False)
    with pytest.raises(BlockingIOError):
        os.read(replies, 1)
    scene.containers.signal("writer", signal.SIGKILL)
    scene.next()
    os.set_blocking(replies, True)
    assert os.read(replies, 1) == b""
    os.close(commands)
    os.close(replies)


def test_a_boot_that_cannot_start_leaves_nothing_open(scene: Scene) -> None:
    scene.engine.refused.add("c-writer")
    before = descriptors()
    with pytest.raises(ServerError, match="no such image"):
        scene.start("writer", 1, converses=True)
    assert descriptors() == before
    with pytest.raises(ServerError, match="no container of writer is running"):
        scene.containers.signal("writer", signal.SIGKILL)


def test_an_engine_that_is_gone_takes_everything_with_it(scene: Scene) -> None:
    scene.start("b1", 1)
    scene.start("b2", 1)
    scene.engine.stream.close()
    assert {scene.next().server, scene.next().server} == {"b1", "b2"}
