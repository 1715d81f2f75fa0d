"""A week of habits: one chain for weekdays, one for weekends, over the same contexts."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from discreet.clock import Clock
from discreet.contexts import Day, by_frequency
from discreet.errors import DiscreetError
from discreet.models import arrays
from discreet.models.chain.markov import MarkovChain
from discreet.models.learning.counts import Counts, Smoothing

WEEKPARTS = ("weekday", "weekend")


class Models(Mapping[str, MarkovChain]):
    """Chains for parts of the week over the same contexts: {"weekday": chain, "weekend": chain}."""

    def __init__(self, chains: Mapping[str, MarkovChain]) -> None:
        self._chains = dict(chains)

    def __getitem__(self, part: str) -> MarkovChain:
        return self._chains[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self._chains)

    def __len__(self) -> int:
        return len(self._chains)

    def __repr__(self) -> str:
        return f"Models({', '.join(f'{part}: {chain!r}' for part, chain in self._chains.items())})"

    def part_of(self, date: dt.date | None) -> str:
        """The part of the week that a date belongs to; one that was not learned is an error."""
        if date is None:
            raise DiscreetError("the habits tell weekdays from weekends, and a day has no date; give its date")
        part = weekpart(date)
        if part not in self._chains:
            raise DiscreetError(f"{date} is a {part}, and no {part} was learned; learn from days that have some")
        return part

    def for_date(self, date: dt.date) -> MarkovChain:
        """The chain for a date."""
        return self._chains[self.part_of(date)]

    @property
    def clock(self) -> Clock | None:
        """When slots are, where known."""
        return next(iter(self._chains.values())).clock

    def updated(self, day: Day) -> Models:
        """The models with one more day learned: equal to learning all days at once."""
        if day.date is None:
            raise DiscreetError(
                "the new day has no date, so its part of the week is not known; give Day(..., date=...)"
            )
        learned = {name: _counts_of(name, chain) for name, chain in self.items()}
        some, clock = next(iter(learned.values())), next(iter(self.values())).clock
        nothing = replace(some, initial=some.initial * 0, transitions=some.transitions * 0)
        part = weekpart(day.date)
        learned[part] = learned.get(part, nothing).with_days([day.contexts])
        if not some.fixed:
            order = _order_of(learned.values())
            learned = {name: counts.over(order) for name, counts in learned.items()}
        return Models({name: MarkovChain.from_counts(learned[name], clock=clock) for name in sorted(learned)})


def _counts_of(name: str, chain: MarkovChain) -> Counts:
    if chain.counts is None:
        raise DiscreetError(
            f"the {name} chain was not learned from days, so it cannot learn more; "
            "use MarkovChain.fit(..., by='weekpart')"
        )
    return chain.counts


def _order_of(several: Iterable[Counts]) -> tuple[str, ...]:
    """The contexts of all, by falling frequency over all."""
    seen: Counter[str] = Counter()
    for counts in several:
        seen.update(dict(zip(counts.contexts, counts.occupancy.tolist(), strict=True)))
    return by_frequency(seen)


def weekpart(date: dt.date) -> str:
    """The part of the week: weekday, or weekend for Saturday and Sunday."""
    return WEEKPARTS[date.weekday() >= 5]


def fit_weekparts(
    days: arrays.Labels, smoothing: Smoothing, contexts: Iterable[str] | None, clock: Clock | None
) -> Models:
    """Learn weekdays and weekends apart, over the contexts of both."""
    order = Counts.of(arrays.as_rows(days), smoothing, contexts).contexts
    fixed = contexts is not None
    parts: dict[str, list[Day]] = {}
    for day in days:
        if not isinstance(day, Day) or day.date is None:
            raise DiscreetError("learning by weekpart needs the date of each day; give Day(contexts, date=...)")
        parts.setdefault(weekpart(day.date), []).append(day)
    counted = {part: Counts.of(arrays.as_rows(parts[part]), smoothing, order) for part in WEEKPARTS if part in parts}
    return Models(
        {part: MarkovChain.from_counts(replace(counts, fixed=fixed), clock=clock) for part, counts in counted.items()}
    )
