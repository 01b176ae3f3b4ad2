"""Rack-aware placement: the settings of every process that places entries, and the script that they ask.

BookKeeper's ``RackawareEnsemblePlacementPolicy`` asks its resolver for the rack of a bookie by name or by
address. The script-based resolver needs no extra class. Text in, text out: writes no file.
"""

from __future__ import annotations

from collections.abc import Mapping

from protocol.addresses import bookie_number

SCRIPT = "racks.sh"
_RESOLVER = "org.apache.bookkeeper.net.ScriptBasedMapping"
_NOBODYS = "/default-rack"


def rack_settings(script: str, min_racks: int) -> dict[str, str]:
    """Settings of clients, bookies and autorecovery; ``script`` is the absolute path of the script.

    ``min_racks`` is enforced: rather no ensemble than one in fewer racks.
    """
    return {
        "reppDnsResolverClass": _RESOLVER,
        "networkTopologyScriptFileName": script,
        "minNumRacksPerWriteQuorum": str(min_racks),
        "enforceMinNumRacksPerWriteQuorum": "true",
    }


def rack_script(racks: Mapping[str, str]) -> str:
    """A shell script that prints the rack of each of its arguments.

    A bookie's address ends in its number on every link to it.
    """
    cases = "".join(
        f"    {name}|{name}:*|*.{bookie_number(name)}) echo /{rack} ;;\n"
        for name, rack in sorted(racks.items())
    )
    return (
        '#!/bin/sh\nfor bookie in "$@"; do\n  case "$bookie" in\n'
        f"{cases}    *) echo {_NOBODYS} ;;\n  esac\ndone\n"
    )
