"""The tiers of tests: what each runs, what it needs of the machine, and the summary at the end.

usage: scripts/test [--long] [TIER ...]

Tiers: check (style, format, types), client (Java), proxy (Go), and the folders of tests/: unit,
histories, repo, spark, live, docker, browser. Without a name all run; a tier that this machine
cannot run, or that has no tests, is skipped with its reason. Exit code 1 when anything failed.

--long: also the tests of servers marked `long`, for which CI has no minutes (20 more).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import counting
import engine
import machine
import plugin
import steps
from counting import Counts
from stamp import BUILD, ROOT

sys.path.insert(0, str(ROOT))
from cluster import doctor

PYTHON = str(ROOT / ".venv" / "bin" / "python")
FOLDERS = ("unit", "histories", "repo", "spark", "live", "docker", "browser")
SPREAD = ("unit", "histories", "live")
"""Tiers whose files are spread over the cores: a server's boot is half waiting, and runs never meet."""
WORKERS = min(os.cpu_count() or 1, 4)  # each may run a cluster and Spark, 2.5 GiB together
TIMEOUT_S = 7200
"""For one tier that hangs; the longest takes half an hour on an idle machine."""
TAIL_LINES = 60
LONG = "--long"


@dataclass
class Tier:
    """One tier: how to run it, and why it cannot run here (None: it can)."""

    name: str
    act: Callable[[], Counts]
    hindrance: Callable[[], str | None] = lambda: None
    counts: Counts = field(default_factory=Counts)
    took_s: float = 0
    reason: str | None = None


def tiers(*options: str) -> list[Tier]:
    """Every tier in the order of cost; ``options`` are pytest's."""
    return [
        Tier("check", check),
        *(Tier(name, _pytest(name, *options), _hindrance(name)) for name in ("unit", "histories", "repo")),
        Tier("proxy", proxy),
        Tier("client", client),
        *(Tier(name, _pytest(name, *options), _hindrance(name)) for name in ("spark", "live")),
        Tier("docker", _pytest("docker", *options), docker_lacking),
        Tier("browser", _pytest("browser", *options), browser_lacking),
    ]


def main(arguments: list[str]) -> int:
    """Run the named tiers; the exit code."""
    options = [one for one in arguments if one == LONG]
    names = [one for one in arguments if one != LONG]
    known = {tier.name: tier for tier in tiers(*options)}
    if {"--help", "-h"} & set(arguments):
        sys.stdout.write(__doc__ or "")
        return 0
    strangers = [name for name in names if name not in known]
    if strangers:
        print(f"error: no tier {', '.join(strangers)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [known[name] for name in names] or list(known.values())
    for tier in chosen:
        _run(tier)
    return _summary(chosen)


def check() -> Counts:
    """Ruff, its formatter, and mypy over the packages and over the scripts; each counts as one."""
    bin_folder = ROOT / ".venv" / "bin"
    parts = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "scripts" / "parts").glob("*.py"))]
    commands = [
        [str(bin_folder / "ruff"), "check", "--quiet", "."],
        [str(bin_folder / "ruff"), "format", "--quiet", "--check", "."],
        [str(bin_folder / "mypy"), "--no-error-summary"],
        [str(bin_folder / "mypy"), "--no-error-summary", *parts],
    ]
    paths = {"MYPYPATH": f"{ROOT}:{ROOT / 'scripts' / 'parts'}"}
    counts = Counts()
    for argv in commands:
        code = _call(argv, env=paths if parts[0] in argv else None)
        counts.add(failed=int(code != 0), passed=int(code == 0))
        if code != 0:
            print(f"failed: {' '.join(argv[:3])}")
    return counts


