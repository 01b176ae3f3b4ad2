"""From the judgements of the properties to the verdict of the run.

What counts: the run's evidence itself, the properties that the plan requires (all of them when
it names none), every property whose checker failed, and any safety property with an anomaly. Over what
counts: anomaly, else unknown, else valid. The allowance excuses explained losses only, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from checkers.judging.contract import RunFacts
from evidence.findings import Judgement, RunVerdict, Verdict
from protocol.wording import counted

EVIDENCE, DURABILITY = "evidence", "durability"
FAILED = "a checker that runs to its end"
"""What is ``needed`` by the judgement of a property whose checker failed: an anomaly may have been missed."""
SAFETY = (
    "durability",
    "closing",
    "fencing",
    "recovery",
    "content",
    "order",
    "lac",
    "metadata",
    "answers",
    "availability",  # it reports only what stays out of reach permanently
)
"""Properties that count whenever they are violated, required by the plan or not; the severest first."""
_ALWAYS = (*SAFETY, "servers/repair_ended")
"""What counts when it is violated: without autorecovery nothing is repaired, which may show much later."""
_KINDS_TEXT: Mapping[str, tuple[str, str]] = {
    "added_after_close": ("add acknowledged after the close", "adds acknowledged after the close"),
    "accepted_when_fenced": ("add accepted by a fenced bookie", "adds accepted by fenced bookies"),
    "key_lost": ("recovery stuck for a lost key", "recoveries stuck for lost keys"),
    "stuck": ("recovery stuck", "recoveries stuck"),
    "unreadable": ("entry there and not readable", "entries there and not readable"),
}
"""A kind of finding in words, for one and for many; others keep their names."""


def severity(name: str) -> int:
    """The place of a property when the severest come first; other properties share the last one."""
    return SAFETY.index(name) if name in SAFETY else len(SAFETY)


def run_verdict(judgements: Mapping[str, Judgement], run: RunFacts) -> RunVerdict:
    """Merge the judgements of one run (one mode)."""
    verdict = merged(judgements, run)
    return RunVerdict(
        scenario=run.scenario,
        mode=run.mode,
        verdict=verdict,
        headline=headline(judgements, verdict, run),
        judgements=dict(judgements),
        damage=tuple(run.damage),
    )


def merged(judgements: Mapping[str, Judgement], run: RunFacts) -> Verdict:
    """Anomaly, else unknown, else valid; a required property without a checker is unknown."""
    required = _required(run.required, judgements)
    counting = counting_properties(run.required, run.counting, judgements)
    verdicts = {name: effective(judgement) for name, judgement in judgements.items()}
    if any(
        verdict is Verdict.ANOMALY and _kinds(judgements[name]) & counting
        for name, verdict in verdicts.items()
    ):
        return Verdict.ANOMALY
    doubtful = any(verdicts.get(name, Verdict.UNKNOWN) is Verdict.UNKNOWN for name in required)
    return Verdict.UNKNOWN if doubtful else Verdict.VALID


def _kinds(judgement: Judgement) -> frozenset[str]:
    """The property, and what it counted, as in ``replicas/not_marked``."""
    name = judgement.property
    return frozenset((name, *(f"{name}/{kind}" for kind, count in judgement.counts.items() if count)))


def counting_properties(
    required: Collection[str], counting: Collection[str] | None, judged: Mapping[str, Judgement]
) -> frozenset[str]:
    """The properties, and kinds, whose anomalies make the verdict of a plan that states these two."""
    return _required(required, judged) | frozenset((*_ALWAYS, *(counting or ())))


def _required(required: Collection[str], judged: Mapping[str, Judgement]) -> frozenset[str]:
    failed = (name for name, judgement in judged.items() if judgement.needed == FAILED)
    return frozenset((EVIDENCE, *(required or judged), *failed))


def undecided(required: Collection[str], judgements: Mapping[str, Judgement]) -> Iterator[tuple[str, int]]:
    """What required properties leave unknown, beside anomalies too: property and ledger (-1: the run)."""
    for name in sorted(_required(required, judgements)):
        judgement = judgements.get(name)
        ledgers = judgement.undecided if judgement else ()
        yield from ((name, ledger) for ledger in ledgers)
        if not ledgers and (judgement is None or judgement.verdict is Verdict.UNKNOWN):
            yield name, -1


def effective(judgement: Judgement) -> Verdict:
    """The judgement's verdict, or ``valid`` where the allowance covers all its anomalies."""
    return Verdict.VALID if within_allowance(judgement) else judgement.verdict


def within_allowance(judgement: Judgement) -> bool:
    """Whether durability's anomalies are only explained losses, of no ledger more than the plan accepts.

    Entries whose metadata a fault of the run removed are explained losses too.
    """
    if judgement.property != DURABILITY or judgement.verdict is not Verdict.ANOMALY:
        return False
    counts = judgement.counts
    ours = counts.get("vanished_ledgers", 0) == counts.get("vanished_ledgers_explained", 0)
    known = not counts.get("unavailable", 0) and not judgement.undecided
    return ours and known and 0 < counts.get("excused", 0) == counts.get("gone", 0)


def headline(judgements: Mapping[str, Judgement], verdict: Verdict, run: RunFacts) -> str:
    """One line: how many acknowledged entries were lost, other anomalies, what is unknown."""
    durability = judgements.get(DURABILITY)
    parts = [] if durability is None else list(_losses(durability))
    parts += [
        f"{name}: {_counts_text(judgement)}"
        for name, judgement in judgements.items()
        if judgement.verdict is Verdict.ANOMALY and name != DURABILITY
    ]
    unknown = [name for name, judgement in judgements.items() if judgement.verdict is Verdict.UNKNOWN]
    # Beside an anomaly, a property without material is no news; evidence that is not whole is.
    if verdict is Verdict.UNKNOWN or (verdict is Verdict.ANOMALY and EVIDENCE in unknown):
        missing = sorted(set(run.required) - set(judgements))
        parts.append(f"unknown: {', '.join([*unknown, *missing])}")
    return "; ".join(parts)


def _losses(durability: Judgement) -> list[str]:
    """How many of the acknowledged entries were lost, and what the number leaves out."""
    acknowledged = durability.seen.get("acknowledged")
    if acknowledged is None:
        return ["losses not judged"]
    counts = durability.counts
    gone = counts["acknowledged_gone"]
    noun = "entry" if acknowledged == 1 else "entries"
    parts = [f"{gone:,} of {acknowledged:,} acknowledged {noun} lost"]
    if within_allowance(durability):
        parts = [f"valid within allowance: {gone:,} lost of {acknowledged:,} acknowledged {noun}"]
    if counts["gone"] > gone:
        parts.append(f"{counted(counts['gone'] - gone, 'more promised entry', 'more promised entries')} lost")
    if released := durability.seen.get("released", 0):
        noun = counted(released, "promised entry", "promised entries")
        parts.append(f"{noun} of deleted ledgers left out")
    if counts["vanished_ledgers"]:
        parts.append(f"{counted(counts['vanished_ledgers'], 'ledger')} vanished")
    if counts["unavailable"]:
        parts.append(f"{counted(counts['unavailable'], 'promised entry', 'promised entries')} unavailable")
    return parts


def _counts_text(judgement: Judgement) -> str:
    kinds = {name: number for name, number in judgement.counts.items() if number}
    counts = (counted(number, *_KINDS_TEXT.get(kind, (kind, kind))) for kind, number in kinds.items())
    return ", ".join(counts) or "anomaly"
