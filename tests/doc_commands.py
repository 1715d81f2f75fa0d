"""The `discreet` lines of the docs, as a shell would read them, and the files that the pages speak of."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

import polars as pl

from discreet.clock import Clock
from discreet.contexts import UNKNOWN
from discreet.models.simulate import people
from tests.cli.histories import phone_history
from tests.data import histories
from tests.test_docs import ROOT, blocks

SHELL = ("sh", "console")
INSTRUCTION = re.compile(r"\s+(discreet|cd) ")
"""A line in what a console shows that tells the reader what to run."""

DISCREET = "discreet"


@dataclass(frozen=True)
class Line:
    """One command line of a page; `arguments` are what follows `discreet`, None where it is another program's."""

    page: str
    number: int
    block: int
    text: str
    words: tuple[str, ...]
    arguments: tuple[str, ...] | None
    reads: str | None = None
    """The file that `tail -f FILE |` in front of it feeds in."""

    def __str__(self) -> str:
        return f"{self.page}:{self.number}: {self.text}"


def lines_of(page: Path) -> list[Line]:
    """The command lines of a page's shell blocks, in order."""
    name, found = page.relative_to(ROOT).as_posix(), []
    for number, block in enumerate(blocks(page.read_text(encoding="utf-8"))):
        if block.language in SHELL:
            for offset, text in _commands(block.language, block.content):
                found.append(line_of(name, block.line + offset, text, number))
    return found


def _commands(language: str, content: str) -> Iterator[tuple[int, str]]:
    """Each command with its place in a block; one that goes on after a backslash is joined."""
    lines = iter(enumerate(content.splitlines()))
    for offset, line in lines:
        if language == "console" and not (line.startswith("$ ") or INSTRUCTION.match(line)):
            continue
        text = line.removeprefix("$ ").strip()
        while text.endswith("\\"):
            text = text[:-1].rstrip() + " " + next(lines)[1].strip()
        if text and not text.startswith("#"):
            yield offset, text


def line_of(page: str, number: int, text: str, block: int = 0) -> Line:
    """A command line read as a shell reads it: words, comments, pipes and redirections."""
    reader = shlex.shlex(text, posix=True, punctuation_chars="|<>;&")
    reader.whitespace_split = True
    words, reads = tuple(reader), None
    parts = _parts(words)
    own = next((part for part in parts if _arguments(part) is not None), None)
    if own is not None and parts.index(own) > 0 and parts[0][:2] == ("tail", "-f"):
        reads = parts[0][2]
    return Line(page, number, block, text, words, None if own is None else _arguments(own), reads)


