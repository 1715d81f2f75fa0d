"""From a table of readings to a checked promise, in Python: a script that a user might write, which is run and checked.

It reads readings from a data frame, learns habits, releases a day by three mechanisms, one of them its own, and asks
the audit about each.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

import discreet as d
from discreet.contracts import AnyMechanism, DayModel, Mechanism
from discreet.kernels import FiniteKernel, silent_kernel
from discreet.mechanisms.base import ContextMechanism, MemoryMechanism, SlotMechanism

HERE = Path(__file__).parent
PARIS = ZoneInfo("Europe/Paris")


class Mornings(SlotMechanism):
    """Shows the truth before a slot, and nothing from then on."""

    guarantee = d.Guarantee("none", "what is shown may be a secret", proven=False)

    def __init__(self, model: DayModel, policy: d.Policy, *, until: int = 2) -> None:
        super().__init__(model, policy)
        self.until = until
        shown = tuple(d.Released(context) for context in model.contexts)
        self._truth = FiniteKernel(shown, np.eye(len(shown), dtype=np.int64), 1)

    def kernel(self, state: int) -> FiniteKernel:
        return self._truth if state < self.until else silent_kernel(len(self.model.contexts))


class Arrivals(MemoryMechanism):
    """Shows a context when it is new, two times of three: one that follows itself is silence."""

    guarantee = d.Guarantee("none", "what is shown may be a secret", proven=False)

    def start(self) -> int:
        return 0

    def kernel(self, state: int) -> FiniteKernel:
        n = len(self.model.contexts)
        chances = np.zeros((n, n, n + 1))
        chances[:, np.arange(n), np.arange(n)] = 2 / 3
        chances[np.arange(n), np.arange(n), :n] = 0
        chances[:, :, n] = 1 - chances[:, :, :n].sum(axis=2)
        outputs: tuple[d.Output, ...] = (*map(d.Released, self.model.contexts), d.Suppressed())
        return FiniteKernel.rounded(outputs, self.rows(chances), filler=n)

    def advance(self, state: int, output: d.Output) -> int:
        return state + 1


def readings() -> pl.DataFrame:
    """Three weeks of somebody who is at home, at work, and on some Fridays at the clinic."""
    first = dt.datetime(2026, 3, 2, tzinfo=PARIS)
    rows: list[tuple[str, dt.datetime, str]] = []
    for k in range(21):
        day = first + dt.timedelta(days=k)
        noon = "clinic" if k % 14 == 4 else "work" if day.weekday() < 5 else "home"
        for hour, context in ((1, "home"), (8, "work" if day.weekday() < 5 else "home"), (13, noon), (20, "home")):
            rows.append(("ann", day + dt.timedelta(hours=hour), context))
    return pl.DataFrame(rows, schema=["user", "timestamp", "context"], orient="row")


def described(mechanism: AnyMechanism, days: list[d.Day]) -> str:
    """What it promises, what the audit says, and what it showed of these days."""
    audited: d.Audit = d.audit(mechanism, budget=2_000)
    did: d.Evaluation = d.evaluate(mechanism, days)
    promise: str = mechanism.guarantee.kind
    return f"{promise}: worst gain {audited.worst_gain:.2f}, holds {audited.holds}, shows {did.utility:.2f}"


def kept(habits: d.MarkovChain) -> d.MarkovChain:
    with tempfile.TemporaryDirectory() as folder:
        d.save(Path(folder, "ann.model"), habits)
        return d.load(Path(folder, "ann.model"), d.MarkovChain)


def main() -> None:
    clock = d.Clock(slots=4, zone=PARIS, cut="00:00")
    read = d.data.read_days(readings(), clock)
    days: list[d.Day] = read.days
    habits = kept(d.MarkovChain.fit(readings(), clock=clock))
    policy = d.Policy(["clinic", d.Secret("clinic today", {"clinic"}, at="any")], delta=0.1)
    kinds: list[type[ContextMechanism]] = [d.mechanisms.MaskSensitive, Mornings, Arrivals]
    made: list[Mechanism[Any]] = [kind(habits, policy) for kind in kinds]
    made.append(d.mechanisms.Adaptive(habits, policy))
    for mechanism in made:
        d.laws.check(mechanism, walks=1, budget=500)
        print(type(mechanism).__name__, described(mechanism, days))
    with d.Session(made[-1]) as today:
        outputs = [today.release(context) for context in ("home", "work", "clinic", None)]
        gain: float = today.gains()["clinic today"]
    shown = [output.context for output in outputs if isinstance(output, d.Released)]
    print(len(outputs), "outputs,", "clinic" in shown, f"{gain:.3f} at most {policy.delta_of(policy.secrets[1]):g}")
    prior = habits.prior[2, habits.index_of("clinic")]
    routine = d.Routine.fit(read, secrets=policy, clock=clock)
    endless = d.mechanisms.Adaptive(routine.since(dt.date(2026, 3, 23)), policy)
    print(f"prior {prior:.2f};", d.audit(endless, days=2, budget=500).holds, read.to_frame().height, "slots")


if __name__ == "__main__":
    main()
