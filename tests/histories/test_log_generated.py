"""Generated histories of known truth: lawful ones are valid, a lost acknowledged append is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.logs.log_histories import Shape, serial, without
from checkers.log.checker import judge_log
from evidence.codes import Outcome
from evidence.exchange.jepsen import jepsen_lines, read_jepsen
from evidence.exchange.transactions import Micro, Transactions
from evidence.findings import Verdict

SMALL = Shape(3_000, appends_to_a_log=40)


@pytest.mark.parametrize("seed", range(10))
def test_a_strictly_serializable_history_is_valid(seed: int) -> None:
    judgement = judge_log(serial(SMALL, seed))
    assert judgement.verdict is Verdict.VALID
    assert not judgement.counts


@pytest.mark.parametrize("seed", range(10))
def test_a_lost_append_is_told(seed: int) -> None:
    history = serial(SMALL, seed)
    judgement = judge_log(without(history, shown_append(history, seed)))
    assert judgement.verdict is Verdict.ANOMALY


def shown_append(history: Transactions, seed: int) -> int:
    """An acknowledged append that a transaction begun after its end shows."""
    rng = np.random.default_rng(seed)
    committed = history.outcome[history.owner] == Outcome.OK
    for append in rng.permutation(np.flatnonzero((history.kind == Micro.APPEND) & committed)):
        reads = np.flatnonzero((history.key == history.key[append]) & (history.length > 0) & committed)
        later = history.invoked[history.owner[reads]] > history.completed[history.owner[append]]
        if any(history.element[append] in history.list_of(int(read)) for read in reads[later]):
            return int(append)
    raise AssertionError("no append was shown later")


def test_a_file_of_it_is_judged_alike(tmp_path: Path) -> None:
    history = serial(SMALL, 3)
    broken = without(history, shown_append(history, 3))
    for given in (history, broken):
        for as_json in (False, True):
            path = tmp_path / ("history.json" if as_json else "history.edn")
            path.write_text("\n".join(jepsen_lines(given, as_json=as_json)))
            direct, read = judge_log(given), judge_log(read_jepsen(path))
            assert (read.verdict, read.counts, read.seen) == (direct.verdict, direct.counts, direct.seen)
