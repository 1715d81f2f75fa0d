"""CAPP and EfficientFake (the CAPP paper): a context is released in every slot, and it may be a fake.

Per slot t a kernel b(o | c) is found by a linear programme (the paper's Eq. 11). With the prior p(c) = P(X_t = c) and
the posterior Q(c | o) = b(o | c) p(c) / sum over c' of b(o | c') p(c') of one output alone, each output o and secret s
must keep
    (1)  Q(s | o)                           <= P(X_t = s) + delta,
    (2)  sum over c of Q(c | o) P(c -> s)   <= P(X_{t+1} = s) + delta,
    (3)  sum over c of Q(c | o) R(c, s)     <= P(X_{t-1} = s) + delta.
Multiplied by P(o) each is linear: sum over c of b(o | c) p(c) (e_j(c) - theta_j) <= 0, where e_j(c) is what context c
says of event j, and theta_j its prior plus delta. R is as printed the transition row of s, P(s -> c), which is no
posterior (`"published"`), or Bayes' reversal P(X_{t-1} = s | X_t = c) (`"bayes"`).

Time is cyclic in the paper (section 3.1: Z_{N+m} = Z_m), so that over `routine.since(date)`, days without end that are
all alike, slot t + 1 of the last slot is the first one, slot t - 1 of the first is the last one, and the step between
them is the night. A chain of one day has no such step: its last slot lacks (2), its first (3).

A secret of several contexts is one event: (1), (2) and the reversal add up over its contexts, and its transition row is
that of the lumped context, P(X_t = c | X_{t-1} in s). The printed (3) is kept even for a secret that is impossible at
slot t-1 (of several contexts, the rows are then averaged): it asks for something all the same.

When there is no solution. Summed over o the inequality of event j reads p . e_j <= theta_j, whatever the kernel; and a
constant kernel, the same row for every context, meets it exactly then. So the programme has a solution iff p . e_j <=
theta_j for every j, which (1), (2) and the reversal always meet (p . e_j is the prior), and the printed (3) often does
not. Such a slot gets the prior as every row (Eq. 8), and is listed in `fallbacks`.

What is proven. The inequalities are checked on the integer weights that are sampled, so *one* output, seen alone, gains
at most delta on a secret at its slot and at the next (and with the reversal at the one before). What is not: "based on
the transitivity" (proof of Proposition 5) the paper goes on to sequences, and that step is wrong. Let X stay where it
is, s or x with 1/2 each, and delta = 1/10: b(s | s) = 1, b(s | x) = 2/3 keeps each slot's posterior at 3/5, and two
outputs s, s bring it to 9/13, gain 0.192.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from discreet.contracts import DayModel, Needs, Utility
from discreet.errors import DiscreetError
from discreet.jit import product
from discreet.kernels import FiniteKernel
from discreet.mechanisms import dual_simplex, programme
from discreet.mechanisms.cyclic import CircleMechanism
from discreet.models.arrays import reachable
from discreet.models.routine.endless import EndlessChain
from discreet.numerics import SLACK, TOTAL, FloatArray, IntArray, weights_to_likeliest
from discreet.outputs import Output, Released
from discreet.policy import Guarantee, Policy

Constraints = Literal["published", "bayes"]

MARGIN = 2.0**-30
"""How far inside delta the programmes are solved, where there is room: above the solver's tolerance and the rounding of
columns that have at least a millionth of the mass; what is lighter is checked, and merged where it fails."""

ROWS = 1_000
"""Rows of CAPP's programme in use at most: where delta is small, most outputs are at most of their limits."""

PIVOTS = 20_000
"""Pivots of CAPP's programme at most, over all rounds and attempts."""

OPERATIONS = 5_000_000_000
"""Its multiplications at most: some seconds. It is solved once for a model, not between two releases."""

NOISE = 2.0**-40
"""Probabilities below this are taken for the solver's errors and set to zero: they could be all of a column."""

WINDOW = {
    "published": "one output, seen alone, gains at most delta on each secret at its own slot and at the next",
    "bayes": "one output, seen alone, gains at most delta on each secret at its own slot, the one before and the next",
}
CUT = ", but not over midnight (cyclic=False)"
NOT_PROVEN = "; several outputs together are not bounded, and breach. Secrets at='any' are not bounded"


class Requirements(NamedTuple):
    """What a context of one slot says about the slots around it; only possible contexts are listed."""

    possible: IntArray  # (A,)
    prior: FloatArray  # (A,): of the slot, renormalised
    likelihood: FloatArray  # (J, A): e_j(c)
    limits: FloatArray  # (J,): theta_j

    @property
    def room(self) -> FloatArray:
        """(J,): what a kernel that tells nothing leaves of each limit; negative where no kernel can meet it."""
        return np.asarray(self.limits - product(self.likelihood, self.prior))


