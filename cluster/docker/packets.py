"""Drops packets in a container's network, by nftables; from outside, because containers are not privileged.

The rules are in a separate table, beside the engine's, in the network stack that a file names
(the engine's ``SandboxKey``); what goes over its own loopback always passes. Needs root and ``nft``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Collection, Mapping

from cluster.processes.runner import PacketDirection
from cluster.servers.disks import SYSTEM_PATH, refused_to_root
from protocol.errors import ServerError

_TABLE = "inet fencepost"
_HOOKS = {PacketDirection.INCOMING: ("input", "iifname"), PacketDirection.OUTGOING: ("output", "oifname")}
_TIMEOUT_S = 30


def unavailable_reason() -> str | None:
    """Why no packets can be dropped on this machine, None when they can."""
    if os.geteuid() != 0:
        return "dropping packets in a container's network needs root"
    missing = [program for program in ("nft", "nsenter") if shutil.which(program, path=SYSTEM_PATH) is None]
    if missing:
        return f"{' and '.join(missing)} missing: apt-get install nftables util-linux"
    return _forbidden()


def _forbidden() -> str | None:
    """Why the kernel forbids it, as to the root of a container without privileges; None when it does not."""
    seen = refused_to_root("unshare", "--net", "nft", "list", "ruleset")
    return seen and f"this root may not drop packets in another network: {seen}"


def drop(stack: str, ways: Collection[PacketDirection]) -> None:
    """Let nothing pass ``ways`` from here on, and all else; in one step. ``ServerError``."""
    _nft(stack, "-f", "-", stdin=rules(ways))


def dropped(stack: str) -> Mapping[PacketDirection, int]:
    """Number of packets dropped up to now, for each closed direction."""
    listed = json.loads(_nft(stack, "-j", "list", "ruleset", "inet"))["nftables"]
    counters = [one["counter"] for one in listed if "counter" in one]
    return {
        PacketDirection(one["name"]): one["packets"]
        for one in counters
        if f"{one['family']} {one['table']}" == _TABLE
    }


def rules(ways: Collection[PacketDirection]) -> str:
    """The table as nft reads it, replacing an existing table; only removes it when ``ways`` is empty."""
    # Adding first makes removing right in any case.
    lines = [f"add table {_TABLE}", f"delete table {_TABLE}"]
    for way in sorted(ways):
        hook, interface = _HOOKS[way]
        lines += [
            f"add table {_TABLE}",
            f"add counter {_TABLE} {way}",
            f"add chain {_TABLE} {way} {{ type filter hook {hook} priority 0; }}",
            f'add rule {_TABLE} {way} {interface} != "lo" counter name "{way}" drop',
        ]
    return "\n".join([*lines, ""])


def _nft(stack: str, *words: str, stdin: str = "") -> str:
    try:
        done = subprocess.run(
            ["nsenter", f"--net={stack}", "nft", *words],
            input=stdin,
            env={**os.environ, "PATH": SYSTEM_PATH},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise ServerError(f"nft in {stack} failed: {error.stderr.strip()}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerError(f"nft in {stack} failed: {error}") from error
    return done.stdout
