"""Each verb that passes its options on calls a function that takes them."""

from __future__ import annotations

from importlib import import_module
from unittest.mock import create_autospec

import pytest
from click.testing import CliRunner


@pytest.mark.parametrize(
    ("verb", "target", "words"),
    [
        ("replay", "search.replay.replay", ["--jars", "."]),
        ("shrink", "search.shrink.shrink", ["--finding", "durability/lost", "--jars", "."]),
        ("explore", "search.explore.explore", ["--runs", "1"]),
        ("campaign", "harness.campaigns.campaign.run_campaign", ["gate", "--shard", "2/8"]),
        ("trackrecord", "harness.campaigns.trackrecord.run_track_record", []),
        ("sensitivity", "harness.campaigns.sensitivity.measure", []),
        ("run", "harness.experiments.series.run_series", ["bp46/truncation", "--set", "a=b"]),
    ],
)
def test_the_options_of_a_verb_are_what_its_function_takes(
    monkeypatch: pytest.MonkeyPatch, verb: str, target: str, words: list[str]
) -> None:
    module, _, name = target.rpartition(".")
    called = create_autospec(getattr(import_module(module), name), return_value=0)
    monkeypatch.setattr(target, called)
    done = CliRunner().invoke(import_module(f"cli.{verb}").command, words, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    called.assert_called_once()
