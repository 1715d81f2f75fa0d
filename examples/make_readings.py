"""Writes readings.csv: six weeks of a simulated person, as a phone would report them. Run it from this folder."""

from __future__ import annotations

import csv
from pathlib import Path

from discreet import UNKNOWN, Clock
from discreet.models.simulate import person

CLOCK = Clock(48, zone="Europe/Paris")
EVERY = 6  # slots after which an unchanged place is reported again


def main() -> None:
    with Path("readings.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("user", "timestamp", "context"))
        last, age = "", 0
        for day in person("p01", days=42, slots=CLOCK.slots, seed=7):
            for slot, context in enumerate(day.contexts):
                age += 1
                if context != UNKNOWN and (context != last or age >= EVERY):
                    assert day.date is not None
                    writer.writerow((day.person, CLOCK.start_of(day.date, slot).isoformat(), context))
                    last, age = context, 0


if __name__ == "__main__":
    main()
