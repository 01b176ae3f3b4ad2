"""README stays short, findings have the form of a bug report, and no link between documents is dead."""

import re
from collections import Counter
from pathlib import Path

from cluster.known_findings import SETTINGS
from cluster.releases.versions import among

README_LINES = 150
CELL_WORDS = 20
NO_FINDINGS = {"README.md", "method.md"}
FINDING_ROWS = [
    "Effect",
    "Needs",
    "Releases",
    "Not affected",
    "Cause",
    "Code",
    "Upstream",
    "Reproduce",
    "Workaround",
]
FINDING_SECTIONS = [
    "What happens",
    "Settings that are not defaults",
    "Steps",
    "Expected and actual",
    "What was measured",
    "Cause",
    "What would fix it",
]
CAUSE = re.compile(
    r"^\| \*\*Cause\*\* \| (?P<word>shown|control|test|trace|by reading)"
    r"(?:: (?:with the \[cure\]\S+ `(?P<cure>[\w-]+)` )?.*\d| of the code)",
    re.M,
)
OLDER = re.compile(r"\bothers by reading|\breleases by reading|every release|releases before")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


def long_cells(text: str) -> list[str]:
    """Table cells with too many words; the target of a link is no word."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [LINK.sub(lambda link: link[0].split("](")[0], cell) for row in rows for cell in row.split("|")]
    return [cell.strip() for cell in cells if len(cell.split()) > CELL_WORDS]


def missing_parts(text: str) -> list[str]:
    """What a finding needs and ``text`` lacks: the head below the title, a command in it, and sections."""
    head = r"\A# .*\n\n\| \| \|\n\|---\|---\|\n" + "".join(
        rf"\| \*\*{row}\*\* \| .+ \|\n" for row in FINDING_ROWS
    )
    parts = {"head": head + r"\n", "command": r"^\| \*\*Reproduce\*\* \| `fencepost run [^`]+`"}
    parts |= {section: rf"^## {section}$" for section in FINDING_SECTIONS}
    return [name for name, part in parts.items() if not re.search(part, text, re.M)]


def first_release(page: str) -> tuple[int, ...]:
    """The oldest release in the row "Releases" of a finding; empty if the row says "others by reading"."""
    row = re.search(r"^\| \*\*Releases\*\* \| (.+) \|$", page, re.M)
    if row is None or OLDER.search(row[1]):
        return ()
    return min(_version(version) for version in re.findall(r"\d+\.\d+\.\d+", row[1]))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def dead_links(page: Path) -> list[str]:
    """Relative links to files or headings that do not exist."""
    links = [link for link in LINK.findall(CODE.sub("", page.read_text())) if "://" not in link]
    return [link for link in links if not _leads_somewhere(page, link)]


def _leads_somewhere(page: Path, link: str) -> bool:
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not heading or heading in _anchors(target.read_text()))


def _anchors(text: str) -> set[str]:
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_is_short(root: Path) -> None:
    text = (root / "README.md").read_text()
    assert text.count("\n") <= README_LINES
    assert long_cells(text) == []


def test_no_link_is_dead(root: Path) -> None:
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    dead = [f"{page.relative_to(root)}: {link}" for page in pages for link in dead_links(page)]
    assert not dead, "\n".join(dead)


def test_every_finding_is_in_the_index_once(root: Path) -> None:
    findings = root / "docs" / "findings"
    index = (findings / "README.md").read_text()
    pages = {page.name for page in findings.glob("*.md")} - NO_FINDINGS
    assert sorted(re.findall(r"^\| \[.+\]\(([\w-]+\.md)\) \|", index, re.M)) == sorted(pages)


def test_every_finding_has_the_form_of_a_bug_report(root: Path) -> None:
    findings = root / "docs" / "findings"
    pages = [page for page in findings.glob("*.md") if page.name not in NO_FINDINGS]
    assert {page.name: missing for page in pages if (missing := missing_parts(page.read_text()))} == {}


def test_every_page_that_a_plan_refers_to_names_its_scenario(root: Path) -> None:
    reference = re.compile(r"reference: (?:&\w+ )?(docs/findings/[\w-]+\.md)")
    plans = {f"{plan.parent.name}/{plan.stem}": plan for plan in (root / "scenarios").glob("*/*.yaml")}
    pages = {(name, page) for name, plan in plans.items() for page in reference.findall(plan.read_text())}
    assert len(pages) > 50
    assert sorted((name, page) for name, page in pages if name not in (root / page).read_text()) == []


def test_each_page_begins_with_the_effect_that_the_index_has(root: Path) -> None:
    findings = root / "docs" / "findings"
    index = (findings / "README.md").read_text()
    effects = dict(re.findall(r"^\| \[.+\]\(([\w-]+)\.md\) \| ([^|]+) \|", index, re.M))
    heads = {name: (findings / f"{name}.md").read_text().split("\n## ")[0] for name in effects}
    others = [name for name, effect in effects.items() if f"| **Effect** | {effect}: " not in heads[name]]
    assert (len(effects) > 50, others) == (True, [])


def test_every_page_says_how_its_cause_is_known(root: Path) -> None:
    docs = root / "docs"
    pages = [page for page in (docs / "findings").glob("*.md") if page.name not in NO_FINDINGS]
    causes = {page.stem: CAUSE.search(page.read_text()) for page in pages}
    cured = {(cause["cure"], name) for name, cause in causes.items() if cause and cause["cure"]}
    words = Counter(cause["word"] for cause in causes.values() if cause)
    measured = (docs / "cures.md").read_text().split("## What was measured")[1]
    assert [name for name, cause in causes.items() if not cause] == []
    assert cured == set(re.findall(r"^\| `([\w-]+)` \|.*\(findings/([\w-]+)\.md\) \|$", measured, re.M))
    stated = re.findall(
        r"^  - `([a-z ]+)`, (\d+) pages?:", (docs / "findings" / "method.md").read_text(), re.M
    )
    assert {word: int(number) for word, number in stated} == words
    assert words["shown"] == len(cured)


def test_readme_counts_the_threads_of_the_index(root: Path) -> None:
    index = (root / "docs" / "findings" / "README.md").read_text()
    upstream = re.findall(r"^\| \[.*\]\([\w-]+\.md\) \|.*\| (\w+)[^|]* \|$", index, re.M)
    counts = f"{upstream.count('open')} of the {len(upstream)} findings match an open issue"
    assert counts in _words(root / "README.md")
    assert f"and {upstream.count('closed')} a closed one" in _words(root / "README.md")
    assert set(upstream) == {"open", "closed", "same", "none"}


def test_the_index_has_the_releases_of_each_finding(root: Path) -> None:
    findings = root / "docs" / "findings"
    index = (findings / "README.md").read_text().split("## By release\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in index.splitlines() if line.startswith("| ")][1:]
    listed = {page: ranges for ranges, pages in rows for page in re.findall(r"\]\(([\w-]+)\.md\)", pages)}
    pages = {page.stem: page.read_text() for page in findings.glob("*.md") if page.name not in NO_FINDINGS}
    unexamined = set(re.findall(r"\]\(([\w-]+)\.md\)", index.partition(" were not examined for")[2]))
    firsts = {name: first_release(text) for name, text in pages.items() if name not in unexamined}
    assert listed.keys() == {name for name, one in firsts.items() if one > (4, 14, 0) and one != (4, 14, 7)}
    for name, ranges in listed.items():
        row = re.search(r"^\| \*\*Releases\*\* \| (.+) \|$", pages[name], re.M)
        named, limits = (set(re.findall(r"\d+\.\d+\.\d+", text)) for text in (row[1] if row else "", ranges))
        assert {one for one in named if among(one, ranges)} == named >= limits, name
        assert min(map(_version, limits)) == firsts[name]


def test_a_class_that_is_shown_as_a_value_has_its_package(root: Path) -> None:
    """BookKeeper loads no storage by its short name."""
    shown = re.compile(
        r"^\| (?:bookie \| )?`ledgerStorageClass` \|.*|ledgerStorageClass=\w.*|^\| mode .*", re.M
    )
    rows = [row for page in (root / "docs").rglob("*.md") for row in shown.findall(page.read_text())]
    assert rows
    assert [row for row in rows if re.search(r"[`=](Db|Sorted|Interleaved)LedgerStorage", row)] == []


def test_each_rule_of_the_guide_has_its_command(root: Path) -> None:
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    table = guide.split("where no setting helps:\n\n")[1].split("\n\n")[0]
    rules = [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]
    assert rules
    assert [row[0] for row in rules if len(row) != 3 or "`" not in row[1]] == []


def test_the_guide_lists_what_has_no_workaround_by_severity(root: Path) -> None:
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    section = guide.split("## What to set\n")[1].split("\n## ")[0]
    listed = {
        label: re.findall(r"/([\w-]+)\.md\)", pages)
        for label, pages in re.findall(
            r"^- (P\d|limitation|operator error): ((?:.*\n)+?)(?=- |\Z|\n)", section, re.M
        )
    }
    found: dict[str, list[str]] = {}
    index = (root / "docs" / "findings" / "README.md").read_text()
    for name, effect in re.findall(r"^\| \[.+\]\(([\w-]+)\.md\) \| (P\d|[a-z ]+)", index, re.M):
        page = (root / "docs" / "findings" / f"{name}.md").read_text()
        if "| **Workaround** | none known" in page:
            found.setdefault(effect.strip(), []).append(name)
    assert {label: sorted(names) for label, names in listed.items()} == {
        label: sorted(names) for label, names in found.items()
    }


def test_the_guide_counts_the_severe_findings_of_the_default_storage(root: Path) -> None:
    index = (root / "docs" / "findings" / "README.md").read_text()
    part = index.split("### The default storage\n")[1].split("\n### ")[0]
    number = ("no", "one", "two", "three", "four", "five", "six")[part.count(" | P1, ")]
    guide = _words(root / "docs" / "how-to" / "safe-configuration.md")
    assert f"[the default storage](../findings/README.md#the-default-storage), which has {number} of" in guide


def test_the_guide_says_which_settings_to_leave_at_their_defaults(root: Path) -> None:
    """Those whose own finding doctor reports, and none else; a client without the racks' check loses more."""
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    left, racks = guide.split("- Leave these at their defaults")[1].split("\n- ")[:2]
    assert re.findall(r"/([\w-]+)\.md\)", racks) == ["rack-lost-replaced"]
    assert {*re.findall(r"/([\w-]+)\.md\)", left), "rack-lost-replaced"} == set(SETTINGS)


