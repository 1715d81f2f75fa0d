"""Counts what a published table of examples/make_casino.py gives away: how often what is withheld is gambling.

python examples/count_casino.py casino.csv published.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from scipy.stats import binomtest

SURE = 0.99


def read(path: str) -> list[dict[str, str]]:
    """The rows of a table."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Print the shares, the second with its exact interval (Clopper and Pearson)."""
    if len(sys.argv) != 3:
        sys.exit("give two tables: what is true, and what was published")
    true = sorted(
        read(sys.argv[1]), key=lambda row: (row["user"], row["timestamp"])
    )  # as published: by person, in time
    shown = read(sys.argv[2])
    secret = [row["activity"] == "gambling" for row in true]
    withheld = [
        is_secret for row, is_secret in zip(shown, secret, strict=True) if not row["activity"] and not row["location"]
    ]
    print(f"gambling: {sum(secret)} of {len(secret)} events, {sum(secret) / len(secret):.4f}")
    if not withheld:
        sys.exit("no event lacks both activity and location")
    low, high = binomtest(sum(withheld), len(withheld)).proportion_ci(SURE)
    print(
        f"where activity and location are withheld: {sum(withheld)} of {len(withheld)}, "
        f"{sum(withheld) / len(withheld):.4f} ({SURE:.0%} interval {low:.4f} to {high:.4f})"
    )


if __name__ == "__main__":
    main()
