"""What the user's own files of settings mean for a run: its mode, what it contradicts, what is refused.

Reads the files; starts nothing. Where that of bookies is silent, BookKeeper's default holds, not a mode's
setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cluster.processes.settings import RunSpec
from cluster.value_rules import refusals
from cluster.value_types import mistyped, mistyped_of_client
from harness.request import RunRequest, properties_of
from harness.steps.clients import Create
from plans.cluster import PLACEMENT_POLICY
from plans.grammar.rounds import every
from plans.models import Plan
from protocol.errors import UsageError
from protocol.modes import DEFAULT_STORAGE, INTEGRITY, JOURNALING, MODES, STORAGE, flag, mode_of

_DEFAULTS = {**dict.fromkeys(JOURNALING, True), INTEGRITY: False}


def bookie_settings(request: RunRequest, plan: Plan) -> dict[str, str]:
    """The user's settings of bookies; BookKeeper's default storage where neither file nor plan sets one."""
    if request.bookie_conf is None:
        return {}
    default = {} if STORAGE in plan.cluster.bookie_conf else {STORAGE: DEFAULT_STORAGE}
    return default | properties_of(request.bookie_conf)


def require_valid(request: RunRequest, version: str) -> None:
    """Refuse values with which no bookie of this release, or no client, starts."""
    conf = properties_of(request.bookie_conf)
    for wrong in (*mistyped(conf), *refusals(conf, version)):
        raise UsageError(f"{request.bookie_conf}: {wrong}", remedy="correct it: no bookie starts with it")
    for wrong in mistyped_of_client(properties_of(request.client_conf)):
        raise UsageError(f"{request.client_conf}: {wrong}", remedy="correct it: no client accepts it")


def require_own_placement(request: RunRequest, plan: Plan) -> None:
    """Refuse another placement policy where the plan names a ledger's bookies, which only ours respects."""
    creates = (step.params for step in every(plan.steps) if isinstance(step.params, Create))
    named = [create.ledger for create in creates if create.bookies]
    theirs = {str(request.client_conf): properties_of(request.client_conf)}
    for place, settings in {**theirs, "its client_conf": plan.cluster.client_conf}.items():
        if named and PLACEMENT_POLICY in settings:
            raise UsageError(
                f"{plan.name} names the bookies of {named[0]}, but {place} has an {PLACEMENT_POLICY}",
                remedy=f"leave {PLACEMENT_POLICY} out of {place}",
            )


def mode_asked(request: RunRequest, plan: Plan) -> tuple[str, ...]:
    """The mode that the user's file has, its settings over the plan's; none without a file."""
    if request.bookie_conf is None:
        return ()
    return (mode_of({**plan.cluster.bookie_conf, **properties_of(request.bookie_conf)}),)


def mode_lines(request: RunRequest, plan: Plan) -> Iterator[str]:
    """Why the run has its mode, or where a mode that the user named differs from the user's file."""
    if request.bookie_conf is None:
        return
    conf = {**plan.cluster.bookie_conf, **properties_of(request.bookie_conf)}
    name = request.bookie_conf.name
    if not request.modes:
        mode = mode_of(conf)
        deciding = JOURNALING if mode in ("journal", "nosync") else (JOURNALING[0], INTEGRITY)
        yield f"mode {mode}, because of {name}: " + ", ".join(_said(conf, key) for key in deciding)
    if STORAGE not in conf:
        yield f"storage {DEFAULT_STORAGE.rpartition('.')[2]}, BookKeeper's default: {name} has no {STORAGE}"
    for mode in request.modes:
        yield from _differences(mode, conf, name)


def settings_lines(spec: RunSpec, request: RunRequest) -> Iterator[tuple[str, str]]:
    """What the user's own files change, and which of their keys this run replaces or leaves out."""
    changes = spec.user_changes()
    for whose, file in request.files.items():
        own = properties_of(file)
        settings = " ".join(f"{key}={value}" for key, value in changes[whose].items() if key in own)
        yield f"your {file.name} changes: {settings or 'nothing'}", ""
    for whose, keys in spec.describe()["overridden"].items():
        for key, values in sorted(keys.items()):
            how = f"replaced by {values['ours']}" if values["ours"] else "left out"
            yield f"your {whose} setting {key}={values['theirs']} is {how}", "yellow"


def _differences(mode: str, conf: Mapping[str, str], name: str) -> Iterator[str]:
    for key, default in _DEFAULTS.items():
        sets = flag(MODES[mode].bookie, key, default=default)
        if flag(conf, key, default=default) == sets:
            continue
        wins = (
            f"{name} wins, but the run is compared with what {mode} expects"
            if key in conf
            else "the mode wins"
        )
        yield f"mode {mode} contradicts {name} ({key}={str(sets).lower()}; {_said(conf, key)}): {wins}"


def _said(conf: Mapping[str, str], key: str) -> str:
    if key in conf:
        return f"{key}={conf[key]}"
    return f"{key} is not set, BookKeeper's default is {str(_DEFAULTS[key]).lower()}"
