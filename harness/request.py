"""The user's request: one request for one or several runs of one scenario."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from evidence.folder import DEFAULT_BACKEND
from protocol.errors import UsageError


@dataclass(frozen=True)
class RunRequest:
    """One call of ``fencepost run``. Empty ``modes`` means all modes of the plan.

    ``version`` is BookKeeper's, None for the plan's or the default; ``settings`` replace the plan's own
    parameters, ``rounds`` its rounds; ``seed_defects`` and ``cures`` are added to the plan's;
    ``pause_on`` (``anomaly``, ``end``) leaves the cluster up before it is
    stopped; the two configuration files are the user's own, in properties form. ``repeat`` is the command
    that repeats the run where it is not ``fencepost run``.
    """

    scenario: str
    modes: tuple[str, ...] = ()
    seed: int | None = None
    version: str | None = None
    backend: str = DEFAULT_BACKEND
    bookie_conf: Path | None = None
    client_conf: Path | None = None
    keep: bool = False
    results: Path = field(default_factory=lambda: default_results())
    settings: tuple[tuple[str, str], ...] = ()
    rounds: int | None = None
    seed_defects: tuple[str, ...] = ()
    cures: tuple[str, ...] = ()
    pause_on: str = ""
    repeat: tuple[str, ...] = ()


def default_results() -> Path:
    """``FENCEPOST_RESULTS``, else ``./results``."""
    return Path(os.environ.get("FENCEPOST_RESULTS") or "results")


def properties_of(path: Path | None) -> dict[str, str]:
    """The settings in a user's properties file, none for no file; ``UsageError`` when it is malformed."""
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
    return parse_properties(text, source=str(path))
