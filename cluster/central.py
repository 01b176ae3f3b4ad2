"""Files of a Maven repository, fetched by path and checked by SHA-256: no Maven, no resolution.

The repository is Maven Central, or the mirror that ``FENCEPOST_MAVEN`` names by its base URL. The caller
supplies the files' paths and sums.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import requests
from jgo.constants import MAVEN_CENTRAL_URL

from protocol.errors import PrerequisiteError

_AT_A_TIME = 8
_ATTEMPTS = 4
_TIMEOUT_S = 30
_BLOCK_BYTES = 1 << 14  # the last one is lost when a connection breaks
_OFFLINE = (
    "Check the network, then run again: what arrived is kept. "
    "HTTPS_PROXY names a proxy, FENCEPOST_MAVEN a mirror."
)


def repository() -> str:
    """The base URL of the repository."""
    return (os.environ.get("FENCEPOST_MAVEN") or MAVEN_CENTRAL_URL).rstrip("/")


def fetch(sums: Mapping[str, str], into: Path) -> None:
    """Fetch files (path in the repository to SHA-256) into one folder under their last names.

    Complete files are kept, a partial file is continued. ``PrerequisiteError`` when the repository is
    unreachable, lacks a file, or has other content.
    """
    into.mkdir(parents=True, exist_ok=True)
    with requests.Session() as session, ThreadPoolExecutor(_AT_A_TIME) as pool:
        try:
            tasks = [pool.submit(_fetch, session, path, digest, into) for path, digest in sums.items()]
            for task in tasks:
                task.result()
        except OSError as error:
            raise PrerequisiteError(f"{into} cannot be written: {error.strerror}") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(session: requests.Session, path: str, digest: str, into: Path) -> None:
    target = into / PurePosixPath(path).name
    if target.exists():  # it got its name after its check
        return
    part = target.with_name(f"{target.name}.part")
    url = f"{repository()}/{path}"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _continue(session, url, part)
        except requests.RequestException as error:
            if not _passing(error):
                raise PrerequisiteError(f"{url} cannot be fetched: {error}", remedy=_OFFLINE) from None
            if attempt == _ATTEMPTS:
                raise PrerequisiteError(
                    f"{repository()} cannot be reached: {error}", remedy=_OFFLINE
                ) from None
            time.sleep(attempt)
            continue
        with part.open("rb") as stream:
            seen = hashlib.file_digest(stream, "sha256").hexdigest()
        if seen == digest:
            part.rename(target)
            return
        part.unlink()
    raise PrerequisiteError(
        f"{url} has SHA-256 {seen}, the lock says {digest}",
        remedy="Check FENCEPOST_MAVEN and the proxy: they return another file than the one locked.",
    )


def _continue(session: requests.Session, url: str, part: Path) -> None:
    """Append to ``part`` what it lacks of the file; a server without ranges sends all of it again."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # it is whole, or is no part of this file: the sum says which
        response.raise_for_status()
        with part.open("ab" if response.status_code == requests.codes.partial_content else "wb") as stream:
            for block in response.iter_content(_BLOCK_BYTES):
                stream.write(block)


def _passing(error: requests.RequestException) -> bool:
    """Whether the next attempt may succeed: the connection broke, or the server has a temporary error."""
    if error.response is None:
        return isinstance(
            error, requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError
        )
    return error.response.status_code >= 500 or error.response.status_code == requests.codes.too_many_requests
