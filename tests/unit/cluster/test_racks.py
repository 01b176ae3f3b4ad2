"""The script that tells racks, run by a real shell, and the settings that name it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cluster.configuration import rack_script, rack_settings
from protocol.addresses import AddressPlan, bookie_id

RACKS = {"b1": "r1", "b2": "r2", "b11": "r3"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "racks.sh"
    path.write_text(rack_script(RACKS))
    path.chmod(0o755)
    return path


def racks_of(script: Path, *bookies: str) -> list[str]:
    return subprocess.run([str(script), *bookies], capture_output=True, text=True, check=True).stdout.split()


def test_a_bookie_is_known_by_its_name_its_id_and_each_of_its_addresses(script: Path) -> None:
    plan = AddressPlan(7)
    for bookie, rack in RACKS.items():
        names = (bookie, bookie_id(bookie), plan.direct(bookie)[0], plan.link(101, bookie)[0])
        assert racks_of(script, *names) == [f"/{rack}"] * 4


def test_a_stranger_stands_in_the_default_rack(script: Path) -> None:
    assert racks_of(script, "b3", "127.7.0.21", "elsewhere") == ["/default-rack"] * 3


def test_without_arguments_it_succeeds_and_says_nothing(script: Path) -> None:
    assert racks_of(script) == [], "BookKeeper tries it so before it relies on it"


def test_the_demand_is_enforced() -> None:
    settings = rack_settings("/somewhere/racks.sh", 3)
    assert settings["networkTopologyScriptFileName"] == "/somewhere/racks.sh"
    assert settings["minNumRacksPerWriteQuorum"] == "3"
    assert settings["enforceMinNumRacksPerWriteQuorum"] == "true"
