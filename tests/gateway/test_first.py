"""From nothing to a person who is served: each step, the whole way, crashes on it, and what strangers bring."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import Clock
from discreet.batch.reading import ReadingOptions
from discreet.cli import run
from discreet.data import archives
from discreet.errors import DataError, DiscreetError
from discreet.gateway.app import GatewayPlan, PreparedGateway
from discreet.gateway.config.settings import Settings
from discreet.gateway.setup import job, work
from discreet.gateway.setup.draft import Draft, safe_name
from discreet.gateway.setup.steps import NotNowError, SetupSteps
from discreet.gateway.setup.work import Task
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.own_store import Reading
from discreet.models.store import reading_of, truth_of
from discreet.setup.files import READ
from discreet.setup.steps import FOUND, MODEL, PLACES, READINGS, Setup, drawn
from tests.gateway.first import SETUP, brought, did, empty_web, enter, recorded, settings_in, stands
from tests.gateway.people import person_config
from tests.gateway.web import ROUTINE, Web, opened

EXAMPLE = Path(__file__).parents[2] / "examples" / "readings.csv"
LIMIT = 10_000_000
CARRY = 4 * 3600.0
FILES = {"discreet.toml", "jane.model", "places.geojson", "places.html", "policy.toml", "readings.parquet"}


def told(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(story())  # type: ignore[arg-type]


# --- the functions of each step, without a process or a wire


CLOCK = Clock(12, "UTC")
SLOTS = "[clock]\nslots = 12\n"


@pytest.fixture(scope="module", autouse=True)
def few_kernels() -> Iterator[None]:
    """Each choice is audited, which takes longer than all else; tests/choosing has audits of the usual size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("discreet.choosing.choices"), "KERNELS", 20)
        yield


def task(draft: Path, out: Path, clock: Clock = CLOCK, parts: list[dict[str, Any]] | None = None) -> Task:
    out.mkdir(exist_ok=True)
    heard: list[dict[str, Any]] = [] if parts is None else parts
    return Task(draft, out, "jane", clock, CARRY, lambda what, done, of: None, heard.append)


def drafted(folder: Path, name: str, content: bytes) -> Draft:
    draft = Draft(folder)
    incoming = draft.incoming(name, LIMIT)
    incoming.write(content)
    incoming.end()
    draft.accept(incoming, LIMIT)
    return draft


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A draft of OwnTracks' recordings after each step, and what the steps said."""
    folder = tmp_path_factory.mktemp("walked")
    draft, out = drafted(folder / "draft", "2026-01.rec", recorded()), folder / "out"
    said: dict[str, Any] = {"read": work.read(task(draft.folder, out), None), "parts": []}
    draft.take(out)
    said["learn"] = work.learn(task(draft.folder, out), {3: "clinic"})
    draft.take(out)
    said["compare"] = work.compare(task(draft.folder, out, parts=said["parts"]), ["medical"], 2)
    return draft.folder, said


def test_places_are_found_named_and_learned(walked: tuple[Path, dict[str, Any]]) -> None:
    folder, said = walked
    read = said["read"]
    assert (read["readings"], read["first"], read["last"]) == (21 * 48, "2026-01-05", "2026-01-25")
    assert [one["name"] for one in read["places"]] == ["home", "work", "place 3"]
    assert (read["places"][1]["part"], read["places"][2]["days"]) == ("weekday", 3)
    learned = said["learn"]
    assert learned["days"] == 21
    (medical,) = [one for one in learned["suggestions"] if one["name"] == "medical"]
    assert medical["contexts"] == ["clinic"]
    assert medical["prior"] < medical["limit"] == pytest.approx(medical["prior"] + 0.05)
    assert {"home", "work", "clinic"} <= {one["name"] for one in learned["others"]}
    assert (folder / MODEL).is_file()


