"""All operators: importing a file of them registers what it has."""

from tests.histories.mutations import (
    acks,
    beside,
    boots,
    chains,
    disks,
    endings,
    fencing,
    ledgers,
    logs,
    readers,
    recovery,
    writers,
)
from tests.histories.mutations.registry import OPERATORS, Mutant, Operator, made

__all__ = ("FILES", "OPERATORS", "Mutant", "Operator", "made")
FILES = (writers, acks, beside, readers, ledgers, fencing, recovery, disks, endings, boots, logs, chains)
