"""Mechanisms that start anew each day at the gateway: the library's outputs, through restarts, and what is said."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from discreet import Policy
from discreet.errors import DiscreetError
from discreet.gateway.app import checked
from discreet.gateway.config.settings import Settings
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.slots.served import unpromised
from discreet.live import Stream
from discreet.mechanisms.day_by_day import DayByDay, EachDaySpec
from discreet.mechanisms.named import Spec
from discreet.outputs import Output, Skipped
from discreet.randomness import KeyedEntropy
from tests.gateway.people import CLOCK, START, closed, keeper, person_config
from tests.gateway.test_keeper import ROUTINE, boundaries, counted_bits, fed, week
from tests.gateway.web import opened

TREE = {"anywhere": {"in": ["home", "unknown"], "out": ["work", "clinic", "other"]}}
SPECS: dict[str, dict[str, Any]] = {
    "simulatable": {},
    "probabilistic": {"search": "mondrian"},
    "hybrid": {"search": "mondrian"},
    "mask-sensitive": {},
    "capp": {},
    "efficient-fake": {},
    "fdh": {"hierarchy": TREE, "search": "mondrian"},
    "set-labelled": {"labels": {"work": ["work", "clinic"]}, "mechanism": "probabilistic", "search": "mondrian"},
}
OFF = range(30, 33)
"""Slots in which nothing ran."""


class Chance:
    """A key a slot, as the keeper takes them."""

    def __init__(self) -> None:
        self.bits_of, self.inner = counted_bits(), KeyedEntropy(bytes(32))

    def next(self) -> None:
        self.inner = KeyedEntropy(self.bits_of(32))

    def bits(self, count: int) -> int:
        return self.inner.bits(count)

    def below(self, bound: int) -> int:
        return self.inner.below(bound)


def served(name: str, options: dict[str, Any]) -> PersonConfig:
    delta = 0.9 if name == "simulatable" else 0.1  # which asks what is possible: learned habits let it show nothing
    policy = Policy(["clinic"], delta=delta)
    return replace(person_config(routine=ROUTINE), spec=EachDaySpec(name, options), policy=policy)


@pytest.mark.parametrize("name", SPECS)
def test_a_week_at_the_gateway_is_a_week_of_the_library(tmp_path: Path, name: str) -> None:
    config, days, bits = served(name, SPECS[name]), week(), counted_bits()
    told: list[Output] = []
    one = keeper(tmp_path, START.timestamp(), config, bits=bits)
    fed(one, days)
    for number, boundary in enumerate(boundaries(7)):
        if number in (20, 24, 50):  # within a day, and at a cut
            closed(one)
            one = keeper(tmp_path, boundary - 1, config, bits=bits)
        if number not in OFF:
            told += [row.output for row in one.turn(boundary)]
    closed(one)
    chance = Chance()
    spec = Spec(name, SPECS[name])
    stream = Stream(ROUTINE, partial(spec.make, policy=config.policy), start=START.date(), rng=chance)
    expected = []
    for number, context in enumerate(context for contexts in days.values() for context in contexts):
        if number in OFF:
            expected.append(stream.skip().output)
            continue
        chance.next()
        expected.append(stream.release(context).output)
    assert told == expected
    assert len(told) == 7 * CLOCK.slots
    assert sum(isinstance(output, Skipped) for output in told) == len(OFF)
    assert len(set(told)) > 2
    assert not stream.endless


def test_what_is_not_promised_is_told_to_the_owner_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path, people=[served("hybrid", SPECS["hybrid"])]) as web:
            (words,) = [note for note in web.served.notes if "ends at midnight" in note]
            assert words.startswith("jane: What hybrid promises ends at midnight")
            document = {"token": web.served.owner.first, "password": "correct horse"}
            assert (await web.client.post("/v1/owner/first", json=document)).status_code == 200
            days = (await web.client.get("/v1/owner/people/jane/days")).json()
            assert f"jane: {days['unpromised']}" == words
            await web.pass_slot()
            _, secret = web.served.access.add("application", "jane")
            headers = {"Authorization": f"Bearer {secret}"}
            answer = await web.client.get("/v1/gets", headers=headers)
            assert answer.status_code == 200
            assert "midnight" not in answer.text
            assert "hybrid" not in answer.text

    asyncio.run(story())


def test_only_what_keeps_its_promise_over_midnight_is_silent_about_it() -> None:
    made = served("hybrid", SPECS["hybrid"]).make(ROUTINE.since("2026-03-02"))
    assert isinstance(made, DayByDay)
    assert "Of a day it promises" in (unpromised(made) or "")
    masked = served("mask-sensitive", {}).make(ROUTINE.since("2026-03-02"))
    assert (unpromised(masked) or "").startswith("mask-sensitive promises nothing")
    faked = served("capp", {}).make(ROUTINE.since("2026-03-02"))
    assert (unpromised(faked) or "").startswith("capp promises something of a part")
    for spec in (Spec("adaptive"), EachDaySpec("adaptive")):
        adaptive = replace(person_config(routine=ROUTINE), spec=spec)
        assert unpromised(adaptive.make(ROUTINE.since("2026-03-02"))) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hybrid", r"people\.jane\.mechanism: hybrid releases one day at a time .*accept = \"ends at midnight\""),
        ("fdh", r"people\.jane\.mechanism: fdh releases one day at a time"),
    ],
)
def test_without_the_words_it_is_refused_at_the_start_too(tmp_path: Path, name: str, words: str) -> None:
    config = replace(person_config(routine=ROUTINE), spec=Spec(name, SPECS[name]))
    with pytest.raises(DiscreetError, match=words):
        checked([config])
    with pytest.raises(DiscreetError, match=words):
        keeper(tmp_path, START.timestamp(), config)


def settings(folder: Path, text: str) -> Settings:
    for name in ("jane.model", "policy.toml"):
        (folder / name).touch()
    whole = '[clock]\nslots = 12\nzone = "UTC"\n[people.jane]\nroutine = "jane.model"\npolicy = "policy.toml"\n' + text
    (folder / "discreet.toml").write_text(whole, encoding="utf-8")
    return Settings.read(folder / "discreet.toml")


def test_the_settings_accept_it(tmp_path: Path) -> None:
    text = 'accept = "ends at midnight"\n[people.jane.mechanism]\nname = "hybrid"\n'
    found = settings(tmp_path, text)
    assert found.people["jane"].spec == EachDaySpec("hybrid")
    assert found.people["jane"].table(tmp_path)["accept"] == "ends at midnight"
    assert settings(tmp_path, 'accept = "ends at midnight"\n').people["jane"].spec == EachDaySpec("adaptive")
    assert settings(tmp_path, '[people.jane.mechanism]\nname = "hybrid"\n').people["jane"].spec == Spec("hybrid")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'accept = "always"\n[people.jane.mechanism]\nname = "hybrid"\n',
            "people.jane.accept: write 'ends at midnight'",
        ),
        ("accept = true\n", "people.jane.accept: is True; write 'ends at midnight'"),
        (
            'accept = "ends at midnight"\n[people.jane.mechanism]\nname = "no-mask"\n',
            "people.jane.mechanism: no-mask shows everything",
        ),
        (
            'accept = "ends at midnight"\n[people.jane.mechanism]\nname = "pa-markov"\n',
            "people.jane.mechanism: pa-markov is for events",
        ),
    ],
)
def test_errors_name_the_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DiscreetError) as error:
        settings(tmp_path, text)
    assert words in str(error.value)


def test_a_changed_policy_is_a_new_stream(tmp_path: Path) -> None:
    config = served("simulatable", {})
    one = keeper(tmp_path, START.timestamp(), config)
    fed(one, week())
    for boundary in list(boundaries(1))[:3]:
        one.turn(boundary)
    closed(one)
    changed = replace(config, policy=replace(config.policy, delta=0.3))
    with pytest.raises(DiscreetError, match="begin a new stream"):
        keeper(tmp_path, START.timestamp() + 4 * 7200, changed)
