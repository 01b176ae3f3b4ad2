"""``fencepost check --history``: judge a history of Jepsen or Elle, and print the result.

No cluster and no run folder: a file in, a judgement on standard output, an exit code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from checkers.histories.adding import LINEARIZABLE, SET, judge_set
from checkers.histories.offsets import LOG, judge_offsets
from checkers.log.checker import judge_log
from checkers.log.models import MODELS, STRONGEST
from evidence.exchange.jepsen import read_jepsen
from evidence.exchange.operations import read_operations
from evidence.findings import Judgement, Verdict
from harness.narrator import print_json
from protocol.errors import UsageError
from protocol.exit_codes import ExitCode
from protocol.wording import counted

_CODES = {Verdict.VALID: ExitCode.AS_EXPECTED, Verdict.ANOMALY: ExitCode.ANOMALY}


def check_history(path: Path, *, model: str | None, quiet: bool, as_json: bool) -> int:
    """Judge the history in ``path`` against a model: set, linearizable-set, log, or one of list-append.

    Those of list-append are consistency models, the default is strict-serializable.

    Returns 0 for valid, 3 for unknown, 4 for an anomaly. ``EvidenceError`` for a file that cannot be read.
    """
    against = model or STRONGEST
    judgement = _judged(path, against)
    code = _CODES.get(judgement.verdict, ExitCode.UNKNOWN)
    if as_json:
        print_json({"exit": code, "model": against, **asdict(judgement)})
        return code
    if not quiet:
        for line in _lines(path, judgement):
            print(line)
    print(f"{judgement.verdict}; exit {code}: {_reason(judgement, against)}")
    return code


def _judged(path: Path, model: str) -> Judgement:
    if model in (SET, LINEARIZABLE):
        return judge_set(read_operations(path), linearizable=model == LINEARIZABLE)
    if model == LOG:
        return judge_offsets(read_operations(path))
    if model not in MODELS:
        others = ", ".join((SET, LINEARIZABLE, LOG))
        raise UsageError(f"no model {model!r}; there are {others}, and for list-append {', '.join(MODELS)}")
    return judge_log(read_jepsen(path), model=model)


def _lines(path: Path, judgement: Judgement) -> Iterator[str]:
    yield f"{path.name}: {_seen(judgement.seen)}"
    for finding in judgement.findings:
        yield f"{finding.kind}: {finding.text.removeprefix(finding.kind + ': ')}"
        yield from (f"    {fact}" for fact in finding.proof)
    yield from judgement.notes


def _seen(seen: Mapping[str, int]) -> str:
    if "transactions" not in seen:
        return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in seen.items())
    return (
        f"{counted(seen['transactions'], 'transaction')} ({seen['committed']:,} ok, "
        f"{seen['failed']:,} failed, {seen['unknown']:,} unknown) over {counted(seen['logs'], 'log')}, "
        f"{counted(seen['reads'], 'read')} of {counted(seen['read_elements'], 'element')}"
    )


def _reason(judgement: Judgement, model: str) -> str:
    if judgement.verdict is Verdict.ANOMALY:
        kinds = dict.fromkeys(finding.kind for finding in judgement.findings)
        return f"not {model}: " + ", ".join(f"{kind} ({judgement.counts[kind]:,})" for kind in kinds)
    if judgement.verdict is Verdict.VALID:
        return f"nothing contradicts {model}"
    return f"not enough to judge by; it takes {judgement.needed}"
