from __future__ import annotations

import datetime as dt
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.clock import Clock
from discreet.contexts import Day
from discreet.errors import DiscreetError, FileFormatError
from discreet.models import HiddenMarkovModel, MarkovChain, Models, load, save
from discreet.models.hidden.endless import EndlessHidden
from discreet.models.routine.parts import AnyModel
from discreet.models.routine.routine import Kinds, Routine
from discreet.models.simulate import person
from discreet.models.store import files_for, load_days, move_models
from tests.models.test_chain import LABELS, random_chain
from tests.models.test_hidden import random_model
from tests.models.test_learn import dated, habits
from tests.models.test_routine import random_routine


def facts(model: AnyModel | EndlessHidden) -> object:
    """Everything that a saved model must bring back, to the bit."""
    if isinstance(model, Routine):
        chains = {kind: facts(model.day(kind)) for kind in model.kinds}
        return model.by, model.fingerprint, chains, learned_of(model)
    if isinstance(model, Models):
        return {part: facts(chain) for part, chain in model.items()}
    counts = model.counts if isinstance(model, MarkovChain) else None
    learned = counts and (
        counts.contexts,
        counts.initial.tolist(),
        counts.transitions.tolist(),
        counts.smoothing,
        counts.fixed,
    )
    return type(model), model.contexts, model.slots, model.fingerprint, model.clock, learned


def learned_of(routine: Routine) -> object:
    if routine.learned is None:
        return None
    by_name = dict(vars(routine.learned))
    days, nights, recent = by_name.pop("days"), by_name.pop("nights"), by_name.pop("recent")
    if recent is not None:
        faded = [
            counts and (counts.initial.tolist(), counts.transitions.tolist(), counts.nights.tolist())
            for counts in (recent.counts, recent.judged_from)
        ]
        by_name["recent"] = (faded, recent.floor, recent.dates, recent.scores.tolist(), recent.steps)
    counted = {kind: (one.contexts, one.initial.tolist(), one.transitions.tolist()) for kind, one in days.items()}
    return by_name, counted, {pair: steps.tolist() for pair, steps in nights.items()}


