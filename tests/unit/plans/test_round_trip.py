"""Plans survive the way to JSON and back, whatever is in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from plans.load import load_tree, read
from plans.models import Plan, plan_tree
from plans.reading.document import Document
from plans.resolve import from_json, resolve
from protocol.modes import MODES

bookies = st.sampled_from(["b1", "b2", "b3"])
clients = st.sampled_from(["writer", "reader"])
servers = st.one_of(bookies, clients, st.just("zk1"))
seconds = st.floats(0.001, 1e6, allow_nan=False)
notes = st.text(max_size=20)
versions = st.sampled_from(["4.14.7", "4.15", "4.18.0-SNAPSHOT"])
settings_texts = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.one_of(st.booleans(), st.integers(), st.floats(-1e9, 1e9), st.text(max_size=8)),
    max_size=3,
)


def named(name: str, **params: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.fixed_dictionaries(params)})


conditions = st.one_of(
    named("ready", target=servers, timeout_s=seconds),
    named("registered", target=bookies),
    named("limbo", target=bookies, ledger=st.just("main")),
    named("state", ledger=st.just("main"), **{"is": st.sampled_from(["open", "in_recovery", "closed"])}),
    named("acked", ledger=st.just("main"), entries=st.integers(1, 10**9)),
    named("quiet"),
    named("elapsed", for_s=seconds),
)
waits = conditions.map(lambda one: {"wait_for": {"condition": next(iter(one)), **next(iter(one.values()))}})
faults = st.one_of(named("kill", target=servers), named("cut", to=bookies, **{"from": clients}))
chaos = named(
    "chaos",
    for_s=st.floats(1, 20),
    every_s=st.just([1, 2]),
    restart_after_s=st.just([1, 3.5]),
    faults=st.lists(faults, min_size=1, max_size=3),
)
acts = st.one_of(
    named("append", client=st.just("writer"), ledger=st.just("main"), entries=st.integers(1, 1000)),
    named("recover", client=clients, ledger=st.just("main"), attempts=st.integers(1, 9)),
    named("delete", client=clients, ledger=st.just("main")),
)
other = st.one_of(
    waits,
    faults,
    chaos,
    named("census"),
    named("start", target=servers, conf=settings_texts, version=versions),
    named("heal", kind=st.sampled_from(["kill", "cut"]), target=st.sampled_from(["b1", "writer-b2"])),
)
timing = st.fixed_dictionaries({}, optional={"at_s": st.just(0) | seconds, "when": conditions, "note": notes})
outcomes = st.fixed_dictionaries({}, optional={"outcome": st.sampled_from(["ok", "unknown", "fail", "any"])})
single = st.one_of(
    st.tuples(other, timing).map(lambda both: both[0] | both[1]),
    st.tuples(acts, timing, outcomes).map(lambda three: three[0] | three[1] | three[2]),
)
steps = st.recursive(
    st.lists(single, min_size=1, max_size=4),
    lambda inner: st.lists(
        st.tuples(st.lists(inner, min_size=1, max_size=3), timing).map(
            lambda both: {"together": both[0]} | both[1]
        ),
        min_size=1,
        max_size=2,
    ),
    max_leaves=8,
)
stated = st.one_of(
    st.just(["holds"]),
    st.just([{"breaks": {"property": "durability", "kind": "lost", "ledger": "main"}}]),
    st.just([{"defect": {"property": "fencing", "reference": "#1", "rate": "sometimes"}}]),
    st.just([{"holds": {"versions": ">=4.15"}}, {"breaks": {"property": "order", "versions": "<4.15"}}]),
)
sources = st.fixed_dictionaries({"document": st.just("BP-46")}, optional={"section": notes})
parameters = st.dictionaries(
    st.text(min_size=1, max_size=5), st.one_of(st.integers(), st.booleans(), notes), max_size=3
)
CREATE = {"create": {"client": "writer", "ledger": "main"}}
plans = st.fixed_dictionaries(
    {
        "name": st.just("try/it"),
        "source": sources,
        "about": st.text(min_size=1, max_size=40),
        "clients": st.just(["writer", "reader"]),
        "modes": st.just(["protected"]),
        "control": st.just({"version": "4.14.7"}),
        "steps": steps.map(lambda found: [CREATE, *found]),
        "expect": st.fixed_dictionaries({"protected": stated}),
    },
    optional={
        "cluster": st.fixed_dictionaries({}, optional={"bookie_conf": settings_texts, "version": versions}),
        "required": st.just(["durability", "lac"]),
        "allowance": st.dictionaries(
            st.sampled_from(sorted(MODES)),
            st.dictionaries(st.sampled_from(["main", "each"]), st.integers(0, 5)),
        ),
        "limits": st.just({"run_s": 1e9}),
        "vary": parameters,
    },
)
SAYS_OK = {
    "name": "try/it",
    "source": {"document": "BP-46"},
    "about": "a note like an outcome",
    "modes": ["protected"],
    "clients": ["writer", "reader"],
    "control": {"version": "4.14.7"},
    "expect": {"protected": ["holds"]},
    "steps": [CREATE, {"wait_for": {"condition": "quiet"}, "note": "ok"}],
}
quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@quick
@given(tree=plans)
def test_a_plan_comes_back_from_json(tree: Any, words: Any) -> None:
    plan = read(Document("generated", tree), words, modes=tuple(MODES))
    saved = json.loads(json.dumps(plan_tree(plan)))
    assert load_tree(saved, words) == plan
    assert plan_tree(load_tree(saved, words)) == saved
    assert plan_tree(load_tree(saved)) == saved


@quick
@example(tree=SAYS_OK, seed=0)
@given(tree=plans, seed=st.integers(0, 2**63 - 1))
def test_a_resolved_plan_comes_back_from_json(tree: Any, seed: int, words: Any) -> None:
    document = Document("generated", tree | {"limits": {"run_s": 1e9}})
    plan = read(document, words, modes=None)
    resolved = resolve(plan, seed, "protected")
    saved = json.loads(json.dumps(resolved.as_json()))
    assert '"chaos": {' not in json.dumps(saved)
    assert from_json(saved, words) == resolved
    assert from_json(saved).as_json() == saved
    assert resolve(from_json(saved, words).plan, seed, "protected") == resolved


def test_a_load_keeps_its_own_parameters(load_steps: Callable[..., Plan], words: Any) -> None:
    plan = load_steps(
        "- load: {workload: append, as: w, clients: [writer], rate_per_s: 7}\n- end_load: {as: w}\n"
    )
    saved = plan_tree(plan)
    assert saved["steps"] == [
        {"load": {"workload": "append", "as": "w", "clients": ["writer"], "rate_per_s": 7.0}},
        {"end_load": {"as": "w"}},
    ]
    assert load_tree(saved, words) == plan
    assert plan_tree(load_tree(saved)) == saved
