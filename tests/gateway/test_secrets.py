"""Secrets on the owner's page: looked at, tried out, previewed, and changed in the stream that runs."""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib
import os
import stat
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet import DiscreetError, Policy, Secret
from discreet.choosing.choices import choice_of, drawn_weeks
from discreet.choosing.policy_text import policy_file_text
from discreet.gateway.app import plan_of
from discreet.gateway.config.settings import Settings
from discreet.gateway.owner.preview import PreviewWork, preview, within_bounds
from discreet.gateway.owner.previews import Preview, Previews
from discreet.gateway.owner.secrets import PolicyFiles, already_told, begins_of, draft_of, save, secrets_of
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.store.journal import JournalError
from discreet.live import Stream
from discreet.models.kinds import MONDAY
from discreet.models.store import save as save_model
from discreet.outputs import Skipped, to_wire
from discreet.policy import read_policy
from discreet.randomness import SeededEntropy
from tests.gateway.people import CLOCK, START, closed, keeper, person_config
from tests.gateway.test_changes import BEFORE, NOW, ROUTINE, STRICTER, opened, outputs, walked
from tests.gateway.test_day import lived, logged_in
from tests.gateway.test_keeper import KilledError, boundaries, fed, week
from tests.gateway.web import Web
from tests.gateway.web import opened as opened_web

PATH = "/v1/owner/people/jane/secrets"
CHANGED = replace(BEFORE, policy=STRICTER)


def files_in(folder: Path, policy: Policy = BEFORE.policy) -> tuple[PolicyFiles, Path]:
    path = folder / "policy.toml"
    path.write_text(policy_file_text(policy, ROUTINE), encoding="utf-8")
    return PolicyFiles({"jane": path}), path


def started(folder: Path, now: float, path: Path) -> Keeper:
    """A gateway that starts with what the file says."""
    return opened(folder, now, replace(BEFORE, policy=read_policy(path, CLOCK)[0]))


# --- the running stream changes


def test_a_change_while_it_runs_is_a_start_with_the_new_file(tmp_path: Path) -> None:
    """The same outputs, slot by slot, as a gateway that was stopped and started with it, and as after more stops."""
    (tmp_path / "restarted").mkdir()
    expected = walked(tmp_path / "restarted", CHANGED)
    for restarts in ((), (7, 8, 20, 24, 25, 36)):
        folder = tmp_path / f"running{len(restarts)}"
        folder.mkdir()
        files, path = files_in(folder)
        one = started(folder, NOW, path)
        fed(one, week(days=5))
        for number, end in enumerate(boundaries(5)):
            if number == 7:
                date = save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
                assert date == START.date() + dt.timedelta(days=2)
            if number in restarts:
                closed(one)
                one = started(folder, end - 5, path)
                assert one.notes == [], "nothing is announced twice"
            one.turn(end)
        assert outputs(one) == expected
        assert len(one.people["jane"].config.history) == 2
        closed(one)


def killed_saving(one: Keeper, files: PolicyFiles, step: int) -> None:
    """Lose power at the n-th write of a save: before it for even steps, after it for odd ones."""
    count = iter(range(100))

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            at = next(count)
            if step == 2 * at:
                raise KilledError
            done = real(*given)
            if step == 2 * at + 1:
                raise KilledError
            return done

        return call

    owners: tuple[tuple[Any, str], ...] = ((files, "write"), (one.own, "keep_habits"), (one.journal, "append"))
    for owner, name in owners:
        setattr(owner, name, guarded(getattr(owner, name)))


@pytest.mark.parametrize("step", range(6))
def test_killed_between_any_two_writes_it_is_the_old_or_the_new(tmp_path: Path, step: int) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = walked(whole, CHANGED if step > 0 else BEFORE)
    files, path = files_in(tmp_path)
    ends = list(boundaries(5))
    one = started(tmp_path, NOW, path)
    fed(one, week(days=5))
    for end in ends[:7]:
        one.turn(end)
    killed_saving(one, files, step)
    with pytest.raises(KilledError):
        save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    closed(one)
    for again in range(2):
        one = started(tmp_path, ends[6] + 1 + again, path)
        assert len(one.people["jane"].config.history) == (2 if step > 0 else 1)
        assert len(one.notes) == (1 if again == 0 and 0 < step < 5 else 0), "announced once"
        if again == 0:
            closed(one)
    for end in ends[7:]:
        one.turn(end)
    assert outputs(one) == expected
    closed(one)


