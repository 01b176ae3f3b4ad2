"""What tiers of tests need besides the set-up: packages of the system, and whether it then really works.

A probe starts the thing itself once (a container, a browser), because what is installed may still not run:
an engine starts in containers in which no container does. What a tier cannot do without raises
``PrerequisiteError``. Installs nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import engine
import machine
import plugin

from cluster import doctor
from cluster.releases.maven import maven
from protocol.errors import PrerequisiteError

JDK_MINIMUM = 17
BROWSER = machine.Gap("Chromium", ("chromium", "fonts-dejavu-core", "libatomic1"))
"""With a font, and with the library that Playwright's Node.js needs and no other package brings."""

_PROBE_TIMEOUT_S = 120
_BROWSER = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"]).close()
"""


def is_ci() -> bool:
    """Whether this is continuous integration, where no tier is skipped but those of docker and browser."""
    return os.environ.get("CI") == "true"


def client_packages() -> list[machine.Gap]:
    """A JDK, in continuous integration only: elsewhere the Java tests are not worth 300 MB."""
    return [_jdk()] if is_ci() and not _has_jdk() else []


def require_client() -> None:
    """The Java tests need a compiler; Maven is fetched where there is none."""
    if not _has_jdk():
        raise PrerequisiteError(f"no JDK {JDK_MINIMUM} or newer (javac)", remedy=_by_apt(_jdk()))
    maven()


def browser_packages() -> list[machine.Gap]:
    """Chromium, unless it is there and Playwright's Node.js starts."""
    return [] if machine.chromium() is not None and _node_lacking() is None else [BROWSER]


def require_browser() -> None:
    """Start Chromium once as the tests do."""
    chromium = machine.chromium()
    reason = _node_lacking() if chromium else "no Chromium on PATH"
    if not reason and (failure := _failure([sys.executable, "-c", _BROWSER, str(chromium)])):
        reason = f"{chromium} does not start: {failure}"
    if reason:
        raise PrerequisiteError(reason, remedy=_by_apt(BROWSER))


def docker_packages() -> list[machine.Gap]:
    """An engine where none is, and what the tests need beside it."""
    gaps = [engine.PACKETS] if shutil.which("nft") is None else []
    if engine.lacking() is not None:
        gaps += [engine.ENGINE] if shutil.which("dockerd") is None else []
        gaps += [engine.DEBOOTSTRAP] if shutil.which("debootstrap") is None else []
    if plugin.lacking() is not None and (package := plugin.package()) is not None:
        gaps.append(machine.Gap("the compose plugin", (package,)))
    return gaps


def require_docker() -> None:
    """Start one container, in the engine that answers or in one of our own; bring the compose plugin."""
    unanswered = engine.lacking()
    with ExitStack() as stack:
        if unanswered is not None and (os.geteuid() != 0 or shutil.which("dockerd") is None):
            raise PrerequisiteError(unanswered)
        address = stack.enter_context(engine.own_engine()) if unanswered is not None else None
        if (reason := engine.container_failure(address)) is not None:
            raise PrerequisiteError(f"the engine answers, and no container starts: {reason}")
        if plugin.lacking() is not None and plugin.lacking(plugin.FOLDER) is not None:
            plugin.bring(plugin.FOLDER)


def require_servers(*names: str) -> None:
    """What ``fencepost doctor`` looks at under ``names``."""
    found = [one for one in doctor.checks() if one.name in names and one.state != "ok"]
    if found:
        seen, remedies = [f"{one.name}: {one.seen}" for one in found], [one.remedy for one in found]
        raise PrerequisiteError("; ".join(seen), remedy=" ".join(remedies))


def _by_apt(gap: machine.Gap) -> str:
    return f"sudo {' '.join(machine.apt_command([gap]))}"


def _has_jdk() -> bool:
    """Whether JAVA_HOME, else PATH, has a compiler that is new enough."""
    home = os.environ.get("JAVA_HOME")
    compiler = str(Path(home) / "bin" / "javac") if home else "javac"
    version = re.search(r"javac (\d+)", machine.output([compiler, "-version"]))
    return version is not None and int(version[1]) >= JDK_MINIMUM


def _jdk() -> machine.Gap:
    """The headless JDK that this release of the distribution has."""
    names = [f"openjdk-{version}-jdk-headless" for version in (17, 21, 25)]
    known = (name for name in names if "Package:" in machine.output(["apt-cache", "show", name]))
    return machine.Gap("a JDK", (next(known, "default-jdk-headless"),))


def _node_lacking() -> str | None:
    """Why Playwright's Node.js cannot be started."""
    from playwright._impl._driver import compute_driver_executable

    reason = _failure([str(compute_driver_executable()[0]), "--version"])
    return f"Playwright's Node.js does not start: {reason}" if reason else None


def _failure(argv: list[str]) -> str | None:
    """The line that says why a command failed; None when it ended well."""
    with tempfile.TemporaryDirectory(prefix="fencepost-probe-") as scratch:
        try:
            done = subprocess.run(
                argv, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False, cwd=Path(scratch)
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line or "annot" in line]
    return None if done.returncode == 0 else (telling or lines or [f"exit code {done.returncode}"])[0]
