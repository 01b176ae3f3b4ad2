"""The rules of a link when the proxy's answers do not come, or are not what they should be."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.messages import Action, Rule, Rulebook, Way
from cluster.toxiproxy import _refusal
from protocol.errors import LinkError, UsageError

LATE = Rule("late", Way.REQUESTS, Action.HOLD)
LOST = Rule("lost", Way.REQUESTS, Action.DROP)


class Rest:
    """The proxy's side of one link; ``silent`` loses its answers, ``deaf`` its orders."""

    def __init__(self) -> None:
        self.rules: list[dict[str, Any]] = []
        self.counts: dict[str, tuple[int, int]] = {}
        self.silent = self.deaf = False

    def call(self, verb: str, _path: str, body: Any = None) -> Any:
        return self._counted() if verb == "GET" else self._ordered(body)

    def _ordered(self, body: Any) -> Any:
        if not self.deaf:
            gone = {one["id"] for one in self.rules} - {one["id"] for one in body["rules"]}
            self.rules = body["rules"]
        if self.silent:
            raise LinkError("no answer")
        return {"rules": self._numbered(), "released": 0 if self.deaf else len(gone) * 4}

    def _counted(self) -> Any:
        counters = []
        for one in self._numbered():
            matched, acted = self.counts.get(one["id"], (0, 0))
            counters.append({**one, "matched": matched, "acted": acted, "held_now": 0})
        return {"rules": counters}

    def _numbered(self) -> list[dict[str, Any]]:
        return [{"id": one["id"], "number": number} for number, one in enumerate(self.rules, start=1)]


@pytest.fixture
def rest() -> Any:
    return Rest()


@pytest.fixture
def book(rest: Any) -> Rulebook:
    return Rulebook(rest, ["writer-b1"])


def test_rules_stand_in_the_order_in_which_they_were_put(rest: Rest, book: Rulebook) -> None:
    assert (book.put("writer-b1", LATE).number, book.put("writer-b1", LOST).number) == (1, 2)
    assert [one["id"] for one in rest.rules] == ["late", "lost"]
    book.remove("writer-b1", "late")
    assert [one["id"] for one in rest.rules] == ["lost"]


def test_what_acted_between_counting_and_removing_counts(rest: Rest, book: Rulebook) -> None:
    book.put("writer-b1", LATE)
    rest.counts["late"] = (3, 3)
    gone = book.remove("writer-b1", "late")
    assert (gone.matched, gone.acted, gone.released, gone.held_now) == (4, 4, 4, 0)
    assert book.remove("writer-b1", "late") == gone


def test_a_removal_whose_answer_did_not_come_can_be_repeated(rest: Rest, book: Rulebook) -> None:
    book.put("writer-b1", LATE)
    rest.silent = True
    with pytest.raises(LinkError, match="no answer"):
        book.remove("writer-b1", "late")
    rest.silent = False
    assert book.remove("writer-b1", "late").acted == 0  # What it did is not known, so it is not claimed.


def test_a_rule_that_was_not_taken_is_put_again_by_nobody(rest: Rest, book: Rulebook) -> None:
    rest.silent = True
    with pytest.raises(LinkError):
        book.put("writer-b1", LATE)
    rest.silent = False
    book.put("writer-b1", LOST)
    assert [one["id"] for one in rest.rules] == ["lost"]


def test_a_proxy_that_does_not_list_the_rule_is_an_error(rest: Rest, book: Rulebook) -> None:
    book.put("writer-b1", LOST)
    rest.deaf = True
    with pytest.raises(LinkError, match="does not list the rule 'late'"):
        book.put("writer-b1", LATE)
    with pytest.raises(LinkError, match="still lists the rule 'lost'"):
        book.remove("writer-b1", "lost")


def test_a_refusal_says_the_value_and_what_is_allowed() -> None:
    body = (
        b'{"error": "kinds[0] is ad; allowed: [add]", "field": "kinds[0]", "value": "ad", "allowed": "[add]"}'
    )
    error = _refusal("PUT /x", body)
    assert isinstance(error, UsageError)
    assert "kinds[0] is ad" in str(error)
    assert error.remedy == "kinds[0]: [add]"
    assert isinstance(_refusal("GET /x", b'{"error": "there is no link"}'), LinkError)
    assert "plain text" in str(_refusal("GET /x", b"plain text"))