@pytest.mark.parametrize("broken", ["keep_habits", "append", "append, answer lost"])
def test_a_disk_that_fails_while_it_changes_holds_the_next_slot_up_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (tmp_path / "whole").mkdir()
    expected = walked(tmp_path / "whole", CHANGED)
    files, path = files_in(tmp_path)
    ends = list(boundaries(5))
    one = started(tmp_path, NOW, path)
    fed(one, week(days=5))
    for end in ends[:7]:
        one.turn(end)
    name = broken.partition(",")[0]
    owner: Any = one.own if name == "keep_habits" else one.journal
    real = getattr(owner, name)

    def fails(*given: Any) -> None:
        if "lost" in broken:
            real(*given)
        raise JournalError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fails)
        with pytest.raises(JournalError):
            save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
        with pytest.raises(JournalError):
            one.turn(ends[7])
    for end in ends[7:]:
        one.turn(end)
    assert outputs(one) == expected
    closed(one)
    one = started(tmp_path, ends[-1] + 1, path)
    assert one.notes == []
    closed(one)


def test_a_change_that_waits_for_the_disk_is_not_lost_when_somebody_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody whose own policy changed meanwhile: announcing that may not take the place of what waits."""
    kim = replace(BEFORE, name="kim")
    closed(keeper(tmp_path, NOW, BEFORE, kim))
    files, path = files_in(tmp_path)
    one = started(tmp_path, NOW, path)
    with monkeypatch.context() as patched:
        patched.setattr(one.own, "keep_habits", _full)
        with pytest.raises(JournalError):
            save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    one.admit(replace(kim, policy=STRICTER), NOW)
    for person in one.people.values():
        assert person.config.policy == STRICTER
        assert len(person.config.history) == 2
    closed(one)


def _full(*given: Any) -> None:
    raise JournalError("disk full")


def test_a_second_thought_before_it_holds_takes_its_place(tmp_path: Path) -> None:
    """Two changes for one cut, and starts after them: what holds is the last."""
    files, path = files_in(tmp_path)
    ends = list(boundaries(5))
    one = started(tmp_path, NOW, path)
    fed(one, week(days=5))
    for end in ends[:5]:
        one.turn(end)
    save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    one.turn(ends[5])
    milder = Policy([Secret("clinic", delta=0.3)], delta=0.2)
    save(one, files, "jane", milder, STRICTER.fingerprint)
    closed(one)
    one = started(tmp_path, ends[5] + 1, path)
    assert one.notes == []
    found = secrets_of(one, files, "jane")
    assert [secret["name"] for secret in found["in_force"]["secrets"]] == ["clinic"]
    (announced,) = found["announced"]
    assert announced["from"] == (START.date() + dt.timedelta(days=2)).isoformat()
    assert [secret["gain"] for secret in announced["secrets"]] == [0.3]
    for end in ends[6:]:
        one.turn(end)
    assert not any(isinstance(output, Skipped) for output in outputs(one))
    found = secrets_of(one, files, "jane")
    assert found["announced"] == []
    assert [secret["gain"] for secret in found["in_force"]["secrets"]] == [0.3]
    closed(one)


def test_a_file_is_written_for_its_owner_alone_and_says_the_same(tmp_path: Path) -> None:
    files, path = files_in(tmp_path)
    one = started(tmp_path, NOW, path)
    one.turn(next(boundaries(1)))
    save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    assert read_policy(path)[0].fingerprint == STRICTER.fingerprint
    assert "A stranger's guess may rise from" in path.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(DiscreetError, match="changed elsewhere"):
        save(one, files, "jane", BEFORE.policy, BEFORE.policy.fingerprint)
    path.write_text("secret = []\n", encoding="utf-8")
    with pytest.raises(DiscreetError, match="edited by hand"):
        save(one, files, "jane", BEFORE.policy, STRICTER.fingerprint)
    closed(one)


def test_whose_policy_stands_in_no_file_or_in_one_of_two_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    assert "not in a file" in str(PolicyFiles({}).why_not("jane"))
    assert "joe" in str(PolicyFiles({"jane": path, "joe": path}).why_not("jane"))
    assert PolicyFiles({"jane": path}).why_not("jane") is None
    one = opened(tmp_path, NOW, BEFORE)
    with pytest.raises(DiscreetError, match="not in a file"):
        save(one, PolicyFiles({}), "jane", STRICTER, BEFORE.policy.fingerprint)
    assert len(one.people["jane"].config.history) == 1
    closed(one)


def test_what_was_told_before_it_was_secret_is_listed_by_date_and_slot(tmp_path: Path) -> None:
    """From what `Session.already_told` says by slots since the stream began (its own test is with the mechanism's)."""
    one = opened(tmp_path, NOW, BEFORE)
    person = one.people["jane"]
    assert already_told(person, person.session) == []
    session: Any = SimpleNamespace(already_told={"clinic": {15: 0.4, 16: 0.5}})
    assert already_told(person, session) == [
        {"secret": "clinic", "date": "2026-03-03", "slot": 3, "belief": 0.4},
        {"secret": "clinic", "date": "2026-03-03", "slot": 4, "belief": 0.5},
    ]
    closed(one)


def test_the_file_of_the_settings_is_the_one_that_is_written_and_a_link_to_it_stays(tmp_path: Path) -> None:
    save_model(tmp_path / "jane.model", ROUTINE)
    _, path = files_in(tmp_path)
    (tmp_path / "link.toml").symlink_to(path)
    (tmp_path / "discreet.toml").write_text(
        '[clock]\nslots = 12\nzone = "UTC"\n[people.jane]\nroutine = "jane.model"\npolicy = "link.toml"\n'
        'carry = "4h"\n[people.jane.mechanism]\noutputs = "deceive"\n',
        encoding="utf-8",
    )
    plan = plan_of(Settings.read(tmp_path / "discreet.toml"))
    files = PolicyFiles(plan.policy_files)
    one = opened(tmp_path, NOW, plan.people[0])
    one.turn(next(boundaries(1)))
    save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    closed(one)
    assert (tmp_path / "link.toml").is_symlink()
    (again,) = plan_of(Settings.read(tmp_path / "discreet.toml")).people
    assert again.policy.fingerprint == STRICTER.fingerprint
    one = opened(tmp_path, NOW + 7300, again)
    assert one.notes == [], "it was announced"
    closed(one)


def test_a_mechanism_that_cannot_change_refuses_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, path = files_in(tmp_path)
    before = path.read_bytes()
    one = started(tmp_path, NOW, path)

    def never(*given: Any, **named: Any) -> None:
        raise DiscreetError("this mechanism does not change")

    monkeypatch.setattr(type(one.people["jane"].session.mechanism), "then", never)
    with pytest.raises(DiscreetError, match="does not change"):
        save(one, files, "jane", STRICTER, BEFORE.policy.fingerprint)
    assert path.read_bytes() == before
    closed(one)


# --- drafts


def terms(**given: object) -> dict[str, object]:
    return {"name": "clinic", "contexts": ["clinic"], **given}


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        ([terms(delta=0.0)], "delta of secret 'clinic' is 0; give a number above 0"),
        ([terms(contexts=["clinik"])], "did you mean 'clinic'"),
        ([terms(contexts=[])], "names no context"),
        ([terms(slots=[])], "limited to no slot"),
        ([terms(slots=[12])], "the day has slots 0 to 11"),
        ([terms(name=" ")], "has no name"),
        ([terms(name="x" * 201)], "at most 200"),
        ([terms(), terms()], "two secrets are named 'clinic'"),
        ([terms(at="never")], "use 'each'"),
        ([terms(contexts=list(ROUTINE.contexts))], "covers every context"),
        ([terms(contexts=[["clinic"]])], "wrong kind"),
        ([terms(begins="1", at="any")], "begins at '1'"),
        ([{"name": "clinic"}], "not a list of places"),
        ([terms(colour="red")], "a secret is an object with"),
        (["clinic"], "a secret is an object with"),
        ([terms(name=str(k)) for k in range(51)], "at most 50"),
    ],
)
def test_what_cannot_be_a_secret_is_refused_in_words(secrets: list[object], words: str) -> None:
    with pytest.raises(DiscreetError, match=words):
        draft_of(secrets, BEFORE.policy, ROUTINE)


