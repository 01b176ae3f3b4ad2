"""Lawful histories are valid; doctored ones convict where the doctoring makes them illegal, and only there.

A mutation says itself what must be found: nothing, when its precondition does not hold.
"""

from hypothesis import given
from hypothesis import strategies as st

from checkers.judge import judge
from evidence.codes import Flag, Holding, Kind, Outcome, Proof
from evidence.findings import Verdict
from tests.histories.lawful import Lawful, lawful
from tests.histories.story import chunk, convicted, deleted, vanished
from tests.histories.strategies import steady

MUTATIONS = {}


def mutation(act):
    """Register ``act(lawful, draw) -> (history, kinds that must be found)``."""
    MUTATIONS[act.__name__] = act
    return act


def final(row):
    return row["flags"] & Flag.FINAL != 0


def without(history, drop):
    return [(table, row) for table, row in history if not drop(table, row)]


def changed(history, pick, **columns):
    """The history with the first row that ``pick`` accepts changed."""
    copy, done = [], False
    for table, row in history:
        hit = not done and pick(table, row)
        copy.append((table, {**row, **columns} if hit else row))
        done |= hit
    assert done
    return copy


def is_final_entry(entry):
    return lambda table, row: (
        table == "operations" and row["kind"] == Kind.ENTRY and final(row) and row["entry"] == entry
    )


def census_of(entry):
    return lambda table, row: table == "census" and row["entry"] == entry


@mutation
def an_unknown_add_turns_out_ok(case: Lawful, draw):
    """Illegal only if the close cut the entry off."""
    unknown = [r for r in case.operations(Kind.ADD) if r["outcome"] in (Outcome.UNKNOWN, Outcome.PENDING)]
    if not unknown:
        return case.history, set()
    row = draw(st.sampled_from(unknown))
    ok = {"outcome": int(Outcome.OK), "result": row["entry"], "expected": row["entry"]}
    history = changed(case.history, lambda _, other: other is row, **ok)
    cut_off = {"durability/lost", "closing/closed_below"}
    return history, cut_off if row["entry"] > case.end else set()


@mutation
def an_ok_add_was_never_told(case: Lawful, draw):
    row = draw(st.sampled_from([r for r in case.operations(Kind.ADD) if r["outcome"] == Outcome.OK]))
    never = {"outcome": int(Outcome.PENDING), "result": -1, "expected": -1, "lac": -1}
    return changed(case.history, lambda _, other: other is row, **never), set()


@mutation
def a_final_read_is_missing(case: Lawful, draw):
    entry = draw(st.integers(0, case.end))
    return without(case.history, is_final_entry(entry)), set()


@mutation
def every_bookie_denies_an_entry(case: Lawful, draw):
    """Of an entry beyond the end that is as it should be."""
    entry = draw(st.integers(0, case.tried - 1))
    gone = {"holding": int(Holding.ABSENT), "origin": 0, "size_bytes": 0}
    history = [
        (table, {**row, **gone} if census_of(entry)(table, row) else row) for table, row in case.history
    ]
    history = without(history, is_final_entry(entry))
    return history, {"durability/lost"} if entry <= case.end else set()


@mutation
def one_bookie_of_all_does_not_deny_it(case: Lawful, draw):
    entry = draw(st.integers(0, case.end))
    history, _ = every_bookie_denies_an_entry(case, lambda _: entry)
    bookie = 2  # is in every ensemble of these histories
    limbo = {"holding": int(Holding.UNKNOWN)}
    return changed(
        history,
        lambda t, r: census_of(entry)(t, r) and r["pass_number"] == 2 and r["bookie"] == bookie,
        **limbo,
    ), set()


@mutation
def a_reader_got_damaged_bytes(case: Lawful, draw):
    row = draw(st.sampled_from([r for r in case.operations(Kind.ENTRY) if final(r)]))
    history = changed(case.history, lambda _, other: other is row, proof=int(Proof.DAMAGED))
    return history, {"content/damaged"}


@mutation
def a_reader_got_another_writing(case: Lawful, draw):
    """Without an acknowledgement there is nothing to differ from, unless another reader saw it too."""
    entry = draw(st.integers(0, case.end))
    known = entry < case.acked
    history = changed(case.history, is_final_entry(entry), size_bytes=77)
    return history, {"content/two_writings"} if known else set()


