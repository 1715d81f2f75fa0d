from __future__ import annotations

import csv
import datetime as dt
import hashlib
import json
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.events import Trajectory
from discreet.models.topics.simulate import topic_model, trajectories
from discreet.publish import Plan, RunKey, Summary, publish_people, publish_person
from discreet.publish import person as person_work
from discreet.publish.person import PublishedPerson
from discreet.publish.report_schema import TABLE, json_schema
from discreet.publish.resume import Unfinished, digest_of
from discreet.publish.work import trajectories_of
from tests.cli.conftest import Discreet, error_of

HOURS = {"interval 1": 2, "interval 2": 8, "interval 3": 20}
HEADER = ("what", "who", "lat", "at", "place")
COLUMNS = ["--user", "who", "--time", "at", "--location", "place", "--activity", "what"]
QUICK = ["--habits", "chain", "--piece", "6", "--seed", "1"]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    """Four people's events, in the order of time over all of them, with a column that nobody asked for."""
    start, rows = dt.datetime(2026, 3, 2, tzinfo=dt.UTC), []
    model = topic_model(people=4, topics=2, sizes=(3, 3, 2), seed=2)
    for number, whole in enumerate(reversed(trajectories(model, length=(8, 13), seed=2))):
        for day, event in enumerate(whole.events):
            when = start + dt.timedelta(days=day, hours=HOURS[event.time], minutes=number)
            rows.append((event.activity, whole.person, "51.1", when.isoformat(), event.location))
    path = tmp_path / "cards.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([HEADER, *sorted(rows, key=lambda row: row[3])])
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def given(cards: Path, out: Path, *more: object) -> list[object]:
    return ["publish", cards, "--out", out, *COLUMNS, *QUICK, *more]


