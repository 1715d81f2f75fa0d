"""What each choice of delta and vocabulary costs, side by side: weeks drawn from the routine and released.

Every choice is given the same weeks and the same source of chance, so that differences between choices are better known
than either. What is promised does not rest on the weeks: that is the audit's answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from discreet.adversary.audit import RestsOn, Witness, audit
from discreet.contexts import Day
from discreet.contracts import AnyMechanism, Utility
from discreet.errors import DiscreetError, did_you_mean
from discreet.evaluation import joined
from discreet.evaluation.compare import Each
from discreet.hierarchy import Hierarchy
from discreet.listener import Progress
from discreet.mechanisms.named import Spec
from discreet.models.kinds import MONDAY, ONE_DAY
from discreet.models.routine.routine import Routine
from discreet.models.sampling import sampled_stream
from discreet.outputs import Generalized, Released, Suppressed
from discreet.places.named import Places
from discreet.policy import Policy
from discreet.randomness import SeededEntropy

DELTAS = (0.02, 0.05, 0.1, 0.2)

VOCABULARIES = ("suppress", "deceive", "generalize")
"""What may be told instead of the truth: nothing; another context; a wider place, where a map has such."""

WEEKS = 8
"""Weeks that are drawn: enough to tell choices apart that differ by some percent."""

KERNELS = 200
"""Kernels of the audit: the promise is proven, and these are held against it."""


@dataclass(frozen=True)
class Choice:
    """One delta and one vocabulary: what applications would see, and what an observer could make of it."""

    delta: float
    vocabulary: str
    utility: Utility
    """The mean worth of a slot, with its 95 % half-width over weeks."""
    true: float
    """Of the slots, those shown as they were; then those told more coarsely, told falsely, and not told."""
    coarse: float
    false: float
    silent: float
    holds: bool | None
    rests_on: RestsOn
    worst: Witness | None
    """The most that the audit found to be gained on a secret, and from which prior."""
    by_week: tuple[float, ...] = ()
    """The mean worth of a slot in each of the weeks, which are the same for every choice."""


@dataclass(frozen=True)
class Choices:
    """All of them, over the same weeks."""

    choices: tuple[Choice, ...]
    weeks: int
    seed: int

    def of(self, delta: float, vocabulary: str) -> Choice:
        """One of them."""
        for one in self.choices:
            if math.isclose(one.delta, delta) and one.vocabulary == vocabulary:
                return one
        raise DiscreetError(f"delta {delta:g} with {vocabulary} was not looked at")

    @property
    def deltas(self) -> tuple[float, ...]:
        """The deltas, from the strictest on."""
        return tuple(dict.fromkeys(one.delta for one in self.choices))

    @property
    def vocabularies(self) -> tuple[str, ...]:
        """The vocabularies."""
        return tuple(dict.fromkeys(one.vocabulary for one in self.choices))


def at_delta(policy: Policy, delta: float) -> Policy:
    """The policy with another delta; a secret with one of its own keeps the proportion."""
    if delta == policy.delta:
        return policy
    checked_delta(delta, "delta")
    scale = delta / policy.delta if policy.delta else 1.0
    secrets = [one if one.delta is None else replace(one, delta=min(1.0, one.delta * scale)) for one in policy.secrets]
    return replace(policy, secrets=tuple(secrets), delta=delta)


def checked_delta(delta: float, what: str) -> None:
    """Refuse a delta that leaves nothing to tell, or is none."""
    if not 0 < delta <= 1:
        raise DiscreetError(f"{what} is {delta:g}; give a number above 0 and up to 1, such as 0.1")


def spec_of(vocabulary: str, hierarchy: Hierarchy | None) -> Spec:
    """The mechanism that tells so: adaptive, with the hierarchy where it generalizes."""
    if vocabulary not in VOCABULARIES:
        raise DiscreetError(f"there is no vocabulary {vocabulary!r}; {did_you_mean(vocabulary, VOCABULARIES)}")
    if vocabulary != "generalize":
        return Spec("adaptive", {"outputs": vocabulary})
    if hierarchy is None:
        raise DiscreetError(
            "generalize needs places that lie in others, so that a wider one can be told; draw such a place on the map "
            "(--places), or choose suppress or deceive"
        )
    return Spec("adaptive", {"outputs": vocabulary, "hierarchy": {hierarchy.root: _below(hierarchy, hierarchy.root)}})


def _below(tree: Hierarchy, node: str) -> object:
    """What is below a node as files write it: tables, and contexts in lists."""
    children = tree.children(node)
    return list(children) if tree.layer_of(node) == 1 else {child: _below(tree, child) for child in children}


def drawn_weeks(routine: Routine, weeks: int, seed: int) -> list[Day]:
    """Weeks of a stream from a Monday on, drawn from the routine."""
    path = sampled_stream(routine.since(MONDAY), 7 * weeks * routine.slots, seed)
    labels = [routine.contexts[c] for c in path]
    slots = routine.slots
    return [Day(tuple(labels[k * slots : (k + 1) * slots]), MONDAY + k * ONE_DAY, "drawn") for k in range(7 * weeks)]


def possible(hierarchy: Hierarchy | None) -> list[str]:
    """The vocabularies that there are: generalize where there is a hierarchy."""
    return [one for one in VOCABULARIES if one != "generalize" or hierarchy is not None]


def choices(
    routine: Routine,
    policy: Policy,
    *,
    deltas: Sequence[float] = DELTAS,
    vocabularies: Sequence[str] | None = None,
    hierarchy: Hierarchy | None = None,
    weeks: int = WEEKS,
    seed: int = 0,
    progress: Progress | None = None,
    each: Each | None = None,
    known: Callable[[Choice], object] | None = None,
) -> Choices:
    """Each delta with each vocabulary; without `vocabularies` all that there are, generalize where a hierarchy is.

    `utility` is that of `evaluate(mechanism, drawn_weeks(routine, weeks, seed), seed=seed)`. A secret with a delta of
    its own keeps its proportion to the policy's. `each` may work on several choices at a time, and changes none of
    them; `known` is told of each as soon as it is, in order.
    """
    if weeks < 2:
        raise DiscreetError(f"{weeks} weeks say nothing of how sure a figure is; give at least 2")
    vocabularies = possible(hierarchy) if vocabularies is None else vocabularies
    specs = {name: spec_of(name, hierarchy) for name in dict.fromkeys(vocabularies)}
    days = drawn_weeks(routine, weeks, seed)
    policies = [at_delta(policy, delta) for delta in sorted(set(deltas))]
    jobs = [(secrets, name, spec) for secrets in policies for name, spec in specs.items()]
    chosen, total, done = partial(_chosen, routine, days, seed), len(jobs) * len(days), 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    found: list[Choice] = []
    answers = (chosen(job, partial(more, 1)) for job in jobs) if each is None else each(chosen, jobs)
    for one in answers:
        found.append(one)
        if each is not None:
            more(len(days))
        if known is not None:
            known(one)
    return Choices(tuple(found), weeks, seed)


def _chosen(
    routine: Routine,
    days: Sequence[Day],
    seed: int,
    job: tuple[Policy, str, Spec],
    day_done: Callable[[], object] = lambda: None,
) -> Choice:
    """One of the choices."""
    secrets, name, spec = job
    mechanism = spec.make(routine.since(MONDAY), secrets)  # type: ignore[arg-type]  # without end, for adaptive
    return choice_of(mechanism, secrets.delta, name, days, seed, day_done)


def choice_of(
    mechanism: AnyMechanism,
    delta: float,
    vocabulary: str,
    days: Sequence[Day],
    seed: int,
    day_done: Callable[[], object],
) -> Choice:
    """What a mechanism without end would show of these weeks: the same draws as `evaluate` makes, week by week.

    Where nothing is secret there is nothing to audit, and it holds.
    """
    by_week = np.zeros(len(days) // 7)
    counts = dict.fromkeys(("true", "coarse", "false", "silent"), 0)
    slots = len(days[0])
    for t, moment in enumerate(joined.without_end(mechanism, days, rng=SeededEntropy(seed))):
        by_week[t // (7 * slots)] += mechanism.worth(moment.context, moment.output)
        counts[_kind(moment.context, moment.output)] += 1
        if moment.ends_day:
            day_done()
    holds, rests_on, worst = _judged(mechanism)
    by_week /= 7 * slots
    told = {kind: count / (len(days) * slots) for kind, count in counts.items()}
    return Choice(
        delta,
        vocabulary,
        mean_of_weeks(by_week),
        **told,
        holds=holds,
        rests_on=rests_on,
        worst=worst,
        by_week=tuple(by_week.tolist()),
    )


def _judged(mechanism: AnyMechanism) -> tuple[bool | None, RestsOn, Witness | None]:
    if mechanism.policy is not None and not mechanism.policy.secrets:
        return True, "exact", None
    judged = audit(mechanism, budget=KERNELS)
    return judged.holds, judged.rests_on, judged.witness


def _kind(context: str, output: object) -> str:
    if isinstance(output, Suppressed):
        return "silent"
    if isinstance(output, Generalized):
        return "coarse"
    return "true" if isinstance(output, Released) and output.context == context else "false"


def mean_of_weeks(weeks: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Utility:
    """The mean of weeks, and Student's half-width: they are few."""
    from scipy.special import stdtrit

    point = float(stdtrit(len(weeks) - 1, 0.975))
    spread = float(np.std(weeks, ddof=1)) / math.sqrt(len(weeks))
    return Utility(float(weeks.mean()), point * spread)


def hierarchy_for(routine: Routine, places: Places | None) -> Hierarchy | None:
    """The tree of a map over a routine's contexts; None where no place lies in another, so that nothing is wider."""
    if places is None or all(above is None for above in places.parents().values()):
        return None
    on_map = set(places.names)
    return places.hierarchy(tuple(context for context in routine.contexts if context not in on_map))


def choice_json(one: Choice) -> dict[str, object]:
    """A choice for machines."""
    worst = one.worst
    return {
        "delta": one.delta,
        "vocabulary": one.vocabulary,
        "utility": one.utility.mean,
        "half_width": one.utility.half_width,
        "true": one.true,
        "coarse": one.coarse,
        "false": one.false,
        "silent": one.silent,
        "holds": one.holds,
        "rests_on": one.rests_on,
        "worst": None
        if worst is None
        else {"secret": worst.secret, "prior": worst.prior, "belief": worst.belief, "gain": worst.gain},
    }
