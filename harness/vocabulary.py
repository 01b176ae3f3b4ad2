"""The vocabulary of plans: every step, condition, fault and workload with the model of its parameters.

Importing this module imports every module of the folders that register them.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import harness.conditions
import harness.steps
import nemesis
import workloads
from harness.registry import CONDITIONS, STEPS
from nemesis.registry import FAULTS
from plans.grammar.sequence import CHOSEN, Models, Vocabulary
from plans.grammar.steps import Elapsed
from workloads.registry import WORKLOADS

for folder in (harness.steps, harness.conditions, nemesis, workloads):
    for module in iter_modules(folder.__path__, f"{folder.__name__}."):
        import_module(module.name)


def words() -> Vocabulary:
    """Every name that a plan of this installation may use, with its parameter model."""
    conditions: Models = {name: one.model for name, one in CONDITIONS.items()} | {"elapsed": Elapsed}
    return Vocabulary(
        steps={name: one.model for name, one in sorted(STEPS.items()) if name not in CHOSEN},
        conditions=dict(sorted(conditions.items())),
        faults=dict(FAULTS),
        workloads=dict(WORKLOADS),
    )


def offered_faults() -> frozenset[str]:
    """The names of all faults that this machine supports."""
    return frozenset(name for name, fault in FAULTS.items() if fault.unavailable_reason() is None)
