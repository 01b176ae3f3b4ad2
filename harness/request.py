"""The user's request: one request for one or several runs of one scenario."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from evidence.folder import DEFAULT_BACKEND
from protocol.errors import UsageError


@dataclass(frozen=True)
class RunRequest:
    """One call of ``fencepost run``."""

    scenario: str
    modes: tuple[str, ...] = ()
    """Empty for all modes of the plan."""
    seed: int | None = None
    version: str | None = None
    """BookKeeper's; None for the plan's or the default."""
    backend: str = DEFAULT_BACKEND
    bookie_conf: Path | None = None
    """A properties file of the user's; the same for ``client_conf``."""
    client_conf: Path | None = None
    keep: bool = False
    results: Path = field(default_factory=lambda: default_results())
    settings: tuple[tuple[str, str], ...] = ()
    """Parameter and value, in place of the plan's own."""
    rounds: int | None = None
    """In place of the plan's own."""
    seed_defects: tuple[str, ...] = ()
    """Added to the plan's; the same for ``cures``."""
    cures: tuple[str, ...] = ()
    pause_on: str = ""
    """``anomaly`` or ``end``: leaves the cluster up before it is stopped."""
    steps_s: float | None = None
    """Seconds after which the steps end, with what they wait for, and the run is judged; None: no limit."""
    repeat: tuple[str, ...] = ()
    """The command that repeats the run where it is not ``fencepost run``."""

    @property
    def files(self) -> dict[str, Path]:
        """The user's own files of settings, by whose they are: ``bookie``, ``client``."""
        named = {"bookie": self.bookie_conf, "client": self.client_conf}
        return {whose: path for whose, path in named.items() if path is not None}


def default_results() -> Path:
    """``FENCEPOST_RESULTS``, else ``./results``."""
    return Path(os.environ.get("FENCEPOST_RESULTS") or "results")


_SECRET = re.compile("password|secret|token", re.IGNORECASE)
MASKED = "(masked)"


def properties_of(path: Path | None) -> dict[str, str]:
    """The settings in a user's properties file, none for no file; ``UsageError`` when it is malformed.

    The values of secrets are masked here, so that none is recorded: runs have no TLS, authentication or HTTP
    server that would need one.
    """
    if path is None:
        return {}
    from cluster.configuration import parse_properties

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read as UTF-8 text: {error}",
            remedy="name a file of settings such as bk_server.conf",
        ) from error
    settings = parse_properties(text, source=str(path))
    return {key: MASKED if value and _SECRET.search(key) else value for key, value in settings.items()}