class Deception(CircleMechanism, ABC):
    """A kernel for each slot of the day, found when it is first asked for; the public state is the slot.

    Over `routine.since(date)` of one kind of day it goes on without end, and the constraints reach over midnight;
    `cyclic=False` leaves out those that do. The public state is then a `Round`.

    `fallbacks` are the slots whose programme has no solution: there every row is the slot's prior (Eq. 8). Fakes are
    drawn among the contexts that are possible at the slot: an output that cannot be true says no more than any other
    that is not true, and merging the two columns keeps all inequalities. A context that is impossible at a slot has the
    average row there; a session suppresses such a reading.
    """

    needs: Needs = "chain"

    def __init__(
        self,
        model: DayModel | EndlessChain,
        policy: Policy,
        *,
        constraints: Constraints = "published",
        cyclic: bool = True,
    ) -> None:
        if constraints not in get_args(Constraints):
            raise DiscreetError(f"constraints={constraints!r} is not known; use 'published' or 'bayes'")
        super().__init__(model, policy, cyclic=cyclic)
        self.constraints = constraints
        over = "" if cyclic or self.model.slots is not None else CUT
        self.guarantee = Guarantee("window only", WINDOW[constraints] + over + NOT_PROVEN)
        self._possible = reachable(self.day) & (self.day.prior > 0)
        self._kernels: dict[int, FiniteKernel] = {}
        self._given_up: set[int] = set()

    def kernel_at(self, slot: int) -> FiniteKernel:
        """The slot's; any context may be released, true or not."""
        if slot not in self._kernels:
            self._kernels[slot] = self._solved(slot)
        return self._kernels[slot]

    def _options(self) -> str:
        return f"constraints {self.constraints}"

    @property
    def fallbacks(self) -> tuple[int, ...]:
        """The slots whose programme has no solution (or whose solver failed); asking for them solves every slot."""
        for slot in range(self.day.slots):
            self.kernel_at(slot)
        return tuple(sorted(self._given_up))

    def expected_utility(self, days: int | None = None) -> Utility:
        """Exact, on the weights that are sampled: the mean over slots of the sum of P(X_t = c) b(c | c) (Eq. 6)."""
        total = 0.0
        for slot, prior in enumerate(self.day.prior):
            kernel = self.kernel_at(slot)
            for column, output in enumerate(kernel.outputs):
                assert isinstance(output, Released)
                own = self.model.contexts.index(output.context)
                total += float(prior[own] * kernel.matrix[own, column])
        return Utility(total / self.day.slots)

    def events(self, slot: int) -> Requirements:
        """The left and right sides of (1) to (3) for the secrets that hold at the slot, the next and the one before."""
        day, secrets = self.day, self.secrets
        possible = np.flatnonzero(self._possible[slot])
        told, limits = [], []
        for u, which in self._around(slot):
            prior = np.where(self._possible[u], day.prior[u], 0.0)
            for g in np.flatnonzero(secrets.active[:, u] & ~secrets.any_slot).tolist():
                members = secrets.members[g] & self._possible[u]
                inside = np.where(members, prior, 0.0)
                if which == 1:
                    row = members.astype(np.float64)
                elif which == 2:
                    row = product(self.steps[slot], members.astype(np.float64))
                else:
                    row = self._backward(u, slot, g, inside)
                told.append(row[possible])
                q = float(inside.sum())
                limits.append(q + secrets.policy.row_delta(secrets.policy.secrets[g], q))
        mass = day.prior[slot, possible]
        rows = np.array(told, dtype=np.float64).reshape(len(told), len(possible))
        return Requirements(possible, mass / mass.sum(), rows, np.array(limits, dtype=np.float64))

    def _around(self, slot: int) -> list[tuple[int, int]]:
        """The slot, the next and the one before, where there are such, each with the number of its inequality."""
        slots, closed = self.day.slots, len(self.steps) == self.day.slots
        ahead = [((slot + 1) % slots, 2)] if closed or slot + 1 < slots else []
        behind = [((slot - 1) % slots, 3)] if closed or slot > 0 else []
        return [(slot, 1), *ahead, *behind]

    def _backward(self, u: int, now: int, g: int, inside: FloatArray) -> FloatArray:
        """(n,): R(., g) of (3), for the contexts of slot `now`, which follows u; inside (n,) is P(X_u = s), s in g."""
        if self.constraints == "bayes":
            joint = product(inside, self.steps[u])
            return np.asarray(np.divide(joint, self.day.prior[now], out=np.zeros_like(joint), where=joint > 0))
        weights = inside if inside.any() else self.secrets.members[g].astype(np.float64)
        return np.asarray(product(weights, self.steps[u]) / weights.sum())

    def _solved(self, slot: int) -> FiniteKernel:
        events = self.events(slot)
        found = self._best(events)
        if found is None:
            self._given_up.add(slot)
            average = _weights(events.prior[None, :])  # Eq. 8
            weights = average.repeat(len(events.possible), axis=0)
        else:
            weights = merged(_weights(found), events)
            chances = product(events.prior, weights / TOTAL)  # P(o): in an impossible row it tells nothing
            average = _weights(chances[None, :])
        rows = average.repeat(len(self.model.contexts), axis=0)
        rows[events.possible] = weights
        used = np.flatnonzero(weights.any(axis=0))
        outputs: tuple[Output, ...] = tuple(Released(self.model.contexts[c]) for c in events.possible[used])
        return FiniteKernel(outputs, rows[:, used], TOTAL)

    def _best(self, events: Requirements) -> FloatArray | None:
        """(A, A): the best b(o | c); None where the programme has no solution or its solver fails."""
        if (events.room < -SLACK / 2).any():
            return None
        coefficients = events.likelihood - (events.limits + SLACK / 2)[:, None]
        binding = (coefficients > 0).any(axis=1)  # the others hold for any column
        if len(events.prior) == 1 or not binding.any():
            return np.eye(len(events.prior))
        margins = np.clip(events.room / 2, 0.0, MARGIN)
        return self._programme(events.prior, (coefficients + margins[:, None])[binding])

    @abstractmethod
    def _programme(self, prior: FloatArray, coefficients: FloatArray) -> FloatArray | None:
        """(A, A): b(o | c) with sum over c of p(c) b(o | c) coefficients[j, c] <= 0; None where the solver fails."""


