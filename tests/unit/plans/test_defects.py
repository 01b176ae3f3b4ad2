"""Seeded defects: every declaration is whole, every order is checked, and the page has them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from plans.defects import PROCESSES, defect_row, defects, ordered
from plans.models import ClusterSpec
from plans.versions import within

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", defects())
def test_a_declaration_has_its_class_its_processes_and_its_releases(name: str) -> None:
    defect = defects()[name]
    advice = "".join(word.capitalize() for word in name.split("-"))
    source = ROOT / "agent/src/main/java/fencepost/agent/defects" / f"{advice}.java"
    assert f'"{name}"' in source.read_text(encoding="utf-8")
    assert set(defect.processes) <= set(PROCESSES)
    assert within("4.18.0", defect.releases)
    assert not within("4.14.7", defect.releases)
    assert ordered(f"{name},{defect.trigger}" if defect.trigger else name) == defect


def test_the_page_has_the_row_of_every_defect_and_no_other() -> None:
    page = (ROOT / "docs" / "seeded-defects.md").read_text(encoding="utf-8")
    rows = page.partition("## The defects")[2].partition("\n## ")[0].splitlines()
    assert [row for row in rows if row.startswith("| `")] == [defect_row(one) for one in defects().values()]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("fence-ignore", "fence-ignored"),
        ("fence-ignored,often=1", "no trigger"),
        ("fence-ignored,every", "no trigger"),
        ("fence-ignored,every=x", "invalid literal"),
        ("fence-ignored,every=-1", "below 0"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(order: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ClusterSpec(seed_defects=(order,))


def test_a_defect_is_named_once() -> None:
    assert ClusterSpec(seed_defects=("fence-ignored,every=2",)).seed_defects == ("fence-ignored,every=2",)
    with pytest.raises(ValueError, match="more than once"):
        ClusterSpec(seed_defects=("fence-ignored", "fence-ignored,every=2"))