CLOCK = Clock(48, "Europe/Paris", "04:00")
EXAMPLES: dict[str, AnyModel | EndlessHidden] = {
    "chain": random_chain(0),
    "one slot": MarkovChain(("a", "b"), [0.25, 0.75], np.zeros((0, 2, 2))),
    "two slots": MarkovChain.homogeneous(("a", "b"), [0.25, 0.75], [[0.5, 0.5], [0.0, 1.0]], 2),
    "homogeneous": MarkovChain.homogeneous(LABELS, [0.1, 0.2, 0.7], np.full((3, 3), 1 / 3), 1_000),
    "odd labels": MarkovChain.homogeneous(("é", 'a "b"', "\ud800/..\n\0"), [1, 0, 0], np.eye(3), 3),
    "learned": MarkovChain.fit(person(days=30), clock=CLOCK),
    "learned plainly": MarkovChain.fit(habits(3, 9), "none", contexts=("d", "c", "b", "a")),
    "hidden": random_model(0, by_slot=False),
    "hidden by slot": random_model(1, by_slot=True),
    "hidden homogeneous": HiddenMarkovModel.homogeneous(
        LABELS, [0.5, 0.5], np.full((2, 2), 0.5), [[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]], 100
    ),
    "hidden without end": HiddenMarkovModel.homogeneous(
        LABELS, [0.5, 0.5], [[0.9, 0.1], [0.3, 0.7]], [[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]], None
    ),
    "hidden, one slot": HiddenMarkovModel(LABELS, [1.0], np.zeros((0, 1, 1)), [[0.1, 0.2, 0.7]]),
    "hidden with clock": HiddenMarkovModel(LABELS, [1.0], np.ones((47, 1, 1)), [[0.1, 0.2, 0.7]], clock=CLOCK),
    "week": MarkovChain.fit(person(days=30), by="weekpart", clock=CLOCK),
    "half a week": MarkovChain.fit(dated([("a", "b")]), by="weekpart"),
    "routine": random_routine(0, zeros=0.3),
    "routine of days alike": random_routine(1, week=False),
    "routine learned": Routine.fit(person(days=30), secrets=["casino"], clock=CLOCK),
    "routine calibrated": Routine.fit(person(days=16), smoothing="calibrated", secrets=["casino"], clock=CLOCK),
    "routine calibrated, too short to judge": Routine.fit(dated(habits(3, 5)), smoothing="calibrated"),
    "routine learned plainly": Routine.fit(
        dated(habits(3, 9)), by=None, smoothing="none", floor=0.01, contexts=("d", "c", "b")
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_saved_is_loaded_to_the_bit(tmp_path: Path, name: str) -> None:
    save(tmp_path / "model", EXAMPLES[name])
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    loaded = load(tmp_path / "model")
    assert facts(loaded) == facts(EXAMPLES[name])
    save(tmp_path / "model", loaded)
    assert facts(load(tmp_path / "model")) == facts(EXAMPLES[name])


def test_a_model_without_end_is_loaded_by_name_and_refused_where_days_are_needed(tmp_path: Path) -> None:
    save(tmp_path / "model", EXAMPLES["hidden without end"])
    with pytest.raises(FileFormatError, match="positions and no days"):
        load_days(tmp_path / "model")
    endless: Any = random_routine(0).since("2026-03-02")
    with pytest.raises(FileFormatError, match=r"EndlessChain cannot be saved.*the routine"):
        save(tmp_path / "other", endless)
    assert not (tmp_path / "other").exists()


def test_a_clock_set_later_is_kept(tmp_path: Path) -> None:
    for model in (
        MarkovChain.homogeneous(("a",), [1], [[1]], 48),
        HiddenMarkovModel.homogeneous(("a",), [1], [[1]], [[1]], 48),
    ):
        model.clock = CLOCK
        save(tmp_path / "model", model)
        assert facts(load(tmp_path / "model")) == facts(model)


def test_what_repeats_is_stored_once(tmp_path: Path) -> None:
    save(tmp_path / "long", EXAMPLES["homogeneous"])
    assert (tmp_path / "long").stat().st_size < 3_000


def test_a_file_is_loaded_as_what_it_is_expected_to_hold(tmp_path: Path) -> None:
    save(tmp_path / "model", EXAMPLES["homogeneous"])
    assert load(tmp_path / "model", MarkovChain) == load(tmp_path / "model")
    with pytest.raises(FileFormatError, match="model: holds a MarkovChain, not a Models; load it as what it is"):
        load(tmp_path / "model", Models)
    with pytest.raises(DiscreetError, match="the kind is the text 'chain'; give a class"):
        load(tmp_path / "model", "chain")  # type: ignore[call-overload]


def test_a_loaded_chain_learns_on(tmp_path: Path) -> None:
    rows = habits(1, 9)
    save(tmp_path / "model", MarkovChain.fit(rows[:5]))
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, MarkovChain)
    assert facts(loaded.updated(rows[5:])) == facts(MarkovChain.fit(rows))
    days = dated(habits(2, 9))
    save(tmp_path / "model", MarkovChain.fit(days[:8], by="weekpart"))
    week = load(tmp_path / "model")
    assert isinstance(week, Models)
    assert facts(week.updated(days[8])) == facts(MarkovChain.fit(days, by="weekpart"))


def test_a_loaded_routine_learns_on(tmp_path: Path) -> None:
    days = person(days=20)
    save(tmp_path / "model", Routine.fit(days[:12], secrets=["casino"], clock=CLOCK))
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Routine)
    assert facts(loaded.updated(days[12:])) == facts(Routine.fit(days, secrets=["casino"], clock=CLOCK))
    save(tmp_path / "model", Routine.fit(days[:12], smoothing="calibrated", clock=CLOCK))
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, Routine)
    assert facts(loaded.updated(days[12:])) == facts(Routine.fit(days, smoothing="calibrated", clock=CLOCK))