class Capp(Deception):
    """CAPP: the whole matrix b(o | c) is free, and the slot's expected truth is maximised (the paper's Eq. 11).

    `constraints="published"` takes (3) as printed, `"bayes"` as Bayes would have it. The paper says that slots must be
    solved in order because posteriors depend on earlier kernels; its Q does not, and neither do these.
    """

    def _programme(self, prior: FloatArray, coefficients: FloatArray) -> FloatArray | None:
        size = len(prior)
        state, output = (axis.ravel() for axis in np.indices((size, size)))
        truth = (state == output).astype(np.float64)
        rows = min(size * len(coefficients), ROWS)
        limits = {"pivots": PIVOTS, "operations": OPERATIONS, "most_rows": rows}
        solution = programme.solve(prior, state, output, truth, coefficients, size, **limits)
        if not solution.solved:
            return None
        flows = np.maximum(solution.flows.reshape(size, size), 0.0)  # p(c) b(o | c)
        lost = np.abs(flows.sum(axis=1) - prior) > prior / 2  # contexts rarer than the solver's tolerance
        flows[lost] = np.eye(size)[flows.sum(axis=0).argmax()]  # lost in the crowd
        return np.asarray(flows / flows.sum(axis=1, keepdims=True))


class EfficientFake(Deception):
    """EfficientFake, known only from the CAPP paper's comparison: one truth probability v(c) for each context and slot.

    Context c is released with probability v(c), else a fake is drawn from the other contexts by their prior: b(o | c) =
    (1 - v(c)) p(o) / (1 - p(c)) for o other than c. The programme maximises the sum of the v(c), not the utility (the
    paper's reason why CAPP is ahead), under the same three constraints. v(c) = p(c) is the constant kernel of Eq. 8, so
    there is a solution exactly when CAPP has one.
    """

    def _programme(self, prior: FloatArray, coefficients: FloatArray) -> FloatArray | None:
        size = len(prior)
        others = np.array([np.delete(prior, c).sum() for c in range(size)])  # 1 - p(c), without cancellation
        # Output o's row over p(o), where x(c) = 1 - v(c) and w(c) = p(c) / (1 - p(c)):
        # x(o) a(o) - sum over c other than o of x(c) w(c) a(c) >= a(o). The sum of the x(c) is minimised.
        fakes = coefficients * (prior / others)  # (J, A)
        matrix = np.tile(-fakes[:, None, :], (1, size, 1))  # (J, O, A)
        o = np.arange(size)
        matrix[:, o, o] = coefficients
        faked = dual_simplex.solve(matrix.reshape(-1, size), coefficients.ravel())
        if faked is None:
            return None
        kernel = faked[:, None] * prior / others[:, None]
        kernel[o, o] = 1 - faked
        return np.asarray(kernel)


def _weights(probabilities: FloatArray) -> IntArray:
    """Rows as integers over TOTAL, without the solver's errors."""
    return weights_to_likeliest(np.where(probabilities < NOISE, 0.0, probabilities))


def merged(weights: npt.NDArray[np.int64], events: Requirements) -> IntArray:
    """The kernel with columns that rounding pushed over a limit merged with the likeliest other column.

    Inequalities are homogeneous in the columns, so a sum of columns that meet them meets them: what was wrong with a
    light column is lost in a heavy one. At the end of all merging stands one column, which tells nothing.
    """
    weights = weights.copy()
    coefficients = events.likelihood - events.limits[:, None]
    for _ in range(len(weights)):
        told = weights.T * events.prior  # (O, A)
        total = told.sum(axis=1)
        error = (len(weights) + 4) * 2.0**-53 * product(told, np.abs(coefficients).T)  # of the sums themselves
        excess = (product(told, coefficients.T) + error - SLACK * total[:, None]).max(axis=1, initial=-1.0)
        if (excess <= 0).all():
            break
        failing = int(np.where(excess > 0, total, np.inf).argmin())
        other = int(np.where(np.arange(len(total)) == failing, -1.0, total).argmax())
        light, heavy = sorted((failing, other), key=lambda column: float(total[column]))
        weights[:, heavy] += weights[:, light]
        weights[:, light] = 0
    return weights
