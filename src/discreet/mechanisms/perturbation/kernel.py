"""What a slot of DPHMM may output: the answers of a context, with noise whose shape protects the possible ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.contracts import Rng, computed_once
from discreet.mechanisms.perturbation.exponential import exponential
from discreet.mechanisms.perturbation.hull import Hull
from discreet.mechanisms.perturbation.noise import LatticeNoise
from discreet.mechanisms.perturbation.policy_graph import Support, mask_of
from discreet.mechanisms.perturbation.protection import Protected, Sensitivity
from discreet.numerics import BoolArray, FloatArray, IntArray, digest_of
from discreet.outputs import Output, Perturbed

AT_ONCE = 1 << 20
"""Pairs of contexts whose distances are held at a time."""

TRIED = 32
"""Answers beside the secret contexts' own that an audit looks at in a slot."""

FAR = 64
"""How many hulls away an audit looks, for points that tell directions apart."""


class PerturbedKernel:
    """Noise around each context's answers. `support` holds the contexts that the noise was shaped for.

    A context outside it is released as the nearest one inside (`stand_ins`), and has that one's likelihood: so also a
    context that the belief holds impossible has an output, one that says nothing more than the others do.
    """

    covers_everything: Literal[True] = True

    def __init__(
        self, queries: Sequence[Sensitivity], epsilons: Sequence[float], inside: BoolArray, protected: Protected
    ) -> None:
        self.support: IntArray = np.flatnonzero(inside)
        self.added, self.balls = protected.added, protected.balls
        self.answers = tuple(query.answers for query in queries)
        self.noises = tuple(LatticeNoise(ball, epsilon) for ball, epsilon in zip(self.balls, epsilons, strict=True))
        self._place = np.full(len(inside), -1, dtype=np.int64)  # in the support
        self._place[self.support] = np.arange(len(self.support))

    @cached_property
    def stand_ins(self) -> IntArray:
        """(n,): the context whose answer each gets perturbed: itself, or the nearest possible (l2, first of equals)."""
        stand = np.arange(len(self._place))
        outside = np.flatnonzero(self._place < 0)
        for some in np.array_split(outside, 1 + len(outside) * len(self.support) // AT_ONCE):
            squared = np.zeros((len(some), len(self.support)))
            for answers in self.answers:
                points = answers.integers
                for axis in range(points.shape[1]):
                    steps = (points[self.support, axis][None, :] - points[some, axis][:, None]).astype(np.float64)
                    squared += np.square(steps * answers.step)
            stand[some] = self.support[squared.argmin(axis=1)]
        return stand

    def sample(self, private: int, rng: Rng) -> Output:
        """The answers of the context, or of the one that stands in for it, plus noise."""
        context = private if self._place[private] >= 0 else int(self.stand_ins[private])
        point: tuple[float, ...] = ()
        for answers, noise in zip(self.answers, self.noises, strict=True):
            truth = answers.integers[context].tolist()
            point += answers.point([a + b for a, b in zip(truth, noise.sample(rng), strict=True)])
        return Perturbed(point)

    def likelihood(self, output: Output) -> FloatArray:
        """(n,): exp(-epsilon level / parts) of each context, the largest scaled to 1; zeros if never output."""
        exponents = self._exponents(output)
        if exponents is None or exponents.max() == -np.inf:
            return np.zeros(len(self._place))
        chances = exponential(exponents - exponents.max())
        if len(self.support) == len(self._place):
            return np.asarray(chances)
        return np.asarray(chances[self._place[self.stand_ins]])

    def possible(self, output: Output) -> BoolArray:
        """(n,): the contexts that may give the output, however unlikely."""
        exponents = self._exponents(output)
        if exponents is None:
            return np.zeros(len(self._place), dtype=np.bool_)
        return np.asarray((exponents > -np.inf)[self._place[self.stand_ins]])

    def _exponents(self, output: Output) -> FloatArray | None:
        """(support,): logarithm of the output's probability, up to a constant; None if it is off the lattice."""
        if not isinstance(output, Perturbed):
            return None
        if len(output.point) != sum(answers.integers.shape[1] for answers in self.answers):
            return None
        total, at = np.zeros(len(self.support)), 0
        for answers, noise in zip(self.answers, self.noises, strict=True):
            d = answers.integers.shape[1]
            integers = answers.integers_of(output.point[at : at + d])
            if integers is None:
                return None
            far = max(map(abs, integers)) >= 2**61
            kind: npt.DTypeLike = object if far else np.int64
            total += noise.exponents(np.array(integers, dtype=kind) - answers.integers[self.support])
            at += d
        return total

    @cached_property
    def hulls(self) -> tuple[Hull, ...]:
        """The shape of each query's noise in the query's own units, for pictures and measures."""
        return tuple(
            Hull.of_differences(ball.vertices * answers.step)
            for ball, answers in zip(self.balls, self.answers, strict=True)
        )

    @computed_once
    def digest(self) -> bytes:
        """Of the support, the answers and the noise around them: integers and epsilons, whence all else follows."""
        balls = [sorted(ball.vertices.tolist()) for ball in self.balls]
        levels = [(noise.epsilon, noise.parts) for noise in self.noises]
        answers = [part for each in self.answers for part in (each.step, each.integers)]
        return digest_of((self.support, len(self._place), balls, levels, *answers))

    def degree(self, context: int) -> int:
        """The context's degree of protection (Definition 5.2): members of the support within every query's ball."""
        context = int(self.stand_ins[context])
        near = np.ones(len(self.support), dtype=np.bool_)
        for ball, answers in zip(self.balls, self.answers, strict=True):
            near &= ball.contains(answers.integers[self.support] - answers.integers[context])
        return int(near.sum())

    def realised(self, contexts: Support | None = None) -> tuple[float, ...]:
        """For each query, the largest log-ratio of an output's probabilities between any two of these contexts.

        By default all of the support (Theorem 6.3). For an adversary who holds other contexts possible (Appendix 11.6)
        give those: where they are fewer (Case I) it is at most as much; where they are more (Case II), the ones outside
        the support are told apart as their stand-ins are.
        """
        chosen = self.support
        if contexts is not None:
            chosen = np.unique(self.stand_ins[mask_of(contexts, len(self._place))])
        return tuple(
            noise.epsilon * ball.diameter(answers.integers[chosen], noise.parts) / noise.parts
            for noise, ball, answers in zip(self.noises, self.balls, self.answers, strict=True)
        )

    def telling(self, private: IntArray | None = None) -> tuple[Output, ...]:
        """Outputs for an audit to try, about these contexts or about any: answers, and points far away on each side.

        At a context's own answer every other context is as unlikely as it can be. What comes before and after tells
        too, so the answers of others are tried as well: all of them where they are few, else the TRIED nearest to the
        first answers.
        """
        order = self.support
        if private is not None and len(private):
            wanted = np.unique(self.stand_ins[private])
            middle = self.answers[0].integers[wanted].mean(axis=0)
            away = np.square(self.answers[0].integers[self.support] - middle).sum(axis=1)
            near = self.support[np.argsort(away, kind="stable")[:TRIED]]
            order = np.array(list(dict.fromkeys([*wanted.tolist(), *near.tolist()])))
        points = [self._at([answers.integers[c].tolist() for answers in self.answers]) for c in order]
        if len(self.answers) == 1:
            middle = np.rint(self.answers[0].integers[self.support].mean(axis=0)).astype(np.int64)
            points += [self._at([(middle + FAR * corner).tolist()]) for corner in self.balls[0].vertices]
        return tuple(dict.fromkeys(points))

    def _at(self, integers: list[list[int]]) -> Output:
        return Perturbed(sum((a.point(part) for a, part in zip(self.answers, integers, strict=True)), ()))

    def __repr__(self) -> str:
        possible = f"{len(self.support)} of {len(self._place)} contexts possible"
        return f"PerturbedKernel({possible}, {len(self.added)} edges added)"
