"""Places from stays: where a person spends time again and again, with names by rules that anybody can check."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.clock import Clock
from discreet.errors import DataError
from discreet.given import words_for
from discreet.numerics import FloatArray, IntArray
from discreet.places.dwell import bounds_of, dates_of
from discreet.places.ellipsoid import chords, points_of, positions_of_points
from discreet.places.named import RESERVED, Place, Places, checked_name
from discreet.places.pace import is_sparse, stands_for, with_pauses
from discreet.places.shapes import WIDEST, Circle
from discreet.places.sightings import SECOND, Sightings
from discreet.places.spent import TimeSpent, spent_at

if TYPE_CHECKING:
    from discreet.places.stays import Stays

FINE = 10
"""Stays are first joined to cells of a tenth of the radius: what a thousand nights at home add up to is one cell, and
the number of neighbours is bounded."""

COVERED = 0.95
"""The part of the positions in its stays that a place's circle is to hold."""

NIGHT = range(6)
MIDDAY = range(10, 16)
WEEKDAYS = range(5)
"""Hours of the wall clock, and days of the week from Monday, by which places are named."""

NIGHTS_SHARE, MIDDAYS_SHARE = 0.25, 0.1
"""A home has a quarter of the night hours that are known, work a tenth of the midday hours of weekdays."""

KNOWN_NIGHTS = 0.05
"""Of all night hours, the part of which something is known at least where hours say which place is home."""

NIGHT_AT, FEWEST_NIGHTS = 3, 3
"""The hour of the wall clock by which nights are counted, and how many a home has at least, if only they say so."""

LONGEST_NIGHT = 14 * 3600 * SECOND
"""From an evening's last sighting to a morning's first: a day at work on either side is no night there."""


NO_HOME = (
    "no home was found, because too little is known of the nights. Let the phone record at night too: OwnTracks in "
    "move mode, Overland with continuous tracking rather than significant changes, Google Timeline with location "
    "always allowed"
)
"""What to say where no rule names a home."""


