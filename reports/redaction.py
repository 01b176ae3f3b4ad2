"""Removes private information from texts: hosts, users, environment, absolute paths, addresses.

Paths below the run's folder become ``RUN/...``, all other absolute paths ``PATH``. Loopback addresses
stay, because the run assigned them. Works on any text, line by line, with two special cases:
``run.json`` (:func:`redacted_run`), and ``data`` in JSON, which may be text in base64, such as bookies'
cookies in ZooKeeper's transactions.
"""

from __future__ import annotations

import base64
import getpass
import ipaddress
import json
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evidence.folder import FoundRun, json_text

RUN, PATH, HOST, USER, ADDRESS = "RUN", "PATH", "HOST", "USER", "ADDRESS"
_TOPS = (
    "Applications", "Library", "Users", "Volumes", "bin", "boot", "builds", "data", "dev", "etc", "home",
    "lib", "lib64", "media", "mnt", "nix", "opt", "private", "proc", "root", "run", "sbin", "snap", "srv",
    "sys", "tmp", "usr", "var", "work", "workspace",
)  # fmt: skip
"""First parts of absolute paths, without ZooKeeper's (``/ledgers``). The run's first parts are added."""
_TAIL = r"(?:/[^\s\"'\\:;,<>()\[\]{}|=&]*)?"
_ENVIRONMENT = re.compile(r"(?m)^.*\benvironment:.*$")
_ENVIRONMENT_LEFT_OUT = "(a line about the environment is left out)"
_OWNER = re.compile(r"\b(user|host)\.name[=:]\s*([\w.-]+)")
_IPV4 = re.compile(r"(?<![\w.-])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])")
_COLONS = re.compile(r"(?<![\w.:])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_ENCODED = re.compile(r'(?<="data":")[A-Za-z0-9+/]{8,}={0,2}(?=")')
_COMMON = frozenset(
    {"localhost", "root", "user", "bookie", "bookkeeper", "ledger", "zookeeper", "client", "b1"}
)
"""Names of hosts and users that identify no person, and that are frequent in texts."""
_SHORTEST_NAME = 3
_RECORDED = re.compile(r'"(/[^"]+)/[^"/]+/raw/frames"')
"""The folder where a run was recorded, in the proxy's log."""
_CHUNK_BYTES = 1 << 20
_MACHINE = ("kernel", "cores", "memory_bytes", "java")


@dataclass(frozen=True)
class Redactor:
    """Replaces the folder where the run was recorded, and the names of hosts and users that it knows."""

    recorded: tuple[str, ...]
    names: Mapping[str, str]
    tops: tuple[str, ...]

    def text(self, text: str) -> str:
        """The text without private information; unchanged if there is none."""
        return self._plain(_ENCODED.sub(self._encoded, text))

    def _encoded(self, found: re.Match[str]) -> str:
        try:
            inner = base64.b64decode(found.group(), validate=True).decode()
        except ValueError:
            return found.group()
        # In a cookie a tab is written as two characters, right before a path.
        clean = r"\t".join(map(self._plain, inner.split(r"\t")))
        return found.group() if clean == inner else base64.b64encode(clean.encode()).decode()

    def _plain(self, text: str) -> str:
        text = _ENVIRONMENT.sub(_ENVIRONMENT_LEFT_OUT, text)
        for folder in self.recorded:
            text = re.sub(rf"(?<![\w.-]){re.escape(folder)}(?![\w.-])", RUN, text)
        tops = "|".join(map(re.escape, self.tops))
        text = re.sub(rf"(?<![\w.~}})-])/(?:{tops})(?![\w.-]){_TAIL}", PATH, text)
        for name, sign in self.names.items():
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sign, text)
        return _COLONS.sub(_address, _IPV4.sub(ADDRESS, text))


def redacted_run(text: str, redactor: Redactor) -> str:
    """``run.json`` without private information, in the form of :func:`evidence.folder.write_json`.

    Of the machine, only what tells runs apart is kept; the words of the command line are left out.
    """
    tree = json.loads(text)
    host = {key: value for key, value in tree.get("host", {}).items() if key in _MACHINE}
    return redactor.text(json_text({**tree, "host": host, "argv": []}))


def _address(found: re.Match[str]) -> str:
    """``ADDRESS`` for an IPv6 address; other texts with colons, such as a time of day, stay."""
    try:
        address = ipaddress.IPv6Address(found.group())
    except ValueError:
        return found.group()
    return found.group() if address.is_loopback or address.is_unspecified else ADDRESS


def _own_names() -> Iterable[tuple[str, str]]:
    for host in {socket.gethostname(), socket.gethostname().partition(".")[0]}:
        yield host, HOST
    try:
        yield getpass.getuser(), USER
    except (KeyError, OSError):  # a user without a name
        return


def redactor_for(found: FoundRun) -> Redactor:
    """The redactor of a run, which learns from the run's folder, its place of recording and its logs.

    Names of the run's own processes stay even if a host or user has the same name.
    """
    paths = {str(found.path), str(found.path.resolve())}
    kept, names = set(_COMMON), dict(_own_names())
    for folder in found.modes:
        kept |= set(folder.run()["versions"])
        paths |= set(_RECORDED.findall(folder.end_json.read_text()) if folder.end_json.is_file() else ())
        for log in folder.servers.glob("*/boot-1.log"):
            owners = _OWNER.findall(_beginning(log))
            names |= {name: HOST if what == "host" else USER for what, name in owners}
    recorded = sorted({one.rstrip("/") for one in paths if one.startswith("/")}, key=len, reverse=True)
    tops = {Path(one).parts[1] for one in (*recorded, str(Path.cwd()), str(Path.home())) if len(one) > 1}
    return Redactor(
        tuple(recorded),
        {name: sign for name, sign in names.items() if name not in kept and len(name) >= _SHORTEST_NAME},
        tuple(sorted({*_TOPS, *tops})),
    )


def _beginning(log: Path) -> str:
    with log.open("rb") as stream:
        return stream.read(_CHUNK_BYTES).decode(errors="replace")
