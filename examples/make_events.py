"""Writes examples/events.csv: eight made-up people's events, who work, shop, and sometimes go out and gamble.

What somebody does depends on the occasion alone, and occasions last: that is what `discreet publish --topics 3` learns.
Where each activity led straight to the next instead, three topics could not tell it, and `publish` would say that the
habits are not true.
"""

from __future__ import annotations

import csv
import datetime as dt
import random
from pathlib import Path

DOES = {
    "at work": {("work", "office"): 6, ("meal", "canteen"): 3, ("shopping", "mall"): 1},
    "in town": {("shopping", "mall"): 5, ("meal", "cafe"): 4, ("gambling", "cafe"): 1},
    "out": {("gambling", "casino"): 5, ("meal", "cafe"): 4, ("gambling", "cafe"): 1},
}
"""How often each activity and place occur on an occasion."""

AFTER = {"at work": [7, 2, 1], "in town": [3, 5, 2], "out": [2, 2, 6]}
"""How often each occasion follows, in the order of DOES."""

START = dt.datetime(2026, 1, 5, 8, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def main() -> None:
    """Write the file beside this one; the same each time."""
    draw = random.Random(7)
    with Path(__file__).with_name("events.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["user", "timestamp", "location", "activity"])
        for person in range(1, 9):
            now, occasion = START, "at work"
            for _ in range(40):
                does = DOES[occasion]
                activity, location = draw.choices(list(does), list(does.values()))[0]
                table.writerow([f"p{person}", now.isoformat(), location, activity])
                now += dt.timedelta(minutes=draw.choice([90, 150, 240, 420]))
                occasion = draw.choices(list(DOES), AFTER[occasion])[0]


if __name__ == "__main__":
    main()
