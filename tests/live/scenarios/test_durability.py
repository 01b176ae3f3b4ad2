"""Scenarios on BP-31's durability contract have the expected results, in a quick form: once, in one mode."""

from __future__ import annotations

import pytest

from cluster.servers.disks import unavailable_reason
from tests.live.running import Start
from tests.live.scenarios.stating import as_stated


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("unprotected", ["damaged-source"]),
        ("journal", ["damaged-copy", "metadata-lost"]),
        ("unprotected", ["deletion"]),
        ("protected", ["replicas-counted"]),
        pytest.param("unprotected", ["rack-lost", "write-refused"], marks=pytest.mark.long),
        pytest.param("journal", ["compaction"], marks=pytest.mark.long),
        pytest.param("protected", ["incarnation", "bit-rot", "damage-spreads"], marks=pytest.mark.long),
        pytest.param(
            "journal", ["write-errors", "placement-repaired", "metadata-wiped"], marks=pytest.mark.long
        ),
    ],
)
def test_what_endangers_the_contract_comes_out_as_stated(
    mode: str,
    names: list[str],
    fencepost: Start,
) -> None:
    run, _ = as_stated(fencepost, names, mode, document="durability")
    run.assert_nothing_left()


@pytest.mark.parametrize(
    "soak",
    [
        "durable-state",
        pytest.param(
            "disk-errors",
            marks=[
                pytest.mark.long,
                pytest.mark.skipif(
                    unavailable_reason() is not None, reason=f"no dedicated disks: {unavailable_reason()}"
                ),
            ],
        ),
    ],
)
def test_every_copy_is_there_again_when_bookies_failed_at_random(
    soak: str,
    fencepost: Start,
) -> None:
    run, runs = as_stated(fencepost, [soak], "journal", "--seed", "3", "--set", "for_s=12", document="soak")
    assert runs[soak]["judgements"]["replicas"]["verdict"] == "valid"
    run.assert_nothing_left()
