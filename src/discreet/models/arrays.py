"""Checking and holding the arrays of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from discreet.clock import Clock
from discreet.contexts import UNKNOWN, Day
from discreet.contracts import DayModel, Needs
from discreet.errors import DiscreetError, ModelError, did_you_mean
from discreet.frames import TABLES, Rows, is_table
from discreet.given import checked_count, words_for
from discreet.numerics import ROW_SUM, BoolArray, FloatArray, IntArray, digest_of, normalised, ordered_product


class DayArrays(ABC):
    """A model of one day, by its arrays."""

    initial: FloatArray
    """(S,)."""
    transitions: FloatArray
    """(T-1, S, S): P(state at t + 1 | state at t)."""

    @property
    @abstractmethod
    def prior(self) -> FloatArray:
        """(T, n): P(X_t)."""

    @property
    def slots(self) -> int:
        """T."""
        return len(self.transitions) + 1

    def transition(self, t: int) -> FloatArray:
        """(S, S): P(state at t + 1 | state at t)."""
        return at_slot(self.transitions, t, "transition")

    def prior_at(self, t: int) -> FloatArray:
        """(n,): P(X_t)."""
        return at_slot(self.prior, t, "prior")

    def phase(self, t: int) -> None:
        """None: a day does not repeat."""
        return None


def labels(contexts: Iterable[str]) -> tuple[str, ...]:
    """The contexts as a tuple of distinct, non-empty labels."""
    if isinstance(contexts, str):
        raise ModelError(f"contexts is one string, {contexts!r}; give a tuple of labels")
    if not isinstance(contexts, Iterable):
        raise ModelError(f"contexts is {words_for(contexts)}; give a tuple of labels")
    given = tuple(contexts)
    if not given:
        raise ModelError("the model has no contexts; give at least one label")
    for context in given:
        if not isinstance(context, str) or not context:
            raise ModelError(f"context {context!r} is not a label; use non-empty strings")
    if len(set(given)) < len(given):
        twice = next(context for k, context in enumerate(given) if context in given[:k])
        raise ModelError(f"context {twice!r} occurs twice; labels must be distinct")
    return tuple(str(context) for context in given)  # NumPy's strings look different in a fingerprint


def probabilities(values: npt.ArrayLike, shape: tuple[int | None, ...], name: str) -> FloatArray:
    """A read-only float array whose last axis sums to one; an error names the array, the row and the remedy."""
    try:
        array = np.array(values, dtype=np.float64, order="C")  # compiled loops read rows in order
    except (TypeError, ValueError):
        raise ModelError(f"{name} is not an array of numbers") from None
    wanted = (
        "(" + ", ".join("*" if size is None else str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
    )
    if array.ndim != len(shape) or any(w is not None and w != got for w, got in zip(shape, array.shape, strict=True)):
        raise ModelError(f"{name} has shape {array.shape}; it must be {wanted}")
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        where = tuple(int(k) for k in np.argwhere(bad)[0])
        raise ModelError(f"{name}{list(where)} is {array[where]}; probabilities must be numbers from 0 to 1")
    off = np.abs(array.sum(axis=-1) - 1)
    if (off > ROW_SUM).any():
        where = tuple(int(k) for k in np.argwhere(off > ROW_SUM)[0])
        row = f"row {list(where)} of {name}" if where else name
        raise ModelError(f"{row} sums to {array[where].sum():.9g}; divide the row by its sum so that it sums to 1")
    # A row that is normalised already stays as it is, to the bit: dividing again by a sum that differs from one only by
    # rounding would make a model that was saved and loaded another one.
    rounding = 2 * array.shape[-1] * np.finfo(np.float64).eps
    if (off > rounding).any():
        array = np.where((off > rounding)[..., None], normalised(array), array)
    array += 0.0  # turns -0.0 into 0.0
    array.setflags(write=False)
    return array


def dimensions(values: npt.ArrayLike) -> int:
    """How many axes an array has; 0 for what is no array of numbers, which `probabilities` then refuses."""
    try:
        return np.asarray(values, dtype=np.float64).ndim
    except (TypeError, ValueError):
        return 0


def homogeneous(transition: npt.ArrayLike, states: int, slots: int) -> FloatArray:
    """One transition matrix seen at every slot, without copies: (slots-1, states, states)."""
    slots = checked_count(slots, "the number of slots")
    one = probabilities(transition, (states, states), "transition")
    return np.broadcast_to(one, (slots - 1, states, states))


def fingerprint(parts: Iterable[object]) -> str:
    """A digest of labels and arrays: equal models have equal fingerprints."""
    return digest_of(parts).hex()


Labels = Sequence[Day] | Sequence[Sequence[str]] | npt.NDArray[np.str_] | npt.NDArray[np.object_]


def state_prior(initial: FloatArray, transitions: FloatArray) -> FloatArray:
    """(T, K): P(Y_t), from (K,) and (T-1, K, K)."""
    prior = np.empty((len(transitions) + 1, len(initial)))
    prior[0] = initial
    for t, step in enumerate(transitions):
        prior[t + 1] = ordered_product(prior[t], step)
    return prior


def at_slot(array: FloatArray, t: int, what: str) -> FloatArray:
    """The entry of one slot; a slot that is not there is an error (and -1 is not the last)."""
    if not 0 <= t < len(array):
        have = f"from 0 to {len(array) - 1}" if len(array) else "none"
        raise DiscreetError(f"there is no {what} of slot {t}; this day's slots that have one: {have}")
    return np.asarray(array[t])


def given_days(days: Labels | Iterable[Day] | Rows, clock: Clock | None, who: str) -> Labels:
    """Days as they are, or those of a table: a data frame, a file, or what `read_days` gave."""
    if isinstance(days, Sequence | np.ndarray) and not isinstance(days, str):
        return cast(Labels, days)
    if not is_table(days):
        if isinstance(days, Day) or not isinstance(days, Iterable):
            raise DiscreetError(f"{who}: the days are {words_for(days)}; give a list of days, or {TABLES}")
        return list(cast(Iterable[Day], days))
    from discreet.data.readings import days_of

    return days_of(cast(Rows, days), clock, who)


def as_rows(days: Labels) -> list[Sequence[str]]:
    """Days, or a (D, T) table of labels, as rows of equal length."""
    rows: list[Sequence[str]] = [
        day.contexts if isinstance(day, Day) else day.tolist() if isinstance(day, np.ndarray) else day for day in days
    ]
    if not rows:
        raise DiscreetError("there are no days; give at least one")
    slots = len(rows[0]) if hasattr(rows[0], "__len__") else 0
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or not len(row):
            raise DiscreetError(f"day {number} is {row!r}; a day is a sequence of labels, one a slot")
        if len(row) != slots:
            raise DiscreetError(
                f"day {number} has {len(row)} slots, the first has {slots}; cut all days with one clock"
            )
    return rows


def checked_labels(rows: Sequence[Sequence[object]], found: Iterable[object]) -> None:
    """Refuse days with something that is not a label, and say where it stands; `found` are the labels they hold."""
    bad = next((label for label in found if not isinstance(label, str) or not label), UNKNOWN)
    if bad is UNKNOWN:
        return
    day, slot = next((day, row.index(bad)) for day, row in enumerate(rows) if bad in row)
    raise DiscreetError(f"slot {slot} of day {day} is {bad!r}, not a label; use 'unknown' where there is no reading")


def encoded(rows: Sequence[Sequence[str]], contexts: tuple[str, ...], missing: int | None = None) -> IntArray:
    """(D, T) indices of labels; a label outside the contexts is an error, or `missing` where that is given."""
    index = {context: k for k, context in enumerate(contexts)}
    flat, size = chain.from_iterable(rows), len(rows) * len(rows[0])
    if missing is not None:
        codes = np.fromiter((index.get(label, missing) for label in flat), dtype=np.int64, count=size)
        return codes.reshape(len(rows), -1)
    try:
        codes = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=size)
    except KeyError:
        places = ((day, slot, label) for day, row in enumerate(rows) for slot, label in enumerate(row))
        day, slot, label = next(place for place in places if place[2] not in index)
        raise DiscreetError(
            f"slot {slot} of day {day} is {label!r}, which is not a context of the model; "
            + did_you_mean(str(label), contexts)
        ) from None
    return codes.reshape(len(rows), -1)


def require(needs: Needs, model: DayModel, name: str) -> None:
    """Refuse a model that lacks what a mechanism needs. (Whether contexts are events shows when they are read so.)"""
    if needs == "chain":
        require_chain(model, name)


def require_chain(model: DayModel, name: str) -> None:
    """MaskIt's checks rest on the Markov property of what is released."""
    if model.emissions is not None:
        raise DiscreetError(
            f"{name} needs a Markov chain over contexts, and this is a hidden Markov model, where a release does not "
            "separate past from future; use Adaptive, or learn a MarkovChain"
        )


def reachable(model: DayModel) -> BoolArray:
    """(T, n): whether the context has positive probability at the slot, by paths alone (nothing can underflow)."""
    possible = np.empty((model.slots, len(model.contexts)), dtype=np.bool_)
    possible[0] = model.initial > 0
    for t in range(1, model.slots):
        possible[t] = (possible[t - 1][:, None] & (model.transitions[t - 1] > 0)).any(axis=0)
    return possible


def possible_steps(model: Any) -> BoolArray:
    """(steps, n, n): those that occur in a chain; a model of one's own need not say it of itself."""
    own = getattr(model, "possible_steps", None)
    if own is not None:
        return np.asarray(own())
    return np.asarray((model.transitions > 0) & (model.prior[:-1, :, None] > 0))
