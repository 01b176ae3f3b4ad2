"""The vocabulary of plans: every step name with the model of its parameters, resolved once.

Joins the plans' own steps with the registries of faults and workloads; importing this module
registers all of them.
"""

from __future__ import annotations

from pydantic import BaseModel

import nemesis.corruption  # registers its faults
import nemesis.disks  # registers its faults
import nemesis.links  # registers its faults
import nemesis.messages  # registers its faults
import nemesis.metadata  # registers its faults
import nemesis.networks  # registers its faults
import nemesis.power  # registers its faults
import nemesis.processes  # registers its faults
import nemesis.sessions  # registers its faults
import nemesis.storage  # registers its faults
import nemesis.swapping  # noqa: F401  # registers its faults
import workloads.append
import workloads.chain
import workloads.churn
import workloads.failover
import workloads.forced
import workloads.many_ledgers
import workloads.recover_all
import workloads.recovery
import workloads.striped  # noqa: F401  # each registers its workload
from nemesis.registry import FAULTS
from plans.steps import Vocabulary, faults_in, vocabulary
from workloads.registry import WORKLOADS


def words() -> Vocabulary:
    """Every step that a plan of this installation may name, with its parameter model."""
    return vocabulary(FAULTS)


def loads() -> dict[str, type[BaseModel]]:
    """Every workload by name, with its parameter model."""
    return {name: workload.params for name, workload in WORKLOADS.items()}


def offered_faults() -> frozenset[str]:
    """The names of all faults that this machine supports."""
    return frozenset(
        name for name in faults_in(words()) if name in FAULTS and unavailable_reason(name) is None
    )


def unavailable_reason(name: str) -> str | None:
    """Why this machine does not have the fault, or None when it seems to."""
    return FAULTS[name].unavailable_reason()