def test_choices_are_those_of_setup_the_usual_first(walked: tuple[Path, dict[str, Any]]) -> None:
    from discreet.choosing import choices

    folder, said = walked
    setup = Setup(folder, folder, "jane", CLOCK, CARRY)
    same = choices(setup.routine, setup.chosen(["medical"]).policy(), weeks=2)
    found = said["compare"]["choices"]
    assert [(one["delta"], one["vocabulary"], one["utility"]) for one in found] == [
        (one.delta, one.vocabulary, one.utility.mean) for one in same.choices
    ]
    assert all(len(one["told"]) == CLOCK.slots for one in found)
    assert "clinic" in said["compare"]["day"]["true"], "the day that is shown is one with a secret visit"
    assert [len(one["choices"]) for one in said["parts"]] == list(range(1, 9))
    assert said["parts"][0]["choices"][0]["delta"] == 0.1


def test_the_terminal_makes_the_same_files(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    folder, said = walked
    out, home = tmp_path / "out", tmp_path / "home"
    before, truth = settings_in(home), said["compare"]["truth"]["summary"]
    work.make(task(folder, out), home / "discreet.toml", before, ["medical"], 0.1, "suppress", truth)
    source = tmp_path / "2026-01.rec"
    source.write_bytes(recorded())
    words = ["--dir", home, "--person", "jane", "--zone", "UTC", "--slots", "12", "--name", "3=clinic"]
    chosen = ["--secret", "medical", "--delta", "0.1", "--vocabulary", "suppress", "--weeks", "2", "--accept-model"]
    assert run(["setup", str(source), *map(str, words), *chosen, "--carry", "4h"]) == 0
    for name in FILES - {"jane.model"}:
        assert (home / name).read_bytes() == (out / name).read_bytes(), name
    ours, theirs = home / "jane.model", out / "jane.model"
    served = [Settings.read(file).opened()["jane"].routine for file in (home / "discreet.toml", out / "discreet.toml")]
    assert served[0].fingerprint == served[1].fingerprint
    assert (truth_of(ours), reading_of(ours)) == (truth_of(theirs), reading_of(theirs))


def test_what_apps_see_may_at_most_double_the_odds(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    folder, said = walked
    policy = task(folder, tmp_path / "out").chosen(["medical"], doubles=True).policy()
    assert policy.odds == 2
    truth = said["compare"]["truth"]["summary"]
    home = tmp_path / "home"
    made = (home / "discreet.toml", settings_in(home), ["medical"], 0.1, "suppress", truth, True)
    work.make(task(folder, tmp_path / "out"), *made)
    assert "odds = 2.0" in (tmp_path / "out" / "policy.toml").read_text(encoding="utf-8")


def test_part_of_delta_is_kept_back_for_later_days(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    """What it costs is said first, as `discreet policy hold` finds it; then the policy has the share."""
    folder, said = walked
    setup = Setup(folder, folder, "jane", CLOCK, CARRY)
    found = work.held(task(folder, tmp_path / "out"), ["medical"], 0.1, "suppress")
    same = setup.held(setup.chosen(["medical"]).policy(), "suppress", 0.9)
    chosen, whole = same.of(same.share), same.of(1.0)
    assert (found["share"], found["shown"], found["instead"]) == (same.share, chosen.utility, whole.utility)
    assert (found["beyond"], found["without"], found["weeks"]) == (chosen.beyond, whole.beyond, 3)
    assert (found["guaranteed"], found["enough"]) == (False, 11)
    home = tmp_path / "home"
    before, truth = settings_in(home), said["compare"]["truth"]["summary"]
    given = (home / "discreet.toml", before, ["medical"], 0.1, "suppress", truth)
    work.make(task(folder, tmp_path / "out"), *given, share=0.3)
    assert "share = 0.3" in (tmp_path / "out" / "policy.toml").read_text(encoding="utf-8")


def test_holding_is_of_the_choice_that_it_was_asked_for(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    home = tmp_path / "home"
    settings_in(home, SLOTS)
    draft = ready(walked, home / "data", "jane")
    steps = steps_in(home)
    with pytest.raises(DiscreetError, match=r"delta 0\.3 with 'suppress' is not among the choices"):
        steps.hold(0.3, "suppress")
    steps.hold(0.1, "deceive")
    stands = idle(steps)
    assert (stands["step"], stands["problem"]) == (4, None), "what was chosen before is asked again"
    held = stands["held"]
    assert (held["delta"], held["vocabulary"]) == (0.1, "deceive")
    with pytest.raises(DiscreetError, match="find out first what holding it on later days costs"):
        steps.choose(0.1, "suppress", True, hold=True)
    for share in (0.0, 0.3):
        draft.keep(replace(steps.answers, held={**held, "share": share}))
        steps = steps_in(home)
        if not share:  # nothing but silence holds: no share is spent by that name
            with pytest.raises(DiscreetError, match="find out first"):
                steps.choose(0.1, "deceive", True, hold=True)
            steps.choose(0.1, "deceive", True)
            assert steps.document()["share"] is None
    steps.choose(0.1, "deceive", True, hold=True)
    assert steps.document()["share"] == 0.3
    assert steps.finish() == "jane"
    assert "share = 0.3" in (home / "policy.toml").read_text(encoding="utf-8")


def test_when_one_is_at_a_place_is_said_by_its_hours(walked: tuple[Path, dict[str, Any]]) -> None:
    home, office, third = walked[1]["read"]["places"]
    assert (office["part"], office["from"], office["to"]) == ("weekday", "09:00", "17:00")
    assert (third["from"], third["to"]) == ("17:00", "19:00")
    assert home["colour"] != office["colour"] != third["colour"]


def test_places_are_dropped_and_merged(walked: tuple[Path, dict[str, Any]]) -> None:
    from discreet.places import read_places

    found = read_places(walked[0] / FOUND)
    assert drawn(found, {2: None, 3: "home"}).names == ("home",)
    assert len(drawn(found, {2: None, 3: "home"})) == 2
    with pytest.raises(DataError, match="keep at least one"):
        drawn(found, {1: None, 2: None, 3: None})
    with pytest.raises(DataError, match="no place can be called 'unknown'"):
        drawn(found, {1: "unknown"})
    with pytest.raises(DataError, match="there is no place 9"):
        drawn(found, {9: "moon"})


def test_a_table_of_labels_needs_no_map(tmp_path: Path) -> None:
    draft, out = drafted(tmp_path / "draft", "readings.csv", EXAMPLE.read_bytes()), tmp_path / "out"
    read = work.read(task(draft.folder, out), None)
    assert "places" not in read
    assert "home" in read["labels"]
    draft.take(out)
    learned = work.learn(task(draft.folder, out), {})
    assert not (out / PLACES).exists()
    assert learned["suggestions"]


def test_several_people_in_a_file_are_asked_about(tmp_path: Path) -> None:
    rows = EXAMPLE.read_text(encoding="utf-8")
    both = rows + rows.partition("\n")[2].replace("p01,", "p02,")
    draft, out = drafted(tmp_path / "draft", "both.csv", both.encode()), tmp_path / "out"
    assert work.read(task(draft.folder, out), None) == {"people": ["p01", "p02"]}
    assert work.read(task(draft.folder, out), "p02")["readings"] == rows.count("\n") - 1


def test_models_say_how_readings_are_read() -> None:
    assert ReadingOptions().remembered() == {**READ, "carry": "4h"}


# --- the whole way


READ_IT = {"person": "jane", "zone": "UTC", "carry": 4}


def test_from_an_empty_folder_to_an_application_that_reads(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with empty_web(home, text=SLOTS) as web:
            await enter(web)
            assert (await web.client.get("/v1/owner")).json()["people"] == []
            answer = await brought(web, "2026-01.rec", recorded())
            assert (answer.status_code, answer.json()["format"]) == (201, "owntracks-rec")
            assert (await did(web, "read", READ_IT))["step"] == 3
            assert (await did(web, "places", {"names": {"3": "clinic"}}))["step"] == 4
            assert (await did(web, "places", {"names": {"3": "hospital"}}))["step"] == 4, "a step can be done again"
            assert (await did(web, "secrets", {"secrets": ["medical"]}))["problem"] is None
            chosen = {"delta": 0.1, "vocabulary": "suppress", "accept": True}
            assert (await did(web, "choice", chosen))["step"] == 5
            answer = await web.client.post(f"{SETUP}/finish", json={"application": "family", "source": "phone"})
            assert answer.status_code == 201, answer.text
            made = answer.json()
            assert (await web.client.get("/v1/owner")).json()["people"] == ["jane"], "the owner stays logged in"
            assert {one.name for one in home.iterdir()} - {"discreet-data"} == FILES
            assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in home.iterdir() if path.is_file())
            assert not (home / "discreet-data" / "setup").exists(), "what was brought is erased"
            await reads_a_slot(web, made["application"]["secret"], made["source"]["secret"])
        async with empty_web(home, web.wall) as web:
            assert list(web.served.gateway.keeper.people) == ["jane"], "it goes on after a restart"

    told(story)


async def reads_a_slot(web: Web, application: str, source: str) -> None:
    reading = {"time": web.wall.now, "latitude": 48.10, "longitude": 11.50}
    headers = {"Authorization": f"Bearer {source}"}
    url = str(web.client.base_url)
    import httpx

    async with httpx.AsyncClient(base_url=url) as other:
        assert (await other.post("/v1/people/jane/readings", json=reading, headers=headers)).status_code == 200
        headers = {"Authorization": f"Bearer {application}"}
        assert (await other.get("/v1/people/jane/now", headers=headers)).status_code == 204
        (row,) = await web.pass_slot(Reading("jane", "phone", int(web.wall.now) * 1_000_000, (48.10, 11.50)))
        answer = await other.get("/v1/people/jane/now", headers=headers)
        assert answer.status_code == 200
        assert answer.json()["kind"] == ("released" if "released" in row.wire else "suppressed")


def test_one_more_person_joins_a_gateway_that_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.pass_slot()
            await web.served.gateway.admit(person_config("kim", ROUTINE, "suppress"))
            kim = web.served.gateway.keeper.people["kim"]
            await web.served.gateway.admit(person_config("kim", ROUTINE, "suppress"))
            assert web.served.gateway.keeper.people["kim"] is kim, "once, however often it is asked for"
            assert {row.person for row in await web.pass_slot()} == {"jane", "kim"}

    told(story)


def test_who_was_served_before_is_not_somebody_else_now(tmp_path: Path) -> None:
    """The next start would go on with their stream, and refuse to serve anybody if habits or mechanism do not fit."""
    home = tmp_path / "home"

    async def story() -> None:
        async with empty_web(home, text=SLOTS) as web:
            await enter(web)
            await web.served.gateway.admit(person_config("jane", ROUTINE, "suppress"))  # and is in no settings
            answer = await web.client.post(f"{SETUP}/read", json=READ_IT)
            assert (answer.status_code, "was used here before" in answer.json()["error"]) == (400, True)

    told(story)


# --- crashes


def steps_in(home: Path, limit: int = LIMIT) -> SetupSteps:
    return SetupSteps(home / "data", settings_in(home), limit)


def idle(steps: SetupSteps) -> dict[str, Any]:
    deadline = time.monotonic() + 600
    while (found := steps.document())["job"] is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def bring_to(steps: SetupSteps, name: str, content: bytes) -> None:
    incoming = steps.incoming(name)
    incoming.write(content)
    steps.accept(incoming)


def ready(walked: tuple[Path, dict[str, Any]], data: Path, person: str) -> Draft:
    """A draft in a data folder of which all but the last step is done."""
    source, said = walked
    shutil.copytree(source, data / "setup")
    draft = Draft(data / "setup")  # without answers, what followed from them is taken away
    for name in (READINGS, FOUND, PLACES, MODEL):
        shutil.copyfile(source / name, draft.folder / name)
    answers = {"person": person, "zone": "UTC", "history": said["read"], "habits": said["learn"]}
    chosen = {"secrets": ("medical",), "costs": said["compare"], "delta": 0.1, "vocabulary": "suppress"}
    draft.keep(replace(draft.answers, **answers, **chosen))
    return draft


def test_a_second_person_joins_over_the_wire(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        ready(walked, home / "discreet-data", "jane")
        async with empty_web(home, text=f"{SLOTS}[limits]\nupload = 7\n") as web:
            await enter(web)
            assert (await web.client.post(f"{SETUP}/finish", json={})).json() == {"person": "jane"}
            await web.pass_slot()
            ready(walked, home / "discreet-data", "kim")
        async with empty_web(home, web.wall) as web:
            await enter(web)
            found = await stands(web)
            assert (found["zone_is_fixed"], found["taken"], found["step"]) == (True, ["jane"], 5)
            made = (await web.client.post(f"{SETUP}/finish", json={"application": "tv"})).json()
            assert (made["person"], made["application"]["name"]) == ("kim", "tv")
            assert {row.person for row in await web.pass_slot()} == {"jane", "kim"}
        settings = Settings.read(home / "discreet.toml")
        assert (list(settings.people), settings.limits.upload) == (["jane", "kim"], 7)
        assert settings.people["kim"].policy == home / "kim-policy.toml"

    home.mkdir()
    (home / "discreet-data").mkdir()
    told(story)


def test_a_view_that_is_written_while_somebody_is_added_stays(
    tmp_path: Path, walked: tuple[Path, dict[str, Any]]
) -> None:
    """Or the next start would show an application what its view no longer does."""
    home = tmp_path / "home"
    wide, narrow = '{ home = ["home"], rest = ["work"] }', {"groups": {"home": ["home"]}, "rest": "out"}

    async def story() -> None:
        ready(walked, home / "discreet-data", "jane")
        async with empty_web(home, text=f"{SLOTS}[views.family]\ngroups = {wide}\n") as web:
            await enter(web)
            finishing = asyncio.create_task(web.client.post(f"{SETUP}/finish", json={}))
            while (await web.client.get(SETUP)).json()["job"] is None:
                await asyncio.sleep(0.01)
            assert (await web.client.put("/v1/owner/views/family", json=narrow)).status_code == 200
            refused = await finishing
            assert (refused.status_code, "changed meanwhile" in refused.json()["error"]) == (400, True)
            assert Settings.read(home / "discreet.toml", nobody=True).views["family"].rest == "out"
            assert (await web.client.post(f"{SETUP}/finish", json={})).status_code == 201
        settings = Settings.read(home / "discreet.toml")
        assert (list(settings.people), settings.views["family"].rest) == (["jane"], "out")

    home.mkdir()
    (home / "discreet-data").mkdir()
    told(story)


def test_the_last_step_again_leaves_the_files_of_who_is_served(
    tmp_path: Path, walked: tuple[Path, dict[str, Any]]
) -> None:
    """A token could not be made, say; meanwhile the secrets were changed."""
    home = tmp_path / "home"
    settings_in(home, SLOTS)
    ready(walked, home / "data", "jane")
    steps = steps_in(home)
    assert steps.finish() == "jane"
    steps.settings = Settings.read(home / "discreet.toml")
    (home / "policy.toml").write_text("changed", encoding="utf-8")
    assert steps.finish() == "jane"
    assert (home / "policy.toml").read_text(encoding="utf-8") == "changed"
    steps._draft.keep(replace(steps.answers, moving=False))
    with pytest.raises(DiscreetError, match="'jane' is already in use here"):
        steps.finish()


def test_files_are_overwritten_for_the_person_they_were_made_for_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    steps = steps_in(home)
    bring_to(steps, "2026-01.rec", recorded())
    for person, stays in (("jane", True), ("kim", False)):
        steps._draft.keep(replace(steps.answers, person="jane", moving=True))
        steps.read(person, "UTC", 4, None)
        steps.cancel()
        assert steps.answers.moving is stays


def test_each_step_survives_a_stop(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    home = tmp_path / "home"
    steps = steps_in(home)
    bring_to(steps, "2026-01.rec", recorded())
    assert steps_in(home).document() == steps.document()
    draft = Draft(home / "data" / "setup")
    source, said = walked
    for name in (READINGS, FOUND, PLACES, MODEL):
        shutil.copyfile(source / name, tmp_path / name)
    stages: list[tuple[int, tuple[str, ...], dict[str, Any]]] = [
        (3, (READINGS, FOUND), {"person": "jane", "zone": "UTC", "history": said["read"]}),
        (4, (PLACES, MODEL), {"names": {"3": "clinic"}, "habits": said["learn"]}),
        (4, (), {"secrets": ("medical",), "costs": said["compare"]}),
        (5, (), {"delta": 0.1, "vocabulary": "suppress"}),
    ]
    for step, files, answers in stages:
        for name in files:
            shutil.copyfile(tmp_path / name, draft.folder / name)
        draft.keep(replace(draft.answers, **answers))
        again = steps_in(home)
        assert again.document()["step"] == step
        assert again.answers == draft.answers
    (draft.folder / f"{job.OUT}left").mkdir()
    (draft.folder / "incoming-left").touch()
    (home / f"{job.OUT}left").mkdir()
    again = steps_in(home)
    assert not [path for path in (*home.iterdir(), *draft.folder.iterdir()) if "left" in path.name]
    again.remove("0001")
    assert again.document()["step"] == 2, "what followed from the file is gone with it"
    assert {path.name for path in draft.folder.iterdir()} == {"answers.json", "uploads"}
    (draft.folder / "answers.json").write_text("{", encoding="utf-8")
    assert steps_in(home).document()["step"] == 2, "answers that cannot be read are given again"


KILLED = """
import os, sys
from pathlib import Path
from discreet.gateway.config.settings import Settings
from discreet.gateway.setup.steps import SetupSteps
home, out, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
steps = SetupSteps(home / "data", Settings.of_nobody(home / "discreet.toml"), 1)
replace = Path.replace
def counted(path, target):
    global left
    if Path(target).parent == home:
        left -= 1
        if left < 0:
            os._exit(9)
    return replace(path, target)
Path.replace = counted
steps._move(out, [path.name for path in out.iterdir()])
os._exit(9)
"""


@pytest.mark.parametrize("moved", [0, 3, 6])
def test_a_kill_while_files_are_moved_leaves_what_can_go_on(
    tmp_path: Path, walked: tuple[Path, dict[str, Any]], moved: int
) -> None:
    said = walked[1]
    home = tmp_path / "home"
    settings = settings_in(home)
    draft = ready(walked, home / "data", "jane")
    out, truth = tmp_path / "out", said["compare"]["truth"]["summary"]
    given = (settings.file, settings, ["medical"], 0.1, "suppress", truth)
    assert set(work.make(task(draft.folder, out), *given)["files"]) == FILES
    ran = subprocess.run([sys.executable, "-c", KILLED, home, out, str(moved)], capture_output=True, timeout=600)
    assert ran.returncode == 9, ran.stderr
    if moved < 6:
        assert not settings.file.exists(), "the settings come last"
        again = steps_in(home)
        assert again.document()["step"] == 5
        work.make(task(draft.folder, out), *given)
        again._move(out, sorted(FILES))
        assert again.document()["problem"] is None, "our own files are written again"
    served = Settings.read(settings.file)
    assert served.opened()["jane"].places is not None
    assert not (SetupSteps(home / "data", served, 1)._draft.folder).exists(), "it was done, and is cleared away"


AT_WORK = """
import os, sys, time
from pathlib import Path
from discreet.gateway.config.settings import Settings
from discreet.gateway.setup.steps import SetupSteps
home = Path(sys.argv[1])
if __name__ == "__main__":
    steps = SetupSteps(home / "data", Settings.of_nobody(home / "discreet.toml"), 10**7)
    steps.read("jane", "UTC", 4, None)
    print(steps._job._process.pid, flush=True)
    os._exit(9)
"""


def test_a_kill_in_the_middle_of_work_leaves_what_can_go_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    bring_to(steps_in(home), "2026-01.rec", recorded())
    script = tmp_path / "at_work.py"
    script.write_text(AT_WORK, encoding="utf-8")
    ran = subprocess.run([sys.executable, script, home], capture_output=True, timeout=600)
    assert ran.returncode == 9, ran.stderr
    deadline = time.monotonic() + 600
    while alive(int(ran.stdout)):
        assert time.monotonic() < deadline, "the work goes on for nobody"
        time.sleep(0.1)
    again = steps_in(home)
    assert again.document()["step"] == 2
    assert {path.name for path in (home / "data" / "setup").iterdir()} == {"answers.json", "uploads"}
    again.read("jane", "UTC", 4, None)
    assert idle(again)["step"] == 3


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def test_a_full_disk_leaves_nothing_of_a_file_behind(tmp_path: Path) -> None:
    steps = steps_in(tmp_path / "home")

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for end in (lambda one: None, steps.accept):
        incoming = steps.incoming("a.csv")
        incoming._file.close()
        incoming._file = SimpleNamespace(flush=full, close=full)  # type: ignore[assignment]
        if end is steps.accept:
            with pytest.raises(DiscreetError, match=r"a\.csv: cannot be written.*make room"):
                end(incoming)
        incoming.gone()
        assert not incoming.path.exists()


def test_files_of_others_are_not_overwritten(tmp_path: Path, walked: tuple[Path, dict[str, Any]]) -> None:
    home = tmp_path / "home"
    steps = steps_in(home)
    (home / "policy.toml").write_text("mine", encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    (out / "policy.toml").write_text("theirs", encoding="utf-8")
    steps._move(out, ["policy.toml"])
    assert "policy.toml already exists" in steps.document()["problem"]
    assert (home / "policy.toml").read_text(encoding="utf-8") == "mine"


def test_work_is_cancelled_and_its_death_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    steps = steps_in(home)
    bring_to(steps, "2026-01.rec", recorded())
    steps.read("jane", "UTC", 4, None)
    with pytest.raises(NotNowError, match="still running"):
        steps.remove("0001")
    steps.cancel()
    found = steps.document()
    assert (found["job"], found["problem"], found["step"]) == (None, None, 2)
    assert {path.name for path in (home / "data" / "setup").iterdir()} == {"answers.json", "uploads"}
    steps.read("jane", "UTC", 4, None)
    assert steps._job is not None
    steps._job._process.kill()
    assert idle(steps)["problem"] == job.ENDED
    with pytest.raises(NotNowError, match="step 2 comes first"):
        steps.learn({})


def test_settings_that_are_lost_are_not_made_anew(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as web:
            await web.pass_slot()

    told(story)
    with pytest.raises(DiscreetError, match="the settings name nobody, and the journal is of jane"):
        PreparedGateway(GatewayPlan([]), Folder.made(tmp_path), settings=settings_in(tmp_path / "home"))


# --- what strangers bring


def bomb() -> bytes:
    """A zip of a gigabyte of blanks in a small file."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("history.csv", b"user,timestamp,context\n" + b" " * 3_000_000)
    return held.getvalue()


def test_bombs_end_in_the_importers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "UNPACKED", 1 << 20)
    draft = drafted(tmp_path / "draft", "takeout.zip", bomb())
    assert draft.answers.files[0].format == "zip"
    with pytest.raises(DataError, match="as bombs do"):
        work.read(task(draft.folder, tmp_path / "out"), None)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.csv", "passwd.csv"),
        ("C:\\Users\\jane\\track.gpx", "track.gpx"),
        ("/", None),
        ("..", None),
        ("", None),
        ("a\nb\x1b[31m.csv", "a_b_[31m.csv"),
        (".csv", "csv"),
        ("x" * 400 + ".csv.gz", "x" * 113 + ".csv.gz"),
        ("é" * 100 + ".rec", "é" * 58 + ".rec"),
    ],
)
def test_names_are_plain(given: str, kept: str | None) -> None:
    if kept is None:
        with pytest.raises(DataError, match="the file has no name"):
            safe_name(given)
    else:
        assert safe_name(given) == kept


def test_hostile_files_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = home / "discreet-data" / "setup"

    async def story() -> None:
        async with empty_web(home, text="[limits]\nupload = 1\n") as web:
            await enter(web)
            for name, content, words in (
                ("photo.jpg", b"\xff\xd8\xff\xe0" + bytes(100), "photo.jpg: is in no format that is known; known are"),
                ("empty.csv", b"", "empty.csv: the file is empty; copy it again"),
                ("wide.csv", "user".encode("utf-16"), "wide.csv: is UTF-16 text; save it as UTF-8"),
                ("", b"x", "the file has no name"),
            ):
                answer = await brought(web, name, content)
                assert answer.status_code == 400
                assert answer.json()["error"].startswith(words)
                assert str(tmp_path) not in answer.text

            async def much() -> Any:
                for _ in range(12):
                    yield bytes(100_000)

            for content in (bytes(1_200_000), much()):
                answer = await web.client.post(f"{SETUP}/files", params={"name": "a.csv"}, content=content)
                assert answer.status_code == 413
                assert "may have 1 MB" in answer.json()["error"]
            await broken_off(web)
            assert (await stands(web))["files"] == []
            assert [path.name for path in folder.rglob("*") if path.is_file()] == []
            answer = await brought(web, "../../evil.csv", b"user,timestamp,context\n")
            assert answer.json()["name"] == "evil.csv"
            assert [path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")] == ["uploads/0001/evil.csv"]
            assert stat.S_IMODE((folder / "uploads/0001/evil.csv").stat().st_mode) == 0o600
            found = await did(web, "read", READ_IT)
            assert found["step"] == 2
            assert "evil.csv" in found["problem"]
            assert str(tmp_path) not in found["problem"]

    told(story)


async def broken_off(web: Web) -> None:
    """A connection that ends in the middle of a file."""
    cookie = "; ".join(f"{name}={value}" for name, value in web.client.cookies.items())
    port = web.client.base_url.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {SETUP}/files?name=half.csv HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n"
    head += f"X-CSRF-Token: {web.client.headers['X-CSRF-Token']}\r\nContent-Length: 500000\r\n\r\n"
    writer.write(head.encode() + b"user,timestamp,context\n" + bytes(100_000))
    await writer.drain()
    await asyncio.sleep(0.3)
    writer.close()
    await asyncio.sleep(0.3)
    assert reader is not None


def test_all_of_it_is_for_the_owner_by_password(tmp_path: Path) -> None:
    async def story() -> None:
        async with empty_web(tmp_path / "home") as web:
            assert (await web.client.get(SETUP)).status_code == 401
            assert (await brought(web, "a.csv", b"x")).status_code == 401
            _, secret = web.served.access.add("owner", None)
            token = {"Authorization": f"Bearer {secret}"}
            assert (await web.client.get(SETUP, headers=token)).status_code == 403
            await enter(web)
            assert (await web.client.get(SETUP)).status_code == 200
            del web.client.headers["X-CSRF-Token"]
            assert (await brought(web, "a.csv", b"x")).status_code == 403
            assert (await web.client.post(f"{SETUP}/read", json=READ_IT)).status_code == 403
            assert (await web.client.delete(SETUP)).status_code == 403

    told(story)


def test_steps_out_of_turn_and_bad_answers_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with empty_web(tmp_path / "home") as web:
            await enter(web)
            for step, document, status in (
                ("places", {"names": {}}, 409),
                ("secrets", {"secrets": ["home"]}, 409),
                ("choice", {"delta": 0.1, "vocabulary": "suppress", "accept": False}, 409),
                ("finish", {"application": "a"}, 409),
                ("read", {**READ_IT, "zone": "Europe/Nowhere"}, 400),
                ("read", {**READ_IT, "person": "a/b"}, 400),
                ("read", {**READ_IT, "carry": 1000}, 400),
                ("places", {"names": {"x": "home"}}, 400),
                ("secrets", {"secrets": [1]}, 400),
            ):
                answer = await web.client.post(f"{SETUP}/{step}", json=document)
                assert answer.status_code == status, (step, answer.text)
                assert answer.json()["error"]
            assert (await did(web, "read", READ_IT))["problem"] == "there is no file yet; add one"
            assert os.listdir(tmp_path / "home") == ["discreet-data"]

    told(story)
