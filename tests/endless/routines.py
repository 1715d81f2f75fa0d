"""Random routines and policies: total, sparse, periodic and nearly deterministic; dates around a weekend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import discreet as d
from discreet.models.routine.routine import EndlessChain, Kinds, Routine
from discreet.numerics import FloatArray
from tests.strategies import labels

Family = Literal["total", "sparse", "periodic", "nearly deterministic"]
FAMILIES: tuple[Family, ...] = ("total", "sparse", "periodic", "nearly deterministic")

STARTS = ("2026-11-16", "2026-11-20", "2026-11-21", "2026-11-22")  # a Monday; a Friday, a Saturday, a Sunday

OWN = (
    Kinds(lambda date: "even" if date.toordinal() % 2 == 0 else "odd", 2),
    Kinds(lambda date: "even" if date.day % 2 == 0 else "odd"),  # of no period: the 31st is followed by the 1st
)


@dataclass(frozen=True)
class Case:
    """A routine from a date on, and what is secret."""

    seed: int
    family: Family
    endless: EndlessChain
    policy: d.Policy

    def unrolled(self, days: int) -> d.MarkovChain:
        return self.endless.unrolled(days)

    def options(self, outputs: str) -> dict[str, Any]:
        """What `Adaptive` needs for these outputs."""
        return {"outputs": outputs, **({"hierarchy": tree(self.endless.contexts)} if outputs == "generalize" else {})}


def tree(contexts: tuple[str, ...]) -> d.Hierarchy:
    """Two layers above three contexts, one above fewer."""
    if len(contexts) < 3:
        return d.Hierarchy({"top": list(contexts)})
    return d.Hierarchy({"top": {"left": list(contexts[:2]), "right": list(contexts[2:])}})


def random_case(
    seed: int,
    family: Family | None = None,
    contexts: int | None = None,
    slots: int | None = None,
    exact: bool = False,
    caps: bool = False,
) -> Case:
    """`exact`: all rows sum to one exactly; `caps`: most secrets have one, near some slot's prior and half a delta."""
    rng = np.random.default_rng([seed, 11])
    family = FAMILIES[seed % len(FAMILIES)] if family is None else family
    n = int(rng.choice([1, 2, 2, 2, 2, 3, 3, 3])) if contexts is None else contexts
    slots = int(rng.integers(2, 4)) if slots is None else slots
    routine = random_routine(rng, family, n, slots, exact)
    known = rng.random() < 0.2  # where the stream began
    initial = random_rows(rng, "total", (n,)) if known else None
    endless = routine.since(STARTS[int(rng.integers(len(STARTS)))], initial=initial)
    policy = random_policy(rng, endless.contexts, slots)
    return Case(seed, family, endless, with_caps(rng, endless, policy) if caps else policy)


def random_routine(rng: np.random.Generator, family: Family, n: int, slots: int, exact: bool = False) -> Routine:
    """All days alike, weekdays and weekends, or (not `exact`) two kinds by a rule of one's own, periodic or not."""
    own = None if exact or rng.random() < 0.9 else OWN[int(rng.integers(len(OWN)))]
    kinds = ("odd", "even") if own else ("weekday", "weekend") if rng.random() < 0.5 else ("day",)
    chains = {
        kind: d.MarkovChain(
            labels(n), random_rows(rng, "total", (n,), exact), random_rows(rng, family, (slots - 1, n, n), exact)
        )
        for kind in kinds
    }
    # A periodic routine never forgets unless its nights do; half of them keep going round.
    forgets = family == "periodic" and rng.random() < 0.5
    nights = {}
    for before in kinds:
        for after in kinds:
            rows = random_rows(rng, "sparse" if forgets else family, (n, n), exact)
            nights[before, after] = np.broadcast_to(rows[0], (n, n)) if forgets else rows
    return Routine(chains, nights, kind_of=own)


def random_rows(rng: np.random.Generator, family: Family, shape: tuple[int, ...], exact: bool = False) -> FloatArray:
    """Rows of probabilities; `exact`, and half of the time anyway, of a few bits, so that they sum to one exactly."""
    n = shape[-1]
    if family == "periodic":
        turns = [np.eye(n)[rng.permutation(n)] for _ in range(int(np.prod(shape[:-2])))]
        return np.array(turns).reshape(shape)
    rows = rng.dirichlet(np.full(n, float(rng.choice([0.7, 2.0]))), size=shape[:-1])
    likeliest = np.eye(n)[rng.integers(n, size=shape[:-1])]
    if family == "sparse":
        rows = np.where(rng.random(shape) < 0.4, 0.0, rows)
        rows = np.where(rows.sum(axis=-1, keepdims=True) > 0, rows, likeliest)
        rows = rows / rows.sum(axis=-1, keepdims=True)
    if family == "total":
        rows = 0.98 * rows + 0.02 / n
    whole = exact or bool(rng.random() < 0.5)
    if whole:
        rows = np.floor(rows * 2**20) / 2**20
        rows += np.eye(n)[rows.argmax(axis=-1)] * (1 - rows.sum(axis=-1, keepdims=True))
    if family == "nearly deterministic":
        sizes = [2.0**-7, 2.0**-20, 2.0**-30] if whole else [1e-2, 1e-6, 1e-9]
        little = rng.choice(sizes, size=(*shape[:-1], 1), p=[0.4, 0.4, 0.2])
        rows = (1 - little) * likeliest + little * rows
    return np.asarray(rows)


def with_caps(rng: np.random.Generator, endless: EndlessChain, policy: d.Policy) -> d.Policy:
    """The same secrets, most of them with a cap that some slots are just below."""
    secrets = []
    for secret in policy.secrets:
        inside = [endless.contexts.index(context) for context in secret.contexts]
        prior = float(endless.prior_at(endless.first + int(rng.integers(endless.day_slots)))[inside].sum())
        delta = policy.delta_of(secret)
        cap = min(max(prior + delta * float(rng.choice([0.5, 0.6, 0.8])), delta / 2), 1.0)
        secrets.append(replace(secret, cap=cap if rng.random() < 0.8 else None))
    return d.Policy(secrets, delta=policy.delta)


def random_policy(rng: np.random.Generator, contexts: tuple[str, ...], slots: int) -> d.Policy:
    """One to three secrets; none where there is one context, since none can hide among it."""
    n, secrets = len(contexts), []
    for k in range(int(rng.integers(1, 4)) if n > 1 else 0):
        size = int(rng.integers(1, n))
        members = {contexts[c] for c in rng.choice(n, size=size, replace=False)}
        at = "any" if rng.random() < 0.4 else "each"
        some = None
        if rng.random() < 0.5:
            some = {int(slot) for slot in rng.choice(slots, size=int(rng.integers(1, slots + 1)), replace=False)}
        delta = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0], p=[0.1, 0.15, 0.3, 0.2, 0.1, 0.1, 0.05]))
        secrets.append(d.Secret(f"secret {k}", members, slots=some, delta=delta, at=at))  # type: ignore[arg-type]
    return d.Policy(secrets)