@mutation
def the_close_is_lower(case: Lawful, draw):
    """Illegal only below a promise; the final reads are those of the lower end."""
    end = draw(st.integers(-1, case.end))
    lower = []
    for table, row in case.history:
        new = dict(row)
        if table == "ledgers" and row["state"] == 3:
            new["last_entry"] = end
        if table == "operations" and row["kind"] in (Kind.OPEN, Kind.CLOSE):
            new.update(result=end, lac=min(row["lac"], end))
        lower.append((table, new))
    lower = without(
        lower, lambda t, r: t == "operations" and r["kind"] == Kind.ENTRY and r["entry"] > end and final(r)
    )
    told = any(
        r["kind"] == Kind.ENTRY and not final(r) and r["entry"] > end and not r["flags"]
        for t, r in lower
        if t == "operations"
    )
    cut = {"durability/lost", "closing/closed_below"}
    expected = cut if end < case.promised - 1 or told else set()
    return lower, expected | {"recovery/*"}  # a recoverer was told of the entries above


@mutation
def two_recoverers_disagree(case: Lawful, draw):
    row = case.operations(Kind.OPEN)[-1]
    return changed(case.history, lambda _, other: other is row, result=case.end + 1), {"closing/two_ends"}


@mutation
def a_handles_lac_goes_back(case: Lawful, draw):
    adds = [r for r in case.operations(Kind.ADD) if r["outcome"] == Outcome.OK and r["lac"] > 0]
    if not adds:
        return case.history, set()
    row = draw(st.sampled_from(adds))
    return changed(case.history, lambda _, other: other is row, lac=0, lac_before=1), {"lac/went_back"}


@mutation
def two_acknowledgements_change_places(case: Lawful, draw):
    adds = [r for r in case.operations(Kind.ADD) if r["outcome"] == Outcome.OK]
    if len(adds) < 2:
        return case.history, set()
    one, two = adds[0], adds[-1]
    history = changed(case.history, lambda _, other: other is one, result=two["result"])
    return changed(history, lambda _, other: other is two, result=one["result"]), {"order/added_out_of_order"}


@mutation
def one_id_is_acknowledged_again(case: Lawful, draw):
    row = next(r for r in case.operations(Kind.ADD) if r["outcome"] == Outcome.OK)
    return [*case.history, ("operations", {**row, "seq": 77})], {"order/acked_twice"}


@mutation
def a_reader_skipped_an_entry(case: Lawful, draw):
    row = draw(st.sampled_from([r for r in case.operations(Kind.ENTRY) if final(r)]))
    history = changed(case.history, lambda _, other: other is row, expected=row["entry"] + 1)
    return history, {"order/read_out_of_order"}


@mutation
def a_metadata_version_was_not_seen(case: Lawful, draw):
    row = draw(st.sampled_from(case.rows("ledgers")[:-1]))
    return without(case.history, lambda _, other: other is row), set()


@mutation
def the_closed_end_moved_later(case: Lawful, draw):
    last = case.rows("ledgers")[-1]
    later = ("ledgers", {**last, "version": last["version"] + 1, "last_entry": case.end + 1})
    return [*case.history, later], {"metadata/illegal_move", "closing/two_ends", "durability/*"}


@mutation
def the_ledger_was_deleted(case: Lawful, draw):
    """Whatever is gone after a delete that may have been carried out was released."""
    outcome = draw(st.sampled_from(list(Outcome)))
    history, _ = every_bookie_denies_an_entry(case, lambda _: 0)
    sent = outcome is not Outcome.FAIL
    return [*history, deleted(outcome=outcome, invoked_ns=1)], set() if sent else {"durability/lost"}


@mutation
def the_metadata_vanished(case: Lawful, draw):
    number = len(case.rows("ledgers"))
    by_delete = draw(st.booleans())
    history = [*case.history, vanished(number), *([deleted()] if by_delete else [])]
    history = without(history, lambda t, r: t == "operations" and final(r))
    return history, set() if by_delete else {"durability/vanished"}


def matches(found, expected):
    """``property/*`` allows any kind of that property."""
    anything = {name.split("/")[0] for name in expected if name.endswith("/*")}
    exact = {name for name in expected if not name.endswith("/*")}
    return exact == {name for name in found if name in exact or name.split("/")[0] not in anything}


@steady(150)
@given(lawful())
def test_lawful_histories_are_valid(case):
    verdict = judge([chunk(case.history)], case.run)
    assert not convicted(verdict)
    assert verdict.verdict is Verdict.VALID, verdict.headline


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", sorted(MUTATIONS))


@steady(25)
@given(data=st.data())
def test_a_mutation_convicts_exactly_when_it_is_illegal(name, data):
    case = data.draw(lawful())
    history, expected = MUTATIONS[name](case, data.draw)
    verdict = judge([chunk(history)], case.run)
    assert matches(convicted(verdict), expected), (convicted(verdict), expected)
