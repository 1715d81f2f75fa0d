"""What any mechanism must obey, ours and others': `check(mechanism)` raises `LawBroken` with the law and the case.

The laws walk through days that the model itself draws. Statistical laws state their false-alarm rate. A mechanism that
claims an exact delta is held to it by the audit and along every walk.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.adversary.audit import audit
from discreet.adversary.belief import Adversary, Belief
from discreet.adversary.unrolled import ended
from discreet.contracts import AnyMechanism, DayModel, Kernel, MechanismClass, is_finite, private_in
from discreet.errors import DiscreetError
from discreet.given import checked_mechanism
from discreet.mechanisms.utility import TREE, tree_utility
from discreet.models.sampling import sampled_days
from discreet.numerics import SLACK, FloatArray, IntArray, exceeds
from discreet.outputs import SKIPPED, SUPPRESSED, Output, Perturbed
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

DRAWS = 400
"""Draws in the sampling law, from one kernel a walk."""

FALSE_ALARM = 1e-9
"""Chance at most that the sampling law fails a correct kernel, per kernel tested (exact binomial tails; Hoeffding's
bound where outputs are continuous)."""

AGREEMENT = 1e-9
"""How far apart two ways to sum the same worths may be: rounding is far below, a wrong count far above."""


class LawBroken(AssertionError):  # noqa: N818  # the name says what happened; "LawBrokenError" would say no more
    """A mechanism breaks a law; `law` names it, `case` says where."""

    def __init__(self, law: str, case: str) -> None:
        super().__init__(f"{law}: {case}")
        self.law = law
        self.case = case


ENDLESS_DAYS = 3
"""Days over which a mechanism without end is held to the laws."""

ENDLESS_POSITIONS = 6
"""Positions, where there are no days."""


@dataclass(frozen=True)
class Visit:
    """One slot of a walk: where the machine was, what was private, what came out."""

    slot: int
    state: Any
    kernel: Kernel
    private: int
    output: Output
    before: Belief
    after: Belief

    def __str__(self) -> str:
        return f"slot {self.slot}, public state {self.state!r}, private state {self.private}, output {self.output!r}"


def check(mechanism: AnyMechanism, *, walks: int = 4, seed: int = 0, budget: int | None = 2_000) -> None:
    """Hold a mechanism to every law, along `walks` days drawn from its model with this seed.

    One without end is held to them over its first days.
    """
    checked_mechanism(mechanism, "laws.check", also=("expected_utility",))
    mechanism = ended(mechanism, ENDLESS_DAYS, ENDLESS_POSITIONS)
    _private_states(mechanism)
    _silence_is_accepted(mechanism)
    adversary = Adversary(mechanism)
    rng = SeededEntropy(seed)
    paths = sampled_days(mechanism.model, walks, seed)
    highest = np.zeros(len(adversary.deltas))
    for path in paths:
        visits = list(_walk(mechanism, adversary, path, rng))
        for visit in visits:
            _kernel_is_a_kernel(visit)
            _likelihood(visit)
            _same_state_same_kernel(mechanism, visit)
            _digest(mechanism, visit)
            highest = np.maximum(highest, visit.after.gains)
        _replay(mechanism, visits)
        if visits:
            _sampling(visits[int(rng.below(len(visits)))], rng)
    _audit_bounds(mechanism, adversary, highest, budget)
    _utility(mechanism)


def cases(kind: MechanismClass, model: DayModel, policy: Policy) -> Iterator[AnyMechanism]:
    """The mechanisms of a class that the laws are to be tried on: one for each of the options that it names itself."""
    for options in kind.law_cases(model):
        yield kind(model, policy, **options)


def _walk(mechanism: AnyMechanism, adversary: Adversary, path: list[int], rng: SeededEntropy) -> Iterator[Visit]:
    state, belief = mechanism.start(), adversary.start()
    private: int | None = None
    for slot, context in enumerate(path):
        kernel = mechanism.kernel(state)
        private = private_in(mechanism, slot, private, context)
        output = kernel.sample(private, rng)
        after = belief.after(kernel.likelihood(output))
        yield Visit(slot, state, kernel, private, output, belief, after)
        state, belief = mechanism.advance(state, output), after


def _private_states(mechanism: AnyMechanism) -> None:
    law = "remember returns a private state of the current context"
    contexts = mechanism.private_contexts
    for context in range(len(mechanism.model.contexts)):
        for memory in (None, *range(len(contexts))):
            private = mechanism.remember(memory, context)
            if not 0 <= private < len(contexts) or contexts[private] != context:
                raise LawBroken(law, f"remember({memory}, {context}) is {private}")


def _silence_is_accepted(mechanism: AnyMechanism) -> None:
    for output, law in (
        (SUPPRESSED, "advance accepts silence at any slot"),
        (SKIPPED, "advance accepts a skip at any slot"),
    ):
        state = mechanism.start()
        for slot in range(mechanism.model.slots - 1):
            try:
                state = mechanism.advance(state, output)
                mechanism.kernel(state)
            except Exception as error:
                raise LawBroken(law, f"slot {slot}: {type(error).__name__}: {error}") from error


def _kernel_is_a_kernel(visit: Visit) -> None:
    kernel = visit.kernel
    if not is_finite(kernel):
        return
    law = "rows of a kernel sum to one exactly"
    weights: IntArray = np.asarray(kernel.weights)
    if not np.issubdtype(weights.dtype, np.integer):
        raise LawBroken(law, f"{visit}: weights are {weights.dtype}, not integers")
    if (weights < 0).any() or any(sum(row) != kernel.total for row in weights.tolist()):
        raise LawBroken(law, f"{visit}: a row is negative somewhere or does not sum to {kernel.total}")
    if not np.array_equal(kernel.matrix * float(kernel.total), weights):
        raise LawBroken(law, f"{visit}: matrix is not weights / total")


def _likelihood(visit: Visit) -> None:
    law = "likelihood agrees with the matrix and with what is output"
    column = visit.kernel.likelihood(visit.output)
    if not np.isfinite(column).all() or (column < 0).any() or not column[visit.private] > 0:
        raise LawBroken(law, f"{visit}: likelihood {column[visit.private]} of what was drawn")
    if is_finite(visit.kernel):
        for k, output in enumerate(visit.kernel.outputs):
            if not np.array_equal(visit.kernel.likelihood(output), visit.kernel.matrix[:, k]):
                raise LawBroken(law, f"{visit}: column of {output!r} is not its likelihood")


def _same_state_same_kernel(mechanism: AnyMechanism, visit: Visit) -> None:
    law = "same public state, same kernel"
    if not isinstance(visit.state, Hashable) or not isinstance(visit.output, Hashable):
        raise LawBroken(law, f"{visit}: public states and outputs must be hashable")
    again = mechanism.kernel(visit.state)
    if not _equal_kernels(visit, again):
        raise LawBroken(law, f"{visit}: a second look gives another kernel")


def _equal_kernels(visit: Visit, other: Kernel) -> bool:
    if is_finite(visit.kernel) and is_finite(other):
        return (
            visit.kernel.outputs == other.outputs
            and visit.kernel.total == other.total
            and np.array_equal(visit.kernel.weights, other.weights)
        )
    return np.array_equal(visit.kernel.likelihood(visit.output), other.likelihood(visit.output))


def _digest(mechanism: AnyMechanism, visit: Visit) -> None:
    law = "equal kernels have equal digests"
    if visit.kernel.digest != mechanism.kernel(visit.state).digest:
        raise LawBroken(law, f"{visit}: a second look gives another digest")


def _replay(mechanism: AnyMechanism, visits: list[Visit]) -> None:
    """The outputs alone, without the truth, lead to equal states with equal kernels: `advance` ignores the truth."""
    law = "public outputs determine the public state"
    state = mechanism.start()
    for visit in visits:
        if state != visit.state or hash(state) != hash(visit.state):
            raise LawBroken(law, f"{visit}: replaying the outputs gives {state!r}")
        if not _equal_kernels(visit, mechanism.kernel(state)):
            raise LawBroken(law, f"{visit}: the replayed state has another kernel")
        state = mechanism.advance(state, visit.output)


def _sampling(visit: Visit, rng: SeededEntropy) -> None:
    """Draws follow the row; what cannot occur never does."""
    kernel = visit.kernel
    if not is_finite(kernel):
        _calibration(visit, rng)
        return
    law = "samples follow the kernel's weights"
    drawn = [kernel.sample(visit.private, rng) for _ in range(DRAWS)]
    expected = DRAWS * kernel.matrix[visit.private]
    counts = np.array([drawn.count(output) for output in kernel.outputs])
    if (counts[expected == 0] > 0).any() or counts.sum() != DRAWS:
        raise LawBroken(law, f"{visit}: an output of probability zero was drawn")
    from scipy.stats import binom

    # Each count is binomial: two exact tails a count, all of them together within FALSE_ALARM.
    tails = np.minimum(
        binom.cdf(counts, DRAWS, kernel.matrix[visit.private]),
        binom.sf(counts - 1, DRAWS, kernel.matrix[visit.private]),
    )
    if (tails < FALSE_ALARM / (2 * len(counts))).any():
        raise LawBroken(law, f"{visit}: {counts.tolist()} drawn where {expected.round(1).tolist()} are expected")


def _calibration(visit: Visit, rng: SeededEntropy) -> None:
    """Draws of two private states are told apart as often as their likelihoods say.

    A fair coin chooses the private state, and an output is drawn from it. Given the output, the coin fell on the first
    with probability h = its share of the likelihood; so the sum of (coin - h) f(output) over the draws is a martingale
    for any f from -1 to 1, and stays within Hoeffding's bound. f is 1, then h's own side, then the side of a plane
    between the two clouds that other draws have shown: a draw that ignores the truth or tells too much is off.
    """
    law = "draws are told apart as the likelihood says"
    kernel, mine = visit.kernel, visit.private
    possible = np.flatnonzero(visit.before.predicted() > 0)
    others = possible[possible != mine]
    if not len(others):
        return
    other = int(others[rng.below(len(others))])
    coins = np.array([rng.bits(1) for _ in range(2 * DRAWS)], dtype=np.float64)
    outputs = [kernel.sample(mine if coin else other, rng) for coin in coins]
    told = np.array([kernel.likelihood(output)[[mine, other]] for output in outputs])  # (draws, 2)
    drawn = np.where(coins > 0, told[:, 0], told[:, 1])
    if not (drawn > 0).all():
        raise LawBroken(law, f"{visit}: an output of likelihood zero was drawn")
    surprise = coins - told[:, 0] / told.sum(axis=1)
    sides = [np.ones(2 * DRAWS), np.sign(told[:, 0] - told[:, 1]), _side(outputs, coins)]
    limit = float(np.sqrt(DRAWS / 2 * np.log(2 * len(sides) / FALSE_ALARM)))
    for side in sides:
        total = float((surprise * side)[DRAWS:].sum())
        if abs(total) > limit:
            raise LawBroken(law, f"{visit}: off by {total:.0f} of {DRAWS} draws from private states {mine} and {other}")


def _side(outputs: list[Output], coins: FloatArray) -> FloatArray:
    """(2 DRAWS,): 1 or -1, on which side of a plane a point lies: across the line of the first half's two means."""
    if not all(isinstance(output, Perturbed) for output in outputs):
        return np.zeros(len(outputs))
    points = np.array([output.point for output in outputs if isinstance(output, Perturbed)])
    first, which = points[:DRAWS], coins[:DRAWS] > 0
    if which.all() or not which.any():
        return np.zeros(len(outputs))
    ends = first[which].mean(axis=0), first[~which].mean(axis=0)
    heights = (points - (ends[0] + ends[1]) / 2) @ (ends[0] - ends[1])
    return np.asarray(np.sign(heights), dtype=np.float64)


