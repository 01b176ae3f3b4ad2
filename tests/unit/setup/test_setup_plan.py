"""What set-up says before it fetches anything, and when it refuses."""

import shutil
from collections import namedtuple
from pathlib import Path

import machine
import plan
import pytest
import stamp
import steps

from cluster.releases.versions import DEFAULT_VERSION
from protocol.errors import FencepostError, PrerequisiteError

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a machine without Go."""
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(machine, "go", lambda: None)
    return tmp_path / "cache"


def stale(monkeypatch: pytest.MonkeyPatch, *parts: str) -> None:
    monkeypatch.setattr(stamp, "current", lambda part: part not in parts)


@pytest.fixture
def warm(cache: Path) -> None:
    """The cache has all packages."""
    steps.packages_mark().parent.mkdir(parents=True)
    steps.packages_mark().touch()


def test_a_fresh_machine_needs_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch, *stamp.PARTS)
    assert plan.needed() == list(plan.STEPS)


def test_go_of_path_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch, "proxy")
    monkeypatch.setattr(machine, "go", lambda: Path("/usr/bin/go"))
    assert plan.needed() == ["servers", "proxy", "starts"]


def test_nothing_is_needed_when_all_is_current(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale(monkeypatch)
    (cache / "bookkeeper" / DEFAULT_VERSION).mkdir(parents=True)
    assert plan.needed() == []


def test_every_need_names_an_earlier_step() -> None:
    """Otherwise a step would wait for a step that never starts."""
    names = list(plan.STEPS)
    for index, name in enumerate(names):
        assert set(plan.STEPS[name].needs) <= set(names[:index])


def test_the_table_adds_up() -> None:
    *rows, total, place = plan.table(["uv", "venv", "servers"])[2:]
    assert [row.split()[-4:] for row in rows] == [["18", "MB", "67", "MB"], ["112", "MB", "112", "MB"]]
    assert total.split()[-4:] == ["130", "MB", "179", "MB"]
    assert str(stamp.ROOT) in place


def test_the_first_page_has_the_sums_of_a_machine_without_go() -> None:
    steps_here = [step for name, step in plan.STEPS.items() if name != "go" or not plan._HAS_GO]
    fetch = sum(step.fetch_mb for step in plan.STEPS.values()) / 1000
    disk = sum(step.cache_mb + step.checkout_mb for step in steps_here) / 1000
    readme = (stamp.ROOT / "README.md").read_text(encoding="utf-8")
    assert f"download ({fetch:.1f} GB) and install ({disk:.1f} GB;" in readme


def test_what_the_cache_has_is_not_fetched_again(warm: None) -> None:
    packages, total = plan.table(["python"])[2:4]
    assert "in the cache" in packages
    assert total.split()[-4:] == ["0", "MB", "10", "MB"]


def test_a_disk_that_is_too_small_is_refused_before_anything_is_fetched(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 300_000_000))
    with pytest.raises(
        PrerequisiteError, match=r"(?s)needs 3\.[0-9] GB .* 0\.3 GB are free.*FENCEPOST_CACHE"
    ):
        plan.require_room(list(plan.STEPS))
    assert not cache.exists()


def test_a_warm_cache_needs_little_room(warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 300_000_000))
    plan.require_room(["venv", "python", "client"])


def test_a_cache_that_cannot_be_made_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(stamp, "BUILD", tmp_path / "build")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(PrerequisiteError, match="set FENCEPOST_CACHE to a folder that you can write"):
        plan.require_writable()


def test_go_keeps_out_of_the_home_folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_network", dict)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/xdg")
    monkeypatch.delenv("GOENV", raising=False)
    found = steps.go_environment()
    assert found["GOENV"] == "/etc/xdg/go/env", "a proxy that `go env -w` has set is used"
    written = ("GOPATH", "GOMODCACHE", "GOCACHE", "GOTMPDIR", "XDG_CONFIG_HOME")
    assert all(Path(found[name]).is_relative_to(cache) for name in written)
    assert (cache / "go" / "config" / "go" / "telemetry" / "mode").read_text() == "off\n"


def test_what_an_interruption_left_of_a_tool_is_made_anew(cache: Path) -> None:
    left = cache / ".tool-1.part"
    left.mkdir(parents=True)
    (left / "half").touch()
    with steps.making(cache / "tool-1") as part:
        assert not part.exists()
        part.mkdir()
        (part / "whole").touch()
        assert not (cache / "tool-1").exists()
    assert [path.name for path in (cache / "tool-1").iterdir()] == ["whole"]


def test_a_part_in_the_making_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamp, "_RECORD", tmp_path / "setup.json")
    monkeypatch.setattr(stamp, "product", lambda part: tmp_path)
    stamp.record("python", "sum")
    assert stamp.whole("python")
    stamp.record("python", None)
    assert not stamp.whole("python")


@pytest.mark.parametrize(("is_damaged", "expected"), [(False, [True]), (True, [True, False])])
def test_a_warm_cache_needs_no_network_and_a_damaged_one_is_filled_again(
    warm: None, is_damaged: bool, expected: list[bool], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline: list[bool] = []

    def run(step: str, argv: list[str], **_: object) -> None:
        offline.append("--offline" in argv)
        if offline[-1] and is_damaged:
            raise FencepostError("no such wheel")

    monkeypatch.setattr(steps, "run", run)
    monkeypatch.setattr(steps, "uv", lambda: cache / "uv")
    monkeypatch.setattr(steps, "uv_environment", dict)
    steps._install("python", [])
    assert offline == expected
