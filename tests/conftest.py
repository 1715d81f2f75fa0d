"""For every test: its markers, the programs that it needs, and the processor time that it took."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import cache
from typing import Any

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings

from tests.processor_time import CACHE, Took, spent

BY_FIXTURE = {"server": "postgres", "mosquitto": "broker"}
"""Fixtures that start a server, and the marker of the tests that use one."""

BY_FOLDER = {
    "choosing": "compares what choices are worth on whole weeks",
    "cli": "runs whole commands",
    "demo": "tells the whole story",
    "endless": "enumerates every output of random streams",
    "evaluation": "releases and judges many days",
    "experiments": "repeats a paper's experiment, small",
    "gateway": "runs a gateway",
    "live": "sends months of readings through every runtime",
    "publish": "publishes whole tables",
    "test_docs.py": "runs the docs",
    "test_docs_commands.py": "runs the docs",
}
"""Folders and files of whole stories, which `make quick` leaves out, and why they are slow."""

REASONS = ("audit", "spark", "browser", "kills", "broker", "postgres", "search", "slow", "golden")
"""Markers that say why a test is slow; the first of them that a test has is listed."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For Java: what runs for seconds is compiled quickly, not well."""

LIMIT = 2.0
"""Processor seconds above which a test without a reason is named after a run."""

FIRST = ("golden", "another processor", "spark")
"""Groups that workers begin with: the second compiles for another processor, and the last takes longest."""

THEN = ("test_docs_commands.py", "cli", "gateway", "endless", "publish", "mechanisms", "experiments", "test_docs.py")
"""Folders and files with the longest tests, which come next: a worker that began one last would leave others idle."""

BEGAN = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    """Say to Java and to loops how to compile, and collect times in the process that reports."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", SHORT_LIVED)
    os.environ.setdefault("DISCREET_COMPILE", "now")  # else dozens of processes would each start a compiler
    settings.register_profile("short", max_examples=30)
    if os.environ.get("DISCREET_SEARCH") == "short":
        settings.load_profile("short")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times())


@pytest.hookimpl(tryfirst=True)  # before -m selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures, and keep those of Spark together: a process has one Java."""
    for item in items:
        for fixture in BY_FIXTURE.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(BY_FIXTURE[fixture])
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))
        why = BY_FOLDER.get(_room(item))
        if why is not None and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.slow(why))
        _name_by_group(item)
    items.sort(key=_turn)


def _name_by_group(item: pytest.Item) -> None:
    """End the name of a test with its group, which is all that the scheduler reads.

    pytest-xdist 3.8 writes it where pytest 9.2 no longer looks (pytest-xdist, issue 1386), and nobody says so: each
    worker starts a Java of its own.
    """
    group = item.get_closest_marker("xdist_group")
    if group is not None and item.config.getoption("loadgroup", False):
        item._id = NodeId.parse(f"{item.nodeid}@{group.args[0]}")


def _room(item: pytest.Item) -> str:
    """The folder or file of a test, below tests."""
    return item.nodeid.split("/", 1)[-1].partition("::")[0].split("/")[0]


def _turn(item: pytest.Item) -> int:
    order, group = (*FIRST, *THEN), item.get_closest_marker("xdist_group")
    turn = group.args[0] if group else _room(item)
    return order.index(turn) if turn in order else len(order)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests go to one worker, so that what they share is made once; those of a group stay together."""
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):  # type: ignore[misc]  # xdist ships no types
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if group == nodeid else group

    config.option.loadscopereorder = False  # files with many tests are not those that take long
    return ByFile(config, log)


@pytest.fixture(scope="session")
def spark_stops() -> Generator[None, None, None]:
    """Once all tests have run, the session that those of Spark share is stopped."""
    yield
    from tests.publish.sparks import stop_spark

    stop_spark()


@cache
def absent(marker: str) -> str | None:
    """What tests with a marker lack on this machine, with the remedy."""
    if marker == "spark":
        from discreet.publish.engines.spark.session import missing

        return missing()
    from tests.gateway.browser import absent as no_browser

    return no_browser()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out, with the reason, what cannot run here."""
    for marker in ("spark", "browser"):
        if item.get_closest_marker(marker) and (lacks := absent(marker)) is not None:
            pytest.skip(lacks)


def reason_of(item: pytest.Item) -> str | None:
    """Why a test is slow: what its marker says of it, or what the marker means."""
    declared = dict(line.partition(": ")[::2] for line in item.config.getini("markers"))
    found = next((marker for name in REASONS if (marker := item.get_closest_marker(name))), None)
    if found is None:
        return None
    return str(found.args[0]) if found.args else declared.get(found.name, found.name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Look at the clock before fixtures are set up."""
    item.stash[BEGAN] = spent()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what a test took with its last report: with xdist another process collects it."""
    report = yield
    if report.when == "teardown":
        took = max(0.0, spent() - item.stash[BEGAN])  # a process that nobody waited for is no longer counted
        report.user_properties.append(("took", (took, reason_of(item))))
    return report


class Times:
    """What the tests of a run took."""

    def __init__(self) -> None:
        self._took: dict[str, Took] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test's time."""
        for name, value in report.user_properties:
            if name == "took" and isinstance(value, (tuple, list)):  # xdist makes lists of tuples
                self._took[report.nodeid] = Took(*value)

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Keep the times for `make slowest`, and name the tests that `make quick` can do without."""
        if config.pluginmanager.hasplugin("cacheprovider"):  # "-p no:cacheprovider" takes it away
            cache: Any = config.cache
            cache.set(CACHE, self._took)
        long = {name: one.seconds for name, one in self._took.items() if one.reason is None and one.seconds > LIMIT}
        for name, seconds in sorted(long.items(), key=lambda one: -one[1]):
            terminalreporter.write_line(f"{name}: {seconds:.1f} s of processor time; make it faster, or mark it slow")
