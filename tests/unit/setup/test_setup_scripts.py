"""The scripts explain themselves without installing anything, and refuse what they do not know."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import program

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted(path.name for path in (ROOT / "scripts").iterdir() if path.is_file())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was never set up."""
    for folder in ("scripts", "cluster", "protocol", "locks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def start(
    checkout: Path, name: str, *arguments: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": path or f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(checkout / "home"),
    }
    argv = [str(checkout / "scripts" / name), *arguments]
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=60, check=False, env=environment, cwd=checkout
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_installs_nothing(checkout: Path, name: str) -> None:
    for option in ("--help", "-h"):
        done = start(checkout, name, option)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: scripts/{name}")
        assert len(done.stdout.splitlines()) > 2
    assert not (checkout / ".build").exists()
    assert not (checkout / "home").exists()


@pytest.mark.parametrize("name", ["setup", "check"])
def test_an_unknown_argument_is_one_line(checkout: Path, name: str) -> None:
    done = start(checkout, name, "--frob")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: scripts/{name} ")
    assert "--frob" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (checkout / ".build").exists()


@pytest.mark.parametrize("seen", ["Python 3.10.12", None])
def test_an_old_or_missing_python_is_said(checkout: Path, tmp_path: Path, seen: str | None) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "sed"):
        (tools / name).symlink_to(shutil.which(name) or name)
    if seen:
        program(tools / "python3", f'[ "$1" = -V ] && echo {seen} && exit 0\nexit 1')
    done = start(checkout, "setup", path=str(tools))
    assert done.returncode == 2
    assert "needs Python 3.11 or newer" in done.stderr
    assert (f"python3 is {seen}" if seen else "there is no python3") in done.stderr


def test_a_folder_that_cannot_be_written_is_said(checkout: Path) -> None:
    (checkout / ".build").touch()
    done = start(checkout, "setup")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {checkout / '.build'} cannot be written")
    assert len(done.stderr.splitlines()) == 1


def test_removal_of_what_was_never_installed_ends_well(checkout: Path) -> None:
    done = start(checkout, "setup", "--remove")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (checkout / ".venv").exists()


def test_a_set_up_that_waited_for_another_finds_nothing_left_to_do(checkout: Path) -> None:
    program = """
import sys

sys.path.insert(0, sys.argv[1])
import install, machine, plan

answers = iter([["python"], []])
plan.needed = lambda: next(answers)
plan.require_writable = machine.require_platform = lambda: None
install.supervise = lambda argv, locks: sys.exit("nothing was left to do")
sys.exit(install._set_up())
"""
    environment = {"HOME": str(checkout / "home"), "PATH": "/usr/bin:/bin"}
    argv = [sys.executable, "-c", program, str(checkout / "scripts" / "parts")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
