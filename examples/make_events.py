"""Writes examples/events.csv: eight made-up people's events, who work, eat, shop and sometimes gamble."""

from __future__ import annotations

import csv
import datetime as dt
import random
from pathlib import Path

PLACES = {"work": ["office"], "meal": ["canteen", "cafe"], "gambling": ["casino", "cafe"], "shopping": ["mall"]}
AFTER = {"work": [5, 4, 1, 2], "meal": [6, 1, 1, 2], "gambling": [2, 3, 3, 1], "shopping": [4, 3, 1, 1]}
"""How often each kind of event follows, in the order of PLACES."""

START = dt.datetime(2026, 1, 5, 8, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def main() -> None:
    """Write the file beside this one; the same each time."""
    draw = random.Random(7)
    with Path(__file__).with_name("events.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["user", "timestamp", "location", "activity"])
        for person in range(1, 9):
            now, activity = START, "work"
            for _ in range(40):
                table.writerow([f"p{person}", now.isoformat(), draw.choice(PLACES[activity]), activity])
                now += dt.timedelta(minutes=draw.choice([90, 150, 240, 420]))
                activity = draw.choices(list(PLACES), AFTER[activity])[0]


if __name__ == "__main__":
    main()
