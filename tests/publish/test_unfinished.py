"""A run that is interrupted and gone on with, by one process and by two."""

from __future__ import annotations

import csv
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from discreet.contracts import DayModel
from discreet.data import write_published
from discreet.data.published import Row
from discreet.errors import DiscreetError
from discreet.events import Events, Trajectory
from discreet.mechanisms.named import Spec
from discreet.outputs import PartialEvent
from discreet.publish import ChainHabits, Plan, Report, publish
from discreet.publish.person import published
from discreet.publish.plan import PIECE, Habits
from discreet.publish.resume import Unfinished, unfinished
from tests.publish.plans import plan_of

ROLES = {"user": "who", "timestamp": "when", "location": "where", "activity": "what"}


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are worked on one at a time, so that some are done before others."""
    monkeypatch.setattr("discreet.publish.engines.local.CHUNK", 1)


@pytest.fixture
def plan() -> Plan:
    return plan_of(4, 0.1, "no-internal")[0]


@pytest.fixture
def people() -> list[Trajectory]:
    return plan_of()[1]


def write(
    plan: Plan,
    people: Sequence[Trajectory],
    table: Path,
    *,
    seed: int | None = 1,
    resume: bool = False,
    workers: int = 1,
) -> Report:
    with unfinished(table, seed, resume=resume) as run:
        written = partial(write_published, table, ROLES)
        return publish(plan, people, written, seed=seed, workers=workers, unfinished=run)


def interrupted(after: int) -> Callable[[Iterable[Row]], None]:
    """A writer whom Ctrl-C meets at the first row after those of so many people."""

    def take(rows: Iterable[Row]) -> None:
        met: set[str] = set()
        for person, _ in rows:
            met.add(person)
            if len(met) > after:
                raise KeyboardInterrupt

    return take


def interrupt(plan: Plan, people: Sequence[Trajectory], table: Path, after: int, seed: int | None = 1) -> None:
    with pytest.raises(KeyboardInterrupt), unfinished(table, seed) as run:
        publish(plan, people, interrupted(after), seed=seed, unfinished=run)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_goes_on_writes_the_same_bytes(
    plan: Plan, people: list[Trajectory], tmp_path: Path, workers: int, ending: str
) -> None:
    whole, table = tmp_path / f"whole.{ending}", tmp_path / f"table.{ending}"
    report = write(plan, people, whole)
    for after in (0, 1, 2)[::workers]:
        interrupt(plan, people, table, after)
        assert not table.exists()
        assert write(plan, people[::-1], table, resume=True, workers=workers) == report
        assert table.read_bytes() == whole.read_bytes()
        table.unlink()
    assert {path.name for path in tmp_path.iterdir()} == {whole.name}


def test_without_a_seed_it_goes_on_with_the_same_key(plan: Plan, people: list[Trajectory], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    interrupt(plan, people, table, 2, seed=None)
    run = Unfinished.resumed(table, None)
    done = list(run.done())
    assert [one.reports["person"].to_list() for one in done] == [[one.person] for one in people]
    rows: list[Row] = []
    publish(plan, people, rows.extend, unfinished=run)
    assert rows == [(person, PartialEvent(*row)) for one in done for person, *row in one.rows.iter_rows()]
    again: list[Row] = []
    fresh = Unfinished(tmp_path, run.key)
    (tmp_path / "done").write_bytes(b"")
    publish(plan, people, again.extend, unfinished=fresh)
    assert again == rows  # drawn anew, by the key


def test_what_is_kept_is_for_its_owner_alone_and_goes_with_the_end(
    plan: Plan, people: list[Trajectory], tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    interrupt(plan, people, table, 1, seed=None)
    folder = Unfinished.beside(table)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {"key": 0o600, "done": 0o600}
    with pytest.raises(DiscreetError, match=r"was not finished.*--resume, or delete .*table\.csv\.unfinished"):
        write(plan, people, table, seed=None)
    write(plan, people, table, seed=None, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_part_that_was_not_written_to_its_end_is_made_again(
    plan: Plan, people: list[Trajectory], tmp_path: Path
) -> None:
    whole, table = tmp_path / "whole.csv", tmp_path / "table.csv"
    write(plan, people, whole)
    interrupt(plan, people, table, 1)
    done = Unfinished.beside(table) / "done"
    done.write_bytes(done.read_bytes()[:-7])
    write(plan, people, table, resume=True)
    assert table.read_bytes() == whole.read_bytes()


def test_a_run_of_streams_goes_on_to_the_same_table(tmp_path: Path) -> None:
    plan = replace(plan_of(None, 0.1)[0], mechanism=Spec("adaptive", {"outputs": "suppress"}))
    people = [replace(one, events=(one.events * PIECE)[: PIECE + 3], timestamps=None) for one in plan_of()[1]]
    whole, table = tmp_path / "whole.csv", tmp_path / "table.csv"
    report = write(plan, people, whole)
    assert [one.pieces for one in report.people] == [1, 1, 1]
    interrupt(plan, people, table, 2)
    assert write(plan, people, table, resume=True) == report
    assert table.read_bytes() == whole.read_bytes()


def test_a_run_goes_on_with_the_same_alone(plan: Plan, people: list[Trajectory], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    interrupt(plan, people, table, 1)
    on = partial(write, table=table, resume=True)
    shorter = [replace(people[0], events=people[0].events[1:], timestamps=None), *people[1:]]
    for other, whom in (
        (plan, shorter),
        (plan, people[1:]),
        (plan, people[:1]),
        (replace(plan, piece_length=3), people),
    ):
        with pytest.raises(DiscreetError, match=r"'p[12]' was published from other events or habits"):
            on(other, whom)
    with pytest.raises(DiscreetError, match="started with --seed 1; resume it the same way"):
        on(plan, people, seed=None)
    with pytest.raises(DiscreetError, match="started with --seed 1"):
        on(plan, people, seed=2)
    (Unfinished.beside(table) / "key").write_text("{}")
    with pytest.raises(DiscreetError, match="holds no run's key; delete its folder"):
        on(plan, people)
    assert not table.exists()


def test_a_key_that_others_may_have_read_is_not_drawn_from(
    plan: Plan, people: list[Trajectory], tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    interrupt(plan, people, table, 1, seed=None)
    (Unfinished.beside(table) / "key").chmod(0o644)
    with pytest.raises(DiscreetError, match="others may have read the run's key"):
        write(plan, people, table, seed=None, resume=True)
    assert not table.exists()


def test_a_run_that_is_under_way_is_nobody_elses(
    plan: Plan, people: list[Trajectory], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table.csv"
    folder = Unfinished.beside(table)
    with unfinished(table, 1) as run:
        with pytest.raises(DiscreetError, match="under way in another process"):
            write(plan, people, table, resume=True)
        # One that looked before the folder was made leaves it as it is.
        monkeypatch.setattr(Unfinished, "refuse", lambda *_: None)
        with pytest.raises(DiscreetError, match="cannot be written: File exists"):
            write(plan, people, table)
        assert {path.name for path in folder.iterdir()} == {"key", "done"}
        publish(plan, people, partial(write_published, table, ROLES), seed=1, unfinished=run)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_what_is_damaged_is_told(plan: Plan, people: list[Trajectory], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    interrupt(plan, people, table, 2)
    done = Unfinished.beside(table) / "done"
    done.write_bytes(done.read_bytes()[:-1] + b"?")
    with pytest.raises(DiscreetError, match="what is kept is damaged"):
        write(plan, people, table, resume=True)
    assert not table.exists()


def test_a_run_in_which_nobody_was_done_leaves_nothing(plan: Plan, people: list[Trajectory], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    with pytest.raises(DiscreetError, match="nobody to publish"):
        write(plan, [], table)
    with pytest.raises(DiscreetError, match="cannot be written"):
        write(plan, people, tmp_path / "missing" / "table.csv")
    assert list(tmp_path.iterdir()) == []


def many(plan: Plan, people: Sequence[Trajectory], number: int = 400) -> tuple[Plan, list[Trajectory]]:
    """More people than are published while somebody looks away."""
    everybody = [Trajectory(f"{k:04}", people[k % len(people)].events) for k in range(number)]
    return replace(plan, habits=ChainHabits()), everybody


def write_many(table: str, resume: bool) -> None:
    """What a process does that is interrupted."""
    plan, people = many(plan_of(4, 0.1, "no-internal")[0], plan_of()[1])
    write(plan, people, Path(table), seed=None, resume=resume, workers=2)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="groups of processes are POSIX")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_ended_leaves_no_table_and_is_gone_on_with(tmp_path: Path, ends: signal.Signals) -> None:
    table = tmp_path / "table.csv"
    done = Unfinished.beside(table) / "done"
    script = f"from tests.publish.test_unfinished import write_many; write_many({str(table)!r}, False)"
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while not (done.exists() and done.stat().st_size) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    os.killpg(process.pid, ends)
    _, told = process.communicate(timeout=600)
    assert process.returncode != 0, told
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    kept = [one for done in Unfinished.resumed(table, None).done() for one in done.reports["person"]]
    assert 0 < len(kept) < 400
    key = Unfinished.resumed(table, None).key
    write_many(str(table), True)
    plan, people = many(plan_of(4, 0.1, "no-internal")[0], plan_of()[1])
    with table.open(encoding="utf-8", newline="") as file:
        rows = [tuple(value or None for value in row) for row in list(csv.reader(file))[1:]]
    drawn = [(one.person, published(plan, one, key).rows) for one in people]
    assert rows == [(person, row.time, row.location, row.activity) for person, own in drawn for row in own]


@dataclass(frozen=True)
class Deadly:
    """Habits of which a worker dies when it comes to the last of the people."""

    habits: Habits
    last: str
    parent: int
    name: str = "deadly"

    def of(self, pieces: Sequence[Trajectory], slots: int) -> tuple[DayModel, Events]:
        if pieces[0].person == self.last and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.habits.of(pieces, slots)


def test_a_worker_that_dies_leaves_no_table(plan: Plan, people: list[Trajectory], tmp_path: Path) -> None:
    whole, table = tmp_path / "whole.csv", tmp_path / "table.csv"
    deadly = replace(plan, habits=Deadly(plan.habits, people[-1].person, os.getpid()))
    table.write_text("what was there before")
    with pytest.raises(DiscreetError, match="a worker process ended before its time"):
        write(deadly, people, table, workers=2)
    assert table.read_text() == "what was there before"
    write(plan, people, whole)
    write(deadly, people, table, resume=True)
    assert table.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"whole.csv", "table.csv"}
