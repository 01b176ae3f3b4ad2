"""Locks are compared fully, and an unchanged file is read once."""

import hashlib
import os
from pathlib import Path

import pytest

from cluster.releases import checksums


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jar").write_text("one")
    (tmp_path / "b.jar").write_text("two")
    (tmp_path / "notes.txt").write_text("no jar")
    return tmp_path


def test_digests_are_those_of_the_jars_only(folder: Path) -> None:
    assert checksums.digests(folder) == {"a.jar": sha("one"), "b.jar": sha("two")}


def test_a_lock_comes_back_as_written(folder: Path) -> None:
    checksums.write_lock(folder / "lock", checksums.digests(folder))
    assert checksums.read_lock(folder / "lock") == {"a.jar": sha("one"), "b.jar": sha("two")}
    assert (folder / "lock").read_text().splitlines()[0] == f"{sha('one')}  a.jar"


def test_an_unchanged_file_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checksums.digests(folder)

    def never(*_: object) -> None:
        raise AssertionError("a file was hashed again")

    monkeypatch.setattr(hashlib, "file_digest", never)
    assert checksums.digests(folder) == before


def test_a_changed_file_is_seen_although_size_and_time_are_the_same(folder: Path) -> None:
    checksums.digests(folder)
    jar = folder / "a.jar"
    status = jar.stat()
    jar.write_text("eno")
    os.utime(jar, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert checksums.digests(folder)["a.jar"] == sha("eno")


def test_a_damaged_memo_costs_time_only(folder: Path) -> None:
    before = checksums.digests(folder)
    (folder / checksums.MEMO).write_text("{torn")
    assert checksums.digests(folder) == before


def test_differences_name_each_kind() -> None:
    sentences = checksums.differences({"a": "1", "b": "2"}, {"b": "3", "c": "4"})
    assert sentences == ["a is missing", "c is not in the lock", "b has SHA-256 3, the lock says 2"]


def test_a_line_that_is_no_checksum_is_named(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(f"{sha('one')}  a.jar\nnonsense\n")
    with pytest.raises(ValueError, match=r"lock:2: .*nonsense"):
        checksums.read_lock(tmp_path / "lock")
