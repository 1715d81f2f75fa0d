"""The start of a Spark session: what is missing is said with its remedy, and local ones stay on this machine."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = 17
"""The oldest that Spark 4 runs on."""

GET_JAVA = (
    f"Spark needs Java {JAVA} or newer: on Debian and Ubuntu `apt install openjdk-{JAVA}-jre-headless`, on macOS "
    f"`brew install openjdk@{JAVA}`; if it is there, let JAVA_HOME name its folder"
)

GET_PACKAGES = "`pip install 'discreet[spark]'`"

Bounds = tuple[tuple[int, ...], tuple[int, ...] | None]
NEEDED: dict[str, Bounds] = {"pyspark": ((4, 1), (5,)), "pandas": ((2, 2), (3,)), "pyarrow": ((17,), None)}
NEEDED_BY_STREAMS: dict[str, Bounds] = {"protobuf": ((5,), None)}
"""Packages, from which version on and below which, as the extra `spark` has them; states of streams pass by protobuf,
and without it a worker ends without a word."""

IMPORTED_AS = {"protobuf": "google.protobuf"}

SETTINGS = {
    "spark.sql.adaptive.enabled": "true",
    # Tables of events hold timestamps with and without a zone; neither may depend on where a machine stands.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Rows that Python is sent at a time: by 10,000, which is the default, a person of 20 events takes a tenth longer.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    # A worker that ran one task keeps compiled kernels, and tables of mechanisms, for the next.
    "spark.python.worker.reuse": "true",
}

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark's page shows plans and settings to whoever opens it.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""For masters on this machine."""


DEBUG = "DISCREET_DEBUG"
"""If set, Spark's log is on standard error."""


def is_local(master: str) -> bool:
    """Whether a master runs on this machine alone."""
    return master.startswith("local")


def java_version() -> int | None:
    """The version of the Java that Spark would start; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def missing(*, stream: bool = False) -> str | None:
    """What Spark, or a stream of it, lacks on this machine, with the remedy; None where it can be started."""
    for name, (least, below) in (NEEDED | (NEEDED_BY_STREAMS if stream else {})).items():
        found = _version(name)
        bound = f"{_dotted(least)} or newer" + ("" if below is None else f", below {_dotted(below)}")
        if found is None:
            return f"{name} is not installed, and {bound} is needed; {GET_PACKAGES}"
        if found < least or (below is not None and found >= below):
            return f"{name} {_dotted(found)} is installed, and {bound} is needed; {GET_PACKAGES}"
    java = java_version()
    if java is None:
        return f"there is no Java; {GET_JAVA}"
    if java < JAVA:
        return f"this is Java {java}; {GET_JAVA}"
    return None


def _version(name: str) -> tuple[int, ...] | None:
    """The first two numbers of a package's version, as it would be imported; None where it is not there."""
    try:
        module = import_module(IMPORTED_AS.get(name, name))
    except ImportError:
        return None
    return tuple(int(number) for number in re.findall(r"\d+", str(module.__version__))[:2])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def spark_session(
    master: str | None = None, *, name: str = "discreet", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session at a master, such as local[2] or spark://host:7077; without one, that of spark-submit, or all cores.

    Settings of one's own win. Workers run this Python, unless PYSPARK_PYTHON names another.
    """
    lacks = missing()
    if lacks is not None:
        raise DiscreetError(lacks)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = SparkSession.getActiveSession()
    if submitted is not None and master is None:
        return submitted
    builder: Any = SparkSession.builder.appName(name)
    told = _submitted_master() if master is None else None  # what spark-submit says must not be overruled
    stated = master or told or "local[*]"
    chosen = {**SETTINGS, **(LOCAL if is_local(stated) else {}), **(settings or {})}
    if told is None:
        builder = builder.master(stated)
    if is_local(stated):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        with _own_interrupts():
            session: SparkSession = builder.getOrCreate()
    except Exception as error:  # Java's own reasons come as many kinds
        why = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise DiscreetError(f"Spark did not start at {stated}: {why}; check --master and its log above") from error
    # What fails is told in a line (`spark_errors`); Spark's log has a page of Java for each attempt of each task.
    session.sparkContext.setLogLevel("ERROR" if os.environ.get(DEBUG) else "OFF")
    return session


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Ctrl-C stays what it was: Spark's own handler speaks to Java from within whatever is said to it just then."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if callable(before) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _submitted_master() -> str | None:
    """The master that spark-submit was given."""
    if os.environ.get("PYSPARK_GATEWAY_PORT") is None:
        return None
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    master: str | None = SparkConf().get("spark.master")
    return master


@contextmanager
def running(
    master: str | None = None, *, name: str = "discreet", settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session for the block, stopped at its end."""
    session = spark_session(master, name=name, settings=settings)
    try:
        with _quiet_interrupts():
            yield session
    except KeyboardInterrupt:
        # This thread may wait for an answer of Java's; another speaks to it by a line of its own.
        stopping = threading.Thread(target=_stop, args=(session,))
        stopping.start()
        stopping.join()
        raise
    except BaseException:
        _stop(session)
        raise
    _stop(session)


@contextmanager
def _quiet_interrupts() -> Iterator[None]:
    """Ctrl-C is told by the command: py4j would log a traceback of its own, with the root logger."""

    def told(record: logging.LogRecord) -> bool:
        return "KeyboardInterrupt" not in str(record.msg)

    logging.root.addFilter(told)
    try:
        yield
    finally:
        logging.root.removeFilter(told)


def _stop(session: SparkSession) -> None:
    with suppress(Exception):  # a Java that has gone cannot be stopped, and why it has is told already
        session.stop()
