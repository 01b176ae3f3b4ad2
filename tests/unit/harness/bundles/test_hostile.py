"""Malicious archives are refused by name, before anything is unpacked."""

from __future__ import annotations

import json
import re
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evidence.folder import FoundRun
from harness.bundles import reading
from harness.bundles.reading import examined, opened
from harness.bundles.writing import FACTS, FORMAT, write_bundle
from protocol.errors import EvidenceError, UsageError
from tests.unit.reports.stored_run import stored_run

Write = Callable[[zipfile.ZipFile], None]
RUN = "20260101T000000Z-7"


def archive(path: Path, write: Write, *, run: str = RUN, form: int = FORMAT) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        warnings.simplefilter("ignore")  # zipfile warns of names that are there twice
        made.writestr(FACTS, json.dumps({"format": form, "run": run}))
        write(made)
    return path


def link(made: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("protected/raw/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    made.writestr(info, "/etc/passwd")


def named(*names: str, method: int = zipfile.ZIP_DEFLATED) -> Write:
    def write(made: zipfile.ZipFile) -> None:
        for name in names:
            made.writestr(name, "x", method)

    return write


def refusal(path: Path) -> str:
    """Why this archive is refused."""
    with pytest.raises(EvidenceError) as refused, examined(path):
        pass
    return str(refused.value)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (named("../outside"), "'../outside' has a name that leads elsewhere"),
        (named("/etc/cron.d/x"), "'/etc/cron.d/x' has a name that leads elsewhere"),
        (named("a/../../x"), "leads elsewhere"),
        (named("a\\..\\x"), "leads elsewhere"),
        (named("C:/x"), "leads elsewhere"),
        (named("a//x"), "leads elsewhere"),
        (named("a/\x1b[2J"), "leads elsewhere"),
        (link, "'protected/raw/link' is a link"),
        (named("protected/run.json", "protected/RUN.json"), "'protected/RUN.json' is there twice"),
        (named("protected/raw", "protected/raw/a"), "is a file and a folder"),
        (named("protected/raw/a", method=zipfile.ZIP_LZMA), "is compressed by method 14"),
    ],
)
def test_a_hostile_member_is_refused_by_name(tmp_path: Path, write: Write, why: str) -> None:
    message = refusal(archive(tmp_path / "b.zip", write))
    assert "is refused" in message
    assert why in message


def test_what_would_grow_beyond_measure_is_refused(tmp_path: Path) -> None:
    zeros = archive(tmp_path / "b.zip", lambda made: made.writestr("protected/raw/a", bytes(300 << 20)))
    assert "would become 314,572" in refusal(zeros)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "b.zip", lambda made: [made.writestr(name, "x" * 99) for name in ("a", "b")])
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 1)
    offset = struct.unpack_from("<I", content, first + 42)
    struct.pack_into("<I", content, second + 42, *offset)
    path.write_bytes(content)
    assert re.search("overlap|truncated", refusal(path))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_MEMBERS", 3)
    path = archive(tmp_path / "b.zip", lambda made: [made.writestr(str(one), "") for one in range(5)])
    assert "6 members, more than 3" in refusal(path)


@pytest.mark.parametrize("run", ["../../x", "", "latest", "20260101T000000Z-7/.."])
def test_a_run_with_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, run: str) -> None:
    assert "names its run" in refusal(archive(tmp_path / "b.zip", lambda made: None, run=run))


def test_another_archive_and_another_format_say_what_they_are(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("x", "x")
    assert "no bundle.json" in refusal(tmp_path / "a.zip")
    assert "format 99" in refusal(archive(tmp_path / "b.zip", lambda made: None, form=99))
    with pytest.raises(UsageError, match="there is no bundle"), examined(tmp_path / "missing.zip"):
        pass


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("bundle")
    found: FoundRun = stored_run(folder / "results", modes=["protected"])
    return write_bundle(found, folder / "b.zip", full=False).path.read_bytes()


def unpacked(path: Path) -> dict[Path, bytes]:
    with opened(path.parent / "results", str(path)) as found:
        files = [one for one in found.path.rglob("*") if one.is_file()]
        return {one.relative_to(found.path): one.read_bytes() for one in files}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_cut_and_no_flipped_bit_opens_as_something_else(
    bundle: bytes, tmp_path: Path, data: st.DataObject
) -> None:
    damaged = bytearray(bundle)
    if data.draw(st.booleans()):
        damaged = damaged[: data.draw(st.integers(0, len(bundle) - 1))]
    else:
        damaged[data.draw(st.integers(0, len(bundle) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "b.zip"
    path.write_bytes(damaged)
    try:
        seen = unpacked(path)
    except EvidenceError:
        pass
    else:
        path.write_bytes(bundle)
        assert seen == unpacked(path)
    assert list((tmp_path / "results").iterdir()) == []