def _audit_bounds(mechanism: AnyMechanism, adversary: Adversary, highest: FloatArray, budget: int | None) -> None:
    result = audit(mechanism, budget=budget)
    law = "the audit bounds every realised gain"
    if exceeds(highest.max(initial=0.0), result.bound):
        raise LawBroken(law, f"a walk gained {highest.max()}, the audit's bound is {result.bound}")
    covered = _covered(mechanism)
    if covered is None:
        return
    law = "a claimed delta holds for every output"
    claimed = audit(mechanism, policy=covered, budget=budget)
    if claimed.excess > SLACK:
        raise LawBroken(law, f"{claimed.breach} exceeds its delta by {claimed.excess}")
    names = {secret.name for secret in covered.in_one_day(mechanism.model.slots).secrets}
    mine = np.array([name in names for name, _ in adversary.gain_names], dtype=np.bool_)
    over = highest[mine] - adversary.deltas[mine]
    if over.max(initial=-1.0) > SLACK:
        raise LawBroken(law, f"a walk exceeds a delta by {over.max()}")


def _utility(mechanism: AnyMechanism) -> None:
    law = "an exact expected utility is the mean worth of what is output"
    try:
        claimed = mechanism.expected_utility()
    except DiscreetError:  # not defined; it says what to measure instead
        return
    if not np.isfinite(claimed.mean) or not claimed.half_width >= 0:
        raise LawBroken(law, f"{claimed} is no number with a half-width")
    found = None if claimed.half_width else tree_utility(mechanism, mechanism.worth, TREE)
    if found is not None and abs(found.mean - claimed.mean) > AGREEMENT:
        raise LawBroken(
            law, f"expected_utility() is {claimed.mean}, and every sequence of outputs adds up to {found.mean}"
        )


def _covered(mechanism: AnyMechanism) -> Policy | None:
    """The secrets that the mechanism promises to bound by delta; None if there are none."""
    if mechanism.policy is None or mechanism.guarantee.kind != "exact delta":
        return None
    secrets = [secret for secret in mechanism.policy.secrets if mechanism.guarantee.promises_delta(secret.at)]
    return replace(mechanism.policy, secrets=tuple(secrets)) if secrets else None
