"""Load a plan: from a scenario's name, a YAML file, or the tree saved in ``run.json``.

Every mistake is a ``PlanError`` whose lines say file, line, column, the value and what is
allowed; all that can be found at once is listed at once. Steps, conditions, faults and workloads come
in as models by name, so nothing here knows which exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from plans import loss, only, vary
from plans.consistency import contradictions
from plans.controls import control_problems
from plans.document import Document, Problem, parse_file
from plans.models import Plan
from plans.nearest import unknown
from plans.reading import Reader
from plans.steps import Vocabulary
from plans.walk import names_of
from protocol.errors import PlanError
from protocol.modes import MODES

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
SUFFIXES = (".yaml", ".yml")
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
        raise PlanError(f"there is no plan file {name_or_path}")
    names = scenarios(root)
    if name_or_path in names:
        return root / f"{name_or_path}.yaml"
    raise PlanError(
        unknown("scenario", name_or_path, names),
        remedy="a plan of your own is given by its path, ending in .yaml",
    )


def load(
    path: Path | str,
    vocabulary: Vocabulary,
    *,
    settings: Mapping[str, object] = _NO_SETTINGS,
    modes: Collection[str] = tuple(MODES),
) -> Plan:
    """Read and check a plan file.

    ``settings`` sets parameters named under the plan's ``vary`` (values or their text), ``modes`` are the
    names a plan may use. The controls belong to the plan as it is written, so they are checked without
    ``settings``.
    """
    document = parse_file(Path(path))

    def varied(values: Mapping[str, object]) -> Plan:
        return read(document, vocabulary, settings=values, modes=modes)

    plan = varied(settings)
    if not settings and (wrong := list(control_problems(plan, varied))):
        raise document.error(wrong)
    return plan


def load_tree(
    tree: Any,
    vocabulary: Vocabulary | None = None,
    *,
    modes: Collection[str] | None = None,
    source: str = "run.json",
) -> Plan:
    """Check a plan that was saved by :func:`plans.tree.plan_tree`.

    Without a vocabulary, steps, conditions and loads keep their parameters unread
    (:class:`plans.reading.Recorded`): enough to judge a run, not to repeat it.
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
    if not isinstance(document.tree, dict):
        raise document.error([Problem((), f"a plan is a mapping, not {_kind(document.tree)}")])
    defaults = document.tree.get("vary")
    document, problems = vary.apply(document, settings)
    if not problems:
        document, problems = only.apply(document, defaults if isinstance(defaults, dict) else {})
    if not problems:
        document, problems = loss.apply(document)
    if problems:
        raise document.error(problems)
    tree = document.tree
    names = names_of(
        tree,
        faults=None if vocabulary is None else tuple(vocabulary.faults),
        modes=None if modes is None else tuple(modes),
    )
    reader = Reader(vocabulary, names)
    plan = _plan(reader, tree)
    if plan is None or reader.problems:
        raise document.error(reader.problems)
    wrong = list(contradictions(tree, plan, vocabulary))
    if wrong:
        raise document.error(wrong)
    return plan


def _plan(reader: Reader, tree: Mapping[str, Any]) -> Plan | None:
    plan = reader.header(tree)
    for key in ("steps", "expect", "control"):
        if key not in tree:
            reader.problems.append(Problem((), f"`{key}` is missing"))
    steps = reader.steps(tree["steps"], ("steps",)) if "steps" in tree else ()
    controls = reader.controls(tree["control"], ("control",)) if "control" in tree else ()
    stated = tree.get("expect", {})
    if not isinstance(stated, dict):
        reader.problems.append(Problem(("expect",), "`expect` must map each mode to what is stated for it"))
        return None
    expect = {mode: reader.expectations(value, ("expect", mode)) for mode, value in stated.items()}
    reader.modes(stated)
    more = {"steps": steps, "expect": expect, "control": controls}
    return None if plan is None else plan.model_copy(update=more)


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else f"`{value}`"
