"""The smallest proof as a diagram: a lane for each participant, time going down.

Positions across are percentages, so that the picture fits a phone and a sheet of paper alike. Drawn without
scripts, by ``templates/diagram.html``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from markupsafe import Markup

from protocol.wording import counted
from reports.document import render
from reports.explain.moments import Moment
from reports.page.proof import METADATA, NEMESIS, Proof, lane_of, lanes_in

_TONES = (
    (r"ends with signal|below this entry|did not hold|held nothing|absent|damaged|deleted", "bad"),
    (r"ENOENTRY|ENOLEDGER|: unknown \(no such|finds nothing", "bad"),
    (r"dropped|never passed on|swallowed|forged|kept back", "fault"),
    (r"EOK|: ok|present|its disk held it|reads it|CLOSED", "good"),
    (r": (unknown|pending)|E[A-Z]{3,}|never ended|not known|IN_RECOVERY|limbo", "doubt"),
)
"""What a sentence of a story is coloured by; the first that fits."""
Mark = tuple[str, float, float]
"""What is drawn (``arrow``, ``cut``, ``cross``, ``ring``, ``box``, ``dot``), from and to where in percent."""


def diagram(proof: Proof, began_ns: int) -> Markup:
    """The diagram as a list, each row its picture and its text."""
    places = {lane: 100 * (number + 0.5) / len(proof.lanes) for number, lane in enumerate(proof.lanes)}
    rows = [
        {
            "moment": one,
            "at": f"{(one.at_ns - began_ns) / 1e9:.4f} s",
            "tone": tone(one),
            "marks": _marks(one, places),
        }
        for one in proof.moments
    ]
    for place, number in sorted(proof.gaps.items(), reverse=True):
        rows.insert(place, {"gap": counted(number, "moment")})
    return render("diagram.html", lanes=list(places.items()), rows=rows)


def tone(moment: Moment) -> str:
    """``good``, ``bad``, ``doubt``, ``fault`` or ``plain``: what colour a moment has."""
    if moment.who == NEMESIS:
        return "plain" if " healed" in moment.what else "fault"
    return next((name for pattern, name in _TONES if re.search(pattern, moment.what)), "plain")


def _marks(moment: Moment, places: Mapping[str, float]) -> list[Mark]:
    """An arrow for each receiver; a moment without a receiver has a mark on each lane concerned."""
    if moment.to:
        sender, receivers = lane_of(moment.who), map(lane_of, moment.to.split(", "))
        return [("arrow", places[sender], places[one]) for one in receivers if {sender, one} <= places.keys()]
    hit = [places[lane] for lane in lanes_in(moment) if lane in places]
    if moment.what.endswith(" healed") or " healed, " in moment.what:
        return [("ring", one, one) for one in hit]
    if moment.who == NEMESIS or "ends with signal" in moment.what:
        cut = [("cut", min(hit), max(hit))] if moment.who == NEMESIS and len(hit) > 1 else []
        return [*cut, *(("cross", one, one) for one in hit)]
    if moment.who == METADATA:
        return [("box", one, one) for one in hit[:1]]
    return [("dot", one, one) for one in hit]
