"""Campaigns live: the shipped campaigns write their files, and a killed campaign loses no finished run."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.length import quick_and_long
from tests.live.running import RUN_TIMEOUT_S, Start, wait_until

THREE_RUNS = """\
name: short
runs: [{scenarios: [fencing/figure], modes: [unprotected], seeds: 3, rounds: 1}]
"""
KILLED = """\
name: killed
runs:
  - {{scenarios: [fencing/figure, bp46/disk-read-only], modes: [unprotected], seeds: {seeds}, rounds: 1}}
"""


def test_a_night_that_is_killed_goes_on_where_it_was(fencepost: Start, tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    file.write_text(THREE_RUNS, encoding="utf-8")
    first = fencepost("campaign", str(file))

    def kept() -> dict[str, dict[str, object]]:
        states = list(first.results.glob("campaigns/short/*/campaign.json"))
        return dict(json.loads(states[0].read_text())["done"]) if states else {}

    wait_until(lambda: len(kept()) >= 1, "the first run", timeout_s=RUN_TIMEOUT_S)
    wait_until(lambda: first.look() or len(first.logs()) >= 2, "the second run")
    first.send(signal.SIGKILL)
    first.ends(-signal.SIGKILL)
    done = kept()
    assert 1 <= len(done) < 3  # late on a busy machine, the kill may have come in the third
    assert {one["status"] for one in done.values()} == {"as expected"}

    again = fencepost("campaign", str(file), "--junit", str(tmp_path / "junit.xml"))
    again.ends(0, f"{len(done)} done already")
    assert kept() | done == kept(), "finished runs are not repeated"
    assert len(kept()) == 3
    assert len(ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")) == 3
    (page,) = first.results.glob("campaigns/short/*/summary.md")
    assert "| fencing/figure | 4.18.0 | unprotected | 3 of 3 |" in page.read_text()
    assert all(float(str(one["cpu_s"])) > 1 for one in kept().values()), kept()
    assert "Processor time: " in page.read_text()


@pytest.mark.parametrize("kills", quick_and_long(["2", "20"], ["20"]))
def test_kills_at_random_moments_lose_no_run_and_leave_nothing(
    kills: str, fencepost: Start, tmp_path: Path
) -> None:
    """Two runs at a time, some with disks that are mounted; ``kills`` is how often the command dies.

    The first kill waits for a finished run, so that the others have one to lose.
    """
    file = tmp_path / "killed.yaml"
    file.write_text(KILLED.format(seeds=2 * int(kills)), encoding="utf-8")
    state = tmp_path / "results" / "campaigns" / "killed"
    moments = random.Random(21)

    def kept() -> dict[str, dict[str, object]]:
        stored = list(state.glob("*/campaign.json"))
        return dict(json.loads(stored[0].read_text())["done"]) if stored else {}

    done: dict[str, dict[str, object]] = {}
    for _ in range(int(kills)):
        campaign = fencepost("campaign", str(file), "--parallel", "2")
        moment = time.monotonic() + moments.uniform(0.5, 30)

        def due() -> bool:
            campaign.look()  # noqa: B023
            return time.monotonic() > moment and bool(done or kept())  # noqa: B023

        wait_until(due, "the moment", timeout_s=RUN_TIMEOUT_S)
        assert campaign.process.poll() is None, campaign.finish()
        campaign.send(signal.SIGKILL)
        campaign.ends(-signal.SIGKILL)
        assert kept() | done == kept(), "a finished run is lost, or was repeated"
        assert not [line for line in _mounts_and_loops() if str(tmp_path) in line]
        done = kept()
    assert {one["status"] for one in done.values()} == {"as expected"}, done


def _mounts_and_loops() -> list[str]:
    loops = Path("/sys/block").glob("loop*/loop/backing_file")
    return [*Path("/proc/mounts").read_text().splitlines(), *(loop.read_text() for loop in loops)]


@pytest.mark.long
def test_a_control_by_a_seeded_defect_is_as_expected_because_it_acts(fencepost: Start) -> None:
    runs = "{scenarios: [protocol/order], modes: [unprotected], rounds: 1}"
    campaign = fencepost("campaign", f"name: controlled\nruns: [{runs}]\n")
    campaign.ends(0, "3 of 3 runs as expected")
    (stored,) = campaign.results.glob("campaigns/controlled/*/campaign.json")
    done = json.loads(stored.read_text())["done"].values()
    acted = {one["name"].partition("defect=")[2]: one["acted"] > 0 for one in done}
    assert acted == {"": False, "callbacks-out-of-order #1": True, "lac-goes-back #1": True}


@pytest.mark.parametrize("name", quick_and_long(["gate", "nightly"], ["nightly"]))
def test_one_run_of_a_campaign_that_is_shipped_writes_its_files(
    name: str, fencepost: Start, tmp_path: Path
) -> None:
    _, listed = fencepost("campaign", name, "--list").finish()
    runs = listed.splitlines()
    place = next(at for at, run in enumerate(runs) if run.startswith("bp46/lost-fence unprotected 4.18.0"))
    files = {"--junit": tmp_path / "junit.xml", "--markdown": tmp_path / "summary.md"}
    words = [word for option, file in files.items() for word in (option, str(file))]
    campaign = fencepost("campaign", name, "--shard", f"{place + 1}/{len(runs)}", "--annotate", *words)
    campaign.ends(0)
    (case,) = ElementTree.parse(files["--junit"]).getroot().findall(".//testcase")
    assert (case.get("classname"), list(case)) == ("bp46/lost-fence", [])
    assert "| bp46/lost-fence | 4.18.0 | unprotected | 1 of 1 |" in files["--markdown"].read_text()
    (page,) = campaign.results.glob(f"campaigns/{name}-*/*/campaign.html")
    assert "bp46/lost-fence" in page.read_text()
