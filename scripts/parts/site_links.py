"""Hooks of the documentation site: findings link to BookKeeper's code and issues, and back to their index.

The Markdown source stays plain text. Only pages in ``docs/findings`` change. MkDocs calls
:func:`on_page_markdown` for each page; ``mkdocs.yml`` names this file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = "https://github.com/apache/bookkeeper"
SOURCES = "blob/release-4.18.0/bookkeeper-server/src/main/java/org/apache/bookkeeper"
INDEX = "README.md"
BACK = "[All findings](README.md#by-what-you-run) | [How to read a page](README.md#how-to-read-a-page)"

FENCED = re.compile(r"^( *```.*?^ *```)", re.M | re.S)
CODE = re.compile(r"`([\w/]+)\.java:(\d+)(?:-(\d+))?`")
BELOW_BOOKIE = re.compile(r"^(?=storage/|datainteg/)")
ISSUE = re.compile(r"(\[[^\]]*\]\([^)]*\)|`[^`]*`)|(?<![\w&/#])#(\d{2,5})\b")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The page with links, and below its title the way back to the index."""
    folder, _slash, name = page.file.src_uri.rpartition("/")
    if folder != "findings":
        return markdown
    linked = with_links(markdown, paths_of(Path(config["docs_dir"]) / folder))
    return linked if name == INDEX else re.sub(r"\A(# .*\n)", rf"\1\n{BACK}\n", linked)


@cache
def paths_of(folder: Path) -> Mapping[str, str]:
    """The path of each class that some page gives, relative to BookKeeper's package, by its name."""
    named = (path for page in sorted(folder.glob("*.md")) for path, _, _ in CODE.findall(page.read_text()))
    return {path.rpartition("/")[2]: BELOW_BOOKIE.sub("bookie/", path) for path in named if "/" in path}


def with_links(markdown: str, paths: Mapping[str, str]) -> str:
    """References to code and issues as links, outside of blocks of code and of other links."""
    parts = FENCED.split(markdown)
    parts[::2] = [ISSUE.sub(_issue, CODE.sub(lambda found: _code(found, paths), part)) for part in parts[::2]]
    return "".join(parts)


def _code(found: re.Match[str], paths: Mapping[str, str]) -> str:
    path, first, last = found.groups()
    whole = paths.get(path.rpartition("/")[2], "")
    if not whole.endswith(path):
        return found[0]
    lines = f"L{first}-L{last}" if last else f"L{first}"
    return f"[{found[0]}]({REPOSITORY}/{SOURCES}/{whole}.java#{lines})"


def _issue(found: re.Match[str]) -> str:
    return found[1] or f"[#{found[2]}]({REPOSITORY}/issues/{found[2]})"
