"""What became of a population, in so many numbers whatever its size: parts are summed up apart and then joined.

It is made of the records that were written, rows and report of a person together, so that it judges the table that is
there. It speaks of the truth, so it is for the publisher alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from heapq import nsmallest
from typing import Any

import polars as pl

from discreet.adversary.known import Known, merged
from discreet.data.bad_rows import SHOWN
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES
from discreet.policy import Guarantee
from discreet.publish.report import PersonReport, largest_of, weakest, worst_of
from discreet.publish.work import REPORTS, guarantee_of, known_of_plain, plain_report, report_of, reports_in

STEPS = 10_000
"""Utilities are counted to four digits, so that the quantiles of parts can be joined exactly."""

WORST = 100
"""People whose reports a summary holds."""

COUNTED = ("events", "pieces", "silent", "breached", "off_model", "settled", "duplicates", "unordered")


@dataclass(frozen=True)
class TableSummary:
    """Sums and extremes over people; `TableSummary.joined` of parts is that of all of them."""

    people: int
    breached_people: int
    """People with a breached position."""
    counts: Mapping[str, int]
    """Sums over people of COUNTED."""
    shown: Mapping[str, int]
    """Events of which an attribute is shown, by attribute."""
    attributes: float
    """Events' worth of attributes that are shown as they are."""
    breach_rates: float
    """The sum over people of the share of positions that are breached."""
    by_secret: Mapping[str, float]
    excess_by_secret: Mapping[str, float]
    known: tuple[Known, ...]
    weakest: Guarantee | None
    """The guarantee of whom least is promised; None of nobody."""
    utilities: Mapping[int, int]
    """How many people have a utility of so many of STEPS."""
    worst: tuple[PersonReport, ...] = field(default=(), repr=False)
    """Those with the largest gains, WORST of them, these first; equals in order of their names."""
    bad: int = 0
    """Rows that were skipped."""
    problems: tuple[str, ...] = field(default=())
    """What was wrong with the first few."""

    @classmethod
    def of(cls, records: pl.DataFrame) -> TableSummary:
        """Of records with the columns of `work.REPORTS`, `shown`, `duplicates` and `unordered`."""
        rate = records.select((pl.col("breached") / pl.col("events")).sum()).item()
        steps = (records["attributes"] * STEPS / records["events"]).round().cast(pl.Int64)
        shown = records.select("shown").explode("shown", empty_as_null=False).unnest("shown")
        guarantees = records["guarantee"].unique().to_list()
        return cls(
            people=records.height,
            breached_people=int((records["breached"] > 0).sum()),
            counts={name: int(records[name].sum()) for name in COUNTED},
            shown={name: shown.height - shown[name].null_count() for name in ATTRIBUTES},
            attributes=float(records["attributes"].sum()),
            breach_rates=float(rate),
            by_secret=worst_of([_largest(records, "by_secret")]),
            excess_by_secret=_largest(records, "excess_by_secret"),
            known=_known(records),
            weakest=weakest(guarantee_of(one) for one in guarantees) if guarantees else None,
            utilities=dict(sorted(steps.value_counts().iter_rows())),
            worst=_worst(reports_in(_with_largest_gains(records))),
        )

    @classmethod
    def joined(cls, parts: Iterable[TableSummary]) -> TableSummary:
        """One of people who were summed up apart."""
        parts = list(parts)
        guarantees = [part.weakest for part in parts if part.weakest is not None]
        return cls(
            people=sum(part.people for part in parts),
            breached_people=sum(part.breached_people for part in parts),
            counts=_summed(part.counts for part in parts),
            shown=_summed(part.shown for part in parts),
            attributes=sum(part.attributes for part in parts),
            breach_rates=sum(part.breach_rates for part in parts),
            by_secret=worst_of(part.by_secret for part in parts),
            excess_by_secret=largest_of(part.excess_by_secret for part in parts),
            known=merged(part.known for part in parts),
            weakest=weakest(guarantees) if guarantees else None,
            utilities=dict(sorted(_summed(part.utilities for part in parts).items())),
            worst=_worst(one for part in parts for one in part.worst),
            bad=sum(part.bad for part in parts),
            problems=tuple(one for part in parts for one in part.problems)[:SHOWN],
        )

    @classmethod
    def of_bad(cls, count: int, problems: Iterable[str]) -> TableSummary:
        """Of nobody, with rows that were skipped."""
        return cls(0, 0, dict.fromkeys(COUNTED, 0), {}, 0.0, 0.0, {}, {}, (), None, {}, (), count, tuple(problems))

    @property
    def events(self) -> int:
        """How many were published, in whole, in part or not at all."""
        return self.counts["events"]

    @property
    def silent(self) -> int:
        """Events of which nothing is shown."""
        return self.counts["silent"]

    @property
    def off_model(self) -> int:
        """Events that the habits have no place for."""
        return self.counts["off_model"]

    @property
    def settled(self) -> int:
        """Positions where the habits alone tell a secret."""
        return self.counts["settled"]

    @property
    def breached(self) -> bool:
        """Whether some gain is over its delta."""
        return self.breached_people > 0

    @property
    def rows(self) -> int:
        """Rows of the table that was read, the bad ones included."""
        return self.counts["events"] + self.counts["duplicates"] + self.bad

    @property
    def utility(self) -> float:
        """The share of all attributes that is shown as it is."""
        return self.attributes / self.events

    @property
    def breach_rate(self) -> float:
        """Li and Sun (2020), Eq. 2: the mean over people of the share of positions that are breached."""
        return self.breach_rates / self.people

    @property
    def worst_gain(self) -> float:
        """The largest gain on any secret of anybody."""
        return max(self.by_secret.values(), default=0.0)

    @property
    def guarantee(self) -> Guarantee:
        """The weakest that holds for somebody: no more than this is promised of the table."""
        if self.weakest is None:
            raise DiscreetError("there is nobody to report on; publish at least one person")
        return self.weakest

    def utility_at(self, quantile: float) -> float:
        """The utility that this share of the people have at most, to four digits."""
        passed = 0
        for step, people in self.utilities.items():
            passed += people
            if passed >= quantile * self.people:
                return step / STEPS
        raise DiscreetError("there is nobody to report on; publish at least one person")

    def text(self) -> str:
        """As JSON, to be sent."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self.weakest is not None:
            plain["weakest"] = asdict(self.weakest) | {"covers": sorted(self.weakest.covers)}
        plain["known"] = [asdict(one) for one in self.known]
        return json.dumps(plain | {"worst": [plain_report(one) for one in self.worst]})

    @classmethod
    def of_text(cls, text: str) -> TableSummary:
        """What `text` wrote."""
        plain = json.loads(text)
        guarantee = plain["weakest"]
        return cls(
            **{
                **plain,
                "known": tuple(map(known_of_plain, plain["known"])),
                "weakest": None if guarantee is None else guarantee_of(guarantee),
                "utilities": {int(step): people for step, people in plain["utilities"].items()},
                "worst": tuple(map(report_of, plain["worst"])),
                "problems": tuple(plain["problems"]),
            }
        )


def _worst(people: Iterable[PersonReport]) -> tuple[PersonReport, ...]:
    return tuple(nsmallest(WORST, people, key=lambda one: (-one.worst_gain, one.person)))


def _with_largest_gains(records: pl.DataFrame) -> pl.DataFrame:
    gains = pl.col("by_secret").list.eval(pl.element().struct.field("value")).list.max().fill_null(0.0)
    chosen = records.select("person", gain=gains).sort("gain", "person", descending=[True, False]).head(WORST)
    return records.select(*REPORTS).join(chosen.select("person"), on="person")


def _summed(parts: Iterable[Mapping[Any, int]]) -> dict[Any, int]:
    total: Counter[Any] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _largest(records: pl.DataFrame, column: str) -> dict[str, float]:
    values = records.select(column).explode(column, empty_as_null=False).unnest(column)
    return dict(values.group_by("secret", maintain_order=True).agg(pl.col("value").max()).iter_rows())


def _known(records: pl.DataFrame) -> tuple[Known, ...]:
    each = records.select("known").explode("known", empty_as_null=False).unnest("known")
    top = pl.col("highest") == pl.col("highest").max()
    found = each.group_by("name", maintain_order=True).agg(
        pl.col("at", "delta", "cap").first(),
        pl.col("rows", "told", "uncapped").sum(),
        pl.col("least").min(),
        mean=(pl.col("rows") * pl.col("mean")).sum() / pl.col("rows").sum(),
        highest=pl.col("highest").max(),
        highest_at=pl.col("highest_at").filter(top).min(),
        limit=pl.col("limit").max(),
        told_at=_slots("told_at"),
        uncapped_at=_slots("uncapped_at"),
    )
    return tuple(known_of_plain(row) for row in found.iter_rows(named=True))


def _slots(name: str) -> pl.Expr:
    return pl.col(name).list.explode(empty_as_null=False).unique().sort()
