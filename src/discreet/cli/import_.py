"""`discreet import`: a phone's history, in whatever format, to a table of readings."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import note, print_json, progress, table
from discreet.errors import DiscreetError
from discreet.given import counted

if TYPE_CHECKING:
    from discreet.data.importing import FileReport, Imported, Rules

LISTED = 20
"""Files that are listed one by one; the JSON document has them all."""

RULES = "What is left out"


def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Files, folders and archives (.zip, .tgz); any number."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The table of readings: .parquet, .csv or .csv.gz.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use this format instead of recognising it: owntracks-rec, owntracks-json, google-records, "
            "google-semantic, google-timeline-android, google-timeline-ios, google-timeline-edits, overland, "
            "home-assistant-json, home-assistant-csv, home-assistant-db, gpx, kml, tcx, fit, geojson, geolife, "
            "geolife-labels, csv, parquet.",
        ),
    ] = None,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="Whose readings these are, if the format does not say.")
    ] = "me",
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE",
            help="The time zone of times in tables that have none, such as Europe/Paris.",
            rich_help_panel=options.READING,
        ),
    ] = None,
    separator: options.Separator = None,
    time_format: options.TimeFormat = None,
    accuracy: Annotated[
        float,
        typer.Option(
            metavar="METRES",
            help="Leave out positions that are less accurate than this many metres.",
            rich_help_panel=RULES,
        ),
    ] = 200.0,
    since: Annotated[
        str, typer.Option(metavar="DATE", help="Leave out earlier readings.", rich_help_panel=RULES)
    ] = "1990-01-01",
    until: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="Leave out later readings; by default those after now.", rich_help_panel=RULES
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Write nothing if a record or a file cannot be read.", rich_help_panel=RULES),
    ] = False,
    json: options.Json = False,
) -> None:
    """Make one table of readings from what applications recorded: merged, without duplicates, in order of time.

    Reads OwnTracks (Recorder's .rec, JSON), Overland, Google (Records.json, Timeline Edits.json, Semantic Location
    History, Timeline.json of Android, location-history.json of iOS), Home Assistant (history as JSON or CSV, the
    recorder's database), the exports of Strava and Apple Health, GPX, KML and KMZ, TCX, FIT (with the extra fit),
    GeoJSON, GeoLife, and tables of positions or labels (.csv, .csv.gz, .parquet). It recognises files by their
    content. Records that cannot be used are counted and reported, never dropped in silence; with --strict the first of
    them is an error.

    Example: discreet import takeout.zip tracks/ --user jane --out readings.parquet
    """
    from discreet.data.importing import Rules, import_logs, write_readings
    from discreet.data.streams import ending_of

    ending_of(out, (".csv", ".csv.gz", ".parquet"), "readings")
    if any(source.exists() and out.exists() and source.samefile(out) for source in sources):
        raise DiscreetError(f"{out}: is one of the sources; write to another file")
    rules = Rules(accuracy, _date("--since", since), None if until is None else _date("--until", until))
    with progress("reading") as report:
        imported = import_logs(
            sources,
            format=format,
            user=user,
            zone=zone,
            rules=rules,
            separator={"tab": "\t", "\\t": "\t"}.get(separator or "", separator),
            time_format=time_format,
            strict=strict,
            progress=report,
        )
    write_readings(out, imported.readings)
    if json:
        print_json(_document(imported, out, rules))
    else:
        _print(imported, out)


def _date(option: str, text: str) -> dt.datetime:
    try:
        stamp = dt.datetime.fromisoformat(text)
    except ValueError:
        raise DiscreetError(f"{option} is {text!r}; write a date such as 2024-05-01") from None
    return stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=dt.UTC)


def _document(imported: Imported, out: Path, rules: Rules) -> dict[str, Any]:
    readings = imported.readings
    return {
        "out": str(out),
        "readings": readings.height,
        "positions": int(readings["latitude"].count()),
        "labels": int(readings["context"].count()),
        "people": _people(imported),
        "duplicates": imported.duplicates,
        "bad_records": {"count": sum(one.bad for one in imported.files), "first": list(imported.first_bad)},
        "left_out": _total(imported.files, "left_out"),
        "unplaced": _total(imported.files, "unplaced"),
        "passed_over": _total(imported.files, "passed_over"),
        "files": [
            {
                "file": one.file,
                "format": one.format,
                "time_format": one.form,
                "records": one.records,
                "readings": one.readings,
                "bad": one.bad,
                "left_out": dict(one.left_out),
                "unplaced": dict(one.unplaced),
                "passed_over": dict(one.passed_over),
            }
            for one in imported.files
        ],
        "unknown": list(imported.unknown),
        "not_read": [{"file": file, "why": why} for file, why in imported.not_read],
        "rules": {"accuracy": rules.accuracy, "since": rules.since.isoformat()},
    }


def _people(imported: Imported) -> list[dict[str, Any]]:
    import polars as pl

    time = pl.col("timestamp")
    people = imported.readings.group_by("user", maintain_order=True).agg(
        pl.len().alias("readings"), time.min().alias("first"), time.max().alias("last")
    )
    return [
        row | {"first": row["first"].isoformat(), "last": row["last"].isoformat()}
        for row in people.iter_rows(named=True)
    ]


def _total(files: tuple[FileReport, ...], which: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one in files:
        counts.update(getattr(one, which))
    return dict(counts.most_common())


def _print(imported: Imported, out: Path) -> None:
    readings = imported.readings
    positions, labels = readings["latitude"].count(), readings["context"].count()
    print(f"{counted(readings.height, 'reading')} in {out}: {positions} with a position, {labels} with a label\n")
    people = [
        [_printable(one["user"]), str(one["readings"]), one["first"][:10], one["last"][:10]]
        for one in _people(imported)
    ]
    print(table(["user", "readings", "first", "last"], people[:LISTED]))
    _more(len(people), "people")
    print()
    files = [
        [one.file, one.format, str(one.records), str(one.readings), str(one.bad + one.left_out.total())]
        for one in imported.files
    ]
    print(table(["file", "format", "records", "readings", "left out"], files[:LISTED], left=2))
    _more(len(files), "files")
    _print_left_out(imported)


def _print_left_out(imported: Imported) -> None:
    bad = sum(one.bad for one in imported.files)
    counts = {"cannot be read": bad, "say the same as another": imported.duplicates}
    rows = [[str(count), what] for what, count in (counts | _total(imported.files, "left_out")).items() if count]
    if rows:
        print("\nleft out\n" + "\n".join(f"  {count:>9}  {what}" for count, what in rows))
    unplaced = _total(imported.files, "unplaced")
    if unplaced:
        print("\nlabels that are kept without their position, which is left out")
        print("\n".join(f"  {count:>9}  {what}" for what, count in unplaced.items()))
    others = _total(imported.files, "passed_over")
    if others:
        print("\npassed over: records of something else than positions and labels")
        print("\n".join(f"  {count:>9}  {_printable(kind)}" for kind, count in others.items()))
    if imported.first_bad:
        print("\nthe first of those that cannot be")
        print("\n".join(f"  {line}" for line in imported.first_bad))
    if imported.not_read:
        print(f"\nfiles that could not be read, or not to their end: {len(imported.not_read)}")
        print("\n".join(f"  {file}: {why}" for file, why in imported.not_read[:LISTED]))
        _more(len(imported.not_read), "such files")
    for one in imported.files:
        if one.form is not None:
            note(f"{one.file}: times are taken to be of the form {one.form!r}; --time-format says otherwise")
    if imported.unknown:
        note(f"{len(imported.unknown)} files are in no known format and were passed by, such as {imported.unknown[0]}")


def _printable(text: str) -> str:
    """Text of a stranger's file, which may hold what turns a terminal's colours."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def _more(count: int, what: str) -> None:
    if count > LISTED:
        print(f"and {count - LISTED} more {what}; --json has them all")
