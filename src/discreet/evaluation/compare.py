"""Several mechanisms on one person's days, a row each: what `evaluate` and `audit` say of them, side by side."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.adversary.audit import Audit, all_hold, audit, audit_observers, audit_parts
from discreet.contexts import Day
from discreet.contracts import AnyMechanism, runs_without_end
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import Evaluation
from discreet.evaluation.replay import require_slots
from discreet.evaluation.week import evaluate_parts, every_date
from discreet.files import picture_format, written_picture
from discreet.frames import Rows
from discreet.given import checked_pair, checked_policy, words_for
from discreet.mechanisms.named import Spec, kebab
from discreet.models.arrays import given_days
from discreet.models.routine.parts import AnyModel, AnyRoutine, Make, made_once, part_on, parts_of, secrets_by_part
from discreet.numerics import SLACK
from discreet.policy import Policy

if TYPE_CHECKING:
    import polars as pl

COMPARED = ("no-mask", "mask-sensitive", "simulatable", "hybrid", "efficient-fake", "adaptive")
"""Who is compared unless told otherwise: what to beat, and what needs no options of its own."""

SECONDS = 20.0
"""How long an audit may take unless told otherwise: several are waited for."""

Maker = Callable[[Any, Policy], AnyMechanism]
"""A mechanism's class, or what makes one from a model and a policy."""

