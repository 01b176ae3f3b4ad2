"""What no committed file may hold: addresses of one machine or registry, and marks of unfinished work."""

import re
from pathlib import Path

import pytest

# Built from parts, so that this file does not hold what it looks for.
REGISTRIES = [".".join(parts) for parts in (
    ("pypi", "org"),
    ("files", "pythonhosted", "org"),
    ("repo", "maven", "apache", "org"),
    ("repo1", "maven", "org"),
    ("proxy", "golang", "org"),
    ("sum", "golang", "org"),
    ("registry", "npmjs", "org"),
    ("deb", "debian", "org"),
    ("archive", "ubuntu", "com"),
)]  # fmt: skip
PATHS = ["/" + name + "/" for name in ("work", "farm", "root", "home/[a-z]+")]
MARKS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
FORBIDDEN = {
    "a registry's host": "|".join(re.escape(host) for host in REGISTRIES),
    "a path of one machine": "|".join(rf"(?<![\w.$}}~-]){path}" for path in PATHS),
    "a mark of unfinished work": "|".join(rf"\b{mark}\b" for mark in MARKS),
    "a conflict that was not resolved": r"^(?:<{7}|>{7}) ",
}
LINE_LIMIT = 400
GENERATED = {"locks", "LICENSE", "results"}


def offences(text: str) -> list[str]:
    """A sentence for each line that holds something forbidden."""
    return [
        f"{number}: {what}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), start=1)
        for what, pattern in FORBIDDEN.items()
        if re.search(pattern, line)
    ]


def test_no_file_holds_what_belongs_elsewhere(root: Path, texts: dict[Path, str]) -> None:
    found = [f"{path.relative_to(root)}:{fault}" for path, text in texts.items() for fault in offences(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "index = https://" + REGISTRIES[0] + "/simple",
        'ROOT = "' + PATHS[0] + 'main"',
        "# " + MARKS[0] + ": later",
        "cd /home/" + "someone/project",
    ],
)
def test_an_offence_is_seen(text: str) -> None:
    assert offences(text)


def test_locks_name_no_address(root: Path) -> None:
    locks = [path for path in (root / "locks").iterdir() if path.is_file()]
    assert locks
    assert [path.name for path in locks if "://" in path.read_text()] == []


def test_no_file_runs_away(root: Path, texts: dict[Path, str]) -> None:
    code = {".py", ".java", ".go", ".sh", ".yaml", ".yml"}
    long = {
        str(path.relative_to(root)): text.count("\n")
        for path, text in texts.items()
        if path.suffix in code and path.relative_to(root).parts[0] not in GENERATED
        if text.count("\n") > LINE_LIMIT
    }
    assert not long, f"longer than {LINE_LIMIT} lines: {long}"