def by_person(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    people: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        people.setdefault(row["who"], []).append(row)
    return people


def test_a_row_an_event_in_the_columns_order(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ran = discreet(*given(cards, out, "--secret", "activity=activity 1", "--mechanism", "no-mask"))
    assert ran.code == 1  # it is breached wherever it is true
    assert out.read_text().splitlines()[0] == "what,who,at,place"
    before, after = by_person(rows_of(cards)), by_person(rows_of(out))
    assert list(after) == sorted(before)  # not in the order of the file
    parts = {2: "night", 8: "morning", 20: "evening"}
    for person, rows in after.items():
        true = sorted(before[person], key=lambda row: row["at"])
        assert [row["place"] for row in rows] == [row["place"] for row in true]
        assert [row["at"] for row in rows] == [parts[dt.datetime.fromisoformat(row["at"]).hour] for row in true]
        assert [row["what"] for row in rows] == [row["what"] for row in true]
    assert "2026" not in out.read_text()  # no instant and no date
    assert "51.1" not in out.read_text()
    assert "columns left out" in ran.err
    assert "lat" in ran.err


def test_what_is_withheld_is_empty(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ran = discreet(*given(cards, out, "--secret", "activity=activity 1", "--mechanism", "sensitive-mask"))
    assert ran.code == 1  # silence says it
    true, rows = by_person(rows_of(cards)), by_person(rows_of(out))
    for person, published in rows.items():
        for row, original in zip(published, sorted(true[person], key=lambda row: row["at"]), strict=True):
            assert row["what"] == ("" if original["what"] == "activity 1" else original["what"])


def test_adaptive_is_the_default_and_keeps_delta(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ran = discreet(*given(cards, out, "--secret", "activity=activity 1", "--delta", 0.15, "--json"))
    assert ran.code == 0, ran.err
    found: Any = ran.json
    assert (found["mechanism"], found["options"]) == ("adaptive", ["outputs=attributes"])
    assert found["guarantee"]["kind"] == "exact delta"
    assert (found["breach_rate"], found["breached"], found["off_model"]) == (0, False, 0)
    assert found["worst_gain"] <= 0.15 + 2**-40
    assert found["policy"]["delta"] == 0.15
    assert found["habits"] == "event chain"
    assert found["left_out"] == ["lat"]
    assert [one["person"] for one in found["people"]] == ["p1", "p2", "p3", "p4"]
    rows, true = by_person(rows_of(out)), by_person(rows_of(cards))
    shown = 0
    for person, published in rows.items():
        originals = sorted(true[person], key=lambda row: row["at"])
        for row, original in zip(published, originals, strict=True):
            assert row["what"] in ("", original["what"])
            assert row["place"] in ("", original["place"])
            shown += sum(row[name] != "" for name in ("what", "at", "place"))
    assert found["utility"] == pytest.approx(shown / (3 * found["events"]))  # a third for each attribute


def test_a_seed_repeats_and_its_absence_draws_from_the_system(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--secret", "activity=activity 1", "--mechanism", "pa-hmm", "--option", "budget=200"]
    first, second, third = (tmp_path / f"{name}.csv" for name in "abc")
    assert "drawn with --seed" in discreet(*given(cards, first, *options)).err
    discreet(*given(cards, second, *options))
    assert first.read_bytes() == second.read_bytes()
    drawn: list[int] = []
    system = os.urandom

    def counted(count: int) -> bytes:
        drawn.append(count)
        return system(count)

    monkeypatch.setattr(os, "urandom", counted)
    ran = discreet("publish", cards, "--out", third, *COLUMNS, *QUICK[:-2], *options)
    assert "--seed" not in ran.err
    assert 32 in drawn  # the key of all draws


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_two_workers_write_what_one_does(discreet: Discreet, cards: Path, tmp_path: Path, ending: str) -> None:
    options = ["--secret", "activity=activity 1", "--mechanism", "no-internal", "--accept-model", "--json"]
    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
    alone, shared = (discreet(*given(cards, out, *options, "--workers", n)) for n, out in ((1, one), (2, two)))
    assert one.read_bytes() == two.read_bytes()
    assert {**alone.json, "out": None} == {**shared.json, "out": None}
    assert "0 workers; give 1 or more" in error_of(discreet(*given(cards, one, *options, "--workers", 0)))
    assert {path.name for path in tmp_path.iterdir()} == {
        "cards.csv",
        *(name for path in (one, two) for name in (path.name, f"{path.name}.manifest.json")),
    }


def test_ctrl_c_leaves_no_table_and_resume_goes_on(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--secret", "activity=activity 1", "--mechanism", "no-internal"]
    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    discreet(*given(cards, whole, *options))
    asked: list[str] = []

    def pressed(plan: Plan, one: Trajectory, *more: Any) -> PublishedPerson:
        asked.append(one.person)
        if asked == ["p1", "p2", "p3"]:
            raise KeyboardInterrupt
        return person_work.published(plan, one, *more)

    monkeypatch.setattr("discreet.publish.work.published", pressed)
    for size in ("FIRST_EVENTS", "MOST_EVENTS"):
        monkeypatch.setattr(f"discreet.publish.engines.local.{size}", 1)  # one person at a time
    ran = discreet(*given(cards, out, *options))
    assert ran.code == 130
    assert "continue with --resume" in ran.err
    assert not out.exists()
    assert "continue it with --resume" in error_of(discreet(*given(cards, out, *options)))
    assert "started with --seed 1" in discreet(*given(cards, out, *options, "--resume", "--seed", 2)).err
    assert discreet(*given(cards, out, *options, "--resume")).code == 0
    assert asked == ["p1", "p2", "p3", "p3", "p4"]
    assert out.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        "cards.csv",
        "whole.csv",
        "whole.csv.manifest.json",
        "out.csv",
        "out.csv.manifest.json",
    }


@pytest.mark.parametrize(
    "habits",
    [["--habits", "chain"], ["--habits", "topics", "--topics", "2"], ["--habits", "events", "--topics", "2"]],
)
def test_a_worker_could_publish_what_the_command_asks_for(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, habits: list[str]
) -> None:
    sent: list[bytes] = []

    def spied(plan: Plan, people: Iterable[pl.DataFrame], *arguments: Any, **options: Any) -> Summary:
        frames = list(people)
        everybody = [one for frame in frames for one in trajectories_of(frame)]
        sent.extend(pickle.dumps((publish_person, plan, one, RunKey.of_seed(1))) for one in everybody)
        return publish_people(plan, frames, *arguments, **options)

    monkeypatch.setattr("discreet.publish.publish_people", spied)
    out = tmp_path / "out.csv"
    ran = discreet(*given(cards, out, "--secret", "activity=activity 1", "--option", "plan=lazy", *habits))
    assert ran.code == 0, ran.err
    shown: dict[str, list[tuple[str | None, ...]]] = {}
    for work, plan, one, rng in map(pickle.loads, sent):
        rows, _ = work(plan, one, rng)
        shown[one.person] = [(row.activity, row.time, row.location) for row in rows]
    assert shown == {
        person: [tuple(row[name] or None for name in ("what", "at", "place")) for row in rows]
        for person, rows in by_person(rows_of(out)).items()
    }


def test_a_policy_file_with_a_union(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'delta = 0.3\n[[secret]]\nname = "that"\ncontexts = ["activity=activity 1", "location=location 2"]\n'
        '[[secret]]\nname = "ever in the evening"\ncontexts = ["time=evening"]\nat = "any"\n'
    )
    ran = discreet(*given(cards, tmp_path / "out.parquet", "--policy", policy, "--json"))
    assert ran.code == 0, ran.err
    assert [secret["name"] for secret in ran.json["policy"]["secrets"]] == ["that", "ever in the evening"]
    assert max(ran.json["by_secret"].values()) <= 0.3 + 2**-40
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table.columns == ["what", "who", "at", "place"]
    assert table.height == ran.json["events"]


def test_topics_are_learned_and_the_report_is_for_people(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    ran = discreet(
        "publish", cards, "--out", tmp_path / "out.csv", *COLUMNS, "--secret", "location=location 1", "--topics", 2
    )
    assert ran.code == 0, ran.err
    assert "judged by: event HMM of 2 topics over whole events" in ran.out
    assert "WARNING" not in ran.out
    assert "whole trajectories" in ran.out
    assert "each piece alone" not in ran.out
    assert "guarantee (exact delta, proven, if the habits are as learned)" in ran.out
    assert "location=location 1" in ran.out
    assert all(f"p{number}" in ran.out for number in (1, 2, 3, 4))


def test_habits_that_did_not_settle_are_told_of_with_a_remedy(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.models.topics.model.CONVERGED", 0.0)  # R-hat is never that small
    asked = ["publish", cards, "--out", tmp_path / "out.csv", *COLUMNS, "--secret", "location=location 1"]
    asked += ["--topics", 2, "--sweeps", 450, "--seed", 1, "--again"]
    ran = discreet(*asked)
    assert "over whole events, not converged" in ran.out
    for where in (ran.out, ran.err):
        assert "did not agree on 2 topics" in where
        assert "after 450 sweeps" in where
        assert "(--sweeps, --topics)" in where
    found = discreet(*asked, "--json").json["learned"]
    assert (found["topics"], found["converged"], found["sweeps"]) == (2, False, 450)
    assert found["emissions"] == "whole events"
    assert set(found["strengths"]) == {"emission", "transition", "person"}
    assert found["drawn_by"] in ("events", "attributes")
    assert list(found["tried_secrets"]) == ["2"]
    assert "did not agree" in found["warning"]


def test_topics_as_published_are_asked_for_by_name(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    asked = ["publish", cards, "--out", tmp_path / "out.csv", *COLUMNS, "--secret", "location=location 1"]
    ran = discreet(*asked, "--habits", "topics", "--topics", 2, "--json")
    assert ran.json["habits"].startswith("event HMM of 2 topics over independent attributes")
    assert (ran.json["learned"]["strengths"], ran.json["topics_tried"]) == (None, None)


def test_the_report_has_a_schema_that_needs_no_data(discreet: Discreet) -> None:
    ran = discreet("publish", "--schema")
    assert ran.code == 0
    assert ran.json == json.loads(json.dumps(json_schema()))
    assert list(ran.json["properties"]) == [column.name for column in TABLE]
    assert all(one["description"] for one in ran.json["properties"].values())


def test_the_old_name_of_piece_still_counts_with_a_note(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    asked = ["publish", cards, *COLUMNS, "--habits", "chain", "--seed", 1, "--secret", "activity=activity 1"]
    asked += ["--mechanism", "no-mask", "--again", "--json"]
    new, old = (discreet(*asked, "--out", tmp_path / "out.csv", name, 6) for name in ("--piece", "--window"))
    assert new.json == old.json
    assert new.json["piece"] == 6
    assert all(one["pieces"] == -(-one["events"] // 6) for one in new.json["people"])
    assert "--window is now called --piece" in old.err
    assert "--window" not in new.err


def test_pieces_are_said_to_be_alone_with_what_a_joined_observer_found(
    discreet: Discreet, cards: Path, tmp_path: Path
) -> None:
    asked = given(cards, tmp_path / "out.csv", "--secret", "activity=activity 1", "--again")
    ran = discreet(*asked)
    assert "stays within its delta; each piece alone\n" in ran.out
    assert "What pieces tell about each other is not bounded: who joins the pieces of " in ran.out
    report = tmp_path / "report.csv"
    found = discreet(*asked, "--json", "--report", report).json
    assert found["scope"] == "each piece alone"
    assert found["joined"]["people"] > 1
    assert found["joined"]["worst_gain"] == max(found["joined"]["by_secret"].values())
    scopes = dict(pl.read_csv(report).select("pieces", "scope").rows())
    assert {pieces > 1: scope for pieces, scope in scopes.items()}[True] == "each piece alone"
    whole = discreet(*asked, "--piece", 0, "--json").json
    assert (whole["scope"], whole["joined"], whole["piece"]) == ("whole trajectory", None, None)


def test_pa_markov_says_that_nothing_is_proven(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    ran = discreet(*given(cards, tmp_path / "out.csv", "--secret", "activity=activity 1", "--mechanism", "pa-markov"))
    assert ran.code in (0, 1)
    assert "guarantee (none, not proven)" in ran.out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], "nothing is secret"),
        (["--secret", "activity=activty 1"], "did you mean 'activity 1'"),
        (["--secret", "mood=good"], "no attribute 'mood'"),
        (["--secret", "activity=activity 1", "--mechanism", "adaptiv"], "no mechanism 'adaptiv'"),
        (["--secret", "activity=activity 1", "--mechanism", "pa-hmm", "--option", "windows=3"], "did you mean"),
        (["--secret", "activity=activity 1", "--piece", "-1"], "pieces of -1"),
        (["--secret", "activity=activity 1", "--topics", "2"], "not for --habits chain"),
        (["--secret", "activity=activity 1", "--sweeps", "500"], "not for --habits chain"),
        (["--secret", "activity=activity 1", "--delta", "2"], "from 0 to 1"),
        (["--secret", "activity=activity 1", "--location", "plce"], "name the right one with --location"),
        (["--secret", "activity=activity 1", "--intervals", "day"], "is not a part of the day"),
        (["--secret", "activity=activity 1", "--mechanism", "dphmm"], "dphmm"),
    ],
)
def test_bad_use_is_told_and_writes_nothing(
    discreet: Discreet, cards: Path, tmp_path: Path, more: list[str], told: str
) -> None:
    ran = discreet(*given(cards, tmp_path / "out.csv", *more))
    assert told in error_of(ran)
    assert {path.name for path in tmp_path.iterdir()} == {"cards.csv"}


def test_a_bad_row_names_its_line(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    lines = cards.read_text().splitlines()
    broken = tmp_path / "broken.csv"
    broken.write_text("\n".join([*lines[:3], ",p1,51.1,2026-03-02T08:00:00Z,location 1", *lines[3:]]))
    options = ["--secret", "activity=activity 1"]
    told = error_of(discreet(*given(broken, tmp_path / "out.csv", *options)))
    assert "line 4" in told
    assert "'what'" in told
    assert not (tmp_path / "out.csv").exists()
    ran = discreet(*given(broken, tmp_path / "out.csv", *options, "--skip-bad"))
    assert "1 bad rows were skipped" in ran.err


def test_timestamps_without_a_zone_ask_for_one(discreet: Discreet, tmp_path: Path) -> None:
    path = tmp_path / "naive.csv"
    path.write_text("user,timestamp,location,activity\nann,2026-03-02T08:00:00,x,y\nann,2026-03-02T09:00:00,z,w\n")
    told = error_of(discreet("publish", path, "--out", tmp_path / "out.csv", "--secret", "activity=y"))
    assert "--naive-zone" in told


def test_a_policy_file_and_options_do_not_mix(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[secret]]\ncontexts = ["activity=nothing"]\n')
    both = given(cards, tmp_path / "out.csv", "--policy", policy)
    assert "give one or the other" in error_of(discreet(*both, "--delta", 0.1))
    told = error_of(discreet(*both))
    assert "policy.toml" in told
    assert "'nothing' is not known" in told


def test_the_data_are_not_overwritten(discreet: Discreet, cards: Path) -> None:
    before = cards.read_bytes()
    assert "take the place of the data" in error_of(discreet(*given(cards, cards, "--secret", "activity=activity 1")))
    assert cards.read_bytes() == before


def test_the_report_takes_the_place_of_no_data_and_is_for_its_owner(
    discreet: Discreet, cards: Path, tmp_path: Path
) -> None:
    folder, before = tmp_path / "data", cards.read_bytes()
    folder.mkdir()
    inner = cards.rename(folder / "cards.csv")
    out, linked = tmp_path / "out.csv", tmp_path / "linked.csv"
    linked.symlink_to(inner)
    secret = ("--secret", "activity=activity 1")
    for data in (folder, folder / "*.csv", inner):
        for report in (inner, linked):
            told = error_of(discreet(*given(data, out, *secret, "--report", report)))
            assert "would take the place of another file" in told
    assert inner.read_bytes() == before
    report = tmp_path / "report.csv"
    discreet(*given(folder, out, *secret, "--report", report, "--accept-model"))
    assert [row["person"] for row in rows_of(report)] == sorted(by_person(rows_of(out)))
    assert report.stat().st_mode & 0o777 == 0o600


def test_a_name_may_have_the_marks_of_a_pattern(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out[1].csv"
    discreet(*given(cards, out, "--secret", "activity=activity 1", "--accept-model", "--learn-from", "3"))
    assert len(by_person(rows_of(out))) == 4


def test_people_by_utility_are_a_chart(discreet: Discreet, tmp_path: Path) -> None:
    """In the terminal, as numbers and as a picture, where more people are published than are listed."""
    pytest.importorskip("matplotlib")
    lines = ["what,who,at,place"]
    for number in range(12):
        words = ["drink" if number < 9 and day % 2 else "work" for day in range(4)]
        lines += [f"{word},p{number:02},2026-03-0{day + 1}T09:00:00Z,here" for day, word in enumerate(words)]
    data = tmp_path / "twelve.csv"
    data.write_text("\n".join(lines), encoding="utf-8")
    more = ("--secret", "activity=drink", "--mechanism", "sensitive-mask", "--accept-model")
    picture = tmp_path / "picture.png"
    shown = discreet(*given(data, tmp_path / "out.csv", *more, "--picture", picture))
    found: Any = discreet(*given(data, tmp_path / "out.csv", *more, "--again", "--json")).json
    assert picture.read_bytes().startswith(b"\x89PNG")
    counts = found["people_by_utility"]
    assert (len(counts), sum(counts)) == (10, 12)
    assert counts[9] == 3  # who has no secret
    assert set(found["shown"]) == {"activity", "time", "location"}
    assert found["shown"]["activity"] == pytest.approx(30 / 48)
    bars = [line.split() for line in shown.out.splitlines() if " to " in line and line[0] in "01"]
    assert [int(row[3]) for row in bars] == counts
    assert [len(row[4]) if len(row) > 4 else 0 for row in bars] == [-(-50 * one // max(counts)) for one in counts]


GAMBLING = ["--secret", "activity=activity 1", "--accept-model"]


def test_a_table_that_is_there_is_replaced_only_when_asked_to(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("of somebody\n", encoding="utf-8")
    assert "is there already. Fresh draws" in error_of(discreet(*given(cards, out, *GAMBLING)))
    assert "--again" in error_of(discreet(*given(cards, out, *GAMBLING, "--resume")))
    assert out.read_text(encoding="utf-8") == "of somebody\n"
    assert discreet(*given(cards, out, *GAMBLING, "--again")).code in (0, 1)
    assert len(rows_of(out)) > 10


def test_people_with_secrets_of_their_own(
    discreet: Discreet, cards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who hides nothing of what all others hide is shown whole; a run that was interrupted goes on with the table."""
    own, whole, out = tmp_path / "own.csv", tmp_path / "whole.csv", tmp_path / "out.csv"
    rows = [f"p{k},activity=activity 2,0.1," for k in (1, 2, 3)]
    own.write_text("\n".join(["person,secret,delta,cap", *rows, "p4,location=location 2,1,"]) + "\n")
    options = ["--mechanism", "sensitive-mask", "--own-secrets", own, "--accept-model"]
    ran = discreet(*given(cards, whole, *options, "--report", tmp_path / "report.csv"))
    assert ran.code == 1, ran.err  # silence tells
    shown = by_person(rows_of(whole))
    assert "activity 2" not in {row["what"] for k in (1, 2, 3) for row in shown[f"p{k}"]}
    assert "activity 2" in {row["what"] for row in shown["p4"]}
    assert "location 2" not in {row["place"] for row in shown["p4"]}
    gains = {row["person"]: row for row in rows_of(tmp_path / "report.csv")}
    assert gains["p4"]["gain activity=activity 2"] == ""
    assert gains["p1"]["gain location=location 2"] == ""
    done: list[str] = []

    def pressed(plan: Plan, one: Trajectory, *more: Any) -> PublishedPerson:
        done.append(one.person)
        if done == ["p1", "p2"]:
            raise KeyboardInterrupt
        return person_work.published(plan, one, *more)

    monkeypatch.setattr("discreet.publish.work.published", pressed)
    for size in ("FIRST_EVENTS", "MOST_EVENTS"):
        monkeypatch.setattr(f"discreet.publish.engines.local.{size}", 1)
    assert discreet(*given(cards, out, *options)).code == 130
    assert discreet(*given(cards, out, *options, "--resume")).code == 1
    assert out.read_bytes() == whole.read_bytes()
    own.write_text("\n".join(["person,secret,delta,cap", *rows]) + "\n")
    told = error_of(discreet(*given(cards, tmp_path / "other.csv", *options)))
    assert f"{own}: 'p4' has no secret here; add rows, or give everybody one with --secret" in told


def test_resuming_takes_the_data_that_it_was_begun_with(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out.csv", tmp_path / "other.csv"
    other.write_bytes(cards.read_bytes() + cards.read_bytes().splitlines(keepends=True)[-1])
    Unfinished.begun(out, 1, digest_of([hashlib.sha256(cards.read_bytes()).hexdigest()]))
    refused = discreet(*given(other, out, *GAMBLING, "--resume"))
    assert refused.code == 2
    assert "started with other data" in refused.err
    ran = discreet(*given(cards, out, *GAMBLING, "--resume"))
    assert ran.code in (0, 1)
    assert "nothing to resume" not in ran.err


def test_nothing_to_resume_is_said(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    ran = discreet(*given(cards, tmp_path / "out.csv", *GAMBLING, "--resume"))
    assert ran.code in (0, 1)
    assert "there is nothing to resume" in ran.err


@pytest.mark.parametrize(
    ("address", "remedy"),
    [("s3://bucket/events.csv", "with --engine spark"), ("https://host.example/t.csv", "copy it here")],
)
def test_an_address_is_named_as_one(discreet: Discreet, cards: Path, tmp_path: Path, address: str, remedy: str) -> None:
    secret = ["--secret", "activity=y"]
    for given in (
        ["publish", address, "--out", tmp_path / "out.csv", *secret],
        ["import", address, "--out", tmp_path / "out.csv"],
        ["learn", address, "--zone", "Europe/Paris", "--out", tmp_path / "out.model"],
        ["places", address, "--out", tmp_path / "out.geojson"],
    ):
        told = error_of(discreet(*given))
        assert f"{address}: addresses are not on this engine" in told
        assert (remedy if given[0] != "import" else "copy it here") in told  # import has no other engine
    told = error_of(discreet("publish", cards, "--out", address, *secret))
    assert f"{address}: addresses are not on this engine" in told
    assert "give a file of this machine, and copy it there" in told
    assert [path.name for path in tmp_path.iterdir()] == ["cards.csv"]


def test_clock_times_are_not_for_events(discreet: Discreet, cards: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    secret = '[[secret]]\nname = "g"\ncontexts = ["activity=activity 1"]\n'
    for clock in ("", '[clock]\nslots = 24\nzone = "Europe/Paris"\n\n'):
        policy.write_text(f'{clock}{secret}between = ["08:00", "10:00"]\n', encoding="utf-8")
        told = error_of(discreet(*given(cards, tmp_path / "out.csv", "--policy", policy)))
        assert "'g' is limited to slots, which events do not have" in told
        assert "contexts = ['time=night'], with its hours in --intervals" in told
    told = error_of(discreet(*given(cards, tmp_path / "out.csv", *GAMBLING, "--piece", "-3")))
    assert "pieces of -3 events; give 1 or more, or leave them whole with --piece 0" in told