def test_a_night_is_one_window() -> None:
    assert begins_of([0, 1, 10, 11], 12) == 10
    assert begins_of([0, *range(11, -200_000, -1)], 12) == 0, "what is no slot is not looked through"
    assert begins_of([3, 4], 12) == begins_of(None, 12) == begins_of(range(12), 12) == begins_of([11], 12) == 0
    (night,) = draft_of([terms(slots=[11, 0, 10], at="any")], BEFORE.policy, ROUTINE).secrets
    assert (night.begins, night.slots, night.delta) == (10, frozenset({0, 10, 11}), None)
    (each,) = draft_of([terms(slots=[11, 0, 10])], BEFORE.policy, ROUTINE).secrets
    assert each.begins == 0
    (whole,) = draft_of([terms(slots=list(range(12)), at="any", begins=5)], BEFORE.policy, ROUTINE).secrets
    assert whole.begins == 5, "what is said is kept"


# --- previews


DRAFTED = Policy([Secret("clinic", delta=0.05)], delta=0.1)


def work(weeks: int = 2, days: int = 3) -> PreviewWork:
    from discreet import Day

    real = tuple(Day(contexts, date, "jane") for date, contexts in week(days=days).items())
    return PreviewWork(ROUTINE, person_config(outputs="suppress").spec, BEFORE.policy, DRAFTED, real, 5, weeks)


