"""What the footers of a table's files tell."""

from pathlib import Path

import pyarrow as pa

from evidence.schemas import LEDGERS
from pipeline.tables import greatest, write_table
from tests.histories.story import created


def test_the_greatest_number_of_a_column_is_taken_from_the_footer(tmp_path: Path) -> None:
    for part, quorums in (("a", (2, 3)), ("b", (1, 2))):
        rows = [created(ledger=number, ack_quorum=each)[1] for number, each in enumerate(quorums)]
        write_table(tmp_path / part, "ledgers", pa.Table.from_pylist(rows, schema=LEDGERS))
    assert greatest(tmp_path / "a", "ledgers", "ack_quorum") == 3
    assert greatest(tmp_path / "a", "frames", "entry") == 0
