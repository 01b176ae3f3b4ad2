"""Which parts of the installation are current, by a digest of the sources of each.

Standard library only. A part is current when its recorded digest equals the digest of its sources
now and its product still exists. Runs no commands.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from threading import Lock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from cluster.releases.checksums import cache_root as cache_root  # the checkout is importable only now

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
BUILD = ROOT / ".build"
CLIENT_JAR = ROOT / "client" / "target" / "fencepost-client.jar"
AGENT_JAR = ROOT / "agent" / "target" / "fencepost-agent.jar"
PROXY = ROOT / "proxy" / "bin" / "fencepost-proxy"
PARTS = ("python", "client", "proxy", "starts")
_RECORD = BUILD / "setup.json"
_RECORDING = Lock()  # the record is one file, written by several threads


def sources(part: str) -> list[Path]:
    """The files that decide what ``part`` is made of."""
    locks = ROOT / "locks"
    python = [locks / "build.txt", locks / "requirements.txt", ROOT / "pyproject.toml"]
    client = [ROOT / "scripts" / "parts" / "client_jar.py", *_below(ROOT / "client" / "src" / "main")]
    client += _below(ROOT / "agent" / "src" / "main")
    client += [locks / name for name in ("agent.sha256", "ecj.sha256", "bookkeeper-4.14.7.sha256")]
    return {
        "python": python,
        "client": client,
        "proxy": [path for path in _below(ROOT / "proxy") if path.suffix in {".go", ".mod", ".sum"}],
        "starts": [*python, *client, ROOT / "cluster" / "releases" / "versions.py"],
    }[part]


def product(part: str) -> Path:
    """The file or folder whose existence shows that ``part`` was made."""
    return {
        "python": VENV / "bin" / "fencepost",
        "client": CLIENT_JAR,
        "proxy": PROXY,
        "starts": cache_root() / "class-data",
    }[part]


def digest(part: str) -> str:
    """SHA-256 over names and contents of the part's sources, and where this checkout stands."""
    total = hashlib.sha256(f"{part} {ROOT} {sys.version_info[:2] if part == 'python' else ''}".encode())
    for path in sources(part):
        total.update(f"\0{path.relative_to(ROOT)}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def current(part: str) -> bool:
    """Whether ``part`` needs no work."""
    return product(part).exists() and _read().get(part) == digest(part)


def whole(part: str) -> bool:
    """Whether ``part`` was made completely, if perhaps of other sources."""
    return product(part).exists() and part in _read()


def record(part: str, made_from: str | None) -> None:
    """Remember that ``part`` was made from the sources with this digest; None: that it is in the making."""
    with _RECORDING:
        known = _read()
        if made_from is None:
            known.pop(part, None)
        else:
            known[part] = made_from
        temporary = _RECORD.with_suffix(".part")
        temporary.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        temporary.replace(_RECORD)


def _read() -> dict[str, str]:
    try:
        known = json.loads(_RECORD.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
