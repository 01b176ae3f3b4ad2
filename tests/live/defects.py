"""Builds of BookKeeper with one defect each, made of a release by changing the bytes of one method."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from cluster.releases import artifacts

_CLASS = "org/apache/bookkeeper/bookie/LedgerDescriptorImpl"
_CALL = re.compile(r"boolean isFenced\(\).*?invokeinterface #(\d+)", re.DOTALL)
_POP_THE_ARGUMENTS_AND_PUSH_FALSE = bytes((0x58, 0x57, 0x03, 0x00, 0x00))  # pop2 pop iconst_0 nop nop


def never_fenced(folder: Path) -> Path:
    """A folder with a ``bookkeeper-server`` whose bookies ask for no fence before they add an entry.

    The test is skipped where PATH has no JDK, whose ``javap`` finds the bytes.
    """
    if shutil.which("javap") is None:
        pytest.skip("no JDK on PATH: javap is missing")
    release = artifacts.class_path()
    server = release.folder / f"bookkeeper-server-{release.version}.jar"
    folder.mkdir()
    with zipfile.ZipFile(server) as good, zipfile.ZipFile(folder / server.name, "w") as bad:
        for entry in good.infolist():  # with its date, so that the build is the same each time
            content = good.read(entry)
            ours = entry.filename == f"{_CLASS}.class"
            bad.writestr(entry, _without_fence(content, server) if ours else content)
    return folder


def _without_fence(content: bytes, jar: Path) -> bytes:
    """The class with the call in ``isFenced`` replaced by a constant of the same length."""
    listing = subprocess.run(
        ["javap", "-c", "-p", "-cp", str(jar), _CLASS], capture_output=True, text=True, check=True
    ).stdout
    found = _CALL.search(listing)
    assert found, "no isFenced in the class"
    call = bytes((0xB9, *divmod(int(found[1]), 256), 3, 0))  # invokeinterface
    assert content.count(call) == 1
    return content.replace(call, _POP_THE_ARGUMENTS_AND_PUSH_FALSE)
