from __future__ import annotations

import datetime as dt
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import discreet as d
from discreet.adversary.audit import audit_parts
from discreet.evaluation.compare import COMPARED
from discreet.evaluation.week import evaluate_parts
from discreet.mechanisms.named import Spec

FIRST = dt.date(2026, 11, 13)  # a Friday: both kinds of day follow
CHAIN = d.MarkovChain.homogeneous(
    ("home", "clinic", "work"), [0.8, 0.0, 0.2], [[0.6, 0.1, 0.3], [0.9, 0.1, 0.0], [0.3, 0.0, 0.7]], slots=4
)
NIGHTS = [[0.95, 0.0, 0.05], [1.0, 0.0, 0.0], [0.61, 0.0, 0.39]]
ROUTINE = d.Routine({"day": CHAIN}, {("day", "day"): NIGHTS})
POLICY = d.Policy(["clinic", d.Secret("clinic today", {"clinic"}, at="any")], delta=0.1)
SEEN = (
    ("home", "clinic", "home", "work"),
    ("work", "work", "home", "home"),
    ("home", "home", "clinic", "home"),
    ("home", "work", "work", "work"),
)
DAYS = [d.Day(contexts, FIRST + dt.timedelta(days=k), "p") for k, contexts in enumerate(SEEN)]


@pytest.mark.parametrize("model", [CHAIN, ROUTINE], ids=["one day", "without end"])
def test_rows_are_what_evaluate_and_audit_say(model: d.MarkovChain | d.Routine) -> None:
    frame = d.compare(model, POLICY, DAYS, ["no-mask", "mask-sensitive", "hybrid", "adaptive"], seed=3, seconds=None)
    assert frame["mechanism"].to_list() == ["no-mask", "mask-sensitive", "hybrid", "adaptive"]
    for row in frame.iter_rows(named=True):
        make = partial(Spec(row["mechanism"]).make, policy=POLICY)
        (did,) = evaluate_parts(model, make, DAYS, seed=3).values()
        (could,) = audit_parts(model, make).values()
        same = ("utility", "worst_gain", "breach_rate", "breached_days", "off_model", "days")
        assert {name: row[name] for name in same} == {name: getattr(did, name) for name in same}
        assert (row["silent"], row["found"], row["bound"]) == (did.suppressed, could.worst_gain, could.bound)
        assert row["audit"] == {True: "holds", False: "does not hold"}[bool(could.holds)]
        assert row["rests_on"] == could.rests_on
        assert row["without_end"] is (row["mechanism"] == "adaptive" and model is ROUTINE)
        assert row["seconds_per_decision"] > 0
        assert row["why"] is None


def test_a_promise_is_judged_where_it_was_made() -> None:
    """Hybrid bounds each slot of one day: kept, whatever "at any" slot and the next morning tell."""
    rows = {row["mechanism"]: row for row in d.compare(ROUTINE, POLICY, DAYS, seconds=None).iter_rows(named=True)}
    assert set(rows) == set(COMPARED)
    told = {name: (row["promise"], row["kept"], row["audit"]) for name, row in rows.items()}
    assert told["hybrid"] == ("exact delta", True, "does not hold")
    assert told["adaptive"] == ("exact delta", True, "holds")
    assert told["mask-sensitive"] == ("none", None, "does not hold")
    assert told["efficient-fake"][:2] == ("window only", None)


class Liar(d.mechanisms.MaskSensitive):
    """Says that it keeps each slot's delta, and hides nothing but the secret."""

    guarantee = d.Guarantee("exact delta", "it is not so", proven=False)


def test_a_promise_that_is_broken_is_told() -> None:
    (row,) = d.compare(CHAIN, POLICY, DAYS, [Liar], seconds=None).to_dicts()
    assert (row["mechanism"], row["promise"], row["kept"]) == ("liar", "exact delta", False)
    assert row["found"] == d.audit(d.mechanisms.MaskSensitive(CHAIN, POLICY)).worst_gain