def test_a_preview_is_what_choosing_and_a_stream_say() -> None:
    told: list[tuple[int, int]] = []
    given = work()
    found = preview(given, lambda done, total: told.append((done, total)))
    assert told == [(k, 2 * 14 + 3) for k in range(2 * 14 + 4)]
    days = drawn_weeks(ROUTINE, 2, 5)
    for key, policy in (("before", BEFORE.policy), ("after", DRAFTED)):
        mechanism: Any = given.spec.make(ROUTINE.since(MONDAY), policy)  # type: ignore[arg-type]
        choice = choice_of(mechanism, 0.1, "suppress", days, 5, lambda: None)
        assert found[key]["utility"]["mean"] == choice.utility.mean
        assert found[key]["holds"] is True
    difference = found["after"]["utility"]["mean"] - found["before"]["utility"]["mean"]
    assert found["difference"]["mean"] == pytest.approx(difference, abs=1e-12)
    assert difference <= 0, "a stricter policy shows no more"
    make = replace(person_config(routine=ROUTINE, outputs="suppress"), policy=DRAFTED).make
    stream = Stream(ROUTINE, make, start=START.date(), person="jane", rng=SeededEntropy(6))
    assert found["would"] == {
        date.isoformat(): [to_wire(stream.release(context).output) for context in contexts]
        for date, contexts in week(days=3).items()
    }


def test_without_secrets_everything_is_shown() -> None:
    found = preview(replace(work(days=0), after=Policy()), lambda done, total: None)
    assert found["after"]["true"] == 1
    assert found["after"]["holds"] is True
    assert found["after"]["worst"] is None
    assert found["would"] == {}


def processes() -> set[int]:
    """Those that this one has started and that still are."""
    found = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(map(int, found.read_text().split())) if found.exists() else set()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that a busy machine may be slow to do."""
    async with asyncio.timeout(600):
        while not holds():
            await asyncio.sleep(0.05)


async def found_by(previews: Previews, name: str) -> dict[str, Any]:
    """What a preview came to."""
    async with asyncio.timeout(600):
        while True:
            state = previews.state("jane", name)
            assert state is not None
            if state["result"] is not None or state["problem"] is not None:
                return dict(state)
            await asyncio.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children of a process are listed by Linux")
def test_a_preview_that_is_cancelled_twice_while_it_starts_leaves_no_process() -> None:
    """Whoever stops waits for a preview's end, and may be stopped meanwhile: the process must be gone all the same."""

    async def story() -> None:
        before = processes()
        for ticks in range(8):
            preview = Preview("jane", work(weeks=1, days=0), lambda result: result)
            for _ in range(ticks):
                await asyncio.sleep(0)
            for _ in range(3):
                preview._task.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(preview._task, return_exceptions=True)
            assert processes() <= before, f"cancelled after {ticks} steps"

    asyncio.run(story())


