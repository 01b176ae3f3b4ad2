"""Histories for Hypothesis: nonsense (any rows at all) and cuts of a history into batches of whole blocks.

Examples are derandomised: the same ones on every machine and every day. With ``--long`` they are new each
time, and a failure prints the line that repeats its example.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from checkers.judging.contract import RunFacts
from checkers.judging.judge import CHECKERS, Checkers, judge
from evidence.codes import NEVER, Holding, Kind, Outcome, Proof
from evidence.findings import RunVerdict
from tests.histories.story import BLANK, THREE, Fact, chunk, metadata

FOUR = ("b1", "b2", "b4")


def steady(examples: int) -> Any:
    """Settings of every property test here; five times as many examples with ``--long``."""
    is_long = settings.get_current_profile_name() == "long"
    return settings(
        max_examples=examples * (5 if is_long else 1),
        derandomize=not is_long,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


IDS, LEDGERS, SIZES, WRITERS = range(-1, 5), (1, 2), (64, 100), (101, 102)
KINDS = (*(Kind.ADD, Kind.ENTRY, Kind.LAC, Kind.FORCE) * 4, *sorted(set(Kind) - {Kind.CENSUS}))
FLAGS = (0, 0, 1, 2, 4, 16, 18, 32)
IN_ORDER = (0, 0, 2, 4, 16, 18)
"""Without deferred adds and ids that the client chose: the length of such a ledger is judged."""
OPERATION = {
    "kind": KINDS,
    "outcome": (Outcome.OK, Outcome.OK, *Outcome),
    "ledger": LEDGERS,
    "entry": IDS,
    "flags": FLAGS,
    "proof": (Proof.PROVES_ITSELF, Proof.PROVES_ITSELF, *Proof),
    "client": WRITERS,
    "handle": (1, 2),
    "invoked_ns": range(7),
    "last": IDS,
    "lac_before": IDS,
    "lac": IDS,
    "result": IDS,
    "expected": IDS,
    "size_bytes": SIZES,
    "origin": WRITERS,
}
ANSWER = {
    "ledger": LEDGERS,
    "entry": range(5),
    "pass_number": (2, 2, 1),
    "bookie": range(1, 5),
    "holding": (Holding.ABSENT, Holding.ABSENT, *Holding),
    "origin": WRITERS,
    "size_bytes": SIZES,
    "asked_ns": (1, 5),
}
VERSION = {
    "state": (1, 2, 3, 3, 1, 0),
    "first": (THREE, FOUR),
    "second": (None, 1, 2, 3),
    "then": (THREE, FOUR),
    "last_entry": IDS,
    "write_quorum": (3, 3, 2),
    "latest_ns": (NEVER, 2, 4),
    "length_bytes": (0, 64, 100, 200, 9000),
}


def one_of_each(choices: Mapping[str, Sequence[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """A value for each name, each drawn by itself: all values of a column are about as frequent."""
    return st.fixed_dictionaries({name: st.sampled_from(values) for name, values in choices.items()})


def _operation(seq: int, columns: dict[str, Any]) -> Fact:
    return "operations", {**BLANK, **{name: int(value) for name, value in columns.items()}, "seq": seq}


def _answer(columns: dict[str, Any]) -> Fact:
    blank = {"error": 0, "answered_ns": columns["asked_ns"] + 1, "digest": 0}
    return "census", {**blank, **{name: int(value) for name, value in columns.items()}}


def _version(where: tuple[int, int], columns: dict[str, Any]) -> Fact:
    ledger, number = where
    fragments = {0: columns["first"]}
    if columns["second"]:
        fragments[columns["second"]] = columns["then"]
    return metadata(
        number,
        columns["state"],
        ledger=ledger,
        last_entry=columns["last_entry"] if columns["state"] == 3 else -2,
        length_bytes=columns["length_bytes"] if columns["state"] == 3 else 0,
        write_quorum=columns["write_quorum"],
        fragments=fragments,
        latest_ns=columns["latest_ns"],
    )


@st.composite
def nonsense(draw: st.DrawFn) -> list[Fact]:
    """Any rows in any order; only one row for each version of a ledger."""
    rows = draw(st.lists(one_of_each(OPERATION), max_size=14))
    asked = draw(st.lists(one_of_each(ANSWER), max_size=14))
    where = st.tuples(st.integers(1, 2), st.integers(0, 3))
    seen = draw(st.dictionaries(where, one_of_each(VERSION), max_size=5))
    return [
        *(_operation(seq, row) for seq, row in enumerate(rows, start=1)),
        *map(_answer, asked),
        *(_version(at, version) for at, version in seen.items()),
    ]


def random_nonsense(seed: int) -> list[Fact]:
    """The same kind of history, longer than Hypothesis likes to draw."""
    dice = random.Random(seed)

    def rows(choices: Mapping[str, Sequence[Any]], number: int) -> list[dict[str, Any]]:
        return [{name: dice.choice(values) for name, values in choices.items()} for _ in range(number)]

    asked = rows(ANSWER, dice.randint(0, 50))
    places = [(ledger, number) for ledger in LEDGERS for number in range(dice.randint(0, 4))]
    operations = rows({**OPERATION, "flags": dice.choice((FLAGS, IN_ORDER))}, dice.randint(5, 40))
    return [
        *(_operation(seq, row) for seq, row in enumerate(operations, start=1)),
        *map(_answer, asked),
        *(_version(at, row) for at, row in zip(places, rows(VERSION, len(places)), strict=True)),
    ]


WHOLE = 10**9
"""Entries of a block that has all entries of its ledger."""


def blocks(history: list[Fact], entries: int) -> list[list[Fact]]:
    """The rows of each block of ``entries`` ids; metadata, and rows without an entry, are a block's too."""
    found: dict[tuple[int, int], list[Fact]] = {}
    for table, row in history:
        for piece in _pieces(row, entries) if table == "holdings" else (row,):
            block = piece.get("entry", -1) // entries  # -1 where no entry is named
            found.setdefault((piece.get("ledger", -1), block), []).append((table, piece))
    return list(found.values())


