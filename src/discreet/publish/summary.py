"""What became of a population, in so many numbers whatever its size: parts are summed up apart and then joined.

It is made of the records that were written, rows and report of a person together, so that it judges the table that is
there. It speaks of the truth, so it is for the publisher alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from discreet.adversary.known import Known, merged
from discreet.data.bad_rows import SHOWN
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES
from discreet.policy import Guarantee
from discreet.publish.report import largest_of, weakest, worst_of

BINS = 1000
"""Utility is counted to a thousandth, so that quantiles of parts can be joined exactly."""

COUNTED = ("events", "pieces", "silent", "breached", "off_model", "settled", "duplicates", "unordered")


@dataclass(frozen=True)
class Summary:
    """Sums and extremes over people; `Summary.joined` of parts is that of all of them."""

    people: int
    unbreached: int
    """People with no breached position."""
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
    guarantee: Guarantee | None
    """The weakest of anybody's; None of nobody."""
    utilities: Mapping[int, int]
    """How many people have a utility of so many thousandths, rounded down."""
    bad: int = 0
    """Rows that were skipped."""
    problems: tuple[str, ...] = field(default=())
    """What was wrong with the first few."""

    @classmethod
    def of(cls, records: pl.DataFrame) -> Summary:
        """Of records with the columns of `work.REPORTS`, `shown`, `duplicates` and `unordered`."""
        rate = records.select((pl.col("breached") / pl.col("events")).sum()).item()
        thousandths = (records["attributes"] * BINS / records["events"]).floor().cast(pl.Int64)
        shown = records.select("shown").explode("shown", empty_as_null=False).unnest("shown")
        guarantees = records["guarantee"].unique().to_list()
        return cls(
            people=records.height,
            unbreached=int((records["breached"] == 0).sum()),
            counts={name: int(records[name].sum()) for name in COUNTED},
            shown={name: shown.height - shown[name].null_count() for name in ATTRIBUTES},
            attributes=float(records["attributes"].sum()),
            breach_rates=float(rate),
            by_secret=_largest(records, "by_secret"),
            excess_by_secret=_largest(records, "excess_by_secret"),
            known=_known(records),
            guarantee=weakest(_guarantee(one) for one in guarantees) if guarantees else None,
            utilities=dict(sorted(thousandths.value_counts().iter_rows())),
        )

    @classmethod
    def joined(cls, parts: Iterable[Summary]) -> Summary:
        """One of people who were summed up apart."""
        parts = list(parts)
        guarantees = [part.guarantee for part in parts if part.guarantee is not None]
        return cls(
            people=sum(part.people for part in parts),
            unbreached=sum(part.unbreached for part in parts),
            counts=_summed(part.counts for part in parts),
            shown=_summed(part.shown for part in parts),
            attributes=sum(part.attributes for part in parts),
            breach_rates=sum(part.breach_rates for part in parts),
            by_secret=worst_of(part.by_secret for part in parts),
            excess_by_secret=largest_of(part.excess_by_secret for part in parts),
            known=merged(part.known for part in parts),
            guarantee=weakest(guarantees) if guarantees else None,
            utilities=dict(sorted(_summed(part.utilities for part in parts).items())),
            bad=sum(part.bad for part in parts),
            problems=tuple(one for part in parts for one in part.problems)[:SHOWN],
        )

    @classmethod
    def of_bad(cls, count: int, problems: Iterable[str]) -> Summary:
        """Of nobody, with rows that were skipped."""
        return cls(0, 0, {}, {}, 0.0, 0.0, {}, {}, (), None, {}, count, tuple(problems))

    @cached_property
    def events(self) -> int:
        """How many were published, in whole, in part or not at all."""
        return self.counts.get("events", 0)

    @property
    def rows(self) -> int:
        """Rows of the table that was read, the bad ones included."""
        return self.events + self.counts.get("duplicates", 0) + self.bad

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

    def quantile(self, share: float) -> float:
        """The utility, rounded down to a thousandth, that this share of the people do not exceed."""
        if not 0 <= share <= 1 or not self.people:
            raise DiscreetError(f"there is no quantile {share} of {self.people} people; give a share of somebody")
        passed = 0
        for thousandth, people in self.utilities.items():
            passed += people
            if passed >= share * self.people:
                return thousandth / BINS
        raise AssertionError  # the last has all of them

    def text(self) -> str:
        """As JSON, to be sent."""
        plain = asdict(self)
        if self.guarantee is not None:
            plain["guarantee"]["covers"] = sorted(self.guarantee.covers)
        return json.dumps(plain)

    @classmethod
    def of_text(cls, text: str) -> Summary:
        """What `text` wrote."""
        plain = json.loads(text)
        guarantee = plain["guarantee"]
        return cls(
            **{
                **plain,
                "known": tuple(map(_one_known, plain["known"])),
                "guarantee": None if guarantee is None else _guarantee(guarantee),
                "utilities": {int(thousandth): people for thousandth, people in plain["utilities"].items()},
                "problems": tuple(plain["problems"]),
            }
        )


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
    return tuple(_one_known(row) for row in found.iter_rows(named=True))


def _slots(name: str) -> pl.Expr:
    return pl.col(name).list.explode(empty_as_null=False).unique().sort()


def _one_known(plain: dict[str, Any]) -> Known:
    return Known(**{**plain, "told_at": tuple(plain["told_at"]), "uncapped_at": tuple(plain["uncapped_at"])})


def _guarantee(plain: Mapping[str, Any]) -> Guarantee:
    return Guarantee(**{**plain, "covers": frozenset(plain["covers"])})