def test_a_preview_runs_in_a_process_that_ends_when_it_is_cancelled_or_the_gateway_stops() -> None:
    async def story() -> None:
        previews, before = Previews(lease=60), processes()
        watching = asyncio.create_task(previews.watch())
        name = await previews.start("jane", work(weeks=2))
        state = await found_by(previews, name)
        assert state["problem"] is None
        assert state["result"]["after"]["holds"] is True
        assert state["done"] == state["total"]
        assert previews.state("joe", name) is None, "it is one person's"

        long = await previews.start("jane", work(weeks=5000))
        assert previews.state("jane", name) is None, "another takes its place"
        await until(lambda: processes() > before)
        assert await previews.cancel("jane", long)
        assert not await previews.cancel("jane", long)
        assert processes() == before

        await previews.start("jane", work(weeks=5000))
        await until(lambda: processes() > before)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        assert processes() == before

    asyncio.run(story())


def test_a_preview_that_nobody_asks_for_ends() -> None:
    async def story() -> None:
        previews, before = Previews(lease=1), processes()
        watching = asyncio.create_task(previews.watch())
        name = await previews.start("jane", work(weeks=5000))
        await until(lambda: processes() > before)
        await until(lambda: processes() == before)
        assert previews.state("jane", name) is None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(story())


def test_a_preview_that_fails_says_so() -> None:
    async def story() -> None:
        previews = Previews()
        wrong = replace(work(), after=Policy(["nowhere"]))
        for given, words in ((wrong, "never seen"), (replace(work(), weeks=-1), "ran out of time")):
            name = await previews.start("jane", given)
            assert words in (await found_by(previews, name))["problem"]

    asyncio.run(story())


def test_a_preview_for_which_there_is_no_process_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        previews = Previews()
        name = await previews.start("jane", work())
        assert "ran out of time" in (await found_by(previews, name))["problem"]

    monkeypatch.setattr("discreet.gateway.owner.previews.command", lambda: ("/nowhere/python",))
    asyncio.run(story())


def test_a_preview_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.gateway.owner.preview.SECONDS", 10**6)  # the tests' own process has run for long
    monkeypatch.setattr("discreet.gateway.owner.preview.BYTES", 2**50)
    within_bounds()
    monkeypatch.setattr("discreet.gateway.owner.preview.SECONDS", 0)
    with pytest.raises(DiscreetError, match="more than 0 seconds"):
        within_bounds()
    monkeypatch.setattr("discreet.gateway.owner.preview.BYTES", 0)
    with pytest.raises(MemoryError):
        within_bounds()


# --- the routes


def told(tmp_path: Path, story: Callable[[Web], Awaitable[None]]) -> None:
    person: PersonConfig = person_config(routine=ROUTINE, outputs="suppress")
    _, path = files_in(tmp_path, person.policy)

    async def whole() -> None:
        async with opened_web(tmp_path / "files", people=[person], policy_files={"jane": path}) as web:
            await story(web)

    asyncio.run(whole())


async def csrf(web: Web) -> dict[str, str]:
    return {"X-CSRF-Token": (await web.client.get("/v1/owner")).json()["csrf"]}


