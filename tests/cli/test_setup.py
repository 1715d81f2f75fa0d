"""`discreet setup`: scripted, asked, run again, and refused."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.batch.reading import ReadingOptions
from discreet.choosing.choices import Choice, drawn_weeks
from discreet.cli import app, run
from discreet.cli.setup import questions
from discreet.cli.setup.questions import Asker
from discreet.cli.setup.steps import cost_in_words
from discreet.clock import Clock, local_zone
from discreet.contracts import Utility
from discreet.errors import DiscreetError
from discreet.evaluation.hold import HeldShare, TriedShare
from discreet.evaluation.metrics import evaluate
from discreet.gateway.config.settings import Settings
from discreet.models.kinds import MONDAY
from discreet.models.routine.routine import Routine
from discreet.models.store import load, load_days, reading_of, truth_of
from discreet.setup.habits import learned
from tests.cli.conftest import READINGS, Discreet, error_of
from tests.cli.histories import phone_history

FILES = ["discreet.toml", "me.model", "places.geojson", "places.html", "policy.toml", "readings.parquet"]
NAMED = ["--name", "7=hospital", "--name", "8=pharmacy"]
QUICK = ["--weeks", "2", "--slots", "12"]
"""Few weeks are drawn to say what a choice costs, of slots of two hours: a quarter of the slots, and of the rows."""
SCRIPT = ["--zone", "Europe/Paris", *NAMED, "--secret", "medical", "--delta", "0.2", "--vocabulary", "deceive", *QUICK]


@pytest.fixture(scope="module", autouse=True)
def few_kernels() -> Iterator[None]:
    """Each choice is audited, which takes longer than all else; tests/choosing has audits of the usual size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("discreet.choosing.choices"), "KERNELS", 20)
        yield


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten weeks of positions; places 7 and 8 are a hospital and a pharmacy."""
    path = tmp_path_factory.mktemp("setup") / "phone.csv"
    phone_history(path)
    return path


@pytest.fixture(scope="module")
def home(phone: Path) -> Path:
    """A folder that was set up by a script."""
    folder = phone.with_name("home")
    assert run(["setup", str(phone), "--dir", str(folder), "--person", "me", *SCRIPT]) == 0
    return folder


def copy_of(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def asked(monkeypatch: pytest.MonkeyPatch, arguments: list[object], answers: list[str]) -> tuple[int, str]:
    """The exit code and all that was printed, where somebody is there and answers so."""
    monkeypatch.setattr(questions, "somebody_there", lambda: True)
    ran = CliRunner().invoke(app, ["setup", *map(str, arguments)], input="".join(f"{one}\n" for one in answers))
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran.exit_code, ran.output


def holding(monkeypatch: pytest.MonkeyPatch, share: float) -> list[float]:
    """Choosing a share takes a while, and tests/evaluation has it: here every question gets this answer."""
    asked_for: list[float] = []

    def chosen(*given: Any, alpha: float, **more: Any) -> HeldShare:
        asked_for.append(round(1 - alpha, 12))
        tried = (TriedShare(share, 0.05, 0.05, 0.4), TriedShare(1.0, 0.5, 0.5, 0.6))
        return HeldShare(share, alpha, "leave one week out", 9, 9, tried)

    monkeypatch.setattr("discreet.setup.steps.hold", chosen)
    return asked_for


# --- by script


def test_a_script_leads_from_positions_to_settings(home: Path) -> None:
    assert sorted(path.name for path in home.iterdir()) == FILES
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    settings = Settings.read(home / "discreet.toml")
    served = settings.opened()["me"]
    assert settings.clock.zone == "Europe/Paris"
    assert settings.people["me"].mechanism.to_table() == {"name": "adaptive", "outputs": "deceive"}
    assert {"home", "work", "hospital", "pharmacy"} <= set(served.routine.contexts)
    (secret,) = served.policy.secrets
    assert secret.contexts == {"hospital", "pharmacy"}
    assert served.policy.delta == 0.2
    assert secret.delta == 0.1
    assert served.places is not None
    assert reading_of(home / "me.model")["carry"] == "4h"
    truth = truth_of(home / "me.model")
    assert truth is not None
    assert truth["holds"] is not False


def test_what_it_costs_is_what_evaluate_finds(home: Path, phone: Path, discreet: Discreet, tmp_path: Path) -> None:
    ran = discreet("setup", phone, "--dir", tmp_path / "again", *SCRIPT, "--yes", "--json")
    assert ran.code == 0, ran.err
    served = Settings.read(home / "discreet.toml").opened()["me"]
    spec = Settings.read(home / "discreet.toml").people["me"].mechanism
    mechanism = spec.make(served.routine.since(MONDAY), served.policy)  # type: ignore[arg-type]
    judged = evaluate(mechanism, drawn_weeks(served.routine, 2, 0), seed=0)
    assert ran.json["utility"] == pytest.approx(judged.utility, abs=1e-12)
    assert ran.json["holds"] is True
    assert ran.json["secrets"] == {"medical": 0.1}
    assert [Path(file).name for file in ran.json["files"]][-1] == "discreet.toml"


def test_learn_makes_the_same_model_of_the_same_readings(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    learned, settings = tmp_path / "learned.model", Settings.read(home / "discreet.toml")
    ran = discreet(
        "learn", home / "readings.parquet", "--places", home / "places.geojson", "--zone", "Europe/Paris",
        "--slots", settings.clock.slots, "--out", learned, "--accept-model",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    model = load_days(learned)
    assert isinstance(model, Routine)
    assert model.fingerprint == settings.opened()["me"].routine.fingerprint
    assert {"hospital", "pharmacy"} <= set(model.contexts), "rare, and of names that tell"


def test_a_held_share_is_written_into_the_policy_that_is_kept(
    home: Path, discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_of(home, tmp_path / "again")
    before = (folder / "policy.toml").read_text(encoding="utf-8")
    holding(monkeypatch, 0.3)
    ran = discreet("setup", "--dir", folder, "--yes", "--hold", 0.8, "--json", *QUICK)
    assert ran.code == 0, ran.err
    assert ran.json["share"] == 0.3
    policy = (folder / "policy.toml").read_text(encoding="utf-8")
    assert [line for line in policy.splitlines() if line != "share = 0.3"] == before.splitlines()
    assert Settings.read(folder / "discreet.toml").opened()["me"].policy.share == 0.3


def test_where_only_silence_holds_nothing_is_written(
    home: Path, discreet: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_of(home, tmp_path / "again")
    before = contents(folder)
    holding(monkeypatch, 0.0)
    ran = discreet("setup", "--dir", folder, "--yes", "--hold", 0.9, *QUICK)
    assert ran.code == 1
    assert "No share of delta keeps at least 90 %" in " ".join(ran.out.split())
    assert "leave --hold out" in ran.err
    assert contents(folder) == before


def test_too_few_weeks_to_hold_are_said(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    readings = pl.read_parquet(home / "readings.parquet")
    first = readings["timestamp"].min()
    few = tmp_path / "few.csv"
    readings.filter(pl.col("timestamp") < first + pl.duration(days=12)).write_csv(few)
    found = ["--dir", tmp_path / "home", "--zone", "Europe/Paris", "--keep-places", "--yes"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "places.geojson").write_bytes((home / "places.geojson").read_bytes())
    ran = discreet("setup", few, *found, "--person", "me", "--secret", "hospital", "--hold", 0.9, *QUICK)
    assert "record at least 3 weeks (11 for a guarantee)" in error_of_last(ran.err)
    assert not (tmp_path / "home" / "policy.toml").exists()


def test_the_files_serve_release(home: Path, discreet: Discreet) -> None:
    shown = discreet(
        "release", home / "readings.parquet", "--model", home / "me.model", "--policy", home / "policy.toml",
        "--places", home / "places.geojson", "--option", "outputs=deceive",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    assert len(shown.out.splitlines()) > 12 * 60


def test_labels_need_no_map(discreet: Discreet, tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    ran = discreet("setup", READINGS, "--dir", folder, "--zone", "Europe/Paris", "--person", "me", "--yes", *QUICK)
    assert ran.code == 0, ran.err
    assert not (folder / "places.geojson").exists()
    served = Settings.read(folder / "discreet.toml").opened()["me"]
    assert "hospital" in served.routine.contexts
    assert served.places is None
    assert served.policy.secrets[0].name == "medical"


def test_a_second_person_has_files_of_their_own(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "both")
    second = tmp_path / "second.csv"
    phone_history(second, seed=3, user="kim")
    ran = discreet("setup", second, "--dir", folder, "--person", "kim", "--zone", "Europe/Paris", "--secret", "work", *QUICK, "--yes", "--accept-model")  # fmt: skip  # noqa: E501
    assert ran.code == 0, ran.err
    settings = Settings.read(folder / "discreet.toml")
    assert list(settings.people) == ["me", "kim"]
    assert settings.people["kim"].policy.name == "kim-policy.toml"
    assert settings.people["me"] == Settings.read(home / "discreet.toml").people["me"].moved(folder)
    settings.opened()
    third = discreet("setup", second, "--dir", folder, "--person", "ann", "--zone", "Asia/Tokyo", "--yes")
    assert "the clock of everybody is" in error_of_last(third.err)


def error_of_last(err: str) -> str:
    return err.splitlines()[-1]


# --- again


def test_again_with_what_is_there_changes_nothing_that_people_edit(
    home: Path, discreet: Discreet, tmp_path: Path
) -> None:
    folder = copy_of(home, tmp_path / "again")
    for name in ("policy.toml", "discreet.toml"):
        (folder / name).write_text((folder / name).read_text() + "\n# my own words\n", encoding="utf-8")
    before = contents(folder)
    ran = discreet("setup", "--dir", folder, "--yes", *QUICK)
    assert ran.code == 0, ran.err
    after = contents(folder)
    assert sorted(after) == FILES
    for name in ("policy.toml", "discreet.toml", "places.geojson", "readings.parquet"):
        assert after[name] == before[name], name


def test_readings_that_came_from_elsewhere_are_imported(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "again")
    readings = pl.read_parquet(folder / "readings.parquet")
    both = pl.concat([readings, readings.head(5).with_columns(user=pl.lit("kim"))])
    both.write_parquet(folder / "readings.parquet")  # of two people, as discreet import writes it
    assert discreet("setup", "--dir", folder, "--yes", *QUICK).code == 0
    kept = pl.read_parquet(folder / "readings.parquet")
    assert kept["user"].unique().to_list() == ["me"]
    assert kept.height == readings.height
    (folder / "readings.parquet").write_bytes(b"PAR1")
    assert "readings.parquet: is damaged" in error_of_last(discreet("setup", "--dir", folder, "--yes").err)


def test_deltas_of_a_kept_policy_are_its_own(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "again")
    before = contents(folder)
    ran = discreet("setup", "--dir", folder, "--yes", "--delta", "0.05", *QUICK)
    assert ran.code == 2
    assert "change them there, or give --secret" in error_of_last(ran.err)
    assert contents(folder) == before


# --- asked


def test_a_walk_with_answers(monkeypatch: pytest.MonkeyPatch, phone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "walk"
    answers = [
        "jane",
        "Europe/Pari",  # refused, and asked again
        "Europe/Paris",
        "none.csv",  # likewise
        f"'{phone}'",
        "gym club",  # place 3
        "",  # 4 keeps its number
        "away",  # no name for a place
        "cafe",
        "-",
        "hospital",
        "pharmacy",
        "1, hopsital",  # no such thing
        "1",
        "0.1x",
        "0.15",  # none of those compared
        "decieve",
        "deceive",
        "n",  # another look
        "",
        "suppress",
        "y",
        "y",  # hold on 9 of 10 later days
    ]
    held = holding(monkeypatch, 0.3)
    code, out = asked(monkeypatch, ["--dir", folder, *QUICK], answers)
    assert code == 0, out
    assert "time zone 'Europe/Pari' is not known" in out
    assert "none.csv" in out
    assert "no place can be called 'away'" in out
    assert "did you mean 'hospital'" in out
    assert "'0.1x' is no delta" in out
    assert "did you mean 'deceive'" in out
    assert "released with delta 0.15 and deceive" in out
    assert "released with delta 0.1 and suppress" in out
    assert "the true day" in out
    assert "applications see" in out
    settings = Settings.read(folder / "discreet.toml")
    served = settings.opened()["jane"]
    assert {"gym club", "cafe", "hospital", "pharmacy"} <= set(served.routine.contexts)
    assert served.policy.delta == 0.1
    assert served.policy.share == 0.3
    assert held == [0.9]
    assert "A share of 0.3 keeps at least 90 % of days within delta" in " ".join(out.split())
    assert settings.people["jane"].mechanism.options["outputs"] == "suppress"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_input_that_ends_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(questions, "somebody_there", lambda: True)
    with pytest.raises(DiscreetError, match="the input ended at: Your time zone"):
        asked(monkeypatch, ["--dir", tmp_path / "walk"], ["jane"])
    assert not (tmp_path / "walk").exists()


# --- refused


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "What are you called here: nobody is there to ask; give --person, or --yes for 'me'"),
        (["--person", "me"], "Your time zone: nobody is there to ask; give --zone"),
        (
            ["--person", "me", "--zone", "UTC", "--hold", "90"],
            "--hold 90 is no share of the days; give one such as 0.9",
        ),
        (["--person", "me", "--zone", "Mars"], "time zone 'Mars' is not known"),
        (["--person", "me", "--zone", "UTC"], "give SOURCE..."),
        (["--person", "", "--zone", "UTC"], "'' is no name"),
        (["--name", "hospital"], "write a number and a name"),
        (["none.zip", "--yes"], "none.zip"),
        (["--yes", "--vocabulary", "decieve"], "did you mean 'deceive'"),
        (["--yes", "--delta", "2"], "'2.0' is no delta"),
        (["--yes", "--carry", "long"], "--carry is 'long'"),
    ],
)
def test_what_is_missing_is_named(discreet: Discreet, tmp_path: Path, arguments: list[str], part: str) -> None:
    ran = discreet("setup", *arguments, "--dir", tmp_path / "home")
    assert ran.code == 2
    assert part in error_of_last(ran.err)
    assert not (tmp_path / "home").exists()


def test_secrets_are_not_guessed_where_nothing_suggests_one(discreet: Discreet, phone: Path, tmp_path: Path) -> None:
    ran = discreet("setup", phone, "--dir", tmp_path / "home", "--zone", "Europe/Paris", "--yes")
    assert ran.code == 2
    assert error_of_last(ran.err).startswith("discreet: error: nothing is suggested as a secret, because no name")
    assert "6 of 8 places have no name but when you are there" in ran.err
    assert "--find-places --name 3=NAME" in ran.err
    assert "  weekday place" in ran.out  # by when one is there


def test_settings_that_cannot_be_read_are_not_overwritten(discreet: Discreet, tmp_path: Path) -> None:
    (tmp_path / "discreet.toml").write_text("[clok]\n", encoding="utf-8")
    assert "clock.zone: is missing" in error_of(discreet("setup", "--dir", tmp_path, "--yes"))
    assert (tmp_path / "discreet.toml").read_text(encoding="utf-8") == "[clok]\n"


def test_habits_that_do_not_hold_are_refused(discreet: Discreet, tmp_path: Path) -> None:
    phone, folder = tmp_path / "ill.csv", tmp_path / "home"
    phone_history(phone, ill=14)
    script = ["setup", phone, "--dir", folder, "--zone", "Europe/Paris", "--name", "3=hospital", "--secret", "hospital"]
    ran = discreet(*script, "--yes", *QUICK)
    assert ran.code == 1
    assert "nothing was written" in ran.err
    assert "--accept-model" in ran.err
    assert not folder.exists()
    assert discreet(*script, "--yes", "--accept-model", *QUICK).code == 0
    truth = truth_of(folder / "me.model")
    assert truth is not None
    assert truth["holds"] is False


def test_yes_and_no(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("perhaps\nNo\n\n"))
    ask = Asker(asks=True, yes=False)
    assert ask.agreed("--x", "Really?", default=True) is False
    assert "write y or n" in capsys.readouterr().out
    assert ask.agreed("--x", "Really?", default=True) is True
    assert Asker(asks=True, yes=True).agreed("--x", "Really?", default=False) is False
    with pytest.raises(DiscreetError, match="the input ended"):
        ask.agreed("--x", "Really?", default=True)


def test_the_zone_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":America/Lima")
    assert local_zone() == "America/Lima"
    monkeypatch.setenv("TZ", "XYZ5")
    assert local_zone() == "UTC"


def test_files_that_were_renamed_keep_their_names(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "again")
    (folder / "policy.toml").rename(folder / "secrets.toml")
    (folder / "me.model").rename(folder / "habits.model")
    text = (folder / "discreet.toml").read_text(encoding="utf-8")
    text = text.replace("policy.toml", "secrets.toml").replace("me.model", "habits.model")
    text = text.replace('carry = "4h"', 'carry = "100s"').replace('outputs = "deceive"', 'memory = "none"')
    (folder / "discreet.toml").write_text(text, encoding="utf-8")
    ran = discreet("setup", "--dir", folder, "--yes", *QUICK)
    assert ran.code == 0, ran.err
    assert "the mechanism of the settings was adaptive, memory=none, and is now adaptive, outputs=suppress" in ran.err
    person = Settings.read(folder / "discreet.toml").people["me"]
    assert (person.policy.name, person.routine.name, person.carry) == ("secrets.toml", "habits.model", 100.0)
    assert not (folder / "policy.toml").exists()
    moved = tmp_path / "secrets.toml"
    (folder / "secrets.toml").rename(moved)
    text = (folder / "discreet.toml").read_text(encoding="utf-8").replace('"secrets.toml"', '"../secrets.toml"')
    (folder / "discreet.toml").write_text(text, encoding="utf-8")
    assert "lies elsewhere" in error_of_last(discreet("setup", "--dir", folder, "--yes").err)


def test_a_single_choice_may_be_declined(monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "again")
    before = contents(folder)
    flags = ["--dir", folder, "--person", "me", "--zone", "Europe/Paris", "--keep-places", "--vocabulary", "suppress"]
    code, out = asked(monkeypatch, [*flags, *QUICK], ["", "y", "n"])
    assert code == 1, out
    assert contents(folder) == before


def test_a_policy_of_another_clock_is_refused(home: Path, discreet: Discreet, tmp_path: Path) -> None:
    folder = copy_of(home, tmp_path / "again")
    with (folder / "policy.toml").open("a", encoding="utf-8") as file:
        file.write('\n[clock]\nslots = 24\nzone = "Europe/Paris"\n')
    ran = discreet("setup", "--dir", folder, "--yes", *QUICK)
    assert "leave [clock] out of it" in error_of_last(ran.err)


def test_learn_and_setup_keep_the_same_contexts_of_a_table(discreet: Discreet, tmp_path: Path) -> None:
    clock = Clock(slots=12, zone="Europe/Paris")
    (days,) = ReadingOptions().read(Path(READINGS), clock).people.values()
    ours, theirs = learned(days, clock, ["hospital"]), tmp_path / "p01.model"
    ran = discreet("learn", READINGS, "--zone", clock.zone, "--slots", 12, "--keep", "hospital", "--out", theirs)
    assert ran.code == 0
    assert "union office" in ours.contexts  # rare, and kept for its name
    model = load(theirs)
    assert isinstance(model, Routine)
    assert model.fingerprint == ours.fingerprint


def test_the_cost_is_a_sentence_where_nothing_is_withheld() -> None:
    whole = Choice(0.1, "suppress", Utility(1.0), 1.0, 0.0, 0.0, 0.0, True, "proof", None)
    assert cost_in_words(whole).startswith("Expected: 100 % ± 1 of the time true.\nAudit: it holds")
    part = Choice(0.1, "deceive", Utility(0.5), 0.5, 0.0, 0.25, 0.25, True, "proof", None)
    assert "of the time true, 25 % shown falsely, 25 % silent.\n" in cost_in_words(part)
