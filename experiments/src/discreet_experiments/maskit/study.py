"""Which choices move MaskIt's utility: the default setting with one choice changed at a time, then some together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.errors import DiscreetError, did_you_mean
from discreet.listener import Progress
from discreet.mechanisms.maskit.probabilistic import Search
from discreet_experiments.maskit.person import CHECKS, Checks, Swept, sweep
from discreet_experiments.shared.people import Trace
from discreet_experiments.shared.runs import Workers
from discreet_experiments.shared.sheets import Cell, mean
from discreet_experiments.shared.subjects import Setting
from discreet_experiments.shared.systems import label

NO_LIMIT = 1e6
"""Hours that a reading is carried where it is carried until the next."""


@dataclass(frozen=True)
class Change:
    """A setting that differs from the default by what `choice` and `value` say."""

    choice: str
    value: str
    setting: Setting
    checks: Checks


def changes(base: Setting, checks: Checks) -> Iterator[Change]:
    """The default, then what is changed in it."""

    def rules(choice: str, value: str, **changes: Any) -> Change:
        return Change(choice, value, replace(base, rules=replace(base.rules, **changes)), checks)

    def people(choice: str, value: str, **changes: Any) -> Change:
        return Change(choice, value, replace(base, **changes), checks)

    yield Change("as given", "", base, checks)
    yield from (rules("level", level, level=level) for level in ("tower", "site", "region"))
    yield from (rules("slots", str(slots), slots=slots) for slots in (12, 48, 96))
    yield rules("carried", "not at all", carry_hours=0.0, backward=False)
    yield rules("carried", "not to a day's start", backward=False)
    yield rules("carried", "24 h", carry_hours=24.0)
    yield rules("carried", "until the next", carry_hours=NO_LIMIT)
    yield from (rules("merged below", f"{100 * share:g} %", merge_below=share) for share in (0.0, 0.02, 0.05))
    yield from (rules("day cut at", cut, cut=cut) for cut in ("04:00", "12:00"))
    yield people("smoothing", "auto", smoothing="auto")
    yield people("transition", "one for all slots", homogeneous=True)
    yield from (people("learned from", f"{100 * share:g} %", training=share) for share in (0.25, 0.75))
    yield people("learned from", "the days judged", training=1.0)
    yield from (people("secrets", str(count), secrets=count) for count in (1, 2, 5))
    yield people("secrets", "home", sensitive="home")
    yield from (people("secrets", f"{count} rarest", secrets=count, sensitive="rare") for count in (1, 3))
    yield people("secrets", "3, unknown too", pool="all")
    yield from (people("delta", f"{delta:g}", delta=delta) for delta in (0.05, 0.2, 0.3, 0.5))
    searched: tuple[Search, ...] = ("exact", "mondrian", "algpr")
    for search in searched:
        if search != checks.search:
            yield Change("search", search, base, replace(checks, search=search))
    yield Change(
        "lookahead", "no" if checks.lookahead else "yes", base, replace(checks, lookahead=not checks.lookahead)
    )
    yield from _together(base, checks)


def chosen(base: Setting, checks: Checks, choice: str | None) -> list[Change]:
    """The default and the changes of one choice, or of all."""
    found = list(changes(base, checks))
    names = dict.fromkeys(change.choice for change in found[1:])
    if choice is not None and choice not in names:
        raise DiscreetError(f"the study has no choice {choice!r}; {did_you_mean(choice, names)}")
    return [change for change in found if choice in (None, change.choice) or change is found[0]]


def _together(base: Setting, checks: Checks) -> Iterator[Change]:
    """What it takes to come near the paper's utility."""
    rare = replace(base, secrets=1, sensitive="rare")
    yield Change("together", "1 rarest, days judged", replace(rare, training=1.0), checks)
    fine = replace(rare.rules, level="site", slots=96, carry_hours=NO_LIMIT)
    yield Change("together", "1 rarest, sites, 96, until the next", replace(rare, rules=fine), checks)
    yield Change(
        "together", "1 rarest, sites, 96, until the next, days judged", replace(rare, rules=fine, training=1.0), checks
    )
    carried = replace(base.rules, carry_hours=NO_LIMIT)
    easy = replace(base, rules=carried, training=1.0)
    yield Change("together", "3, until the next, days judged", easy, checks)
    yield Change("together", "3, until the next, days judged, delta 0.3", replace(easy, delta=0.3), checks)


def row(change: Change, traces: Sequence[Trace], workers: Workers, report: Progress) -> dict[str, Cell]:
    """One line of the study."""
    setting = change.setting
    work = partial(sweep, setting=setting, checks=change.checks, deltas=(setting.delta,))
    swept = [one for one in workers.map(work, traces, report) if one is not None]

    def measured(name: str) -> float:
        return mean([one.points[setting.delta].measured[name] for one in swept])

    def expected(name: str) -> float:
        return mean([one.points[setting.delta].expected[name] for one in swept])

    return {
        "choice": change.choice,
        "value": change.value,
        "smoothing": setting.smoothing,
        "people": len(swept),
        "contexts": _mean(swept, "contexts"),
        "hidden": _mean(swept, "hidden"),
        "impossible": _mean(swept, "impossible"),
        **{label(name): measured(name) for name in ("mask-sensitive", *CHECKS)},
        "MaskSensitive expected": expected("mask-sensitive"),
        "Hybrid expected": expected("hybrid"),
    }


def _mean(swept: Sequence[Swept], what: str) -> float:
    return mean([float(getattr(one, what)) for one in swept])