def test_a_rule_of_ones_own_is_in_no_file(tmp_path: Path) -> None:
    chain = random_chain(0)
    own = Routine({"day": chain}, {("day", "day"): np.eye(3)}, kind_of=Kinds(lambda date: "day", 1))
    with pytest.raises(FileFormatError, match=r"rule of its own .* which a file cannot hold; .*kind_of"):
        save(tmp_path / "model", own)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda routine, held: routine.update(by="moon"), "by='moon' is not known"),
        (lambda routine, held: routine.update(by="weekpart"), "counts are of day; by='weekpart' needs"),
        (lambda routine, held: routine.update(nights=[]), "no night leads from a day to a day"),
        (lambda routine, held: routine.update(nights=[["day", "feast"]]), "no night leads from a day to a day"),
        (lambda routine, held: held.pop("nights/0"), "nights/0"),
        (lambda routine, held: held.update({"nights/0": held["nights/0"] / 2}), r"nights\[.*sums to 0.5"),
        (lambda routine, held: held.update({"nights/0": np.eye(2)}), r"nights\[.*has shape \(2, 2\)"),
        (lambda routine, held: held.pop("learned/day/day"), "learned/day/day"),
        (lambda routine, held: held.update({"learned/day/day": np.eye(2)}), "counts of nights"),
        (lambda routine, held: held.update({"learned/day/initial": -held["learned/day/initial"]}), "initial counts"),
        (lambda routine, held: routine["learned"].update(floor=2), "the floor is 2"),
        (lambda routine, held: routine["learned"].update(floor="x"), "the floor is x"),
        (lambda routine, held: routine["learned"].update(smoothing="some"), "smoothing='some' is not known"),
        (lambda routine, held: routine["learned"].pop("until"), "until"),
        (lambda routine, held: routine["learned"].update(until=[["p", "soon", "a"]]), "soon"),
        (lambda routine, held: routine["learned"].update(until=[["p", "2026-01-01", "moon"]]), "'moon', which is no"),
    ],
)
def test_a_routine_that_makes_no_sense_is_refused_with_what(tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "model"
    save(path, SMALL["routine"])
    with np.load(path) as stored:
        contents = {key: stored[key] for key in stored.files}
    header = json.loads(str(contents.pop("header")))
    change(header["routine"], contents)
    with path.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **contents)
    with pytest.raises(FileFormatError, match=rf"model: not a discreet model, or damaged .*{message}"):
        load(path)


SMALL: dict[str, AnyModel] = {
    "learned": MarkovChain.fit(habits(0, 4, 3), clock=Clock(3)),
    "hidden": random_model(0, by_slot=False),
    "week": MarkovChain.fit(
        [Day(("a", "b"), dt.date(2026, 1, 2)), Day(("b", "b"), dt.date(2026, 1, 3))], by="weekpart"
    ),
    "routine": Routine.fit([Day(("a", "b"), dt.date(2026, 1, 2)), Day(("b", "b"), dt.date(2026, 1, 3))], by=None),
}


def outcome(path: Path, content: bytes) -> object:
    """What a file's bytes load as, or None where they are refused; any other error is the test's."""
    path.write_bytes(content)
    try:
        return facts(load(path))
    except FileFormatError as error:
        where_and_remedy = str(path) in str(error) and "discreet" in str(error)
        return None if where_and_remedy else error


@pytest.mark.slow("compares with a slow twin on many random cases")
@pytest.mark.parametrize("name", SMALL)
def test_a_byte_changed_anywhere_is_refused_or_harmless(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model"
    save(path, SMALL[name])
    whole, expected = path.read_bytes(), facts(SMALL[name])
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(0, len(whole), 2 if name in ("week", "routine") else 1):  # files that are long
        flip = int(rng.integers(1, 256))
        found = outcome(path, whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
        assert found in (None, expected), f"byte {at} xor {flip}"
        refused += found is None
    assert refused > len(whole) / 4
    assert outcome(path, whole) == expected


def test_a_bit_changed_in_the_zips_own_fields_is_refused_or_harmless(tmp_path: Path) -> None:
    """Every bit of the first member's header, of its entry in the directory, and of the end: flags, sizes, names."""
    path = tmp_path / "model"
    save(path, SMALL["hidden"])
    whole, expected = path.read_bytes(), facts(SMALL["hidden"])
    directory = whole.index(b"PK\x01\x02")
    for at in (*range(50), *range(directory, directory + 60), *range(len(whole) - 22, len(whole))):
        for bit in range(8):
            found = outcome(path, whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            assert found in (None, expected), f"byte {at}, bit {bit}"


@pytest.mark.parametrize("name", ["learned", "hidden"])
def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model"
    save(path, SMALL[name])
    whole = path.read_bytes()
    for length in range(len(whole)):
        assert outcome(path, whole[:length]) is None


def test_bytes_overwritten_in_runs_are_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(path, SMALL["learned"])
    whole, expected = path.read_bytes(), facts(SMALL["learned"])
    rng = np.random.default_rng(1)
    for _ in range(300):
        at, length = int(rng.integers(len(whole))), int(rng.integers(2, 40))
        noise = rng.bytes(len(whole[at : at + length]))
        assert outcome(path, whole[:at] + noise + whole[at + length :]) in (None, expected)


def rewritten(path: Path, change: dict[str, Any]) -> None:
    """Save a small chain with another header."""
    save(path, SMALL["learned"])
    with np.load(path) as stored:
        contents = {key: stored[key] for key in stored.files}
    header = json.loads(str(contents.pop("header"))) | change
    with path.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **contents)


def test_a_newer_format_says_to_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "model"
    rewritten(path, {})
    assert facts(load(path)) == facts(SMALL["learned"])
    rewritten(path, {"version": 6, "parts": "of a kind not known yet"})
    with pytest.raises(FileFormatError, match=r"model: written in format 6, this discreet reads up to 5; upgrade"):
        load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"}, {"version": "1"}, {"version": None}, {"version": 0},
        {"parts": None}, {"parts": {}}, {"parts": {"": {}}},
    ],
)  # fmt: skip
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    rewritten(tmp_path / "model", change)
    with pytest.raises(FileFormatError, match=r"model: not a discreet model, or damaged .*`discreet learn`"):
        load(tmp_path / "model")