def _pieces(span: dict[str, Any], entries: int) -> list[dict[str, Any]]:
    """A span of a bookie's disk, cut where blocks end, as collection cuts it."""
    edges = range(span["entry"] - span["entry"] % entries, span["last"] + 1, entries)
    return [
        {**span, "entry": max(span["entry"], edge), "last": min(span["last"], edge + entries - 1)}
        for edge in edges
    ]


def random_cuts(seed: int, history: list[Fact]) -> list[list[Fact]]:
    """The history in blocks of a random size, dealt out to up to six batches, rows shuffled."""
    dice = random.Random(seed)
    dealt: list[list[Fact]] = [[] for _ in range(dice.randint(1, 6))]
    for block in blocks(history, dice.choice((1, 2, 3, 7, WHOLE))):
        dice.choice(dealt).extend(block)
    return [dice.sample(part, len(part)) for part in dealt]


def as_text(verdict: RunVerdict) -> str:
    """The verdict as it is written."""
    return json.dumps(verdict.as_json(), sort_keys=True)


def judged_wherever_cut(
    seed: int, history: list[Fact], run: RunFacts, checkers: Checkers = CHECKERS
) -> RunVerdict:
    """The verdict on a history; it is the same where the history is cut at random places."""
    whole = judge([chunk(history)], run, checkers=checkers)
    parts = [chunk(part) for part in random_cuts(seed, history)]
    assert as_text(judge(parts, run, checkers=checkers)) == as_text(whole), seed
    return whole


@st.composite
def cuts(draw: st.DrawFn, history: list[Fact]) -> list[list[Fact]]:
    """The history in blocks of a random size, grouped into batches, some perhaps empty; rows shuffled."""
    shuffled = draw(st.permutations(history))
    pieces = draw(st.permutations(blocks(shuffled, draw(st.sampled_from((1, 2, 3, WHOLE))))))
    places = sorted(draw(st.lists(st.integers(0, len(pieces)), max_size=5)))
    edges = [0, *places, len(pieces)]
    return [list(chain.from_iterable(pieces[a:b])) for a, b in pairwise(edges)]
