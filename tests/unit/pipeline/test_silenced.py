"""What Py4J logs of a broken connection stays out of a user's terminal, and nothing else does."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pipeline.jvm import cause_of
from pipeline.session import _is_not_py4j, _silence_py4j

BROKEN = "logging.error('connection broke')"


@pytest.fixture
def silenced() -> Iterator[None]:
    _silence_py4j()
    yield
    logging.getLogger().removeFilter(_is_not_py4j)


@pytest.mark.parametrize(("file", "shown"), [("site-packages/py4j/java_gateway.py", 0), ("ours/other.py", 1)])
def test_a_record_by_the_root_logger_is_judged_by_the_file_that_made_it(
    silenced: None, caplog: pytest.LogCaptureFixture, file: str, shown: int
) -> None:
    exec(compile(f"import logging\n{BROKEN}", file, "exec"), {})
    assert len(caplog.records) == shown


def test_the_cause_of_a_java_error_is_no_line_of_its_stack_trace() -> None:
    text = "An error occurred\n: java.lang.NullPointerException\n\tat java.lang.Thread.run(Thread.java:840)\n"
    assert cause_of(text) == ": java.lang.NullPointerException"
