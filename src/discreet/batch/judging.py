"""One person's recorded days, released as an experiment and judged."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.batch.inputs import Maker
from discreet.batch.truth import KnownByPart, already_learned, check_released, known_json, truth_json
from discreet.errors import DiscreetError
from discreet.listener import Note, Progress, ignore

if TYPE_CHECKING:
    from discreet.clock import Clock
    from discreet.contexts import Day
    from discreet.evaluation.metrics import Evaluation
    from discreet.evaluation.truth import Truth
    from discreet.mechanisms.named import Spec
    from discreet.models.routine.parts import AnyModel
    from discreet.policy import Policy


class PersonDays(NamedTuple):
    """One person as a worker is sent them."""

    name: str
    habits: AnyModel
    policy: Policy
    days: list[Day]
    carried: int


class JudgedDays(NamedTuple):
    """What a person's days showed and told."""

    name: str
    clock: Clock | None
    joined: bool
    """Whether days are judged as one stream."""
    days: int
    learned: int | None
    results: dict[str | None, Evaluation]
    truth: Truth
    told: KnownByPart
    endless: bool
    split: float | None
    seed: int

    @property
    def breached(self) -> bool:
        """Whether some secret was, on some day."""
        return any(result.breached for result in self.results.values())

    def document(self, accepted: bool) -> dict[str, Any]:
        """For machines."""
        parts = [
            {
                "part": part,
                **asdict(result),
                "worst_odds": result.worst_odds,
                "breached_dates": sorted(map(str, result.breached_dates)),
            }
            for part, result in self.results.items()
        ]
        return {
            "without_end": self.endless,
            "seed": self.seed,
            "breached": self.breached,
            "split": self.split,
            "learned_days": self.learned,
            "parts": parts,
            "known": known_json(self.told),
            "truth": truth_json(self.truth, accepted),
        }


def judge(
    spec: Spec, split: float | None, seed: int, note: Note, one: PersonDays, report: Progress | None = None
) -> JudgedDays:
    """Release one person's days as an experiment, and hold the habits against them."""
    from discreet.adversary.known import known
    from discreet.evaluation.week import evaluate_parts
    from discreet.models.routine.parts import AnyRoutine

    habits, days, make = one.habits, one.days, Maker(spec, one.policy)
    if split is not None:
        habits, days = _parted(one, split, note)
    learned = already_learned(habits, days)
    results = evaluate_parts(habits, make, days, carry=one.carried, seed=seed, progress=report)
    truth = check_released(habits, make, days, one.policy, spec.name, carry=one.carried, seed=seed)
    told, joined = known(habits, one.policy), isinstance(habits, AnyRoutine)
    return JudgedDays(
        one.name, habits.clock, joined, len(days), learned, results, truth, told, make.endless, split, seed
    )


def _parted(one: PersonDays, share: float, note: Note = ignore) -> tuple[AnyModel, list[Day]]:
    """Habits of the first days, by the rules that the model was learned by, and the days that are left to judge."""
    from discreet.contexts import carry_forward
    from discreet.models.learning.held_out import relearned
    from discreet.models.learning.held_out import split as parted

    if not 0 < share < 1:
        raise DiscreetError(f"--split is {share:g}; give the share of the days to learn from, such as 0.7")
    earlier, later = parted(one.days, 1 - share)
    if not earlier or not later:
        raise DiscreetError(f"--split {share:g} of {len(one.days)} days leaves none to learn from, or none to judge")
    note(
        f"learned anew from the {len(earlier)} days until {earlier[-1].date}, by the rules of the model; "
        f"judged are the {len(later)} from {later[0].date} on"
    )
    return relearned(one.habits, carry_forward(earlier, one.carried), one.policy), list(later)
