"""What went wrong in Spark, in a line: its own words are pages of Java, and the reason stands anywhere in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from discreet import errors
from discreet.errors import DataError, DiscreetError

MEMORY = (
    "perhaps for want of memory; let fewer tasks run at once (--master 'local[1]'), or start it by spark-submit with "
    "more (--driver-memory 4g, --executor-memory 4g), and run it again (publish: --resume)"
)

KNOWN: tuple[tuple[str, Callable[[re.Match[str]], DiscreetError]], ...] = (
    (
        r"No space left on device|Disk quota exceeded",
        lambda _: DiscreetError(
            "the disk is full: that of the table, or of Spark's own files (spark.local.dir, /tmp unless it is set); "
            "make room, and run it again (publish: --resume)"
        ),
    ),
    (
        r"reading file (\S+?)\. Data type mismatches when reading Parquet column \[([^\]]*)\]\. "
        r"Expected Spark type (\w+), actual Parquet type (\w+)",
        lambda found: DataError(
            f"{_path(found[1])}: column {found[2]!r} holds {found[4]}, and in other files it holds {found[3]}; give "
            "all files the same columns, or read them apart"
        ),
    ),
    (
        r"(file:\S+) is not a Parquet file",
        lambda found: DataError(f"{_path(found[1])}: is not a Parquet file, or is cut off; write it again"),
    ),
    (
        r"Could not read footer for file:.*?(file:[^\s,;}]+)",
        lambda found: DataError(f"{_path(found[1])}: is not a Parquet file, or is cut off; write it again"),
    ),
    (
        r"Python worker exited unexpectedly|Python worker was killed|SparkException: Python worker",
        lambda _: DiscreetError(f"a Python worker ended before its time, {MEMORY}"),
    ),
    (
        r"OutOfMemoryError|ExecutorLostFailure|Answer from Java side is empty|Error while sending or receiving|"
        r"Connection refused",
        lambda _: DiscreetError(f"Spark's own process ended or was full, {MEMORY}"),
    ),
)
"""What a text of Spark's means, the first that is found."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Errors of workers as they were raised there, and those of Spark in a line."""
    try:
        yield
    except (DiscreetError, KeyboardInterrupt):
        raise
    except Exception as error:
        spark = type(error).__module__.partition(".")[0] in ("pyspark", "py4j")
        if not spark and not isinstance(error, ConnectionError):  # a Java that has gone refuses connections
            raise
        raise readable(str(error)) from error


def readable(text: str) -> DiscreetError:
    """The error that a text of Spark's is about."""
    own = re.search(r"discreet\.errors\.(\w+): (.*)", text)
    if own is not None and hasattr(errors, own[1]):
        error: DiscreetError = getattr(errors, own[1])(own[2].strip())
        return error
    for pattern, make in KNOWN:
        found = re.search(pattern, text)
        if found is not None:
            return make(found)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = next(
        (line for line in reversed(lines) if "Exception:" in line or "Error:" in line), lines[0] if lines else ""
    )
    return DiscreetError(
        f"Spark could not finish: {why.removeprefix('Caused by: ')}; nothing was written (DISCREET_DEBUG=1 shows its "
        "log)"
    )


def _path(address: str) -> str:
    return unquote(re.sub(r"^file:/+", "/", address))
