"""Writes a table of made-up people's payments, in which where one is tells what one does, and 2 % are at the casino.

    python examples/make_casino.py --out casino.csv
    discreet publish casino.csv --secret activity=gambling --out published.csv

A model in which place and activity are independent holds gambling to be ten times rarer than it is, and lets a table
through that gives it away. `--people 2000` makes it large. With `--repeats 7` most events are where the seventh before
them was, which no model of this project can hold: publishing such a table has to be refused.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path

PLACES = {
    "office": ("work", 0.25),
    "home": ("rest", 0.2),
    "canteen": ("meal", 0.138),
    "cafe": ("meal", 0.1),
    "mall": ("shopping", 0.12),
    "market": ("shopping", 0.09),
    "gym": ("sport", 0.08),
    "casino": ("gambling", 0.022),
}
"""What is done there, and the share of the events of somebody average."""

VARIETY = 40.0
"""How alike people are: shares of the average as drawn from so many events."""

KEEPS = 0.95
"""With --repeats, the chance of an event to be where the one so many before it was."""

START = dt.datetime(2026, 1, 5, 8, tzinfo=dt.UTC)


def rows(people: int, events: int, repeats: int | None, seed: int) -> Iterator[tuple[str, str, str, str]]:
    """User, timestamp, location and activity of each event, person after person."""
    draw = random.Random(seed)
    for person in range(1, people + 1):
        shares = [draw.gammavariate(VARIETY * share, 1) for _, share in PLACES.values()]
        now, been = START, list[str]()
        for number in range(events):
            place = draw.choices(list(PLACES), shares)[0]
            if repeats is not None and number >= repeats and draw.random() < KEEPS:
                place = been[number - repeats]
            been.append(place)
            yield f"p{person:0{len(str(people))}d}", now.isoformat(), place, PLACES[place][0]
            now += dt.timedelta(minutes=draw.randrange(60, 1440))


def main() -> None:
    """Write the table; the same for equal options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the .csv file to write")
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--events", type=int, default=50, help="of each person")
    parser.add_argument("--repeats", type=int, metavar="N", help="events repeat what was N events before")
    parser.add_argument("--seed", type=int, default=2)
    given = parser.parse_args()
    with given.out.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["user", "timestamp", "location", "activity"])
        table.writerows(rows(given.people, given.events, given.repeats, given.seed))


if __name__ == "__main__":
    main()
