"""A stored run as a request to repeat it: its plan as it was executed, seed, release, settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evidence.folder import DEFAULT_BACKEND, FoundRun, RunFolder
from evidence.recorders import read_lines
from harness.bundles.reading import is_bundle, opened
from harness.preparing import Prepared, prepared
from harness.request import RunRequest
from harness.vocabulary import words
from plans.executed import begins, executed
from plans.models import Plan
from plans.resolve import from_json
from protocol.errors import UsageError
from search.running import stored_kinds, stored_ledgers


@dataclass(frozen=True)
class Again:
    """One mode of a stored run: what ran, and which kinds of anomaly were found in it."""

    folder: RunFolder
    plan: Plan
    seed: int
    mode: str
    version: str
    kinds: frozenset[str]
    measured: bool
    """Whether the plan has the times at which its steps really began."""
    ledgers: tuple[str, ...] = ()
    """The ledgers of the findings, as the run named them."""
    backend: str = DEFAULT_BACKEND
    """Backend of the stored run, and of its repetition unless another is requested."""
    bundle: Path | None = None
    """The archive that it came from; its ``folder`` is gone then."""

    @property
    def path(self) -> Path:
        """Where a user finds it."""
        return self.bundle or self.folder.path

    @property
    def words(self) -> tuple[str, ...]:
        """How a command names it."""
        return (str(self.path),) if self.bundle is None else (str(self.path), "--mode", self.mode)

    @property
    def changes(self) -> tuple[str, ...]:
        """Orders of its seeded defects and cures, none for a release as it is."""
        return self.plan.cluster.changes

    def prepare(self, plan: Plan, results: Path, repeat: tuple[str, ...]) -> Prepared:
        """``plan`` (this one, or less of it) ready to run with the seed and the release of the run."""
        only = plan.model_copy(update={"modes": (self.mode,)})
        request = RunRequest(
            scenario=plan.name,
            modes=(self.mode,),
            seed=self.seed,
            version=self.version,
            backend=self.backend,
            results=results,
            repeat=repeat,
        )
        return prepared(request, only)


def find_again(results: Path, reference: str, mode: str | None) -> Again:
    """The run or bundle that is meant, in one mode; ``UsageError`` where several ran and none is named."""
    with opened(results, reference) as found:
        folder = _one(found, mode)
        facts = folder.run()
        resolved = from_json(facts, words(), source=str(folder.run_json))
        began = begins(read_lines(folder.steps).records)
        plan = executed(_with_own_settings(resolved.plan, facts.get("user_conf", {})), began)
        return Again(
            folder=folder,
            plan=plan,
            seed=resolved.seed,
            mode=resolved.mode,
            version=str(facts["bookkeeper"]),
            kinds=stored_kinds(folder),
            measured=bool(began) and plan.rounds == 1,
            ledgers=stored_ledgers(folder),
            backend=str(facts.get("backend", DEFAULT_BACKEND)),
            bundle=Path(reference).resolve() if is_bundle(reference) else None,
        )


def _one(found: FoundRun, mode: str | None) -> RunFolder:
    chosen = [folder for folder in found.modes if mode in (None, folder.mode)]
    if len(chosen) != 1:
        there = ", ".join(folder.mode for folder in found.modes)
        raise UsageError(
            f"{found.path} has the modes {there}; {'none of them is ' + mode if mode else 'which is meant?'}",
            remedy="name the folder of one mode, or give --mode",
        )
    return chosen[0]


def _with_own_settings(plan: Plan, own: dict[str, dict[str, str]]) -> Plan:
    """The plan with the user's own settings, which won over the plan's, among its own."""
    cluster = plan.cluster
    settings = {
        "bookie_conf": {**cluster.bookie_conf, **own.get("bookie", {})},
        "client_conf": {**cluster.client_conf, **own.get("client", {})},
    }
    return plan.model_copy(update={"cluster": cluster.model_copy(update=settings)})
