"""What became of a population, in so many numbers whatever its size: parts are summed up apart and then joined.

It says what a `Report` of the same people would, and holds the reports of a few of them. It speaks of the truth, so it
is for the publisher alone.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace

import polars as pl

from discreet.adversary.known import Known, merged
from discreet.data.bad_rows import SHOWN
from discreet.errors import DiscreetError
from discreet.events import ATTRIBUTES
from discreet.policy import Guarantee
from discreet.publish.report import PersonReport, Scope, largest_of, scope_of, weakest, worst_of
from discreet.publish.report_schema import RECORD, guarantee_of, known_of_plain, plain_report, report_of, reports_in

WORST = 10_000
"""People whose reports a summary holds, unless it is told another number: those with the largest gains."""

TENTHS = 10
"""Bars of a chart of people by utility."""

STEPS = 10_000
"""Utilities are counted to four digits, as they are printed, so that the quantiles of parts can be joined exactly."""

COUNTED = ("events", "pieces", "silent", "breached", "off_model", "settled")
"""What is summed over people's reports."""

READ = ("duplicates", "unordered")
"""And over their records, where an engine reads and publishes in one: rows that say the same as another, and rows below
a later one."""


@dataclass
class Summary:
    """Sums and extremes over people, who are added one after another; `Summary.joined` of parts is that of all of them.

    Memory is that of `held` people, however many there are.
    """

    held: int = WORST
    """How many people's reports are held at most."""
    people: int = 0
    breached_people: int = 0
    """People with a breached position."""
    counts: Counter[str] = field(default_factory=Counter)
    """Sums over people of COUNTED and READ."""
    shown: Counter[str] = field(default_factory=Counter)
    """Events of which an attribute is shown, by attribute."""
    attributes: float = 0.0
    """Events' worth of attributes that are shown as they are."""
    breach_rates: float = 0.0
    """The sum over people of the share of positions that are breached."""
    by_secret: dict[str, float] = field(default_factory=dict)
    """The worst gain on each secret."""
    excess_by_secret: dict[str, float] = field(default_factory=dict)
    """The largest gain on each secret beyond its own position's limit."""
    known: tuple[Known, ...] = ()
    """What habits alone tell of each secret, over all positions of everybody."""
    weakest: Guarantee | None = None
    """The guarantee of whom least is promised; None of nobody."""
    utilities: Counter[int] = field(default_factory=Counter)
    """How many people have a utility of so many of STEPS."""
    bad: int = 0
    """Rows that were skipped."""
    problems: tuple[str, ...] = ()
    """What was wrong with the first few."""
    _worst: _Worst = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._worst = _Worst(self.held)

    @classmethod
    def of(cls, records: pl.DataFrame, *, held: int = WORST) -> Summary:
        """Of records as written, rows and report of a person together, so that it judges the table that is there.

        They have the columns of `report_schema.RECORD`, `shown`, `duplicates` and `unordered`.
        """
        summary = cls(held)
        for one in reports_in(records.select(*RECORD)):
            summary.add(one)
        for name in READ:
            summary.counts[name] += int(records[name].sum())
        summary.add_shown(records.select("shown").explode("shown", empty_as_null=False).unnest("shown"))
        return summary

    @classmethod
    def of_bad(cls, count: int, problems: Iterable[str]) -> Summary:
        """Of nobody, with rows that were skipped."""
        return cls(bad=count, problems=tuple(problems)[:SHOWN])

    @classmethod
    def joined(cls, parts: Iterable[Summary]) -> Summary:
        """One of people who were summed up apart; it holds as many as every part does: of more, some may be missing."""
        parts = list(parts)
        summary = cls(min((part.held for part in parts), default=WORST))
        for part in parts:
            summary._sum(part)
            for one in part.worst:
                summary._worst.add(one)
        return summary

    def add(self, one: PersonReport) -> None:
        """One person more."""
        self.people += 1
        self.breached_people += one.breached > 0
        for name in COUNTED:
            self.counts[name] += getattr(one, name)
        self.attributes += one.attributes
        self.breach_rates += one.breach_rate
        self.by_secret = worst_of((self.by_secret, one.by_secret))
        self.excess_by_secret = largest_of((self.excess_by_secret, one.excess_by_secret))
        self.known = merged((self.known, one.known))
        if self.weakest != one.guarantee:
            self.weakest = _weaker(self.weakest, one.guarantee)
        self.utilities[round(one.utility * STEPS)] += 1
        self._worst.add(one)

    def add_shown(self, rows: pl.DataFrame) -> None:
        """What is shown of some events more: a row each, nothing where an attribute is withheld."""
        self.shown.update({name: rows.height - rows[name].null_count() for name in ATTRIBUTES})

    def _sum(self, part: Summary) -> None:
        """All but the people who are held."""
        self.people += part.people
        self.breached_people += part.breached_people
        self.counts.update(part.counts)
        self.shown.update(part.shown)
        self.attributes += part.attributes
        self.breach_rates += part.breach_rates
        self.by_secret = worst_of((self.by_secret, part.by_secret))
        self.excess_by_secret = largest_of((self.excess_by_secret, part.excess_by_secret))
        self.known = merged((self.known, part.known))
        self.weakest = _weaker(self.weakest, part.weakest)
        self.utilities.update(part.utilities)
        self.bad += part.bad
        self.problems = (*self.problems, *part.problems)[:SHOWN]

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

    def read(self) -> dict[str, int]:
        """What became of the rows, where an engine reads and publishes in one."""
        return {"read": self.rows, "bad": self.bad, **{name: self.counts[name] for name in READ}}

    @property
    def rows(self) -> int:
        """Rows of the table that was read, the bad ones included, where records tell of it."""
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

    @property
    def scope(self) -> Scope:
        """What the guarantee and the gains are about: pieces, where somebody has several."""
        return scope_of(self.counts["pieces"], self.people)

    @property
    def worst(self) -> tuple[PersonReport, ...]:
        """The people with the largest gains, those first; equals in order of their names. `known` is left out."""
        return tuple(self._worst)

    def utility_at(self, quantile: float) -> float:
        """The utility that this share of the people have at most, to four digits."""
        passed = 0
        for step in sorted(self.utilities):
            passed += self.utilities[step]
            if passed >= quantile * self.people:
                return step / STEPS
        raise DiscreetError("there is nobody to report on; publish at least one person")

    def people_by_utility(self) -> tuple[int, ...]:
        """How many people have a utility below 0.1, from 0.1 to below 0.2, and so on; who has all has the last."""
        counts = [0] * TENTHS
        for step, people in self.utilities.items():
            counts[min(step * TENTHS // STEPS, TENTHS - 1)] += people
        return tuple(counts)

    def text(self) -> str:
        """As JSON, to be sent."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        if self.weakest is not None:
            plain["weakest"] = asdict(self.weakest) | {"covers": sorted(self.weakest.covers)}
        plain["known"] = [asdict(one) for one in self.known]
        return json.dumps(plain | {"worst": [plain_report(one) for one in self.worst]})

    @classmethod
    def of_text(cls, text: str) -> Summary:
        """What `text` wrote."""
        plain = json.loads(text)
        worst, guarantee = plain.pop("worst"), plain["weakest"]
        plain["weakest"] = None if guarantee is None else guarantee_of(guarantee)
        plain["known"] = tuple(map(known_of_plain, plain["known"]))
        plain["problems"] = tuple(plain["problems"])
        for name in ("counts", "shown"):
            plain[name] = Counter(plain[name])
        plain["utilities"] = Counter({int(step): people for step, people in plain["utilities"].items()})
        summary = cls(**plain)
        for one in map(report_of, worst):
            summary._worst.add(one)
        return summary


def _weaker(*guarantees: Guarantee | None) -> Guarantee | None:
    """The one that promises less; None says nothing."""
    given = [one for one in guarantees if one is not None]
    return weakest(given) if given else None


# --- people who are held


@dataclass(slots=True)
class _Held:
    """A person in the heap; the least is let go first."""

    gain: float
    report: PersonReport

    def __lt__(self, other: _Held) -> bool:
        return (self.gain, other.report.person) < (other.gain, self.report.person)


class _Worst:
    """So many people at most, those with the largest gains; of equals, the first by name."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[_Held] = []

    def add(self, one: PersonReport) -> None:
        entry = _Held(one.worst_gain, one)
        full = len(self._heap) >= self._most
        if full and not (self._heap and self._heap[0] < entry):
            return
        entry.report = replace(one, known=())
        if full:
            heapq.heapreplace(self._heap, entry)
        else:
            heapq.heappush(self._heap, entry)

    def __iter__(self) -> Iterator[PersonReport]:
        """The largest gains first; equals in order of their names."""
        return (entry.report for entry in sorted(self._heap, reverse=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Worst) and tuple(self) == tuple(other)
