"""The smallest proof as a diagram: a lane for each participant, time going down.

Every moment is a row: its time, its sentence, and behind it the lanes with an arrow or a mark. Positions
across are percentages, so that the picture fits a phone and a sheet of paper alike. Drawn without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from checkers.facts.wording import counted
from reports.explain.moments import Moment
from reports.markup import Markup, el
from reports.page.proof import METADATA, NEMESIS, Proof, lane_of, lanes_in

_TONES = (
    (r"ends with signal|below this entry|did not hold|held nothing|absent|damaged|deleted", "bad"),
    (r"ENOENTRY|ENOLEDGER|: unknown \(no such|finds nothing", "bad"),
    (r"dropped|never passed on|swallowed|forged|kept back", "fault"),
    (r"EOK|: ok|present|its disk held it|reads it|CLOSED", "good"),
    (r": (unknown|pending)|E[A-Z]{3,}|never ended|not known|IN_RECOVERY|limbo", "doubt"),
)
"""What a sentence of a story is coloured by; the first that fits."""


def diagram(proof: Proof, began_ns: int) -> Markup:
    """The diagram as a list, each row an ``svg`` and its text."""
    rows = [_row(one, proof.lanes, began_ns) for one in proof.moments]
    for place, number in sorted(proof.gaps.items(), reverse=True):
        text = f"… {counted(number, 'moment')} left out; the command below shows all of them"
        rows.insert(place, el("li", el("p", text, class_="said muted"), class_="gap"))
    heads = [
        el("span", lane, style=f"left:{_x(number, proof.lanes):.2f}%")
        for number, lane in enumerate(proof.lanes)
    ]
    return el(
        "div",
        _arrow_heads(),
        el("div", el("div", heads), class_="lanes-head", aria_hidden="true"),
        el("ol", rows, class_="story"),
        class_="picture",
        style=f"--lanes:{len(proof.lanes)}",
    )


def tone(moment: Moment) -> str:
    """``good``, ``bad``, ``doubt``, ``fault`` or ``plain``: what colour a moment has."""
    if moment.who == NEMESIS:
        return "plain" if " healed" in moment.what else "fault"
    return next((name for pattern, name in _TONES if re.search(pattern, moment.what)), "plain")


def _row(moment: Moment, lanes: Sequence[str], began_ns: int) -> Markup:
    at_s = f"{(moment.at_ns - began_ns) / 1e9:.4f} s"
    who = el("b", moment.subject.replace("->", "→"))
    return el(
        "li",
        _drawn(moment, lanes),
        el("p", el("time", at_s), " ", who, " ", el("span", moment.what), class_="said"),
        class_=f"tone-{tone(moment)}",
    )


def _drawn(moment: Moment, lanes: Sequence[str]) -> Markup:
    lifelines = [
        el("line", x1=_percent(number, lanes), x2=_percent(number, lanes), y1="0", y2="100%", class_="life")
        for number in range(len(lanes))
    ]
    foot = el("svg", _marks(moment, lanes), y="100%", overflow="visible")
    return el("svg", lifelines, foot, class_="row", width="100%", height="100%", aria_hidden="true")


def _marks(moment: Moment, lanes: Sequence[str]) -> list[Markup]:
    """An arrow for each receiver; a moment without a receiver has a mark on each lane concerned."""
    places = [lanes.index(lane) for lane in lanes_in(moment) if lane in lanes]
    if moment.to:
        sender = lane_of(moment.who)
        if sender not in lanes:
            return []
        to = [lanes.index(lane_of(one)) for one in moment.to.split(", ") if lane_of(one) in lanes]
        return [_arrow(lanes.index(sender), one, lanes) for one in to]
    if moment.what.endswith(" healed") or " healed, " in moment.what:
        return [_ring(one, lanes) for one in places]
    if moment.who == NEMESIS and len(places) > 1:
        return [_span(min(places), max(places), lanes), *(_cross(one, lanes) for one in places)]
    if moment.who == NEMESIS or "ends with signal" in moment.what:
        return [_cross(one, lanes) for one in places]
    if moment.who == METADATA:
        return [_box(one, lanes) for one in places[:1]]
    return [_dot(one, lanes) for one in places]


def _x(number: int, lanes: Sequence[str]) -> float:
    return 100 * (number + 0.5) / len(lanes)


def _percent(number: int, lanes: Sequence[str]) -> str:
    return f"{_x(number, lanes):.2f}%"


def _arrow(sender: int, receiver: int, lanes: Sequence[str]) -> Markup:
    first, last = _percent(sender, lanes), _percent(receiver, lanes)
    return el("line", x1=first, x2=last, y1=-9, y2=-9, class_="arrow", marker_end="url(#head)")


def _span(first: int, last: int, lanes: Sequence[str]) -> Markup:
    return el("line", x1=_percent(first, lanes), x2=_percent(last, lanes), y1=-9, y2=-9, class_="cut")


def _at(number: int, lanes: Sequence[str], mark: Markup) -> Markup:
    return el("svg", mark, x=_percent(number, lanes), overflow="visible")


def _cross(number: int, lanes: Sequence[str]) -> Markup:
    return _at(number, lanes, el("path", d="M-5 -14L5 -4M5 -14L-5 -4", class_="cross"))


def _dot(number: int, lanes: Sequence[str]) -> Markup:
    return _at(number, lanes, el("circle", cy=-9, r=5, class_="dot"))


def _ring(number: int, lanes: Sequence[str]) -> Markup:
    return _at(number, lanes, el("circle", cy=-9, r=5, class_="ring"))


def _box(number: int, lanes: Sequence[str]) -> Markup:
    return _at(number, lanes, el("rect", x=-6, y=-15, width=12, height=12, rx=2, class_="dot"))


def _arrow_heads() -> Markup:
    head = el("path", d="M0 0L8 4L0 8z")
    shape = {
        "refX": "8",
        "refY": "4",
        "markerWidth": "8",
        "markerHeight": "8",
        "markerUnits": "userSpaceOnUse",
    }
    marker = el("marker", head, id="head", orient="auto", **shape)
    return el("svg", el("defs", marker), class_="defs", aria_hidden="true")
