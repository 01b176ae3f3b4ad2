"""Histories of Jepsen and Elle are read whole, in any layout; errors name the line and the value."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from evidence.codes import NEVER, Outcome
from evidence.exchange.jepsen import jepsen_lines, read_jepsen
from evidence.exchange.transactions import Micro, Transactions
from protocol.errors import EvidenceError
from tests.histories.log_story import append, failed, ok, read, story, unknown
from tests.histories.strategies_log import any_history, simulated

PLAIN = """\
{:index 0, :time 10, :type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil]]}
{:index 1, :time 20, :type :invoke, :process 1, :f :txn, :value [[:append 6 7]]}
{:index 2, :time 30, :type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]]]}
{:index 3, :time 40, :type :info, :process 1, :f :txn, :value [[:append 6 7]]}
"""
RECORDS = PLAIN.replace("{:index", "#jepsen.history.Op{:index")
ONE_LIST = f"[{PLAIN}]\n"
SPREAD = PLAIN.replace(", :f :txn", ",\n  :f :txn ; a transaction\n").replace("[1]", "[ 1, ]")
OTHER_ORDER = """\
{:type :invoke, :f :txn, :value [[:append 5 1] [:r 5 nil]], :process 0, :time 10, :index 0}
{:type :invoke, :f :txn, :value [[:append 6 7]], :process 1, :time 20, :index 1}
{:type :info, :f :kill, :value {"n1" :killed}, :process :nemesis, :time 25, :index 9}
{:type :ok, :f :txn, :value [[:append 5 1] [:r 5 [1]]], :process 0, :time 30, :index 2}
{:type :info, :f :txn, :value [[:append 6 7]], :process 1, :time 40, :index 3, :error [:timeout "x"]}
"""
JSON_LINES = """\
{"index": 0, "time": 10, "type": "invoke", "process": 0, "value": [["append", 5, 1], ["r", 5, null]]}
{"index": 1, "time": 20, "type": "invoke", "process": 1, "f": "txn", "value": [["append", 6, 7]]}
{"index": 2, "time": 30, "type": "ok", "process": 0, "f": "txn", "value": [["append", 5, 1], ["r", 5, [1]]]}
{"index":3,"time":40,"type":"info","process":1,"f":"txn","value":[["append",6,7]],"error":["timeout"]}
"""
JSON_LIST = "[" + ",\n".join(JSON_LINES.splitlines()) + "]\n"


def written(tmp_path: Path, text: str, name: str = "history.edn") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PLAIN, "history.edn"),
        (PLAIN, "history"),
        (RECORDS, "history.edn"),
        (ONE_LIST, "history.edn"),
        (SPREAD, "history.edn"),
        (OTHER_ORDER, "history.edn"),
        (JSON_LINES, "history.json"),
        (JSON_LINES, "history"),
        (JSON_LINES, "history.jsonl"),
        (JSON_LIST, "history.json"),
        (JSON_LIST.replace("\n", "\n  ").replace("{", "{\n"), "history.json"),
    ],
    ids=[
        "plain",
        "no suffix",
        "records",
        "list",
        "spread",
        "nemesis",
        "json",
        "json unnamed",
        "json lines",
        "array",
        "pretty",
    ],
)
def test_every_layout_says_the_same(tmp_path: Path, text: str, name: str) -> None:
    given = read_jepsen(written(tmp_path, text, name))
    assert given.process.tolist() == [0, 1]
    assert given.outcome.tolist() == [Outcome.OK, Outcome.UNKNOWN]
    assert given.number.tolist() == [2, 3]
    assert given.invoked.tolist() == [1, 2]
    assert (given.completed > given.invoked).all()
    assert given.completed[1] == NEVER
    assert given.key_names == ("5", "6")
    assert given.element.tolist() == [1, 0, 7]
    assert given.list_of(1).tolist() == [1]


def reads(key: str, *lists: str) -> str:
    """A history of one read for each of these lists, one after the other."""
    return "\n".join(
        f"{{:type :{kind}, :process {at}, :value [[:r {key} {value if kind == 'ok' else 'nil'}]]}}"
        for at, value in enumerate(lists)
        for kind in ("invoke", "ok")
    )


def test_lists_share_what_they_have_in_common(tmp_path: Path) -> None:
    text = reads(":x", "[1 2 3]", "[]", "[1]", "[1 2 3 40]", "[1 22]", "nil", "[1 2]", "[1 2 3 4]")
    given = read_jepsen(written(tmp_path, text))
    assert [given.list_of(at).tolist() for at in range(8)] == [
        [1, 2, 3], [], [1], [1, 2, 3, 40], [1, 22], [], [1, 2], [1, 2, 3, 4],
    ]  # fmt: skip
    assert len(given.elements) == 4 + 2 + 4


def test_a_list_that_begins_like_another_is_not_taken_for_its_continuation(tmp_path: Path) -> None:
    given = read_jepsen(written(tmp_path, reads("1", "[1 2]", "[1 22]")))
    assert [given.list_of(at).tolist() for at in (0, 1)] == [[1, 2], [1, 22]]


def test_integers_of_any_size_are_elements(tmp_path: Path) -> None:
    many = 10**30
    text = (
        f"{{:type :invoke, :process 3, :value [[:append 1 {many}]]}}\n{{:type :ok, :process 3, :value nil}}\n"
    )
    given = read_jepsen(written(tmp_path, text))
    assert given.element_text(given.element[0]) == str(many)


def test_elements_and_keys_of_any_kind_keep_their_names(tmp_path: Path) -> None:
    text = (
        '{:type :invoke, :process 3, :value [[:append "a b" :one] [:r "a b" nil]]}\n'
        '{:type :ok, :process 3, :value [[:append "a b" :one] [:r "a b" [2.5 :one]]]}\n'
    )
    given = read_jepsen(written(tmp_path, text))
    assert given.key_names == ("a b",)
    assert [given.element_text(one) for one in given.list_of(1)] == ["2.5", ":one"]
    assert given.element_text(given.element[0]) == ":one"


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_written_is_read_again(tmp_path: Path, as_json: bool) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        given = story(*(any_history if seed % 2 else simulated)(rng))
        name = "history.json" if as_json else "history.edn"
        text = "\n".join(jepsen_lines(given, as_json=as_json)) + "\n"
        assert seen_by_judging(read_jepsen(written(tmp_path, text, name))) == seen_by_judging(given)


def seen_by_judging(given: Transactions) -> list[object]:
    """What judging depends on: who did what, and whose transactions completed before it began."""
    rows: list[object] = []
    for row in range(len(given)):
        outcome = Outcome(int(given.outcome[row]))
        micros: list[object] = []
        for micro in range(int(given.first[row]), int(given.first[row + 1])):
            key = given.key_names[int(given.key[micro])]
            if given.kind[micro] == Micro.APPEND:
                micros.append((key, int(given.element[micro])))
            elif outcome is Outcome.OK and given.length[micro] >= 0:
                micros.append((key, given.list_of(micro).tolist()))
        before = np.flatnonzero((given.completed < given.invoked[row]) & (given.outcome == Outcome.OK))
        rows.append((int(given.process[row]), outcome, micros, sorted(given.process[before].tolist())))
    return sorted(rows, key=repr)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{:type :ok, :process 0, :value [[:r 1 [1]]]}", "process 0 completes an operation that it had not"),
        (
            "{:type :invoke, :process 4, :value [[:w 1 2]]}\n{:type :fail, :process 4, :value nil}",
            "'w'; there are",
        ),
        ("{:type :begin, :process 4, :value nil}", "type is one of invoke, ok, fail, info, not 'begin'"),
        ("{:process 4, :value nil}", "an operation needs a type, this one has process 4"),
        ("{:type :invoke, :process 4, :value [[:append 1]]}", "a micro-operation is [:append key element]"),
        ("{:type :invoke, :process 4, :value 7}", "a list of micro-operations, this is 7"),
        ("[:type :invoke]", "an operation is a map, this is '[:type :invoke]'"),
        ("{:type :invoke, :process 4, :value [[:append 1 1]", "the text ends before"),
        ("{:type :invoke :process}", "a map needs a value for each key, it has 3 forms"),
        ("}", "'}' closes nothing"),
        (
            "{:type :invoke, :process 4, :value [[:r 1 nil]]}\n{:type :ok, :process 4, :value [[:r 1 5]]}",
            "a read of a log returns a list, not 5",
        ),
        (
            "{:type :invoke, :process 4, :value nil}\n{:type :ok, :process 4, :value [[:r 1 [1 - 2]]]}",
            "an element is a number, a text or a keyword, not '-'",
        ),
        (
            "{:type :invoke, :process 4, :value []}\n{:type :invoke, :process 4, :value []}",
            "process 4 invokes while its operation",
        ),
    ],
)
def test_what_is_wrong_is_told_by_line(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, PLAIN + line + "\n")
    with pytest.raises(EvidenceError) as caught:
        read_jepsen(path)
    assert message in str(caught.value)
    last = 5 + line.count("\n")
    assert f"history.edn, line {last}: " in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"type": "invoke", "process": ', "ends within an operation"),
        ('{"type": "invoke", "process": 1', "ends within an operation"),
        ("7", "an operation is a map, this is 7"),
    ],
)
def test_what_is_wrong_in_json_is_told_by_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(EvidenceError, match=f"line 5: {message}"):
        read_jepsen(written(tmp_path, f"{JSON_LINES}{line}\n", "history.json"))


def test_an_empty_file_is_no_history(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="is empty"):
        read_jepsen(written(tmp_path, ""))


def test_an_operation_that_never_ended_is_unknown(tmp_path: Path) -> None:
    given = read_jepsen(written(tmp_path, "{:type :invoke, :process 0, :value [[:append 1 1]]}\n"))
    assert given.outcome.tolist() == [Outcome.UNKNOWN]


def test_failed_and_unknown_survive_writing() -> None:
    lines = list(jepsen_lines(story(failed(append("x", 1)), unknown(append("x", 2)), ok(read("x")))))
    assert [line.split(":type ")[1].split(",")[0] for line in lines] == [
        ":invoke", ":invoke", ":invoke", ":fail", ":ok", ":info",
    ]  # fmt: skip
