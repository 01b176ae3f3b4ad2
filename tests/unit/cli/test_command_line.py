"""The command line as a user meets it when something is wrong, before any server starts."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli import main
from protocol.errors import Interrupted

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def fencepost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, up to its exit code."""
    monkeypatch.chdir(ROOT)

    def call(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["fencepost", *arguments])
        code = main._run()
        return Done(code, *capsys.readouterr())

    return call


def in_a_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = "from cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(Path.home()), **environment},
        timeout=60,
    )


def test_an_unknown_scenario_names_the_nearest() -> None:
    done = in_a_process("run", "bp46/truncatoin")
    assert done.returncode == 2
    assert "did you mean `bp46/truncation`?" in done.stderr
    assert "list scenarios` prints all names" in done.stderr
    assert len(done.stderr) < 300


def test_compiled_code_is_kept_although_an_image_of_python_says_otherwise(tmp_path: Path) -> None:
    """Else each process of a run compiles all libraries again, which takes two seconds."""
    cached = tmp_path / "compiled"
    done = in_a_process("list", "modes", PYTHONDONTWRITEBYTECODE="1", PYTHONPYCACHEPREFIX=str(cached))
    assert done.returncode == 0
    assert list(cached.rglob("modes.*.pyc"))


def test_results_that_are_a_file_are_refused(tmp_path: Path, fencepost: Command) -> None:
    (tmp_path / "file").touch()
    done = fencepost("campaign", "gate", "--results", str(tmp_path / "file"))
    assert done.returncode == 2
    assert f"'{tmp_path}/file' is a file" in done.stderr


def test_a_folder_that_cannot_be_written_is_named_with_the_next_step(fencepost: Command) -> None:
    done = fencepost("campaign", "gate", "--results", "/proc/absent")
    assert done.returncode == 1
    assert done.stderr.startswith("fencepost: cannot use /proc/absent: No such file or directory\n  next: ")


def test_a_full_disk_is_no_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main.fencepost, "main", lambda **_: Path("/dev/full").write_text("a file"))
    assert main._run() == 1
    assert capsys.readouterr().err.startswith("fencepost: the disk is full\n  next: free space")


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("chek", ["fencepost: no command 'chek'", "'check'?"]),
        ("run --frob", ["run --help` lists what it takes"]),
        ("run bp46", ["`bp46` is a folder of"]),
        (
            "run soak/kill9 --rounds 2",
            ["cannot go through 2 rounds: `load` does not end with a round", "use --times"],
        ),
        ("run soak/kill9 --set for_s", ["'for_s'"]),
        ("run soak/kill9 --set =3", ["'=3'"]),
        ("run bp46/truncation --mode protectd", ["protected"]),
        ("run bp46/truncation --bookkeeper 4.13.0", ["4.13.0"]),
        ("run bp46/truncation --bookkeeper banana", ["banana"]),
        ("run bp46/truncation --bookkeeper 4.18.99", ["4.18.99"]),
        ("doctor --bookkeeper 4.14.7", ["--bookkeeper needs --bookie-conf or --client-conf"]),
        ("check latest --history README.md --master spark://host:7077", ["leave out latest, --master"]),
        ("report latest --issue --open", ["give one of them"]),
        ("bundle latest -o README.md", ["-o README.md: the name of a bundle ends in .zip"]),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_value_before_anything_is_written(
    words: str, messages: Sequence[str], tmp_path: Path, fencepost: Command
) -> None:
    elsewhere = ("--results", str(tmp_path)) if words.startswith("run") else ()
    done = fencepost(*words.split(), *elsewhere)
    assert done.returncode == 2
    assert [one for one in messages if one not in done.stderr] == [], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_impossible_quorums_are_refused_with_file_line_and_values(tmp_path: Path, fencepost: Command) -> None:
    plan = (ROOT / "scenarios/bp46/truncation.yaml").read_text()
    bad = tmp_path / "bad.yaml"
    bad.write_text(plan.replace("ack_quorum: 2", "ack_quorum: 4"))
    done = fencepost("run", str(bad))
    assert done.returncode == 2
    assert "bad.yaml" in done.stderr
    assert "AQ=4" in done.stderr


def test_a_run_that_is_not_there_is_an_error_with_the_next_step(tmp_path: Path, fencepost: Command) -> None:
    done = fencepost("check", "nothing/here", "--results", str(tmp_path))
    assert done.returncode == 2
    assert "fencepost list runs" in done.stderr
    listed = fencepost("list", "runs", "--results", str(tmp_path))
    assert listed.stdout == "" and "no stored run below" in listed.stderr


@pytest.mark.parametrize("subject", ["main:", "main:9223372036854775808", "9223372036854775808", "main:x"])
def test_what_is_no_ledger_and_no_entry_is_refused_with_the_value(
    subject: str, tmp_path: Path, fencepost: Command
) -> None:
    done = fencepost("explain", "latest", subject, "--results", str(tmp_path))
    assert (done.returncode, f"'{subject}' is not LEDGER or LEDGER:ENTRY" in done.stderr) == (2, True)


def test_an_interrupted_command_names_the_signal_and_promises_no_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Often nothing was recorded yet; a run names its own folder."""
    assert main._interrupted(Interrupted(signal.SIGTERM)) == 143
    assert capsys.readouterr().err == "fencepost: interrupted by SIGTERM\n"


def test_a_dry_run_checks_the_plan_and_starts_nothing(tmp_path: Path, fencepost: Command) -> None:
    done = fencepost("run", "bp46/truncation", "--dry-run", "--seed", "7", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "BookKeeper 4.18.0, 3 bookies, modes unprotected, protected, journal, seed 7" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert fencepost("run", "bp46/truncation", "--dry-run", "--mode", "jurnal").returncode == 2