def _parts(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The commands of a pipeline, without their redirections."""
    parts: list[list[str]] = [[]]
    skipped = False
    for word in words:
        if skipped:
            skipped = False
        elif set(word) <= set("|;&"):
            parts.append([])
        elif set(word) <= set("<>"):
            skipped = True
        else:
            parts[-1].append(word)
    return [tuple(part) for part in parts]


def _arguments(part: tuple[str, ...]) -> tuple[str, ...] | None:
    """What follows `discreet`, behind sudo, a path, or a container's name; None where another program is run."""
    for number, word in enumerate(part):
        follows = part[number + 1 : number + 2]
        if PurePath(word).name == DISCREET and follows and re.fullmatch(r"[a-z-]+", follows[0]) and follows[0] != word:
            return part[number + 1 :]
        if not re.fullmatch(r"sudo|docker|compose|exec|-f|[A-Z_]+=.*|.*\.yaml|discreet", word):
            return None
    return None


# --- what the pages' lines need


def readme(folder: Path) -> None:
    """The checkout's examples."""
    shutil.copytree(ROOT / "examples", folder / "examples")


def command(folder: Path) -> None:
    """Readings and a policy of one's own, a log that grows, and a table of card payments."""
    readings = (ROOT / "examples" / "readings.csv").read_text(encoding="utf-8")
    (folder / "readings.csv").write_text(readings, encoding="utf-8")
    shutil.copy(ROOT / "examples" / "policy.toml", folder / "policy.toml")
    shutil.copy(ROOT / "examples" / "events.csv", folder / "cards.csv")
    (folder / "contexts.log").write_text("home\nhome\nwork\n", encoding="utf-8")


def setup(folder: Path) -> None:
    """Ten weeks of a phone's positions."""
    phone_history(folder / "phone.csv")


def takeout(folder: Path) -> Path:
    """Google's archive of three weeks."""
    return histories.google_records(folder).rename(folder / "takeout.zip")


def phone(folder: Path) -> None:
    """Three weeks of an Android phone, and the policy that the page shows."""
    histories.google_android(folder)
    page = (ROOT / "docs" / "tutorial-phone.md").read_text(encoding="utf-8")
    (policy,) = (block.content for block in blocks(page) if block.language == "toml")
    (folder / "policy.toml").write_text(policy, encoding="utf-8")


def mechanism(folder: Path) -> None:
    """The examples, and the first mechanism of the page in a file of the working directory."""
    readme(folder)
    page = (ROOT / "docs" / "tutorial-mechanism.md").read_text(encoding="utf-8")
    (block,) = (one.content for one in blocks(page) if one.language == "python" and "class EveryOther" in one.content)
    (folder / "every_other.py").write_text(block, encoding="utf-8")


def import_(folder: Path) -> None:
    """An export of every kind that the page names, and a policy for a place that is found in them."""
    takeout(folder)
    histories.gpx(folder, "1.1").rename(folder / "tracks")
    histories.owntracks_rec(folder)
    histories.google_android(folder)
    histories.home_assistant_db(folder)
    data = histories.geolife(folder)
    shutil.make_archive(str(folder / "Geolife Trajectories 1.3"), "zip", folder, data.name)
    (folder / "policy.toml").write_text('[[secret]]\ncontexts = ["place 3"]\n', encoding="utf-8")


def population(folder: Path) -> None:
    """Events in files, readings of two people before, later and today, and a folder in which today's appear."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    events = pl.read_csv(ROOT / "examples" / "events.csv").with_columns(
        pl.col("timestamp").str.to_datetime(time_zone="UTC")
    )
    (folder / "events").mkdir()
    for number, part in enumerate(events.partition_by("user")):
        part.write_parquet(folder / "events" / f"{number}.parquet")
    (folder / "policy.toml").write_text('[[secret]]\ncontexts = ["hospital"]\n', encoding="utf-8")
    lived = _lived()
    dates = sorted({row[3] for row in lived})
    for name, some in (("readings", dates[:45]), ("later", dates[45:59]), ("today", dates[59:])):
        (folder / name).mkdir()
        rows = [row[:3] for row in lived if row[3] in some]
        table = pl.DataFrame(rows, schema=["user", "timestamp", "context"], orient="row")
        table.write_parquet(folder / name / "0.parquet")
    (folder / "incoming").mkdir()
    for path, since in ((folder / "history.csv", dates[0]), (folder / "incoming" / "0.csv", dates[59])):
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [row[:3] for row in lived if row[3] >= since]
            csv.writer(file).writerows([("user", "timestamp", "context"), *rows])


def today() -> str:
    """The last date of the population's people."""
    return max(date for *_, date in _lived())


@cache
def _lived() -> list[tuple[str, int, str, str]]:
    """What two people did on sixty days: who, when in seconds since 1970, what, and on which date."""
    clock = Clock(48, "Europe/Paris")
    return [
        (str(day.person), int(clock.start_of(day.date, slot).timestamp()), context, day.date.isoformat())
        for several in people(2, days=60, contexts=9, seed=3).values()
        for day in several
        if day.date is not None
        for slot, context in enumerate(day.contexts)
        if context != UNKNOWN
    ]


RUN: dict[str, Callable[[Path], None]] = {
    "README.md": readme,
    "docs/command.md": command,
    "docs/setup.md": setup,
    "docs/import.md": import_,
    "docs/population.md": population,
    "docs/tutorial-phone.md": phone,
    "docs/tutorial-mechanism.md": mechanism,
}
"""Pages whose lines are run, in order and in one folder each, and what makes their files."""
