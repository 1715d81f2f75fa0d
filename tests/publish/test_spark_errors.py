from __future__ import annotations

import re

import pytest

from discreet.errors import DataError, DiscreetError
from discreet.publish.engines.spark.errors import readable, told_plainly

JAVA = """An error occurred while calling o123.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:770)
Caused by: %s
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("reason", "kind", "message"),
    [
        ("discreet.errors.DataError: a.csv, line 3: no time; fix it", DataError, "^a.csv, line 3: no time; fix it$"),
        ("java.io.IOException: No space left on device", DiscreetError, "the disk is full.*--resume"),
        ("Python worker exited unexpectedly (crashed)", DiscreetError, "a Python worker ended.*--driver-memory"),
        ("java.lang.OutOfMemoryError: Java heap space", DiscreetError, "Spark's own process.*--driver-memory"),
        (
            "[FAILED_READ_FILE] Encountered error while reading file file:///d/a%20b.parquet. Data type mismatches "
            "when reading Parquet column [time]. Expected Spark type string, actual Parquet type INT64.",
            DataError,
            "^/d/a b.parquet: column 'time' holds INT64, and in other files it holds string",
        ),
        (
            "RuntimeException: file:/d/a.parquet is not a Parquet file",
            DataError,
            "^/d/a.parquet: is not a Parquet file",
        ),
        (
            "java.lang.IllegalStateException: odd",
            DiscreetError,
            "could not finish: java.lang.IllegalState.*: odd; noth",
        ),
    ],
)
def test_pages_of_java_are_told_in_a_line(reason: str, kind: type[DiscreetError], message: str) -> None:
    found = readable(JAVA % reason)
    assert type(found) is kind
    assert re.search(message, str(found)), str(found)
    assert "\n" not in str(found)


def test_a_java_that_has_gone_is_told_and_other_errors_are_left() -> None:
    assert "could not finish" in str(readable(""))
    with pytest.raises(DiscreetError, match="Spark's own process ended"), told_plainly():
        raise ConnectionRefusedError(111, "Connection refused")
    for left in (KeyError("a bug"), DataError("a row"), FileNotFoundError("a file")):
        with pytest.raises(type(left)) as found, told_plainly():
            raise left
        assert found.value is left
