"""The documentation site: built without a warning, every page in its navigation, lists are lists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.S)
LOADED = re.compile(r"""<(?:script|img|link)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"'> ]+)""")


def build(root: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)]
    return subprocess.run([*argv, *options], cwd=root, capture_output=True, text=True, timeout=300, env=env)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(root, target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def flattened(html: str) -> list[str]:
    """Paragraphs that hold the lines of a list or a table: Markdown wants an empty line before those."""
    return [text for text in PARAGRAPH.findall(html) if re.search(r"\n *(?:[-*]|\d+\.|\|) ", text)]


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "search" / "search_index.js").is_file()


def test_no_list_has_become_a_paragraph(site: Path) -> None:
    found = {page.name: texts for page in site.rglob("*.html") if (texts := flattened(page.read_text()))}
    assert found == {}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    found = {page.name: urls for page in site.rglob("*.html") if (urls := LOADED.findall(page.read_text()))}
    assert found == {}


def test_a_dead_anchor_fails_the_build(tmp_path: Path, root: Path) -> None:
    settings = (root / "mkdocs.yml").read_text().partition("nav:\n  -")[0]
    settings = settings.replace("hooks: [", f"hooks: [{root}/")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Title\n\n[to nowhere](#nowhere)\n")
    (tmp_path / "mkdocs.yml").write_text(settings)
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "#nowhere" in done.stdout + done.stderr


def test_a_finding_leads_to_code_and_issues_and_back_to_the_index(site: Path) -> None:
    page = (site / "findings" / "journal-rolled.html").read_text()
    code = (
        "blob/release-4.18.0/bookkeeper-server/src/main/java/org/apache/bookkeeper/bookie/Journal.java#L380"
    )
    assert f'href="https://github.com/apache/bookkeeper/{code}"' in page
    assert 'href="https://github.com/apache/bookkeeper/issues/3830"' in page
    assert 'href="index.html#by-what-you-run"' in page


def test_the_navigation_has_the_groups_of_the_list_of_documents(root: Path) -> None:
    nav = (root / "mkdocs.yml").read_text().partition("\nnav:\n  - Overview: README.md\n")[2]
    groups = dict(re.findall(r"^  - ([^:]+):(.*(?:\n    .*)*)", nav, re.M))
    parts = re.split(r"^## (.+)\n", (root / "docs" / "README.md").read_text(), flags=re.M)[1:]
    listed = dict(zip(parts[::2], parts[1::2], strict=True))
    page = re.compile(r"[\w/-]+\.md")
    assert {name: set(page.findall(text)) for name, text in groups.items()} == {
        name: set(page.findall(text)) for name, text in listed.items()
    }
    assert list(groups) == list(listed)


def test_a_flattened_list_and_a_foreign_script_are_seen() -> None:
    assert flattened("<p>Text:\n- one\n- two</p><p>a - b</p>") == ["Text:\n- one\n- two"]
    assert LOADED.findall('<a href="https://a.b/c"><script src="//x.y/z.js">') == ["//x.y/z.js"]
