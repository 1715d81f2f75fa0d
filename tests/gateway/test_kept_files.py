"""Files that an earlier commit wrote are read by this program, and what it goes on with is the same, bit for bit.

`versions/write.py` wrote them, and recorded what followed on the program of its time; see `versions/README.md`.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import discreet as d
from discreet.adversary.checkpoint import Checkpoint
from discreet.gateway.config.settings import Settings
from discreet.gateway.store.journal import SqliteJournal
from discreet.gateway.store.journal.base import broken_link
from discreet.live import Stream
from discreet.models.bundle import Published
from discreet.models.store import load, reading_of, truth_of
from discreet.outputs import SUPPRESSED, Released, Skipped
from discreet.places import read_places
from discreet.publish.habits_file import load_habits, load_some
from discreet.randomness import SeededEntropy
from tests.gateway import people
from tests.gateway.versions import write

KEPT = Path(__file__).parent / "versions" / "03010e6"
RECORDED: dict[str, Any] = json.loads((KEPT / "recorded.json").read_text(encoding="utf-8"))
HABITS = ("habits-events", "habits-topics")


@cache
def model(name: str) -> Any:
    return load(KEPT / "models" / f"{name}.model")


@pytest.mark.parametrize("name", sorted(set(RECORDED["models"]) - set(HABITS)))
def test_a_model_is_the_same(name: str) -> None:
    assert write.fingerprints(model(name)) == RECORDED["models"][name]


def test_every_kept_model_is_recorded() -> None:
    kept = {path.stem for path in (KEPT / "models").iterdir()} - {"published"}
    assert kept == set(RECORDED["models"])


def test_what_a_model_file_says_besides() -> None:
    assert truth_of(KEPT / "models" / "routine.model") == {"days": 28, "held": True}
    assert reading_of(KEPT / "models" / "routine.model") == {"carry": 4.0}
    assert truth_of(KEPT / "models" / "week.model") is None


@pytest.mark.parametrize("name", ["routine", "routine-days-alike", "routine-calibrated"])
def test_a_kept_routine_learns_more_as_one_of_all_days_does(name: str) -> None:
    earlier, later = write.days_of(1), d.Day(("home",) * 6, write.START)
    rules: dict[str, Any] = {
        "routine": {"secrets": write.LATER},
        "routine-days-alike": {"by": None},
        "routine-calibrated": {"smoothing": "calibrated"},
    }
    whole = d.Routine.fit([*earlier, later], clock=write.CLOCK, **rules[name])
    assert model(name).updated(later).fingerprint == whole.fingerprint


@pytest.mark.parametrize("name", HABITS)
def test_topics_that_publish_learned_are_the_same(name: str) -> None:
    for habits in (load_habits(KEPT / "models" / name), load_some(KEPT / "models" / name)):
        assert [habits.name, habits.fingerprint] == RECORDED["models"][name]


def test_a_published_bundle_is_the_same() -> None:
    bundle = Published.read(KEPT / "models" / "published.zip")
    assert bundle.model.fingerprint == model("chain-given").fingerprint
    assert bundle.releases == ((Released("home"), SUPPRESSED, Released("work")),)


@pytest.mark.parametrize("name", RECORDED["streams"])
def test_a_stream_is_resumed_from_its_checkpoint(name: str) -> None:
    """The same kernels for the slots that follow, and from the same bits the same outputs."""
    wanted = RECORDED["streams"][name]
    checkpoint = Checkpoint.from_json((KEPT / f"checkpoint-{name}.json").read_text(encoding="utf-8"))
    mechanism = write.changed(write.mechanism_of(name, model), name, wanted["changed"], model)
    session = d.Session.resume(mechanism, private=wanted["private"], checkpoint=checkpoint, rng=SeededEntropy(4))
    assert (session.slot, session.skips, session.digest) == (write.BEFORE, 1, wanted["digest"])
    assert write.going_on(session, write.contexts_of(write.AFTER, seed=8)) == wanted["following"]


def test_the_checkpoints_are_of_beliefs_that_are_no_certainties() -> None:
    """Or going on from them would show little: the belief of one who knows the state is the same under any model."""
    for name in RECORDED["streams"]:
        checkpoint = Checkpoint.from_json((KEPT / f"checkpoint-{name}.json").read_text(encoding="utf-8"))
        assert all((one.stack[0] > 0).sum() > 1 and len(one.rows.prior) for one in checkpoint.measures), name
    kernels = [tuple(kernel for kernel, _ in one["following"]) for one in RECORDED["streams"].values()]
    assert len(set(kernels)) == len(kernels)


def test_a_stream_is_resumed_from_its_state() -> None:
    wanted, state = RECORDED["state"], (KEPT / "stream-state.json").read_text(encoding="utf-8")
    stream = Stream.resume(model("routine"), write.stream_make, state, carry=2, rng=SeededEntropy(6))
    assert (stream.person, stream.date.isoformat(), stream.slot) == ("jane", wanted["date"], wanted["slot"])
    assert write.released(stream) == wanted["following"]


def unpacked(folder: Path, own: str) -> Path:
    for target, name in (("journal.db", "journal.sql"), ("own.db", own)):
        with closing(sqlite3.connect(folder / target)) as file:
            file.executescript((KEPT / name).read_text(encoding="utf-8"))
    return folder


@pytest.mark.parametrize("own", ["own.sql", "own-pending.sql"])
def test_a_journal_verifies_and_is_gone_on_with(tmp_path: Path, own: str) -> None:
    """It ends within a day: the belief is that of the last checkpoint, followed by the columns of the rows since."""
    wanted, due = RECORDED["journal"], write.ends(write.TURNS + write.AFTER)
    who = write.person_config(model("routine-later"), write.LATER)
    one = write.keeper(unpacked(tmp_path, own), wanted["next"] - 60, who, seed=2)
    rows = list(one.journal.all_rows("jane"))
    assert write.facts_of(rows[: write.TURNS]) == wanted["rows"]
    assert broken_link(iter(rows), write.KEY) is None
    assert sum(isinstance(row.output, Skipped) for row in rows) == len(write.OFF)
    assert [habits.policy for habits in one.people["jane"].config.history] == [write.FIRST, write.LATER]
    assert one.notes == [], "nothing changed"
    pending = len(rows) - write.TURNS  # decided from the bits of its stamp, when the keeper was opened
    assert pending == (own == "own-pending.sql")
    one._bits = after_the_bits_of_the_journal(pending)
    told = [row for end in due[write.TURNS :] for row in one.turn(end)]
    assert write.facts_of(told) == wanted["following"]
    assert broken_link(one.journal.all_rows("jane"), write.KEY) is None
    write.close(one)


def after_the_bits_of_the_journal(pending: int) -> Any:
    """The bits that the keeper of that time took next: one key a slot since the change, none for a skip."""
    bits = write.bits_from(seed=2)
    for _ in range(write.TURNS - 6 - len(write.OFF) + pending):
        bits(32)
    return bits


def test_a_month_that_was_stopped_in_mid_day_is_gone_on_with(tmp_path: Path) -> None:
    """All of a day and a half more is what that commit decided next, to the bit, from the same random bits."""
    month = KEPT / "month"
    wanted = json.loads((month / "month.json").read_text(encoding="utf-8"))
    for name in ("journal", "own"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as file:
            file.executescript(gzip.decompress((month / f"{name}.sql.gz").read_bytes()).decode())
    routine = load(month / "routine.model")
    assert isinstance(routine, d.Routine)
    who = people.person_config(routine=routine, outputs="suppress")
    with closing(SqliteJournal(tmp_path / "journal.db")) as journal:
        rows = list(journal.all_rows("jane"))
    assert len(rows) == wanted["slots"] == 30 * 12 + 6
    assert rows[-1].chain.hex() == wanted["last"]
    assert broken_link(iter(rows), people.KEY) is None
    bits = write.bits_from(seed=1)
    for _ in rows:
        bits(32)
    one = people.keeper(tmp_path, rows[-1].ends + 60, who, bits=bits)
    assert one.notes == [], "nothing changed"
    slots = range(1, len(wanted["following"]) + 1)
    told = [row for k in slots for row in one.turn(rows[-1].ends + k * people.CLOCK.slot_seconds)]
    assert write.facts_of(told) == wanted["following"]
    assert broken_link(one.journal.all_rows("jane"), people.KEY) is None
    people.closed(one)


@pytest.mark.parametrize("file", ["discreet.toml", "discreet-written.toml"])
def test_settings_have_the_same_values(file: str) -> None:
    settings = Settings.read(KEPT / file)
    assert write.settings_values(settings, KEPT) == RECORDED["settings"]
    served = settings.opened()["jane"]
    assert served.routine.fingerprint == model("routine").fingerprint
    assert write.policy_values(served.policy) == RECORDED["policy"]
    assert served.places is not None


def test_a_map_has_the_same_places() -> None:
    places = read_places(KEPT / "places.geojson")
    assert [(one.name, one.shape) for one in places.places] == [(one.name, one.shape) for one in write.PLACES.places]
