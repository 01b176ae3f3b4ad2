"""Seeded defects and cures: declarations are whole, orders are checked, and the pages have them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from plans.cluster import ClusterSpec
from plans.defects import PROCESSES, Defect, cures, defects, ordered, without_process
from plans.versions import within

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "folder"), [*((name, "defects") for name in defects()), *((name, "cures") for name in cures())]
)
def test_a_declaration_has_its_class_its_processes_and_its_releases(name: str, folder: str) -> None:
    defect = {**defects(), **cures()}[name]
    advice = "".join(word.capitalize() for word in name.split("-"))
    source = ROOT / "agent/src/main/java/fencepost/agent" / folder / f"{advice}.java"
    assert f'"{name}"' in source.read_text(encoding="utf-8")
    assert set(defect.processes) <= set(PROCESSES)
    assert within("4.18.0", defect.releases)
    assert not within("4.14.7", defect.releases)
    assert ordered(f"{name},{defect.trigger}" if defect.trigger else name) == defect


def test_a_defect_breaks_a_promise_and_a_cure_mends_the_cause_of_findings_that_have_a_page() -> None:
    assert all(one.promise and one.document and one.section for one in defects().values())
    assert not set(defects()) & set(cures())
    for cure in cures().values():
        assert cure.kind == "cure"
        assert all((ROOT / "docs" / "findings" / f"{name}.md").is_file() for name in cure.findings)


def rows(page: str, heading: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    part = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [row for row in part.splitlines() if row.startswith("| `")]


def defect_row(one: Defect) -> str:
    setting = f"`{one.trigger}`" if one.trigger else ""
    return _row(one, f"{one.promise} ({one.document}, {one.section})", setting)


def cure_row(one: Defect) -> str:
    return _row(one, ", ".join(f"[{name}](findings/{name}.md)" for name in one.findings))


def _row(one: Defect, reason: str, *more: str) -> str:
    place = f"`{one.type.rpartition('.')[2]}#{one.method}`"
    cells = (f"`{one.name}`", one.title, reason, place, ", ".join(one.processes), one.releases, *more)
    return f"| {' | '.join(cells)} |"


def test_the_pages_have_the_row_of_every_defect_and_cure_and_no_other() -> None:
    assert rows("seeded-defects.md", "The defects") == [defect_row(one) for one in defects().values()]
    assert rows("cures.md", "The cures") == [cure_row(one) for one in cures().values()]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("fence-ignore", "fence-ignored"),
        ("fence-ignored,often=1", "no trigger"),
        ("fence-ignored,every", "no trigger"),
        ("fence-ignored,every=x", "every is a whole number of 0 or more"),
        ("fence-ignored,every=-1", "every is a whole number of 0 or more"),
        ("fence-ignored,nth=9999999999999999999", "nth is a whole number of 0 or more"),
        ("fence-ignored,probability=nan", "probability is a share from 0 to 1"),
        ("fence-ignored,probability=2", "probability is a share from 0 to 1"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(order: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ClusterSpec(seed_defects=(order,))


def test_a_cure_is_no_defect_and_a_defect_no_cure() -> None:
    assert ClusterSpec(cures=("preboot-awaited",)).cures == ("preboot-awaited",)
    with pytest.raises(ValueError, match="unknown seeded defect `preboot-awaited`"):
        ClusterSpec(seed_defects=("preboot-awaited",))
    with pytest.raises(ValueError, match="unknown cure `fence-ignored`"):
        ClusterSpec(cures=("fence-ignored",))


def test_a_defect_is_named_once() -> None:
    assert ClusterSpec(seed_defects=("fence-ignored,every=2",)).seed_defects == ("fence-ignored,every=2",)
    with pytest.raises(ValueError, match="more than once"):
        ClusterSpec(seed_defects=("fence-ignored", "fence-ignored,every=2"))


def test_none_is_ordered_in_place_of_a_defect_and_beside_no_other() -> None:
    assert ClusterSpec(seed_defects=("none",)).seed_defects == ("none",)
    assert "none" not in defects()
    with pytest.raises(ValueError, match="`none` excludes the others"):
        ClusterSpec(seed_defects=("none", "fence-ignored"))


def test_the_process_of_an_order_is_for_the_harness_and_the_rest_for_the_agent() -> None:
    assert without_process("fence-ignored,process=b1,every=2") == ("fence-ignored,every=2", "b1")
    assert without_process("fence-ignored") == ("fence-ignored", "")
    assert ClusterSpec(seed_defects=("fence-ignored,process=b2",)).seed_defects