Compared = str | Spec | Maker

Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Gives what comes of each item, in order, perhaps by several processes."""

HOLDS = {True: "holds", False: "does not hold", None: "open"}
"""What the audit says."""


def compare(
    model: AnyModel,
    policy: Policy,
    days: Sequence[Day] | Rows,
    mechanisms: Iterable[Compared] | Mapping[str, Compared] = COMPARED,
    *,
    carry: int = 0,
    seed: int = 0,
    budget: int | None = None,
    seconds: float | None = SECONDS,
    picture: str | Path | None = None,
    progress: Callable[[int, int], object] | None = None,
    each: Each | None = None,
    known: Callable[[Mapping[str, Any]], object] | None = None,
) -> pl.DataFrame:
    """One row for each mechanism, in the order given: what it did on the days, and what the audit says of it.

    A mechanism is a name (`"adaptive"`, `"module:Class"`), a `Spec` with options, or a class of your own; a mapping
    names them. Days may also be a table, as for `evaluate`. `carry` and `seed` are those of `evaluate_parts`, `budget`
    and `seconds` those of each `audit`. One that cannot run with this model or policy has nothing but nulls and, in
    `why`, the reason. `picture` draws the table as PNG, SVG or PDF, as its name ends (the extra discreet[plots]).

    Of the days: `utility`, `silent`, `worst_gain`, `breach_rate`, `breached_days`, `off_model`, `seconds_per_decision`.
    Of all that could be output: `audit` ("holds", "does not hold", "open"; a breach on the days is one), `found` (the
    worst gain that was met) and `bound` (what none exceeds), `rests_on`. `promise` is the guarantee's kind, and `kept`
    whether the secrets that it promises to bound are: null where it promises no delta, or where that is left open. What
    is promised of a day is looked at on a day alone, whereas `audit` joins the days of a routine.

    `each` may work on several mechanisms at a time: `each(work, items)` gives what comes of each, in order. `known` is
    told of each row as soon as it is known.
    """
    import polars as pl

    if not isinstance(model, AnyRoutine | Mapping):
        checked_pair(model, policy, "compare")
    checked_policy(policy, "compare")
    days = cast(Sequence[Day], given_days(days, getattr(model, "clock", None), "compare"))
    if picture is not None:
        picture_format(picture)
    made = _named(mechanisms)
    secrets_by_part(model, policy)  # what no mechanism could do anything about is an error, not a row
    slots = next(iter(parts_of(model).values())).slots
    dates = every_date(days)
    for day in dates:
        require_slots(day, slots)
        part_on(model, day.date)
    size, done = len(dates) + 1, 0
    work = partial(_row, model, policy, days, carry, seed, {"budget": budget, "seconds": seconds})

    def along(within: int, _: int = 0) -> None:
        if progress is not None:
            progress(done * size + within, len(made) * size)

    rows: list[dict[str, Any]] = []
    for row in (work(one, along) for one in made.items()) if each is None else each(work, list(made.items())):
        rows.append(row)
        done += 1
        along(0)
        if known is not None:
            known(row)
    frame = pl.DataFrame(rows, schema=_schema())
    if picture is not None:
        draw(frame, policy, Path(picture))
    return frame


def _row(
    model: AnyModel,
    policy: Policy,
    days: Sequence[Day],
    carry: int,
    seed: int,
    limits: Mapping[str, Any],
    named: tuple[str, Maker],
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> dict[str, Any]:
    """The row of one mechanism: what it did, and what it could do; or why it cannot."""
    name, maker = named
    one = _One(model, maker, policy, limits)
    return {"mechanism": name, **one.row(days, carry=carry, seed=seed, progress=progress)}


def _schema() -> dict[str, Any]:
    import polars as pl

    words, number, count, flag = pl.String, pl.Float64, pl.Int64, pl.Boolean
    return {
        "mechanism": words,
        "promise": words,
        "kept": flag,
        "utility": number,
        "silent": number,
        "worst_gain": number,
        "breach_rate": number,
        "breached_days": count,
        "days": count,
        "off_model": count,
        "audit": words,
        "found": number,
        "bound": number,
        "rests_on": words,
        "without_end": flag,
        "seconds_per_decision": number,
        "why": words,
    }


def _named(mechanisms: Iterable[Compared] | Mapping[str, Compared]) -> dict[str, Maker]:
    """What makes each, by name; a name that says two of them is an error."""
    if isinstance(mechanisms, str):
        mechanisms = (mechanisms,)
    if not isinstance(mechanisms, Iterable):
        raise DiscreetError(f"compare: the mechanisms are {words_for(mechanisms)}; give a list of names or classes")
    given = mechanisms.items() if isinstance(mechanisms, Mapping) else ((None, one) for one in mechanisms)
    found: dict[str, Maker] = {}
    for name, one in given:
        if not isinstance(one, str | Spec) and not callable(one):
            raise DiscreetError(
                f"compare: a mechanism is {words_for(one)}, made already for one model and policy; give its class, a "
                "name, or a Spec with options, and compare makes it"
            )
        spec = Spec(one).checked() if isinstance(one, str) else one
        own = str(spec) if isinstance(spec, Spec) else kebab(getattr(one, "__name__", type(one).__name__))
        if (key := own if name is None else name) in found:
            raise DiscreetError(f"{key} is to be compared twice; give a mapping with a name for each, or leave one out")
        found[key] = spec.make if isinstance(spec, Spec) else spec
    if not found:
        raise DiscreetError("there is no mechanism to compare; name at least one, such as 'adaptive'")
    return found


class _One:
    """One mechanism, before one model and policy."""

    def __init__(self, model: AnyModel, maker: Maker, policy: Policy, limits: Mapping[str, Any]) -> None:
        self.model, self.policy, self.limits = model, policy, limits
        self.last: AnyMechanism | None = None
        self.endless = False
        made = made_once(lambda habits: maker(habits, policy))
        self.make: Make = lambda habits: self._kept(made(habits))

    def _kept(self, made: AnyMechanism) -> AnyMechanism:
        self.last = made
        self.endless = self.endless or runs_without_end(made)
        return made

    def row(
        self, days: Sequence[Day], *, carry: int, seed: int, progress: Callable[[int, int], object]
    ) -> dict[str, object]:
        """What it did, and what it could do; or why it cannot."""
        try:
            did = evaluate_parts(self.model, self.make, days, carry=carry, seed=seed, progress=progress)
            audits = list(audit_parts(self.model, self.make, **self.limits).values())
            audits += audit_observers(self.model, self.make, **self.limits)
            promised = self._promised(audits, did.values())
        except DiscreetError as error:
            return {"why": str(error)}
        assert self.last is not None  # it was made, or there would be nothing to evaluate
        held, results = all_hold(audits), list(did.values())
        found = max(one.worst_gain for one in audits)
        if held is None and any(one.breached for one in results):  # what the search missed, the days have shown
            held, found = False, max(found, *(one.worst_gain for one in results))
        return {
            "promise": self.last.guarantee.kind,
            "kept": promised,
            **_did(results),
            "audit": HOLDS[held],
            "found": found,
            "bound": max(found, *(one.bound for one in audits)),
            "rests_on": ", ".join(dict.fromkeys(one.rests_on for one in audits)),
            "without_end": self.endless,
            "why": None,
        }

    def _promised(self, audits: Sequence[Audit], did: Iterable[Evaluation]) -> bool | None:
        """Whether what is promised is kept, of the days that it is promised of; None where that is not known."""
        assert self.last is not None
        guarantee = self.last.guarantee
        covered = [secret for secret in self.policy.secrets if guarantee.promises_delta(secret.at)]
        if not covered:
            return None
        if isinstance(self.model, AnyRoutine) and not self.endless:  # the promise is of one day, the audit of several
            audits = [audit(self.make(habits), **self.limits) for habits in parts_of(self.model).values()]
            did = ()
        words = {
            one.word
            for result in audits
            for one in self.policy.verdicts(
                result.by_secret,
                result.bound_by_secret,
                excess=result.excess_by_secret,
                bound_excess=result.bound_excess_by_secret,
            )
            if one.secret in covered
        }
        if "open" not in words or "exceeded" in words:
            return "exceeded" not in words
        excess = [self.policy.worst(secret, one.excess_by_secret) for one in did for secret in covered]
        return False if any(one is not None and one > SLACK for one in excess) else None


def _did(results: Sequence[Evaluation]) -> dict[str, object]:
    """Of all parts of the week together: means by slots, and the worst."""
    slots = sum(one.slots for one in results)

    def mean(name: str) -> float:
        return float(sum(getattr(one, name) * one.slots for one in results) / slots)

    return {
        "utility": mean("utility"),
        "silent": mean("suppressed"),
        "worst_gain": max(one.worst_gain for one in results),
        "breach_rate": mean("breach_rate"),
        "breached_days": sum(one.breached_days for one in results),
        "days": sum(one.days for one in results),
        "off_model": sum(one.off_model for one in results),
        "seconds_per_decision": mean("seconds_per_decision"),
    }


# --- as a picture


BLUE, RED, GREY, INK = "#0072B2", "#D55E00", "#8f8f8f", "#222222"
"""Of the palette of Okabe and Ito."""


def draw(frame: pl.DataFrame, policy: Policy, path: Path) -> None:
    """Draw the table of `compare`: utility on the left, gains on the days and of the audit on the right."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DiscreetError("a picture needs matplotlib; install discreet with its extra, discreet[plots]")
    from matplotlib.figure import Figure

    rows = frame.to_dicts()
    figure = Figure(figsize=(9, 1.5 + 0.42 * len(rows)), dpi=144, layout="constrained")
    shown, told = figure.subplots(1, 2, sharey=True)
    for place, row in enumerate(rows):
        if row["why"] is not None:
            shown.text(0.01, place, "cannot run here", va="center", fontsize=8, color=GREY)
            continue
        breached = row["breached_days"] > 0
        shown.barh(place, row["utility"], color=RED if breached else BLUE, height=0.62)
        told.barh(place, row["worst_gain"], color=RED if breached else BLUE, height=0.62)
        told.plot([row["found"], row["bound"]], [place, place], color=INK, linewidth=1.2)
        told.plot(row["found"], place, "|", color=INK, markersize=13, markeredgewidth=2)
    shown.set_yticks(range(len(rows)), [row["mechanism"] for row in rows])
    shown.invert_yaxis()
    shown.set_xlabel("utility: mean worth of a slot, 1 if the truth is shown")
    told.set_xlabel("worst gain of belief: bar, on the days; line, the audit's (found to bound)")
    deltas = sorted({policy.delta_of(secret) for secret in policy.secrets})
    for delta in deltas:
        told.axvline(delta, color=GREY, linestyle=(0, (4, 2)), linewidth=1)
    told.set_title("delta " + ", ".join(f"{delta:g}" for delta in deltas), fontsize=8, color=GREY, loc="left")
    for colour, words in ((BLUE, "no secret was breached on these days"), (RED, "some secret was")):
        shown.plot([], [], "s", color=colour, label=words)
    figure.legend(loc="outside upper left", ncols=2, fontsize=8, frameon=False)
    for axes in (shown, told):
        _plain(axes)
    written_picture(figure, path)


def _plain(axes: Any) -> None:
    axes.set_xlim(0, 1)
    axes.xaxis.label.set_fontsize(7.5)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
