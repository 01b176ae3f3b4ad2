"""The tiers of tests: what each runs, what it needs of the machine, and the summary at the end.

usage: scripts/test [--long] [TIER ...]

Tiers: check (style, format, types), client (Java, agent/ too), proxy (Go), and the folders of tests/: unit,
histories, repo, spark, live, docker, browser. Without a name all run. First a table lists the tiers
that run, with the time that each takes, and the tiers that this machine cannot run, with the reason
and the command that would change it. As root, missing packages of the system (an engine, nftables,
Chromium) are installed before that with one call of apt-get; FENCEPOST_NO_APT=1 forbids it. They stay
installed. Exit code 1 when anything failed.

--long: also the tests marked `long`, for which CI has no minutes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import calls
import machine
import needs
import steps
from calls import Counts
from stamp import BUILD, ROOT

from cluster import doctor
from cluster.releases.maven import maven
from protocol.errors import FencepostError

PYTHON = str(ROOT / ".venv" / "bin" / "python")
EXPECTED_S = {
    "check": 95, "unit": 325, "histories": 495, "repo": 100, "proxy": 20, "client": 55, "spark": 415,
    "live": 1990, "docker": 1360, "browser": 240,
}  # fmt: skip
"""Of each tier in a whole run on two cores, side by side, without the tests marked ``long``."""
ASIDE = ("check", "repo", "proxy", "client", "spark", "docker", "browser")
"""Tiers that run one after the other beside the rest, which leave the cores idle while servers boot."""
OPTIONAL = ("docker", "browser")
"""Tiers that also continuous integration may lack, unless they are named."""
SPREAD = ("unit", "histories", "live")
"""Tiers whose files are spread over the cores: a server's boot is half waiting, and runs never meet."""
WORKERS = min(os.cpu_count() or 1, 4)
RUN_BYTES = 5 << 29
"""What a worker needs that has a cluster and Spark."""
TAIL_LINES = 60
LONG = "--long"
CALLS = calls.Calls()


@dataclass
class Tier:
    """One tier: how to run it, what it needs, why it cannot run here (empty: it can), and the remedy.

    A tier that ``must`` run fails where it cannot, and where no test of it ran.
    """

    name: str
    act: Callable[[], Counts]
    require: Callable[[], None] = lambda: None
    packages: Callable[[], list[machine.Gap]] = list
    counts: Counts = field(default_factory=Counts)
    took_s: float = 0
    lack: str = ""
    must: bool = False
    remedy: str = ""


def tiers(*options: str) -> list[Tier]:
    """Every tier in the order of cost; ``options`` are pytest's."""

    def folder(name: str, *needed: Any) -> Tier:
        return Tier(name, partial(_pytest, name, options), *needed)

    return [
        Tier("check", check),
        *map(folder, ("unit", "histories", "repo")),
        Tier("proxy", proxy),
        Tier("client", client, needs.require_client, needs.client_packages),
        folder("spark", lambda: needs.require_servers("java", "memory")),
        folder("live", lambda: needs.require_servers("java", "client", "proxy", "addresses", "memory")),
        folder("docker", needs.require_docker, needs.docker_packages),
        folder("browser", needs.require_browser, needs.browser_packages),
    ]


def main(arguments: list[str]) -> int:
    """Run the named tiers; the exit code. SIGTERM ends what runs, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = [one for one in arguments if one == LONG]
    names = [one for one in arguments if one != LONG]
    known = {tier.name: tier for tier in tiers(*options)}
    strangers = [name for name in names if name not in known]
    if strangers:
        print(f"error: no tier {', '.join(strangers)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    chosen = [known[name] for name in names] or list(known.values())
    install(chosen)
    for tier in chosen:
        tier.must = needs.is_ci() and (tier.name in names or tier.name not in OPTIONAL)
    with ThreadPoolExecutor(len(chosen)) as pool:
        list(pool.map(look, chosen))
    print(table(chosen), flush=True)
    try:
        run(chosen)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return _summary(chosen)


def run(chosen: list[Tier]) -> None:
    """Run the tiers in two rows side by side, or in one where the memory is too small for both."""
    rows = [[tier for tier in chosen if (tier.name in ASIDE) is aside] for aside in (False, True)]
    if doctor.available_memory_bytes() < (WORKERS + 1) * RUN_BYTES:
        rows = [chosen]
    with ThreadPoolExecutor(len(rows)) as pool:
        try:
            list(pool.map(_run_row, rows))
        except BaseException:
            CALLS.end()
            raise


def install(chosen: list[Tier]) -> None:
    """Install, as root, what the tiers lack of the system, all at once; what fails is a tier's lack later."""
    gaps = [gap for tier in chosen for gap in tier.packages()] if machine.may_install() else []
    if not gaps:
        return
    try:
        steps.run("system", ["apt-get", "update"])
        gaps = [gap for gap in gaps if _installable(gap)]
        print("packages of the system that are installed now with apt-get, and stay installed:")
        print(*(f"  {gap.what}: {' '.join(gap.packages)}" for gap in gaps), sep="\n")
        print(
            "(70 MB to fetch for an engine, 110 MB for Chromium; FENCEPOST_NO_APT=1 forbids it)", flush=True
        )
        steps.system(gaps)
    except FencepostError as stop:
        print(f"apt-get failed: {str(stop).splitlines()[-1]}", file=sys.stderr)