def test_parts_of_the_week_are_one_row() -> None:
    week = d.Models({"weekday": CHAIN, "weekend": CHAIN})
    (row,) = d.compare(week, POLICY, DAYS, ["mask-sensitive"]).to_dicts()
    parts = evaluate_parts(week, partial(Spec("mask-sensitive").make, policy=POLICY), DAYS)
    assert len(parts) == 2
    shown = sum(part.utility * part.slots for part in parts.values())
    assert row["utility"] == pytest.approx(shown / sum(part.slots for part in parts.values()), rel=1e-15)
    assert row["breached_days"] == sum(part.breached_days for part in parts.values()) == 2
    assert row["days"] == 4


def test_one_that_cannot_run_is_a_row_with_the_reason() -> None:
    frame = d.compare(CHAIN, POLICY, DAYS, ["pa-markov", "mask-sensitive"])
    cannot, can = frame.to_dicts()
    assert "'home' is not the label of an event" in cannot["why"]
    assert all(value is None for name, value in cannot.items() if name not in ("mechanism", "why"))
    assert can["why"] is None
    assert can["utility"] == 14 / 16
    assert frame.schema["utility"] == pl.Float64


def test_names_and_options() -> None:
    spec = Spec("adaptive", {"outputs": "deceive"})
    frame = d.compare(CHAIN, POLICY, DAYS, {"honest": "adaptive", "lying": spec})
    assert frame["mechanism"].to_list() == ["honest", "lying"]
    assert d.compare(CHAIN, POLICY, DAYS, [spec])["mechanism"].to_list() == ["adaptive, outputs=deceive"]


def test_what_no_mechanism_can_help_is_an_error() -> None:
    for words, arguments in (
        ("never seen", (CHAIN, d.Policy(["bar"]), DAYS)),
        ("there is no day", (CHAIN, POLICY, [])),
        ("has 2 slots", (CHAIN, POLICY, [d.Day(("home", "home"), FIRST)])),
        ("there is no mechanism 'adptive'", (CHAIN, POLICY, DAYS, ["adptive"])),
        ("compared twice", (CHAIN, POLICY, DAYS, ["no-mask", "no-mask"])),
        ("no mechanism to compare", (CHAIN, POLICY, DAYS, [])),
        ("fdh needs the option hierarchy", (CHAIN, POLICY, DAYS, ["fdh"])),
    ):
        with pytest.raises(d.DiscreetError, match=words):
            d.compare(*arguments)


def test_a_picture_and_progress(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = tmp_path / "compare.png"
    names = ["pa-markov", "mask-sensitive", "adaptive"]
    d.compare(CHAIN, POLICY, DAYS, names, picture=path, progress=lambda *step: told.append(step))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert told == sorted(told)
    assert told[-1] == (15, 15)


def test_a_breach_in_hand_is_not_called_open() -> None:
    """An audit that may look at one kernel finds nothing; what happened on the days is a breach all the same."""
    (row,) = d.compare(CHAIN, POLICY, DAYS, [Liar], budget=1).to_dicts()
    assert d.audit(Liar(CHAIN, POLICY), budget=1).holds is None
    assert (row["audit"], row["kept"], row["breached_days"] > 0) == ("does not hold", False, True)
    assert row["found"] >= row["worst_gain"] > 0.1
    assert row["bound"] >= row["found"]


@pytest.mark.parametrize(
    ("ending", "starts"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PDF", b"%PDF")]
)
def test_a_picture_is_in_the_format_of_its_name(ending: str, starts: bytes, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}{ending}" for number in range(2)]
    for path in paths:
        d.compare(CHAIN, POLICY, DAYS[:1], ["no-mask"], budget=10, picture=path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(starts)
    assert first == second


@pytest.mark.parametrize("name", ["x.jpg", "x", "x.png.gz"])
def test_a_picture_of_another_format_is_refused_before_the_work(name: str, tmp_path: Path) -> None:
    with pytest.raises(d.DiscreetError, match=r"pictures are PNG, SVG or PDF; end the name in \.png, \.svg or \.pdf"):
        d.compare(CHAIN, POLICY, DAYS, ["no-mask"], picture=tmp_path / name)
    assert list(tmp_path.iterdir()) == []
