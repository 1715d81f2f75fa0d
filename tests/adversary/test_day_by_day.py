"""A mechanism that starts anew each day, before an observer who does not: what nights tell of the days they join."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import discreet as d
from discreet.adversary import Adversary, audit, beliefs_along
from discreet.adversary.enumerate import worst
from discreet.adversary.unrolled import day_by_day
from discreet.contracts import AnyMechanism, DayModel
from discreet.laws import check
from discreet.mechanisms import Adaptive, NoMask
from discreet.models.routine.routine import Kinds
from discreet.numerics import SLACK
from discreet.outputs import Output
from tests.strategies import RandomMechanism, random_chain, random_policy, random_rows, searches

AGREEMENT = 1e-12
FRIDAY = "2026-01-02"


def random_routine(seed: int, n: int = 2, slots: int = 2, zeros: float = 0.2) -> d.Routine:
    rng = np.random.default_rng(seed)
    kinds = ("weekday", "weekend") if seed % 2 else ("day",)
    chains = {kind: random_chain(seed + 7 * k, n=n, slots=slots, zeros=zeros) for k, kind in enumerate(kinds)}
    return d.Routine(chains, {pair: random_rows(rng, (n, n), zeros) for pair in itertools.product(kinds, kinds)})


def random_days(seed: int, routine: d.Routine) -> tuple[d.Policy, dict[str, AnyMechanism]]:
    """A mechanism for each kind, of which some remember and some do not."""
    policy = random_policy(seed, routine.day(routine.kinds[0]))
    rng = np.random.default_rng(seed)
    made: dict[str, AnyMechanism] = {}
    for k, kind in enumerate(routine.kinds):
        memory = bool(rng.random() < 0.7)
        made[kind] = RandomMechanism(routine.day(kind), policy, seed=seed + k, memory=memory, states=3)
    return policy, made


def every_day(
    mechanisms: Sequence[AnyMechanism], chain: DayModel
) -> Iterator[tuple[tuple[Output, ...], dict[tuple[int, ...], float]]]:
    """All outputs of whole days in a row, each with P(path of contexts, these outputs): plain loops over the days."""
    slots, n = chain.slots // len(mechanisms), len(chain.contexts)
    paths = {}
    for path in itertools.product(range(n), repeat=chain.slots):
        chance = float(chain.initial[path[0]])
        for t in range(1, chain.slots):
            chance *= float(chain.transitions[t - 1, path[t - 1], path[t]])
        if chance > 0:
            paths[path] = chance

    def extended(
        day: int, outputs: tuple[Output, ...], state: object, chances: dict[tuple[int, ...], float]
    ) -> Iterator[tuple[tuple[Output, ...], dict[tuple[int, ...], float]]]:
        slot = len(outputs) % slots
        mechanism = mechanisms[day]
        kernel = mechanism.kernel(state)
        for output in kernel.outputs:  # type: ignore[attr-defined]  # all kernels here are finite
            column = kernel.likelihood(output)
            after = {}
            for path, chance in chances.items():
                memory = None
                for context in path[day * slots : day * slots + slot + 1]:  # this day's contexts alone
                    memory = mechanism.remember(memory, context)
                assert memory is not None
                if chance * column[memory] > 0:
                    after[path] = chance * float(column[memory])
            if not after:
                continue
            told = (*outputs, output)
            if slot + 1 < slots:
                yield from extended(day, told, mechanism.advance(state, output), after)
            elif day + 1 < len(mechanisms):
                yield from extended(day + 1, told, mechanisms[day + 1].start(), after)
            else:
                yield told, after

    yield from extended(0, (), mechanisms[0].start(), paths)


def test_beliefs_are_those_of_a_plain_enumeration_of_days() -> None:
    for seed in searches(12):
        routine = random_routine(seed)
        policy, made = random_days(seed, routine)
        joined = day_by_day(made, routine, 2, since="2026-01-04")  # a Sunday, so that kinds differ where there are two
        adversary, chain = Adversary(joined), joined.model
        asked: dict[tuple[str, int | None], tuple[frozenset[str], list[int]]] = {}
        for day, secret in itertools.product(range(2), policy.secrets):
            own = range(2) if secret.slots is None else secret.slots
            window = [2 * day + slot for slot in own]
            if secret.at == "any":
                asked[f"{secret.name} (day {day + 1})", None] = (secret.contexts, window)
            else:
                asked |= {(secret.name, slot): (secret.contexts, [slot]) for slot in window}
        days = [made["weekend"], made["weekday"]] if len(made) == 2 else [made["day"]] * 2
        for outputs, chances in every_day(days, chain):
            beliefs = beliefs_along(joined, list(outputs), adversary)[-1].beliefs
            whole = sum(chances.values())
            for name, belief in zip(adversary.gain_names, beliefs, strict=True):
                contexts, window = asked[name]
                hit = sum(
                    chance
                    for path, chance in chances.items()
                    if any(chain.contexts[path[slot]] in contexts for slot in window)
                )
                assert belief == pytest.approx(hit / whole, abs=AGREEMENT), (seed, name)


@pytest.mark.parametrize("days", [2, 3])
def test_the_audit_over_midnight_is_the_oracles(days: int) -> None:
    for seed in searches(10):
        routine = random_routine(seed + 100, slots=4 - days)
        policy, made = random_days(seed + 100, routine)
        joined = day_by_day(made, routine, days, since=FRIDAY)
        truth, _ = worst(joined)
        result = audit(made, routine=routine, days=days, since=FRIDAY)
        assert result.exact, seed
        assert result.worst_gain == pytest.approx(max(truth, 0), abs=AGREEMENT), seed
        named = audit(made, policy, routine=routine, days=days, since=FRIDAY)
        assert named.by_secret == result.by_secret
        check(joined, seed=seed, walks=2)


def sticky() -> d.Routine:
    """Within a day nothing is told of the last slot; whoever is at the clinic then is there in the morning as well."""
    day = d.MarkovChain(("clinic", "home"), [0.25, 0.75], [[[0.25, 0.75], [0.25, 0.75]]])
    return d.Routine({"day": day}, {("day", "day"): [[0.9, 0.1], [1 / 30, 29 / 30]]})


@pytest.mark.parametrize("memory", ["last", "none"])
@pytest.mark.parametrize("outputs", ["suppress", "deceive"])
def test_adaptive_day_by_day_breaches_over_midnight(outputs: str, memory: str) -> None:
    routine = sticky()
    secret = d.Policy([d.Secret("clinic at night", {"clinic"}, slots=[1])], delta=0.1)
    mechanism = Adaptive(routine.day("day"), secret, outputs=outputs, memory=memory)  # type: ignore[arg-type]
    alone = audit(mechanism)
    assert alone.exact
    assert alone.excess <= SLACK
    joined = audit(mechanism, routine=routine, days=2)
    assert joined.holds is False
    assert joined.breach is not None
    assert joined.breach.slot == 1  # the first night, told by the morning after
    assert joined.breach.gain > 0.5
    both_nights = d.Policy([d.Secret("clinic at night", {"clinic"}, slots=[1, 3])], delta=0.1)
    assert audit(Adaptive(routine.since("2024-01-01").unrolled(2), both_nights)).holds  # the same, on the joined chain


def test_memory_of_yesterday_is_no_private_state_of_today() -> None:
    """A mechanism that shows what it remembers: the day before is not among it."""
    routine = random_routine(2, zeros=0.0)
    mechanism = RandomMechanism(routine.day("day"), d.Policy(["c0"]), seed=3, memory=True)
    joined = day_by_day(mechanism, routine, 2)
    np.testing.assert_array_equal(joined.anew[2], [mechanism.remember(None, c) for c in range(2)])
    np.testing.assert_array_equal(joined.private_contexts, mechanism.private_contexts)


def test_kinds_of_ones_own_and_one_mechanism_for_all() -> None:
    chain = random_chain(5, n=2, slots=2, zeros=0.0)
    routine = d.Routine(
        {"odd": chain, "even": random_chain(6, n=2, slots=2, zeros=0.0)},
        {pair: np.full((2, 2), 0.5) for pair in itertools.product(("odd", "even"), ("odd", "even"))},
        kind_of=Kinds(lambda date: "odd" if date.toordinal() % 2 else "even", 2),
    )
    mechanism = NoMask(chain, d.Policy(["c0"]))
    truth, _ = worst(day_by_day(mechanism, routine, 3))
    assert audit(mechanism, routine=routine, days=3).worst_gain == pytest.approx(truth, abs=AGREEMENT)


def test_what_does_not_fit_is_refused() -> None:
    routine = random_routine(1)
    policy, made = random_days(1, routine)
    some = made["weekday"]
    with pytest.raises(d.DiscreetError, match="no mechanism is given for a weekend"):
        audit({"weekday": some}, routine=routine, days=2, since=FRIDAY)
    with pytest.raises(d.DiscreetError, match="leave model= out"):
        audit(made, routine=routine, model=routine.day("weekday"))
    with pytest.raises(d.DiscreetError, match="need routine="):
        audit(some, days=2)
    with pytest.raises(d.DiscreetError, match="need routine="):
        audit(made)
    with pytest.raises(d.DiscreetError, match="at least 1"):
        audit(made, routine=routine, days=0)
    with pytest.raises(d.DiscreetError, match="make it for routine"):
        audit(NoMask(random_chain(1, n=3, slots=2), d.Policy(["c0"])), routine=routine)
    apart = {"weekday": some, "weekend": NoMask(routine.day("weekend"), d.Policy(["c1"], delta=0.3))}
    with pytest.raises(d.DiscreetError, match="different policies"):
        audit(apart, routine=routine, since=FRIDAY)
    assert audit(apart, policy, routine=routine, since=FRIDAY).worst_gain > 0