@dataclass(frozen=True)
class Search:
    """What a stay is, and which places are kept."""

    radius: float = 100.0
    """Metres."""
    minutes: float = 10.0
    """That a stay lasts at least."""
    days: int = 2
    """A place with stays on so many dates is kept, however short they are: a clinic, twice in two months;"""
    hours: float = 2.0
    """or one with so many hours in all."""
    gap: float | None = None
    """Seconds without a position that end a stay, and for which a position stands; None: as the source records
    (`pace.stands_for`)."""

    def __post_init__(self) -> None:
        if not 0 < self.radius <= WIDEST / 10:  # also catches NaN
            raise DataError(f"the radius is {self.radius:g} m; give one above 0 and up to {WIDEST / 10:g}, such as 100")
        for name in ("minutes", "hours", "gap"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e7:
                raise DataError(f"{name} is {value:g}; give a number above 0")
        if self.days < 1:
            raise DataError(f"days is {self.days}; give 1 or more")


def find_places(sightings: Sightings, clock: Clock, search: Search = Search()) -> tuple[Places, TimeSpent]:
    """The places of one person, numbered from the one with most time on, and the time spent at each.

    1. **Stays** of `search.minutes` or more within `search.radius` (`stays_of`). Where the source says nothing for
       most of the time, a position and a silence are a stay too (`pace.with_pauses`).
    2. **Places**: of all stays, the one with most time within the radius around it is a place; then the next that is
       further than two radii from those before, and so on. Each stay goes to the nearest. So places do not chain
       through a busy quarter into one, and a place has no rim of smaller ones around it.
    3. Those are kept that have stays on `search.days` dates, or `search.hours` in all.
    4. **Circles**: around the mean of its stays by their time; the radius holds 95 % of their positions, is at least
       `search.radius`, and ends halfway to the next place.
    5. **Names**: see `named_by_rules`.
    """
    from discreet.places.stays import stays_of

    if not isinstance(sightings, Sightings):
        raise DataError(
            f"the sightings are {words_for(sightings)}; give those of one person, read_sightings(table).people[name]"
        )
    there = np.flatnonzero(sightings.placed)
    if not len(there):
        raise DataError("there are no positions to find places in, only labels; learn from the labels directly")
    instants, points = sightings.instants[there], points_of(sightings.positions[there])
    gap = stands_for(instants) if search.gap is None else search.gap
    if is_sparse(instants):
        instants, points = with_pauses(instants, points, gap)
    stays = stays_of(instants, points, search.radius, round(search.minutes * 60 * SECOND), round(gap * SECOND))
    if not len(stays):
        raise DataError(
            f"nobody stays within {search.radius:g} m for {search.minutes:g} minutes in {len(there)} positions; "
            "try a larger --radius or fewer --minutes"
        )
    which = _gathered(stays, search.radius)
    kept = _kept(stays, which, clock, search)
    if not len(kept):
        raise DataError(
            f"no place has stays on {search.days} days or {search.hours:g} hours in all; try --days 1 or --hours 0.5"
        )
    circles = _circles(stays, which, kept, points, search.radius)
    drawn = Places(Place(f"place {k}", circle) for k, circle in enumerate(circles, 1))
    spent = spent_at(sightings, drawn, clock, gap)
    order = np.argsort(-spent.hours[: len(drawn)], kind="stable").tolist()
    ranked = Places(Place(f"place {k}", circles[index], k) for k, index in enumerate(order, 1))
    spent = spent.reordered(order)
    return named_by_rules(ranked, spent, sightings, clock), spent


def _gathered(stays: Stays, radius: float) -> IntArray:
    """(k,): the place of each stay."""
    from scipy.spatial import cKDTree

    _, cell = np.unique(np.round(stays.middle / (radius / FINE)).astype(np.int64), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    time = np.bincount(cell, stays.length).astype(np.float64)
    middle = np.stack([np.bincount(cell, stays.length * axis) for axis in stays.middle.T], axis=1) / time[:, None]
    tree = cKDTree(middle)
    pairs = tree.query_pairs(radius, output_type="ndarray")
    near = time.copy()
    np.add.at(near, pairs[:, 0], time[pairs[:, 1]])
    np.add.at(near, pairs[:, 1], time[pairs[:, 0]])
    taken = np.zeros(len(middle), dtype=np.bool_)
    peaks = []
    for k in np.argsort(-near, kind="stable").tolist():
        if not taken[k]:
            peaks.append(k)
            taken[tree.query_ball_point(middle[k], 2 * radius)] = True
    nearest = cKDTree(middle[peaks]).query(middle)[1]
    return np.asarray(nearest, dtype=np.int64)[cell]


def _kept(stays: Stays, which: IntArray, clock: Clock, search: Search) -> list[int]:
    time = np.bincount(which, stays.length)
    visits: dict[int, set[dt.date]] = {}
    for place, start in zip(which.tolist(), stays.start.tolist(), strict=True):
        when = dt.datetime.fromtimestamp(start // SECOND, dt.UTC)
        visits.setdefault(place, set()).add(clock.locate(when)[0])
    long = time >= search.hours * 3600 * SECOND
    return [k for k in range(len(time)) if long[k] or len(visits[k]) >= search.days]


def _circles(stays: Stays, which: IntArray, kept: list[int], points: FloatArray, radius: float) -> list[Circle]:
    from scipy.spatial import cKDTree

    middles, covered = [], []
    for place in kept:
        own = np.flatnonzero(which == place)
        middle = np.average(stays.middle[own], axis=0, weights=stays.length[own])
        inside = np.concatenate([points[stays.first[k] : stays.last[k] + 1] for k in own])
        middles.append(middle)
        covered.append(float(np.quantile(chords(inside, middle), COVERED)))
    halfway = np.full(len(kept), np.inf)
    if len(kept) > 1:
        halfway = cKDTree(np.array(middles)).query(np.array(middles), k=2)[0][:, 1] / 2
    radii = np.minimum(np.clip(covered, radius, 2 * radius), np.maximum(halfway, radius / 2))
    positions = positions_of_points(np.array(middles))
    return [Circle(float(a), float(b), float(r)) for (a, b), r in zip(positions.tolist(), radii, strict=True)]


_ON_FOOT = ("walk", "run", "hike", "jog", "walking", "running", "hiking", "jogging", "on foot", "in wheelchair")
_WHEELS = ("bike", "biking", "cycling", "on bicycle", "motorcycle", "motorcycling", "driving", "skating")
_OTHERS = ("plane", "airplane", "flying", "sailing", "rowing", "kayaking", "swimming", "skiing", "horseback riding")
_CARRIERS = ("car", "taxi", "bus", "train", "tram", "subway", "metro", "ferry", "boat", "cable car", "funicular")
_KINDS = ("", "passenger ", "road ", "rail ", "two wheeler ", "four wheeler ")
MOVEMENTS = frozenset(
    (*_ON_FOOT, *_WHEELS, *_OTHERS, *_CARRIERS, *(f"in {one}" for one in (*_CARRIERS, "gondola lift")))
) | frozenset(f"in {kind}vehicle" for kind in _KINDS)
"""Ways of moving, as Google's and GeoLife's logs call them: they name no place."""


def named_by_rules(places: Places, spent: TimeSpent, sightings: Sightings, clock: Clock) -> Places:
    """The places with names: the first rule that fits, and `why` to say which.

    1. **The source's own label**, where more than half of the labels that sightings in the place have agree.
    2. **home**: the place with most time from 00:00 to 06:00, if that is a quarter of such hours that are known. Where
       there is none, that with most nights: it is the last before `NIGHT_AT` and the first after, on `FEWEST_NIGHTS`
       dates or more, and on a quarter of the nights that lie between two positions of some place.
    3. **work**: of the others, that with most time from 10:00 to 16:00 on weekdays, if that is a tenth of such hours.
    4. `place N`, by its number.
    """
    names: dict[int, tuple[str, str]] = {}
    for k, label in _labels(places, sightings).items():
        names[k] = (label, "so called by the source")
    week, known = spent.week[: len(places)], spent.week.sum(axis=0)
    nights, all_nights = week[:, :, NIGHT].sum(axis=(1, 2)), known[:, NIGHT].sum()
    middays, all_middays = (
        week[:, WEEKDAYS][:, :, MIDDAY].sum(axis=(1, 2)),
        known[WEEKDAYS][:, MIDDAY].sum(),
    )
    taken = {name for name, _ in names.values()}
    for name, hours, every, least, when in (
        ("home", nights, all_nights, NIGHTS_SHARE, "of the hours from 0 to 6"),
        ("work", middays, all_middays, MIDDAYS_SHARE, "of the hours from 10 to 16 on weekdays"),
    ):
        free = [k for k in range(len(places)) if k not in names]
        best = max(free, key=lambda k: (hours[k], -k), default=None)
        nights_known = name != "home" or every >= KNOWN_NIGHTS * len(NIGHT) * ((spent.last - spent.first).days + 1)
        if name not in taken and best is not None and hours[best] > 0 and hours[best] >= least * every and nights_known:
            names[best] = (name, f"{100 * hours[best] / every:.0f} % {when}")
    if "home" not in {name for name, _ in names.values()}:
        nights = nights_at(places, sightings, clock)
        free = [k for k in range(len(places)) if k not in names]
        best = max(free, key=lambda k: (nights[k], -k), default=None)
        if best is not None and nights[best] >= max(FEWEST_NIGHTS, NIGHTS_SHARE * nights.sum()):
            names[best] = ("home", f"{nights[best]} nights begin and end there")
    found = []
    for k, place in enumerate(places.places):
        name, why = names.get(k, (place.name, ""))
        told = {"hours": round(float(spent.hours[k]), 1), "days": int(spent.days[k]), "share": spent.share(k)}
        found.append(Place(name, place.shape, place.number, {**told, **({"why": why} if why else {})}))
    return Places(found)


def nights_at(places: Places, sightings: Sightings, clock: Clock) -> IntArray:
    """(n,): nights for which the last sighting before `NIGHT_AT` and the first after it were in the same place."""
    there = np.flatnonzero(sightings.placed)
    instants, at = sightings.instants[there], places.at(sightings.positions[there])
    first, days = dates_of(Clock(24, clock.zone), sightings)
    when = bounds_of(Clock(24, clock.zone), first, days)[NIGHT_AT : 24 * days : 24]
    after = np.searchsorted(instants, when)
    real = (after > 0) & (after < len(instants))
    before, after = after[real] - 1, after[real]
    near = instants[after] - instants[before] <= LONGEST_NIGHT
    same = near & (at[before] == at[after]) & (at[before] >= 0)
    return np.bincount(at[before][same], minlength=len(places))


def _labels(places: Places, sightings: Sightings) -> dict[int, str]:
    """{place: label} by the sightings with a position and a label that can be a name."""
    names = np.array([_usable(name) for name in sightings.names] + [False])
    both = np.flatnonzero(sightings.placed & names[sightings.labels])
    at = places.at(sightings.positions[both])
    found = {}
    for k in np.unique(at[at >= 0]).tolist():
        counts = np.bincount(sightings.labels[both][at == k], minlength=len(sightings.names))
        label = sightings.names[int(np.argmax(counts))]
        if 2 * counts.max() > counts.sum():
            found[k] = label.strip()
    return found


def _usable(label: str) -> bool:
    """Whether a label can be a place's name: not how somebody moved, which begins and ends at places."""
    try:
        return checked_name(label) not in RESERVED and label.strip().lower() not in MOVEMENTS
    except DataError:
        return False
