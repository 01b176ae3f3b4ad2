"""Which releases of BookKeeper can be run, and what a version is as a value.

Knows names and order of releases only: no files, no network, no Java. ``PUBLISHED`` lists what
Maven Central held when the list was made (4.14.0, 4.14.6, 4.14.8 and some others were tagged but
never published there); a newer release needs no entry here to be used.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from protocol.errors import UsageError

DEFAULT_VERSION = "4.18.0"
FIRST_SUPPORTED = (4, 14, 0)
PUBLISHED = (
    "4.14.1", "4.14.2", "4.14.3", "4.14.4", "4.14.5", "4.14.7",
    "4.15.0", "4.15.1", "4.15.3", "4.15.4",
    "4.16.0", "4.16.1", "4.16.2", "4.16.3", "4.16.4", "4.16.5", "4.16.6",
    "4.17.0", "4.17.1", "4.17.2", "4.17.3",
    "4.18.0",
)  # fmt: skip
_RANGE = re.compile(r"from ([\d.]+) on|([\d.]+)(?: to ([\d.]+))?")
_FORM = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})(-jars\.[0-9a-f]{12})?")


def parse(version: str) -> tuple[int, int, int]:
    """``(4, 18, 0)`` for ``4.18.0`` or a build of it; ``UsageError`` for another form or before 4.14."""
    match = _FORM.fullmatch(version)
    if match is None:
        raise unsupported(version, "is not a version of the form 4.18.0")
    major, minor, patch = (int(part) for part in match.groups()[:3])
    if (major, minor, patch) < FIRST_SUPPORTED:
        raise unsupported(version, "is older than 4.14, the first release with journalWriteData")
    return major, minor, patch


def among(version: str, ranges: str) -> bool:
    """Whether a version is among releases in words: ``4.15.5 and from 4.16.3 on``, ``4.14.6 to 4.14.8``.

    The words of ``docs/findings/README.md``; plans have comparisons (:func:`plans.versions.within`).
    """
    asked, found = parse(version), False
    for one in ranges.split(" and "):
        match = _RANGE.fullmatch(one)
        if match is None:
            raise ValueError(f"{one!r} is no range of releases")
        since, first, last = (parse(text) if text else None for text in match.groups())
        if since is not None:
            found |= asked >= since
        elif first is not None:
            found |= first <= asked <= (last or first)
    return found


def is_build(version: str) -> bool:
    """Whether this names a build of the user's own (:mod:`cluster.releases.artifacts`) and no release."""
    match = _FORM.fullmatch(version)
    return match is not None and match[4] is not None


def unsupported(version: str, why: str, *, way_out: str = "") -> UsageError:
    """The error for a version that cannot be run; names the value, the nearest and the known ones.

    ``way_out`` begins the remedy with what makes this version available.
    """
    match = _FORM.fullmatch(version)
    line = "" if match is None else f"{match[1]}.{match[2]}."  # the nearest is of the same line
    near = get_close_matches(version, [one for one in PUBLISHED if one.startswith(line)], n=1, cutoff=0.8)
    hint = f" (nearest: {near[0]})" if near else ""
    return UsageError(
        f"BookKeeper version {version!r} {why}{hint}",
        remedy=(
            f"{way_out}Published versions (`fencepost list versions`): "
            f"{', '.join(PUBLISHED)}. "
            "For another release, give `lib/` of its binary distribution with --jars."
        ),
    )
