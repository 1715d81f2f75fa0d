"""A paper's figures by name, and the command's list of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from discreet.errors import DiscreetError
from discreet_experiments.adaptive.run import PARTS
from discreet_experiments.capp.run import CappReproduction
from discreet_experiments.cli.adaptive import adaptive
from discreet_experiments.cli.capp import capp
from discreet_experiments.cli.dphmm import dphmm
from discreet_experiments.cli.fdh import fdh
from discreet_experiments.cli.maskit import maskit
from discreet_experiments.cli.s_ppatp import s_ppatp
from discreet_experiments.dphmm.run import DphmmReproduction
from discreet_experiments.dphmm.sequences import Trial
from discreet_experiments.fdh.person import Layers
from discreet_experiments.fdh.run import FdhReproduction
from discreet_experiments.maskit.person import Checks
from discreet_experiments.maskit.run import MaskitReproduction
from discreet_experiments.s_ppatp.figures import EventSetting
from discreet_experiments.s_ppatp.run import SPpatpReproduction
from discreet_experiments.shared.figures import NOBODY, Figure, Reproduction
from discreet_experiments.shared.subjects import Setting
from tests.experiments.quiet import quiet


class Two(Reproduction):
    def __init__(self) -> None:
        self.made: list[str] = []

    def makers(self) -> Mapping[str, Callable[[], Figure]]:
        return {"b": lambda: self._figure("b"), "a": lambda: self._figure("a")}

    def _figure(self, name: str) -> Figure:
        self.made.append(name)
        return Figure(name, name, "", NOBODY, NOBODY, (), lambda path: None)


def test_all_are_made_in_their_order_and_each_when_asked_for() -> None:
    two = Two()
    figures = two.figures()
    assert next(figures).name == "b"
    assert two.made == ["b"]
    assert [figure.name for figure in figures] == ["a"]
    assert [figure.name for figure in two.figures("a")] == ["a"]


def test_a_figure_that_there_is_not() -> None:
    with pytest.raises(DiscreetError, match="there is no figure 'c'"):
        Two().figure("c")


def choices(command: Callable[..., None], option: str) -> set[str]:
    hint: Any = get_type_hints(inspect.unwrap(command))[option]
    return set(get_args(hint)) - {"all"}


def test_the_command_offers_every_figure() -> None:
    cohort, setting = quiet(Path()), Setting()
    papers: list[tuple[Callable[..., None], Reproduction]] = [
        (maskit, MaskitReproduction(cohort, setting, Checks())),
        (fdh, FdhReproduction(cohort, setting, Layers(("tower",)))),
        (capp, CappReproduction(cohort, setting)),
        (dphmm, DphmmReproduction(cohort, Trial())),
        (s_ppatp, SPpatpReproduction(cohort, EventSetting())),
    ]
    for command, reproduction in papers:
        assert choices(command, "figure") == set(reproduction.makers()), command.__name__
    assert choices(adaptive, "part") == set(PARTS)