def client() -> Counts:
    """Maven's test phase in client/, counted from its reports."""
    reports = ROOT / "client" / "target" / "surefire-reports"
    started = time.time()
    log = BUILD / "maven-test.log"
    with log.open("w") as stream:  # servers within the tests log thousands of lines
        code = _call(["mvn", "-q", "-B", "test"], cwd=ROOT / "client", stdout=stream)
    if code != 0:
        print("\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:]))
    return counting.with_code(counting.junit(reports.glob("TEST-*.xml"), newer_than=started), code)


def proxy() -> Counts:
    """``go vet`` and ``go test`` in proxy/."""
    go = str(steps.go_command())
    env = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    vet = _call([go, "vet", "./..."], cwd=ROOT / "proxy", env=env)
    log = BUILD / "go-test.jsonl"
    with log.open("w") as stream:
        argv = [go, "test", "-json", "-timeout", f"{TIMEOUT_S}s", "./..."]
        code = _call(argv, cwd=ROOT / "proxy", env=env, stdout=stream)
    counts, failures = counting.go(log)
    print(failures, end="")
    return counting.with_code(counts, vet or code)


def _pytest(name: str, *options: str) -> Callable[[], Counts]:
    def act() -> Counts:
        report = BUILD / f"pytest-{name}.xml"
        report.unlink(missing_ok=True)
        spread = ["-n", str(WORKERS), "--dist", "loadfile"] if name in SPREAD else []
        argv = [PYTHON, "-m", "pytest", f"tests/{name}", "-q", "--no-header", f"--junitxml={report}"]
        code = _call([*argv, *spread, *options])
        return counting.with_code(counting.junit([report]), code)

    return act


def _hindrance(name: str) -> Callable[[], str | None]:
    def reason() -> str | None:
        if not any((ROOT / "tests" / name).rglob("test_*.py")):
            return f"tests/{name} has no tests"
        needs = {"spark": ("java", "memory"), "live": ("java", "client", "proxy", "addresses", "memory")}
        needed = needs.get(name, ())
        if not needed:
            return None
        lacking = [found for found in doctor.checks() if found.name in needed and found.state != "ok"]
        return "; ".join(f"{found.name}: {found.seen}" for found in lacking) or None

    return reason


def browser_lacking() -> str | None:
    """Why there is no browser here; as root it is installed first, unless FENCEPOST_NO_APT is set."""
    if machine.chromium() is not None:
        return None
    gap = machine.Gap("Chromium", machine.BROWSER_PACKAGES)
    if not machine.may_install():
        return f"no Chromium: {' '.join(machine.apt_command([gap]))}"
    print("browser: installing Chromium with apt-get (110 MB to fetch, 1 minute)", flush=True)
    try:
        steps.system([gap])
    except machine.StopError as stop:
        return f"no Chromium, and apt-get could not install it: {str(stop).splitlines()[-1]}"
    return None if machine.chromium() else "apt-get installed Chromium, but there is none on PATH"


def docker_lacking() -> str | None:
    """Why there can be no containers; as root what is missing is installed, unless FENCEPOST_NO_APT is set.

    Where no engine answers, the tests start one of their own (``own_engine``).
    """
    unanswered = engine.lacking()
    missing = [engine.PACKETS] if shutil.which("nft") is None else []
    try:
        if unanswered is not None and shutil.which("dockerd") is None:
            if not machine.may_install():
                return unanswered.replace("\n", "; ")
            print("docker: installing docker.io with apt-get (70 MB to fetch, 1 minute)", flush=True)
            missing.append(engine.ENGINE)
        elif unanswered is not None and os.geteuid() != 0:
            return unanswered.replace("\n", "; ")
        if missing and machine.may_install():
            steps.system(missing)
        if plugin.lacking() is not None and plugin.lacking(plugin.FOLDER) is not None:
            plugin.bring(plugin.FOLDER)
    except machine.StopError as stop:
        return f"docker: {str(stop).splitlines()[-1]}"
    return None


def _run(tier: Tier) -> None:
    tier.reason = tier.hindrance()
    if tier.reason is not None:
        tier.counts.add(skipped=1)
        return
    print(f"== {tier.name}", flush=True)
    started = time.monotonic()
    tier.counts = tier.act()
    tier.took_s = time.monotonic() - started


def _summary(ran: list[Tier]) -> int:
    total = Counts()
    print("\n== summary")
    for tier in ran:
        total.add(tier.counts.passed, tier.counts.failed, tier.counts.skipped)
        if tier.reason is not None:
            print(f"{tier.name:<10} skipped   {tier.reason}")
        else:
            word = "FAILED" if tier.counts.failed else "passed"
            print(f"{tier.name:<10} {word:<9} {tier.counts}, {tier.took_s:.1f} s")
    print(f"tests: {total}", flush=True)
    return 1 if total.failed else 0


def _call(
    argv: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None, stdout: IO[str] | None = None
) -> int:
    """Run in a process group of its own, so that a time-out ends all of it; the exit code."""
    sys.stdout.flush()
    process = subprocess.Popen(
        argv, cwd=cwd, env=os.environ | (env or {}), stdin=subprocess.DEVNULL, stdout=stdout, process_group=0
    )
    try:
        return int(process.wait(timeout=TIMEOUT_S))
    except subprocess.TimeoutExpired:
        print(f"no end after {TIMEOUT_S} s: {' '.join(argv[:4])}")
        return 124
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