def look(tier: Tier) -> None:
    """Find out why a tier cannot run here, and what would change that."""
    try:
        tier.require()
    except FencepostError as error:
        tier.lack, _, more = str(error).partition("\n")
        tier.remedy = error.remedy or " ".join(more.split())


def table(chosen: list[Tier]) -> str:
    """What will run, with the time that it takes, and what will not, with the reason and the remedy."""
    running = [tier for tier in chosen if not tier.lack]
    aside_s = sum(EXPECTED_S[tier.name] for tier in running if tier.name in ASIDE)
    total_s = max(aside_s, sum(EXPECTED_S[tier.name] for tier in running) - aside_s)
    lines = [f"tiers that run, side by side in about {_minutes(total_s)} on two cores:"]
    lines += [f"  {tier.name:<10} {_minutes(EXPECTED_S[tier.name])}" for tier in running]
    skipped = [tier for tier in chosen if tier.lack]
    lines += ["tiers that are skipped:"] if skipped else []
    for tier in skipped:
        lines.append(f"  {tier.name:<10} {tier.lack}")
        lines += [f"  {'':<10} {tier.remedy}"] if tier.remedy else []
    return "\n".join(lines)


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
        code = CALLS.run(argv, env=paths if parts[0] in argv else None)
        counts["failed" if code else "passed"] += 1
        if code:
            print(f"failed: {' '.join(argv[:3])}")
    return counts


def client() -> Counts:
    """Maven's test phase in client/ and agent/, counted from its reports."""
    return sum((_maven_test(ROOT / project) for project in ("client", "agent")), Counts())


def _maven_test(project: Path) -> Counts:
    started = time.time()
    log = BUILD / f"maven-test-{project.name}.log"
    with log.open("w") as stream:  # servers within the tests log thousands of lines
        code = CALLS.run([*maven(), "-q", "test"], cwd=project, stdout=stream)
    if code != 0:
        print("\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:]))
    reports = (project / "target" / "surefire-reports").glob("TEST-*.xml")
    return calls.with_code(calls.junit(reports, newer_than=started), code)


def proxy() -> Counts:
    """``go vet`` and ``go test`` in proxy/."""
    go = str(steps.go_command())
    env = steps.go_environment()
    vet = CALLS.run([go, "vet", "./..."], cwd=ROOT / "proxy", env=env)
    log = BUILD / "go-test.jsonl"
    with log.open("w") as stream:
        argv = [go, "test", "-json", "-timeout", f"{calls.TIMEOUT_S}s", "./..."]
        code = CALLS.run(argv, cwd=ROOT / "proxy", env=env, stdout=stream)
    counts, failures = calls.go(log)
    print(failures, end="")
    return calls.with_code(counts, vet or code)


def _pytest(name: str, options: Sequence[str]) -> Counts:
    report = BUILD / f"pytest-{name}.xml"
    report.unlink(missing_ok=True)
    argv = [PYTHON, "-m", "pytest", f"tests/{name}", "-q", "--no-header", f"--junitxml={report}"]
    argv += ["-p", "tests.progress", "-o", "console_output_style=classic", *options]
    if name in SPREAD:
        argv += ["-n", str(_workers(name)), "--dist", "loadfile", "--no-loadscope-reorder"]
    log = BUILD / f"pytest-{name}.log"
    with log.open("w") as stream:
        code = CALLS.run(argv, stdout=stream, silent=False)
    if code != 0:
        print(log.read_text(errors="replace"), flush=True)
    return calls.with_code(calls.junit([report]), code)


def _workers(name: str) -> int:
    """One more for ``live`` where memory allows: its servers boot and wait, and leave cores idle."""
    return WORKERS + (name == "live" and doctor.available_memory_bytes() >= (WORKERS + 2) * RUN_BYTES)


def _installable(gap: machine.Gap) -> bool:
    """Whether apt knows the packages: a single unknown package would fail the whole call."""
    policies = [machine.output(["apt-cache", "policy", name]) for name in gap.packages]
    return all("Candidate: " in policy and "Candidate: (none)" not in policy for policy in policies)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _run_row(row: list[Tier]) -> None:
    for tier in row:
        _run(tier)


def _run(tier: Tier) -> None:
    if tier.lack:
        tier.counts["skipped"] += 1
        return
    print(f"== {tier.name} (about {_minutes(EXPECTED_S[tier.name])})", flush=True)
    started = time.monotonic()
    tier.counts = tier.act()
    tier.took_s = time.monotonic() - started


def _summary(ran: list[Tier]) -> int:
    total = Counts()
    print("\n== summary")
    for tier in ran:
        if tier.must and not tier.counts["passed"]:
            tier.counts["failed"] += 1
        total += tier.counts
        word = "FAILED" if tier.counts["failed"] else "passed"
        if tier.lack:
            print(f"{tier.name:<10} {'skipped' if word == 'passed' else word:<9} {tier.lack}")
        else:
            print(f"{tier.name:<10} {word:<9} {calls.counted(tier.counts)}, {tier.took_s:.1f} s")
    print(f"tests: {calls.counted(total)}", flush=True)
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
