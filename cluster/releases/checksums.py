"""The cache of fetched files, and SHA-256 locks of a folder of jars: read, write, check at no cost.

A lock is text in the format of ``sha256sum``: one line ``<hex>  <path>`` for each file, sorted by
path. The path is the file's in a Maven repository, or only its name; the folder has files by name.
The check remembers each file's stat signature beside the files, so that an unchanged file is read
once and not at every start; a file whose size, inode or times changed is read again.
Independent of BookKeeper and Maven.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from protocol.errors import PrerequisiteError

MEMO = ".verified.json"
_LINE_FIELDS = 2


def cache_root() -> Path:
    """The cache's folder; not created here."""
    own = os.environ.get("FENCEPOST_CACHE")
    if own:
        return Path(own).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "fencepost"


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an advisory lock on ``path``; the kernel releases it when the process ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise PrerequisiteError(
            f"the cache {path.parent} cannot be written: {error.strerror}",
            remedy="Set FENCEPOST_CACHE to a folder that this user can write.",
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_lock(path: Path) -> dict[str, str]:
    """File name to hex digest; ``ValueError`` names the first line of another form."""
    return {PurePosixPath(name).name: digest for name, digest in read_paths(path).items()}


def read_paths(path: Path) -> dict[str, str]:
    """Path in the repository to hex digest; ``ValueError`` names the first line of another form."""
    hashes: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), start=1):
        fields = line.split()
        if len(fields) != _LINE_FIELDS or len(fields[0]) != hashlib.sha256().digest_size * 2:
            raise ValueError(f"{path}:{number}: not a line of a checksum file: {line!r}")
        hashes[fields[1]] = fields[0]
    return hashes


def write_lock(path: Path, hashes: Mapping[str, str]) -> None:
    """Write the lock, sorted by path, so that a reader sees the old one or the new one, never a part."""
    _replace(path, "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items())))


def digests(folder: Path) -> dict[str, str]:
    """File name to hex digest of each jar of ``folder``, unchanged ones from the memo."""
    memo = _read_memo(folder / MEMO)
    fresh = {path.name: _remembered(path, memo) for path in sorted(folder.glob("*.jar"))}
    if fresh != memo:
        _write_memo(folder / MEMO, fresh)
    return {name: str(entry[-1]) for name, entry in fresh.items()}


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """One sentence for each file that is missing, not expected, or of other content."""
    sentences = [f"{name} is missing" for name in sorted(expected.keys() - found.keys())]
    sentences += [f"{name} is not in the lock" for name in sorted(found.keys() - expected.keys())]
    sentences += [
        f"{name} has SHA-256 {found[name]}, the lock says {expected[name]}"
        for name in sorted(expected.keys() & found.keys())
        if expected[name] != found[name]
    ]
    return sentences


Signature = list[int | str]


def _remembered(path: Path, memo: Mapping[str, Signature]) -> Signature:
    status = path.stat()
    signature: Signature = [status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]
    known = memo.get(path.name)
    if known is not None and known[:-1] == signature:
        return known
    with path.open("rb") as stream:
        return [*signature, hashlib.file_digest(stream, "sha256").hexdigest()]


def _read_memo(path: Path) -> dict[str, Signature]:
    try:
        memo = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memo if isinstance(memo, dict) else {}


def _write_memo(path: Path, memo: Mapping[str, Signature]) -> None:
    try:
        _replace(path, json.dumps(memo, indent=0, sort_keys=True))
    except OSError:  # a cache that cannot be written costs time, not correctness
        return


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
