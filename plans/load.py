"""Load a plan: from a scenario's name, a YAML file, or the tree saved in ``run.json``.

Every mistake is a ``PlanError`` whose lines say file, line, column, the value and what is
allowed; all that can be found at once is listed at once. Steps, conditions, faults and workloads come
in as models by name, so nothing here knows which exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from plans.expected.controls import control_problems
from plans.grammar.sequence import Vocabulary
from plans.models import Plan
from plans.reading.consistency import contradictions
from plans.reading.document import Document, Problem, parse_file
from plans.reading.mistakes import modelled
from plans.reading.nearest import unknown
from plans.reading.parameters import replaced
from plans.reading.walk import names_of
from protocol.errors import PlanError
from protocol.modes import MODES

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
SUFFIXES = (".yaml", ".yml")
_LISTING = "fencepost list scenarios"
_NO_SETTINGS: Mapping[str, object] = {}


def scenarios(root: Path = SCENARIOS) -> list[str]:
    """The names of all scenarios in the repository, sorted."""
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml"))


def find(name_or_path: str, *, root: Path = SCENARIOS) -> Path:
    """The file of a scenario (``bp46/truncation``) or the YAML file itself; else ``PlanError``."""
    if name_or_path.endswith(SUFFIXES):
        path = Path(name_or_path)
        if path.is_file():
            return path
        raise PlanError(
            f"there is no plan file {path.absolute()}",
            remedy=f"name a scenario (`{_LISTING}` prints all) or the path of your own plan",
        )
    path = root / f"{name_or_path}.yaml"
    if path.is_file() and path.resolve().is_relative_to(root.resolve()):
        return path
    names = scenarios(root)
    folder = f"{name_or_path.rstrip('/')}/"
    if inside := sum(name.startswith(folder) for name in names):
        raise PlanError(
            f"`{name_or_path}` is a folder of {inside} scenarios; `{_LISTING}` prints their names",
            remedy="name one or more of them, or write a campaign to run many",
        )
    raise PlanError(
        unknown("scenario", name_or_path, names, listing=_LISTING),
        remedy="a plan of your own is given by its path, ending in .yaml",
    )


def load(path: Path | str, vocabulary: Vocabulary, *, settings: Mapping[str, object] = _NO_SETTINGS) -> Plan:
    """Read and check a plan file.

    ``settings`` sets parameters named under the plan's ``vary`` (values or their text). The controls belong
    to the plan as it is written, so they are checked without ``settings``.
    """
    document = parse_file(Path(path))

    def varied(values: Mapping[str, object]) -> Plan:
        return read(document, vocabulary, settings=values, modes=tuple(MODES))

    plan = varied(settings)
    if not settings:
        document.refuse(control_problems(plan, varied))
    return plan


def load_tree(
    tree: object,
    vocabulary: Vocabulary | None = None,
    *,
    modes: Collection[str] | None = None,
    source: str = "run.json",
) -> Plan:
    """Check a plan that was saved by :func:`plans.models.plan_tree`.

    Without a vocabulary, steps, conditions and loads keep their parameters unread
    (:class:`plans.grammar.sequence.Recorded`): enough to judge a run, not to repeat it.
    """
    return read(Document(source, tree), vocabulary, modes=modes)


def read(
    document: Document,
    vocabulary: Vocabulary | None,
    *,
    settings: Mapping[str, object] = _NO_SETTINGS,
    modes: Collection[str] | None,
) -> Plan:
    """A checked plan from a document; ``PlanError`` lists everything that is wrong with it."""
    tree = document.tree
    if not isinstance(tree, dict):
        kind = "a list" if isinstance(tree, list) else f"`{tree}`"
        raise document.error([Problem((), f"a plan is a mapping, not {kind}")])
    document = replaced(document, settings)
    names = names_of(
        document.tree,
        faults=None if vocabulary is None else tuple(vocabulary.faults),
        modes=None if modes is None else tuple(modes),
    )
    plan = modelled(document, Plan, {**names.context(), "words": vocabulary})
    document.refuse(contradictions(document.tree, plan, vocabulary))
    return plan
