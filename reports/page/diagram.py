"""The smallest proof as a diagram: a lane for each participant, time going down.

Positions across are percentages, so that the picture fits a phone and a sheet of paper alike. Drawn without
scripts, by ``templates/diagram.html``.
"""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from protocol.wording import counted
from reports.document import render
from reports.explain.moments import METADATA, NEMESIS, Event, Moment
from reports.page.proof import Proof, lane_of, lanes_in

Mark = tuple[str, float, float]
"""What is drawn (``arrow``, ``cut``, ``cross``, ``ring``, ``box``, ``dot``), from and to where in percent."""


def diagram(proof: Proof, began_ns: int) -> Markup:
    """The diagram as a list, each row its picture and its text."""
    places = {lane: 100 * (number + 0.5) / len(proof.lanes) for number, lane in enumerate(proof.lanes)}
    rows = [
        {
            "moment": one,
            "at": f"{(one.at_ns - began_ns) / 1e9:.4f} s",
            "tone": one.tone,
            "marks": _marks(one, places),
        }
        for one in proof.moments
    ]
    for place, number in sorted(proof.gaps.items(), reverse=True):
        rows.insert(place, {"gap": counted(number, "moment")})
    return render("diagram.html", lanes=list(places.items()), rows=rows)


def _marks(moment: Moment, places: Mapping[str, float]) -> list[Mark]:
    """An arrow for each receiver; a moment without a receiver has a mark on each lane concerned."""
    if moment.to:
        sender, receivers = lane_of(moment.who), map(lane_of, moment.to.split(", "))
        return [("arrow", places[sender], places[one]) for one in receivers if {sender, one} <= places.keys()]
    hit = [places[lane] for lane in lanes_in(moment) if lane in places]
    if moment.event is Event.HEALED:
        return [("ring", one, one) for one in hit]
    if moment.who == NEMESIS or moment.event is Event.KILLED:
        cut = [("cut", min(hit), max(hit))] if moment.who == NEMESIS and len(hit) > 1 else []
        return [*cut, *(("cross", one, one) for one in hit)]
    if moment.who == METADATA:
        return [("box", one, one) for one in hit[:1]]
    return [("dot", one, one) for one in hit]