def test_secrets_over_http(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        await lived(web, 6)
        found = (await web.client.get(PATH)).json()
        assert found["contexts"] == list(ROUTINE.contexts)
        assert found["times"][1] == "02:00"
        assert found["fixed"] is None
        (clinic,) = found["in_force"]["secrets"]
        assert clinic["limit"] == pytest.approx(clinic["prior"] + 0.1)
        assert clinic["prior"] == pytest.approx(max(clinic["by_slot"]), abs=1e-6)
        assert clinic["mean"] < clinic["prior"]

        draft = {"secrets": [terms(delta=0.05), {"name": "work at night", "contexts": ["work"], "slots": [0, 11]}]}
        assert (await web.client.post(f"{PATH}/check", json=draft)).status_code == 403, "no csrf"
        headers = await csrf(web)
        meant = (await web.client.post(f"{PATH}/check", json=draft, headers=headers)).json()
        tried = (await web.client.post(f"{PATH}/try", json=draft, headers=headers)).json()
        assert tried == {**meant, "from": "2026-03-04"}
        assert not meant["same"]
        assert [one["gain"] for one in meant["secrets"]] == [0.05, 0.1]
        idle = {"secrets": [{"name": "nights", "contexts": ["home"], "slots": [0]}]}
        refused = await web.client.post(f"{PATH}/check", json=idle, headers=headers)
        assert "hides nothing" in refused.json()["refused"]
        assert (await web.client.post(f"{PATH}/try", json=idle, headers=headers)).status_code == 400
        assert (await web.client.put(PATH, json=draft, headers=headers)).status_code == 400

        saving = {**draft, "of": found["draft"]["of"]}
        assert (await web.client.put(PATH, json=saving)).status_code == 403, "no csrf"
        saved = await web.client.put(PATH, json=saving, headers=headers)
        assert saved.status_code == 200, saved.text
        assert [one["gain"] for one in saved.json()["announced"][0]["secrets"]] == [0.05, 0.1]
        assert [one["gain"] for one in saved.json()["in_force"]["secrets"]] == [0.1]
        assert (await web.client.put(PATH, json=saving, headers=headers)).status_code == 409
        await web.pass_slots(31)
        found = (await web.client.get(PATH)).json()
        assert found["announced"] == []
        assert [one["name"] for one in found["in_force"]["secrets"]] == ["clinic", "work at night"]

    told(tmp_path, story)


def test_the_thread_that_decides_computes_a_change_once_and_no_odds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What habits tell of many secrets over weeks takes many seconds: no slot waits for that."""
    asked: list[tuple[str, str]] = []

    def watch(module: str, name: str) -> None:
        real = getattr(importlib.import_module(module), name)

        def call(*given: Any) -> Any:
            asked.append((name, threading.current_thread().name.split("_")[0]))
            return real(*given)

        monkeypatch.setattr(f"{module}.{name}", call)

    watch("discreet.gateway.owner.secrets", "odds")
    watch("discreet.gateway.slots.keeper", "changed")

    async def story(web: Web) -> None:
        await logged_in(web)
        await web.pass_slots(1)
        found = (await web.client.get(PATH)).json()
        asked.clear()
        saving = {"secrets": [terms(delta=0.05)], "of": found["draft"]["of"]}
        assert (await web.client.put(PATH, json=saving, headers=await csrf(web))).status_code == 200

    told(tmp_path, story)
    assert [where for name, where in asked if name == "changed"] == ["slots"]
    assert "slots" not in {where for name, where in asked if name == "odds"}
    assert [name for name, _ in asked][:2] == ["odds", "changed"], "checked before it is saved"


def test_a_preview_over_http_has_what_would_have_been_told(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        await logged_in(web)
        await lived(web, 6)
        headers = await csrf(web)
        draft = {"secrets": [terms(delta=0.05)]}
        assert (await web.client.post(f"{PATH}/preview", json=draft)).status_code == 403
        begun = await web.client.post(f"{PATH}/preview", json=draft, headers=headers)
        assert begun.status_code == 202, begun.text
        path = f"{PATH}/preview/{begun.json()['preview']}"
        while (state := (await web.client.get(path)).json())["result"] is None:
            assert state["problem"] is None
            await asyncio.sleep(0.2)
        (day,) = state["result"]["days"]
        assert [one["true"] for one in day["slots"]] == ["home"] * 4 + ["work"] * 2 + [None] * 6
        assert all(one["would"]["kind"] in ("released", "suppressed") for one in day["slots"][:6])
        assert [one["would"] for one in day["slots"][6:]] == [None] * 6
        assert (await web.client.delete(path)).status_code == 403
        assert (await web.client.delete(path, headers=headers)).status_code == 204
        assert (await web.client.get(path)).status_code == 404
        assert (await web.client.delete(path, headers=headers)).status_code == 404
        wrong = {"secrets": [terms(contexts=["clinik"])]}
        refused = await web.client.post(f"{PATH}/preview", json=wrong, headers=headers)
        assert refused.status_code == 400

    told(tmp_path, story)


def test_they_are_for_the_owner_in_person(tmp_path: Path) -> None:
    async def story(web: Web) -> None:
        asked = [("GET", PATH), ("PUT", PATH), ("POST", f"{PATH}/check"), ("POST", f"{PATH}/try")]
        asked += [("POST", f"{PATH}/preview"), ("GET", f"{PATH}/preview/x"), ("DELETE", f"{PATH}/preview/x")]
        for method, path in asked:
            assert (await web.client.request(method, path)).status_code == 401
            for headers in (web.bearer("application"), web.bearer("source"), web.bearer("owner", None)):
                answer = await web.client.request(method, path, headers=headers)
                assert answer.status_code == 403, (method, path)

    told(tmp_path, story)