def test_the_guide_tests_an_upgrade_with_the_settings_of_the_reader(root: Path) -> None:
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    step = guide.split("4. Test an upgrade.")[1].split("\n5. ")[0]
    runs = re.findall(r"^ +fencepost run .*", step, re.M)
    assert len(runs) == 3
    assert [run for run in runs if "--bookie-conf" not in run] == []


def test_a_workaround_that_wipes_a_bookie_decommissions_it_first(root: Path) -> None:
    pages = sorted((root / "docs" / "findings").glob("*.md"))
    rows = [row for page in pages for row in re.findall(r"^\| \*\*Workaround\*\* .*", page.read_text(), re.M)]
    wiping = [row for row in rows if "wipe" in row]
    assert wiping
    assert [row for row in wiping if "decommission" not in row.partition("wipe")[0]] == []


def test_the_guide_has_a_way_to_the_storage_that_it_recommends(root: Path) -> None:
    """In the order of the scenario that it names: a bookie that has entries is never wiped or changed."""
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    (row,) = (line for line in guide.splitlines() if line.startswith("| Move to `DbLedgerStorage`"))
    steps = ["stop it", "decommission it", "wipe its directories", "set the class", "start it"]
    assert sorted(steps, key=row.find) == steps
    scenario = (root / "scenarios" / "closing" / "decommission.yaml").read_text()
    done = ["- stop:", "command: decommission", "- wipe:", "- start:"]
    assert sorted(done, key=scenario.find) == done
    assert "fencepost run closing/decommission" in row


