"""A command that repeats a bundled run names the bundle, because the unpacked folder is gone."""

from __future__ import annotations

from pathlib import Path

from evidence.folder import RunFolder
from plans.models import Plan
from search.replay import Again


def test_a_bundle_is_named_with_its_mode_and_a_folder_by_itself(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "protected")
    plan = Plan.model_construct()
    again = Again(folder, plan, 1, "protected", "4.18.0", frozenset(), measured=True)
    assert again.words == (str(folder.path),)
    bundled = Again(
        folder, plan, 1, "protected", "4.18.0", frozenset(), measured=True, bundle=tmp_path / "b.zip"
    )
    assert bundled.words == (str(tmp_path / "b.zip"), "--mode", "protected")
