"""CONTRIBUTING is followed literally: the blocks of its pages are put where they say, and do what the page says."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import discreet as d
from discreet import plugins
from discreet.batch.learners import FitNew
from discreet.data import formats
from discreet.data.importing import import_logs
from discreet.errors import DiscreetError
from discreet.laws import cases, check
from discreet.live import Stream
from discreet.live.slots import instants
from discreet.live.standing import Label
from discreet.mechanisms.named import Spec
from tests.experiments.quiet import quiet
from tests.experiments.recorded import made_up
from tests.strategies import random_chain, random_policy

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(title: str) -> dict[str, str]:
    """{file: content} of a page's blocks: the first line of each names its file."""
    page = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^( *)```(?:python|toml)\n(.*?)^ *```$", page, re.MULTILINE | re.DOTALL)
    texts = [textwrap.dedent(text) for _, text in found]
    return {text.partition("\n")[0].removeprefix("# "): text for text in texts}


class Modules:
    """Modules made of blocks, importable by the names that their files give them, and gone after the test."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def add(self, file: str, text: str) -> Any:
        name = file.partition("src/")[2].removesuffix(".py").replace("/", ".")
        package = name.rpartition(".")[0]
        if package not in sys.modules and not _found(package):
            sys.modules[package] = ModuleType(package)
            self._made.append(package)
        module = ModuleType(name)
        sys.modules[name] = module
        self._made.append(name)
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
        assert module.__doc__, f"{file} has a docstring"
        return module

    def remove(self) -> None:
        for name in self._made:
            del sys.modules[name]


def _found(package: str) -> bool:
    try:
        __import__(package)
    except ImportError:
        return False
    return True


@pytest.fixture
def modules() -> Iterator[Modules]:
    made = Modules()
    yield made
    made.remove()


def test_a_mechanism(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    own, known = blocks("Adding a mechanism").items()
    module = modules.add(*own)
    monkeypatch.setattr(d.mechanisms, "WHERE", dict(d.mechanisms.WHERE))
    monkeypatch.setattr(d.mechanisms, "PROMISES", dict(d.mechanisms.PROMISES))
    exec(known[1], vars(d.mechanisms))
    chain = random_chain(1)
    policy = random_policy(1, chain)
    for mechanism in cases(module.Alternate, chain, policy):  # as the laws find it
        check(mechanism, walks=2)
    made = Spec.from_text("alternate", ()).make(chain, policy)  # as the command finds it
    assert isinstance(made, module.Alternate)
    assert d.mechanisms.PROMISES["Alternate"].startswith(made.guarantee.kind)
    monkeypatch.delattr(d.mechanisms, "Alternate", raising=False)


def test_an_importer(modules: Modules, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own, known = blocks("Adding an importer").items()
    monkeypatch.setattr(formats, "LOGS", formats.LOGS)
    monkeypatch.setattr(formats, "Notes", modules.add(*own).Notes, raising=False)
    exec(known[1], vars(formats))
    path = tmp_path / "mine.notes"
    path.write_text("2026-11-16T08:00:00+01:00 at home\n2026-11-16T09:00:00Z battery 50\nyesterday at work\n\n")
    found = import_logs([path], user="ann")
    (report,) = found.files
    assert report.format == "notes"
    assert found.readings["context"].to_list() == ["home"]
    assert found.readings["user"].to_list() == ["ann"]
    assert len(found.first_bad) == 2
    assert "line 3" in found.first_bad[0]
    assert "is no instant" in found.first_bad[0]


def test_a_transport(modules: Modules) -> None:
    ((file, text),) = blocks("Adding a transport").items()
    clock = d.Clock(24, "UTC")
    chain = d.MarkovChain(("home", "work"), [0.5, 0.5], np.full((23, 2, 2), 0.5), clock=clock)
    stream = Stream(chain, lambda model: d.mechanisms.NoMask(model, d.Policy("work")), start="2026-11-16")
    sent: list[str] = []
    transport = modules.add(file, text).QueueTransport(stream, 4 * 3600, sent.append)
    date = dt.date(2026, 11, 16)

    def at(slot: int, second: int = 0) -> int:
        return instants(clock, date, slot)[0] + second * 1_000_000

    transport.receive([Label(at(1, 600), "work"), Label(at(0, 5), "home")])  # in any order
    transport.tick(at(1, 1))  # the first slot is due two seconds after its end
    assert sent == []
    transport.tick(at(1, 2))
    transport.tick(at(2, 2))
    transport.tick(at(8, 2))  # nothing ran for hours: what is too late is skipped, in public
    told = [json.loads(one) for one in sent]
    assert [one["slot"] for one in told] == list(range(8))  # one for each slot, and no other
    assert [one.get("context") for one in told[:2]] == ["home", "work"]
    assert {one["kind"] for one in told[2:7]} == {"skipped"}
    assert told[7]["kind"] != "skipped"  # due just now


def test_a_learner(modules: Modules, monkeypatch: pytest.MonkeyPatch) -> None:
    own, known = blocks("Adding a learner").items()
    module = modules.add(*own)
    points = tomllib.loads(known[1])["project"]["entry-points"]
    offered = [EntryPoint(name, value, group) for group, named in points.items() for name, value in named.items()]
    monkeypatch.setattr(plugins, "entry_points", lambda group: [one for one in offered if one.group == group])
    plugins._offered.cache_clear()
    clock, first = d.Clock(4, "UTC"), dt.date(2026, 3, 2)
    days = [d.Day(("home", "work", "work", "home"), date=first + dt.timedelta(k), person="ann") for k in range(30)]
    try:
        found = FitNew(clock, ("clinic",), None, False, None, None, None, None, "fortnight").learn(days)
        with pytest.raises(DiscreetError, match="there is no learner 'fortnigt'; did you mean 'fortnight'"):
            FitNew(clock, (), None, False, None, None, None, None, "fortnigt").learn(days)
    finally:
        plugins._offered.cache_clear()
    assert isinstance(found.model, d.Routine)
    assert "clinic" in found.model.contexts  # a secret has a place, visited or not
    assert found.model.fingerprint == module.learn(days[-14:], clock=clock, secrets=("clinic",)).fingerprint
    assert found.last.days == 6  # tested on the last fifth


def test_an_experiment(modules: Modules, tmp_path: Path) -> None:
    from discreet_experiments.shared.people import Rules

    made = {Path(file).stem: modules.add(file, text) for file, text in blocks("Adding an experiment").items()}
    assert list(made) == ["person", "figures", "run"]
    cohort = quiet(made_up(tmp_path, count=2, days=4))
    paper = made["run"].StaysReproduction(cohort, Rules(least_days=2))
    (figure,) = paper.figures()
    assert [row["person"] for row in figure.people.records()] == [1, 2]
    shares = [row["share"] for row in figure.people.records()]
    assert figure.summary.records() == [{"people": 2, "mean share": pytest.approx(sum(shares) / 2)}]
    assert all(0 < share <= 1 for share in shares)
    with pytest.raises(DiscreetError, match="there is no figure '2'"):
        paper.figure("2")


def test_the_picture_has_every_room() -> None:
    picture = PAGE.partition("\n## The house\n")[2].partition("```")[2].partition("```")[0]
    house = Path(d.__file__).parent
    rooms = [one.name + "/" for one in house.iterdir() if (one / "__init__.py").exists() and one.name != "dashboard"]
    files = [one.stem for one in house.glob("*.py") if one.stem != "__init__"]
    assert [name for name in [*rooms, *files] if not re.search(rf"(?<![\w/]){name}(?!\w)", picture)] == []