class Trap:
    """Unpickling it would be noticed."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return pytest.fail, ("unpickled",)


def foreign_files() -> dict[str, bytes]:
    files = {"empty": b"", "text": b"home,work\n", "pickle": pickle.dumps(Trap())}
    for name, array in (("npy", np.ones(3)), ("object npy", np.array([Trap()], dtype=object))):
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        files[name] = buffer.getvalue()
    for name, header in (("npz", np.ones(3)), ("object npz", np.array([Trap()], dtype=object))):
        buffer = io.BytesIO()
        np.savez(buffer, header=header)
        files[name] = buffer.getvalue()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("header.npy", pickle.dumps(Trap()))
    files["zip of a pickle"] = buffer.getvalue()
    return files


@pytest.mark.parametrize("name", foreign_files())
def test_a_foreign_file_is_refused_and_nothing_is_unpickled(tmp_path: Path, name: str) -> None:
    (tmp_path / "model").write_bytes(foreign_files()[name])
    with pytest.raises(FileFormatError, match=r"model: not a discreet model, or damaged .*; make a new one"):
        load(tmp_path / "model")


def test_a_pickle_among_the_arrays_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(path, SMALL["learned"])
    with np.load(path) as stored:
        contents = {key: stored[key] for key in stored.files}
    contents["/initial"] = np.array([Trap()] * len(contents["/initial"]), dtype=object)
    with path.open("wb") as file:
        np.savez(file, **contents)
    with pytest.raises(FileFormatError, match=r"not a discreet model, or damaged"):
        load(path)


def test_a_file_that_is_not_there_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"none: there is no such model file; make one with `discreet learn`"):
        load(tmp_path / "none")
    with pytest.raises(FileFormatError, match=r"not a discreet model"):
        load(tmp_path)
    with pytest.raises(DiscreetError, match=r"cannot be written: .*; choose a folder"):
        save(tmp_path / "none" / "model", SMALL["learned"])


def test_people_have_a_file_each_in_a_folder_that_appears_whole(tmp_path: Path) -> None:
    chain, out = random_chain(1), tmp_path / "people"
    names = ["ann", "b/../b"]
    files = files_for(out, names)
    assert files == {"ann": out / "ann.model", "b/../b": out / "b%2F..%2Fb.model"}  # a name leads nowhere else
    for whole in (True, False):  # a folder that is there already is added to
        made = tmp_path / "made"
        made.mkdir()
        for name in names[: None if whole else 1]:
            save(files_for(made, [name])[name], chain)
        (made / ".b.model.part").touch()  # a process was ended here
        move_models(made, out, len(names))
        assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in files.values())
        assert made.exists() != whole
    assert facts(load(files["b/../b"])) == facts(chain)
    assert files_for(out, ["ann"]) == {"ann": out / "ann.model"}  # the folder is there now
    alone = tmp_path / "alone.model"
    save(files_for(made, ["ann"])["ann"], chain)
    move_models(made, alone, 1)
    assert facts(load(alone)) == facts(chain)
    with pytest.raises(FileFormatError, match="cannot be written"):
        move_models(tmp_path / "none", tmp_path / "missing" / "out", 2)
    with pytest.raises(FileFormatError, match="2 people; give a folder"):
        files_for(alone, ["ann", "bob"])
