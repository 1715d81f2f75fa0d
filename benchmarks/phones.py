"""What is found in two months of people whom phones of four kinds have recorded: a table for docs/places.md."""

from __future__ import annotations

from tests.places.phones import KINDS, NAMES, OTHER, USUAL, Life, person, recorded, score

from discreet.errors import DataError

PEOPLE = 20
OTHERS = 500
"""The first seed of the other people."""


def main() -> None:
    """Means over the people: places found of those there are, invented ones, time told rightly and wrongly, homes."""
    print("whom thresholds were chosen on:")
    _table(USUAL, range(PEOPLE))
    print("other people, whom nothing was chosen on:")
    _table(OTHER, range(OTHERS, OTHERS + PEOPLE))


def _table(life: Life, seeds: range) -> None:
    print(f"{'phone':22} positions  places found  invented  time right  time wrong  home right  home wrong")
    for kind in KINDS:
        found, positions = [], 0
        for seed in seeds:
            one = person(seed, life)
            seen = recorded(one, kind, seed)
            positions += len(seen)
            try:
                found.append(score(one, seen))
            except DataError:
                print(f"{kind}: nothing was found of person {seed}")
        n = max(len(found), 1)
        print(
            f"{kind:22} {positions / PEOPLE:9.0f}  {sum(one.found for one in found) / n:5.1f} of {len(NAMES)}"
            f"  {sum(one.invented for one in found) / n:8.1f}  {sum(one.explained for one in found) / n:9.1%}"
            f"  {sum(one.wrong for one in found) / n:10.1%}  {sum(one.home for one in found):4} of {PEOPLE}"
            f"  {sum(one.misplaced for one in found):4} of {PEOPLE}",
            flush=True,
        )


if __name__ == "__main__":
    main()
