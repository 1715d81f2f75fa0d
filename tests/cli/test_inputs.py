from __future__ import annotations

import pytest

from discreet import MarkovChain, Policy, mechanisms
from discreet.cli.inputs import kebab, make_mechanism, mechanism_class, slots_of
from discreet.cli.terminal import percent, table
from discreet.clock import Clock
from discreet.contracts import Model
from discreet.errors import DiscreetError


class Optioned(mechanisms.NoMask):
    """A mechanism with options, as later ones have."""

    def __init__(self, model: Model, policy: Policy, *, grid: int = 10, share: float, way: str = "", on: bool = False):
        super().__init__(model, policy)
        self.given = grid, share, way, on


@pytest.fixture
def optioned(monkeypatch: pytest.MonkeyPatch) -> MarkovChain:
    monkeypatch.setattr(mechanisms, "__all__", [*mechanisms.__all__, "Optioned"])
    monkeypatch.setattr(mechanisms, "Optioned", Optioned, raising=False)
    return MarkovChain(("a", "b"), (0.5, 0.5), [[[0.5, 0.5], [0.5, 0.5]]])


def test_options_become_numbers_words_and_truth_values(optioned: MarkovChain) -> None:
    made = make_mechanism("optioned", optioned, Policy(), ["grid=3", "share=0.5", "way=exact", "on=true"])
    assert isinstance(made, Optioned)
    assert made.given == (3, 0.5, "exact", True)


def test_options_that_miss_or_are_missing(optioned: MarkovChain) -> None:
    with pytest.raises(DiscreetError, match="did you mean 'grid'"):
        make_mechanism("optioned", optioned, Policy(), ["girds=3", "share=1"])
    with pytest.raises(DiscreetError, match="--option share="):
        make_mechanism("optioned", optioned, Policy(), [])


def test_every_mechanism_is_found_in_kebab_case() -> None:
    for name in mechanisms.__all__:
        assert mechanism_class(kebab(name)) is getattr(mechanisms, name)


@pytest.mark.parametrize(("time", "slots"), [("4h", 8), ("30m", 1), ("90 min", 3), ("1.5h", 3), ("0", 0), ("10m", 0)])
def test_times_in_slots(time: str, slots: int) -> None:
    assert slots_of(time, Clock(48)) == slots


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (1, "100 %"), (0.0001, "under 0.1 %"), (0.99999, "over 99.9 %"), (0.034, "3.4 %"), (0.5, "50 %")],
)
def test_percent_never_rounds_to_certainty(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_tables_align() -> None:
    assert table(["a", "b"], [["long", "1"], ["x", "100"]]) == "a       b\nlong    1\nx     100"
