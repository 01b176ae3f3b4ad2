"""How Docker Compose is started here: as the plugin (2.x), or as the program that Debian has (1.29)."""

from __future__ import annotations

import subprocess
from functools import cache

from protocol.errors import PrerequisiteError

_TIMEOUT_S = 30


@cache
def compose_command() -> tuple[str, ...]:
    """The command that starts Compose here; ``PrerequisiteError`` when Compose is missing."""
    for words in (("docker", "compose"), ("docker-compose",)):
        try:
            subprocess.run([*words, "version"], check=True, capture_output=True, timeout=_TIMEOUT_S)
        except (OSError, subprocess.SubprocessError):
            continue
        return words
    raise PrerequisiteError(
        "Docker Compose is missing: neither `docker compose` nor `docker-compose` can be started",
        remedy="scripts/images --compose brings it",
    )
