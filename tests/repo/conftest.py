"""The repository's files: all files that git tracks or would track."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = (
    "protocol",
    "plans",
    "evidence",
    "cluster",
    "nemesis",
    "workloads",
    "checkers",
    "pipeline",
    "reports",
    "harness",
    "search",
    "cli",
    "bench",
)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def files(root: Path) -> list[Path]:
    """Every file that is or would be committed; without git, all but what set-up makes."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(listing, cwd=root, capture_output=True, check=True)
        paths = [root / name for name in done.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [path for path in root.rglob("*") if not any(map(_made, path.relative_to(root).parts))]
    return [path for path in paths if path.is_file()]


def _made(name: str) -> bool:
    """Whether set-up, tests or a run make files of this name, or in a folder of this name."""
    hidden = name.startswith(".") and name not in {".ci", ".github", ".gitignore"}
    return hidden or name in {"target", "bin", "results", "__pycache__"}


@pytest.fixture(scope="session")
def texts(files: list[Path]) -> dict[Path, str]:
    """Tracked text files and their contents; pictures and other binaries are left out."""
    found = {}
    for path in files:
        data = path.read_bytes()
        if b"\0" not in data:
            found[path] = data.decode("utf-8")
    return found


@pytest.fixture(scope="session")
def modules(files: list[Path]) -> list[Path]:
    """Every Python file of the packages and of the scripts."""
    packages = {*PACKAGES, "scripts"}
    return [path for path in files if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in packages]