def test_the_heads_of_findings_have_the_settings_that_protect(root: Path) -> None:
    guide = (root / "docs" / "how-to" / "safe-configuration.md").read_text()
    rows = re.findall(r"^\| (`.+?) \|.*\| (\[.+) \|$", guide.split("## Settings that protect\n")[1], re.M)
    pages = {
        name: (root / "docs" / "findings" / f"{name}.md").read_text().split("\n## ")[0]
        for _, links in rows
        for name in re.findall(r"/([\w-]+)\.md\)", links)
    }
    assert pages
    assert [
        (setting, name)
        for settings, links in rows
        for setting in re.findall(r"`([^`]+)`", settings)
        for name in re.findall(r"/([\w-]+)\.md\)", links)
        if setting not in pages[name]
    ] == []


def _words(page: Path) -> str:
    return " ".join(page.read_text().split())


def test_a_missing_part_is_seen() -> None:
    rows = [f"| **{row}** | `fencepost run a/b` |\n" for row in FINDING_ROWS]
    begin, end = "# Title\n\n| | |\n|---|---|\n", "".join(f"\n## {one}\n" for one in FINDING_SECTIONS[1:])
    assert missing_parts(begin + "".join(rows) + end) == ["What happens"]
    assert missing_parts(begin + "".join(rows[:-1]) + end) == ["head", "What happens"]


def test_a_long_cell_and_a_dead_link_are_seen(tmp_path: Path) -> None:
    assert long_cells("| a | " + "word " * 21 + "|") == [" ".join(["word"] * 21)]
    page = tmp_path / "page.md"
    page.write_text("# One title\n[a](#one-title) [b](#two) [c](missing.md) `[d](code.md)`\n")
    assert dead_links(page) == ["#two", "missing.md"]
