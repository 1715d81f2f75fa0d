"""Files as hostile as chance and malice make them: an import works, with counts that add up, or it is a DataError."""

from __future__ import annotations

import copy
import gzip
import io
import json
import sqlite3
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from unittest import mock

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.data import archives, importing, instants
from discreet.data.formats import csv, geolife, google_records, home_assistant, owntracks
from discreet.data.importing import Imported, import_logs
from discreet.data.json_objects import loads
from discreet.data.rows import parsed
from discreet.data.source import Fault
from discreet.errors import DataError
from tests.data import samples
from tests.data.samples import MAY_1, PARIS, SAMPLES, iso, location, rec_line

SEVERAL = ("google-semantic", "google-timeline-android", "google-timeline-ios", "geolife-labels", "kml", "geojson")
"""Formats of which one entry may make several readings, or some and be bad in part."""


def adds_up(imported: Imported) -> None:
    """No record is lost: each made a reading, is bad, was left out by a rule, or is of a kind passed over."""
    for one in imported.files:
        outcomes = one.readings + one.bad + one.left_out.total() + one.passed_over.total()
        assert one.records <= outcomes if one.format in SEVERAL else one.records == outcomes, one
    readings = imported.readings
    assert sum(one.readings for one in imported.files) == readings.height + imported.duplicates
    assert readings["timestamp"].null_count() == readings["user"].null_count() == 0
    assert readings.filter(pl.col("latitude").is_null() != pl.col("longitude").is_null()).is_empty()
    assert readings.filter(pl.col("latitude").is_null() & pl.col("context").is_null()).is_empty()
    assert readings.filter((pl.col("latitude").abs() > 90) | (pl.col("longitude").abs() > 180)).is_empty()
    assert readings.filter(pl.col("latitude").is_nan() | pl.col("longitude").is_nan()).is_empty()


def survives(path: Path) -> Imported | None:
    """What is imported, if anything is; any error but a DataError that names the file fails."""
    try:
        imported = import_logs([path])
    except DataError as error:
        assert str(path) in str(error)  # noqa: PT017  most files are errors and some are not: that is the point
        return None
    adds_up(imported)
    return imported


@cache
def sample(name: str) -> tuple[str, bytes]:
    """The name and the bytes of a format's sample."""
    with tempfile.TemporaryDirectory() as folder:
        path = (SAMPLES | MORE)[name](Path(folder))
        if path.is_dir():
            path = next(path.rglob("*.plt"))
        return path.name, path.read_bytes()


def _labels(folder: Path) -> Path:
    return samples.geolife(folder) / "010" / "labels.txt"


def _parquet(folder: Path) -> Path:
    path = folder / "positions.parquet"
    pl.read_csv(samples.csv_positions(folder)).write_parquet(path)
    return path


MORE: dict[str, Callable[[Path], Path]] = {
    "geolife-labels": _labels,
    "labels": samples.csv_labels,
    "parquet": _parquet,
    "gzip": lambda folder: _written(folder / "x.json.gz", gzip.compress(samples.google_records(folder).read_bytes())),
    "zip": lambda folder: _zipped(folder / "x.zip", {"a/b.gpx": samples.gpx(folder).read_bytes()}),
    "kmz": lambda folder: _zipped(folder / "x.kmz", {"doc.kml": samples.kml(folder).read_bytes()}),
    "tgz": lambda folder: _tarred(folder / "x.tgz", {"a/b.gpx": samples.gpx(folder).read_bytes()}),
}


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _zipped(path: Path, files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def _tarred(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


# --- bytes

TOKENS = [b"null", b"NaN", b"-1e999", b"[]", b"{}", b'"', b"\\", b"\x00", b"\xff", b"9" * 25, b"\n", b"\t", b",", b"<"]
Cut = tuple[float, int, bytes]
"""Where, as a share of the file; how many bytes go; what comes instead."""

cuts: st.SearchStrategy[Cut] = st.tuples(
    st.floats(0, 1), st.sampled_from([0, 1, 3, 20, 1 << 30]), st.sampled_from(TOKENS) | st.binary(max_size=4)
)


def changed(data: bytes, changes: list[Cut]) -> bytes:
    """The bytes with each change made after the other."""
    for share, gone, put in changes:
        at = int(share * len(data))
        data = data[:at] + put + data[at + gone :]
    return data


@pytest.mark.parametrize("name", [*SAMPLES, *MORE])
def test_any_bytes(name: str) -> None:
    """Samples with some bytes removed, replaced or put in."""
    file, data = sample(name)

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @example([(0.75, 0, b"NaN"), (0.625, 0, b"null")])  # fitdecode asserts here
    @given(st.lists(cuts, min_size=1, max_size=4))
    def holds(changes: list[Cut]) -> None:
        text = changed(data, changes)
        with tempfile.TemporaryDirectory() as folder:
            survives(_written(Path(folder) / file, text))

    holds()


@pytest.mark.parametrize("name", ["zip", "kmz"])
def test_every_byte_of_an_archives_directory(name: str, tmp_path: Path) -> None:
    """What zipfile reads without a second thought: a name that becomes empty, or hidden, by one byte."""
    file, data = sample(name)
    for at in range(data.rindex(b"PK\x01\x02"), len(data)):
        for put in (b"\x00", b".", b"\xff"):
            survives(_written(tmp_path / file, data[:at] + put + data[at + 1 :]))


def _positions(folder: Path) -> Path:
    path = folder / "positions.csv"
    rows = [f"p{k % 3},{iso(MAY_1 + 60 * k)},{48 + k / 1000},{2.5 + k / 700},{k},x\n" for k in range(20)]
    path.write_text("".join(["user,time,lat,lon,accuracy,whatever\n", *rows]), encoding="utf-8")
    return path


def _recording(folder: Path) -> Path:
    path = folder / "2024-05.rec"
    more: list[dict[str, Any]] = [{}, {"inregions": ["Home"]}, {"topic": "owntracks/ann/phone"}, {"_type": "lwt"}]
    path.write_text("".join(rec_line(location(MAY_1 + k, **more[k % 4])) for k in range(12)), encoding="utf-8")
    return path


def _trajectory(folder: Path) -> Path:
    path = folder / "a.plt"
    lines = [f"{48 + k / 1000},{2.5 + k / 700},0,492,39744.12,2020-09-13,12:{k:02}:40\r\n" for k in range(20)]
    path.write_text("".join([*["Geolife trajectory\n"] * 6, *lines]), encoding="utf-8", newline="")
    return path


def _states(folder: Path) -> Path:
    path = folder / "history.csv"
    kinds = ("person.jane,home", "device_tracker.john,not_home", "light.kitchen,on", "person.jane,unknown")
    rows = [f"{kinds[k % 4]},{iso(MAY_1 + 60 * k).removesuffix('Z')}{'.25' * (k % 5 == 0)}Z\n" for k in range(20)]
    path.write_text("".join(["entity_id,state,last_changed\n", *rows]), encoding="utf-8")
    return path


def _records(folder: Path) -> Path:
    path = folder / "Records.json"
    kinds: list[dict[str, Any]] = [
        {"accuracy": 12},
        {},
        {"accuracy": 9.5, "source": "GPS"},
        {"timestampMs": "1714550400123"},
    ]
    records = [
        {"latitudeE7": 480000000 + k, "longitudeE7": 4294967296 - k, **kinds[k % 4]}
        | ({} if k % 4 == 3 else {"timestamp": f"2024-05-01T08:{k:02}:00{'.250' * (k % 2)}Z"})
        for k in range(12)
    ]
    path.write_text(json.dumps({"locations": [*records, {"wifiScan": {}}]}), encoding="utf-8")
    return path


@pytest.mark.slow("compares with a slow twin on many random cases")
@pytest.mark.parametrize(
    ("make", "quick"),
    [
        (_positions, [(csv, "_plain_frame"), (instants, "_common")]),
        (samples.csv_labels, [(csv, "_plain_frame"), (instants, "_common")]),
        (_recording, [(owntracks, "_alike")]),
        (_trajectory, [(geolife, "_alike")]),
        (_states, [(home_assistant, "plain_fields")]),
        (_records, [(google_records, "_alike")]),
    ],
)
def test_the_quick_way_tells_what_the_slow_one_does(
    make: Callable[[Path], Path], quick: list[tuple[Any, str]], tmp_path: Path
) -> None:
    """Where nothing is odd, columns are read at once; bytes are changed until something is, and what is told stays."""
    file = make(tmp_path)
    data = file.read_bytes()
    ways = 0

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(cuts, max_size=2))
    def holds(changes: list[Cut]) -> None:
        nonlocal ways
        file.write_bytes(changed(data, changes))
        with ExitStack() as stack:
            spies = [stack.enter_context(mock.patch.object(*one, wraps=getattr(*one))) for one in quick]
            told = _told(file)
            ways += any(spy.called for spy in spies)
        with ExitStack() as stack:
            for one in quick:
                stack.enter_context(mock.patch.object(*one, return_value=None))
            assert _told(file) == told

    holds()
    assert ways > 20  # a quarter of the examples, whatever they are: both ways are really met


def test_rows_of_a_recorder_are_the_same_as_columns(tmp_path: Path) -> None:
    """Rows with an odd value each, among usual ones, four at a time: most parts have both."""
    usual: tuple[Any, ...] = (MAY_1, "home", '{"latitude": 48.5, "longitude": 2.5, "gps_accuracy": 9}', "person.jane")
    at = '{"latitude": %s, "longitude": %s, "gps_accuracy": %s}'
    odd: list[tuple[Any, ...]] = [
        (time, *usual[1:]) for time in (None, "x", "2024-05-01 08:00:00", -1.5, 1e300, 2**62, f"{MAY_1}", MAY_1 + 0.25)
    ]
    odd += [
        (MAY_1, state, *usual[2:]) for state in (None, "", " work ", "not_home", "Unknown", "unavailable", 7, b"\xff")
    ]
    values = ("null", '"48"', "48", "1e400", "true", "[1]", "NaN")
    odd += [
        (*usual[:2], at % each, usual[3])
        for one in values
        for each in ((one, 2.5, 9), (48.5, one, 9), (48.5, 2.5, one))
    ]
    odd += [(*usual[:2], held, usual[3]) for held in (None, "", "{}", "[]", "[", "7", b"{\xff}", '{"latitude": 48.5}')]
    odd += [(*usual[:3], entity) for entity in ("person.", "device_tracker.a.b", "person.\u00e9", b"person.\xff")]
    path = tmp_path / "home-assistant_v2.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE states (last_updated_ts, state, attributes, entity_id)")
    for k, one in enumerate(odd):
        database.executemany("INSERT INTO states VALUES (?, ?, ?, ?)", [(one[0], *one[1:]), (MAY_1 + k, *usual[1:])])
    database.commit()
    database.close()
    with mock.patch.object(home_assistant, "PART", 4):
        with mock.patch.object(home_assistant, "_alike", wraps=home_assistant._alike) as quick:
            told = _told(path)
        assert len([call for call in quick.call_args_list if home_assistant._alike(*call.args)]) > 5
    with mock.patch.object(home_assistant, "_alike", return_value=None):
        assert _told(path) == told
    assert len(told[0]) > len(odd)  # type: ignore[arg-type]  # the readings, as a list


def test_positions_of_google_are_the_same_as_columns(tmp_path: Path) -> None:
    """An odd value each, in a block with usual records: read by itself, alone and among records without a position."""
    usual = {
        "latitudeE7": "480000000",
        "longitudeE7": "25000000",
        "accuracy": "9",
        "timestamp": '"2024-05-01T08:00:00Z"',
    }
    numbers = ("null", '"48"', "48.5", "1e400", "true", "[1]", "4294967296", "-4294967296", "900000001", f"{10**30}")
    times = (
        "null",
        "7",
        '""',
        '"2024-05-01T08:00:00"',
        '"2024-05-01T10:00:00.1234567+02:00"',
        '"2024-02-30T08:00:00Z"',
    )
    odd = [usual | {field: one} for field in ("latitudeE7", "longitudeE7", "accuracy") for one in numbers]
    odd += [usual | {"timestamp": one} for one in times]
    odd += [{**usual, "timestampMs": one} for one in ('"x"', '"17e11"', "1")]
    for one in odd[-3:]:
        del one["timestamp"]
    odd += [{name: "{}"} for name in ("wifiScan", "latitudeE7", "longitudeE7", "accuracy")]
    path, ways = tmp_path / "Records.json", 0
    for one in odd:
        texts = ["{" + ", ".join(f'"{name}": {value}' for name, value in held.items()) + "}" for held in (usual, one)]
        path.write_text(f'{{"locations": [{texts[0]}, {texts[1]}, {{"x": 1}}, {texts[0]}]}}', encoding="utf-8")
        with mock.patch.object(google_records, "_alike", wraps=google_records._alike) as quick:
            told = _told(path)
        ways += any(google_records._alike(*call.args) is not None for call in quick.call_args_list)
        with mock.patch.object(google_records, "_alike", return_value=None):
            assert _told(path) == told, one
    assert 0 < ways < len(odd)


def _told(file: Path) -> tuple[object, ...]:
    """All that an import says."""
    try:
        imported = import_logs([file])
    except DataError as error:
        return (str(error),)
    reports = [replace(one, left_out=Counter()) for one in imported.files]  # its rule names the minute
    return imported.readings.rows(), reports, imported.duplicates, imported.first_bad


# --- values

DEEP: Any = json.loads("[" * 900 + "]" * 900)
VALUES: list[Any] = [None, True, -1, 0, 1e308, 10**18, 10**30, 10**400, "", "x", "NaN", "-0", "1" * 500, [], [[]], {}]
VALUES += [{"x": 1}, DEEP, "2024-05-01T08:00:00+99:00", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _leaves(value[key])


def _varied(entry: Any) -> Iterator[Any]:
    """An entry with each of its fields replaced by each of the values in turn."""
    for k in range(len(list(_leaves(entry)))):
        for value in VALUES:
            other = copy.deepcopy(entry)
            container, key = list(_leaves(other))[k]
            container[key] = value
            yield other


LISTS: dict[str, Callable[[Any], list[Any]]] = {
    "owntracks-json": lambda document: document["data"],
    "google-records": lambda document: document["locations"],
    "google-semantic": lambda document: document["timelineObjects"],
    "google-timeline-android": lambda document: document["semanticSegments"],
    "google-timeline-ios": lambda document: document,
    "home-assistant-json": lambda document: document[0],
}
"""Where the entries of a document are."""


@pytest.mark.parametrize("name", LISTS)
def test_any_values(name: str, tmp_path: Path) -> None:
    """Every field of every entry replaced by values of every type: each is a record, and the others are as before."""
    file, data = sample(name)
    document = json.loads(data)
    entries = LISTS[name](document)
    before = import_logs([_written(tmp_path / file, data)])
    odd = [other for entry in entries for other in _varied(entry)]
    entries += odd
    imported = survives(_written(tmp_path / file, json.dumps(document).encode()))
    assert imported is not None
    assert imported.files[0].records == before.files[0].records + len(odd)
    assert not before.readings.join(imported.readings, on=before.readings.columns, how="anti", nulls_equal=True).height


def test_any_values_in_a_recording_and_a_database(tmp_path: Path) -> None:
    fields = [*location(inregions=["Home"], topic="owntracks/jane/phone"), "event", "desc"]
    transition = {"event": "enter", "desc": "Gym"}
    odd = [
        location(**{"_type": kind, "topic": "a/b/c", "inregions": ["Home"], **transition, field: value})
        for kind in ("location", "transition")
        for field in fields
        for value in VALUES
    ]
    path = _written(tmp_path / "x.rec", "".join([rec_line(location()), *map(rec_line, odd)]).encode())
    imported = survives(path)
    assert imported is not None
    assert imported.files[0].records == 1 + len(odd)
    database = sqlite3.connect(samples.home_assistant_db(tmp_path))
    values = [None, -1, 1e308, 2**62, "x", "", b"\xff\x00", "[" * 5000, '{"latitude":[],"longitude":"x"}', "NaN"]
    for value in values:
        database.execute("INSERT INTO state_attributes VALUES (NULL, 0, ?)", (value,))
        for row in ((value, MAY_1, 1, 1), ("home", value, 1, 1), ("home", MAY_1, value, 1), ("home", MAY_1, 1, value)):
            database.execute(
                "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES (?, ?, ?, ?)", row
            )
    (last,) = database.execute("SELECT max(attributes_id) FROM state_attributes").fetchone()
    for k in range(len(values)):
        database.execute(
            "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES ('home', ?, ?, 1)",
            (MAY_1 + k, last - k),
        )
    database.commit()
    database.close()
    assert survives(tmp_path / "home-assistant_v2.db") is not None


class _OneMessage:
    """A file of bytes that are at hand."""

    name, inner = "x", PurePath("x.rec")

    def __init__(self, data: bytes) -> None:
        self._data = data

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        yield io.BytesIO(self._data)

    def on_disk(self) -> AbstractContextManager[Path]:
        raise AssertionError("nobody needs a path of it")


def test_one_message_says_what_a_file_of_it_does() -> None:
    """Of OwnTracks and of Home Assistant, as text and parsed, odd ones too."""
    plain = location(inregions=["Home"], topic="owntracks/jane/phone")
    enter = {**location(), "_type": "transition", "event": "enter", "desc": "Gym"}
    for said in [plain, enter, {"_type": "lwt"}, *_varied(plain), *_varied(enter)]:
        text = json.dumps(said)
        ((_, told),) = owntracks.OwnTracksRecording().entries(_OneMessage(rec_line(text).encode()))
        assert owntracks.parse_message(text) == owntracks.parse_message(text.encode()) == parsed(told)
        assert owntracks.parse_message(_as_parsed(text)) == parsed(told)
    state = samples.state("person.jane", "Gym", MAY_1, PARIS)
    for said in [state, samples.state("light.x", "on", MAY_1), *_varied(state)]:
        text = json.dumps(said)
        ((_, told),) = home_assistant.HomeAssistantJson().entries(_OneMessage(f"[[{text}]]".encode()))
        if isinstance(said := _as_parsed(text), str):
            assert isinstance(home_assistant.parse_message(text), Fault)
            assert isinstance(told, Fault)
        else:
            assert home_assistant.parse_message(text) == home_assistant.parse_message(said) == parsed(told)


def _as_parsed(text: str) -> Any:
    """The message as an object, where the parser takes it: numbers beyond all floats it may not."""
    try:
        return loads(text)
    except ValueError:
        return text


# --- what is around the records


def test_messages_in_any_order_of_fields_and_any_wrapping(tmp_path: Path) -> None:
    """A list before the type, as iOS may write it, does not hide the message that it stands in."""
    message = {"inregions": ["Home"], "x": {"[": '{"'}, **location()}
    one, line = json.dumps(message), json.dumps({**message, "tst": MAY_1 + 1})
    for text in (f"{one}\n{line}", f"[{one}, {line}]", json.dumps({"count": [2], "data": [message, json.loads(line)]})):
        imported = import_logs([_written(tmp_path / "m.json", text.encode())])
        assert imported.readings["context"].to_list() == ["Home", "Home"]


def test_states_after_a_damaged_one_are_nobody_elses(tmp_path: Path) -> None:
    """A minimal answer names the entity in the first state of a list; where that one is damaged, nobody knows."""
    lists = [[samples.state(who, "home", MAY_1), {"state": "work", "last_changed": iso(MAY_1 + 60)}] for who in PEOPLE]
    text = json.dumps(lists).replace('"entity_id": "person.bob"', '"entity_id": person.bob')
    imported = import_logs([_written(tmp_path / "h.json", text.encode())])
    assert imported.readings["user"].to_list() == ["ann", "ann"]
    assert imported.files[0].bad == 2


PEOPLE = ("person.ann", "person.bob")


def test_visits_and_paths_that_say_nothing_are_counted(tmp_path: Path) -> None:
    times = {"startTime": "2024-05-01T08:00:00Z", "endTime": "2024-05-01T09:00:00Z"}
    kinds: list[dict[str, Any]] = [{"visit": {}}, {"activity": {}}, {"timelinePath": []}, VISIT]
    entries = [{**times, **kind} for kind in kinds]
    imported = import_logs([_written(tmp_path / "location-history.json", json.dumps(entries).encode())])
    (file,) = imported.files
    assert file.records == 4
    assert (file.passed_over, file.bad) == ({"visit or movement without a place or a kind": 2}, 1)


VISIT = {"visit": {"topCandidate": {"placeLocation": "geo:48,2"}}}


@pytest.mark.parametrize("ending", [".rec", ".json", ".gpx", ".plt", ".csv", ".csv.gz", ".parquet", ".db", ".zip", ""])
def test_empty_files(tmp_path: Path, ending: str) -> None:
    path = _written(tmp_path / f"x{ending}", b"")
    assert survives(path) is None
    samples.gpx(tmp_path)
    assert import_logs([tmp_path]).readings.height == 2


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_is_said_or_read(tmp_path: Path, order: str) -> None:
    mark, encoding = "\ufeff", order[:6].upper()
    for name in ("history.json", "labels.csv"):
        text = samples.home_assistant_json(tmp_path).read_text()
        with pytest.raises(DataError, match=rf"{name}: .*{encoding} text; save it as UTF-8"):
            import_logs([_written(tmp_path / name, (mark + text).encode(order))])
    track = samples.gpx(tmp_path).read_text(encoding="utf-8").replace("UTF-8", encoding)
    if encoding == "UTF-32":  # which the parser of XML has not
        with pytest.raises(DataError, match=r"t\.gpx: is UTF-32 text; save it as UTF-8"):
            import_logs([_written(tmp_path / "t.gpx", (mark + track).encode(order))])
        return
    assert import_logs([_written(tmp_path / "t.gpx", (mark + track).encode(order))]).readings.height == 2


@pytest.mark.parametrize("encoding", ["EUC-JP", "no-such-thing", "UTF-7"])
def test_encodings_of_xml_that_nobody_has(tmp_path: Path, encoding: str) -> None:
    text = samples.gpx(tmp_path).read_text(encoding="utf-8").replace("UTF-8", encoding)
    with pytest.raises(DataError, match="is where the XML breaks"):
        import_logs([_written(tmp_path / "t.gpx", text.encode())])


def test_names_in_an_archive_lead_nowhere_and_turn_no_colours(tmp_path: Path) -> None:
    track, table = samples.gpx(tmp_path).read_bytes(), samples.csv_labels(tmp_path).read_bytes()
    names = ["../../a.gpx", "/etc/b.gpx", "c/../../d.csv", "C:\\e.csv", "\x1b[31mf.gpx", "g" * 300 + ".csv"]
    files = {name: table if name.endswith("csv") else track for name in names}
    before = sorted(tmp_path.rglob("*"))
    imported = import_logs([_zipped(tmp_path / "x.zip", files)])
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "x.zip"])
    assert len(imported.files) == len(names)
    assert all(one.file.isprintable() for one in imported.files)
    adds_up(imported)


def test_file_names_that_are_no_text(tmp_path: Path) -> None:
    folder = Path(str(tmp_path) + "/rec/j\udcffne/phone")
    folder.mkdir(parents=True)
    (folder / "2024-05.rec").write_text(rec_line(location()))
    imported = import_logs([tmp_path])
    assert imported.readings["user"].to_list() == ["j\ufffdne"]
    assert imported.files[0].file.isprintable()


@pytest.mark.slow("compares with a slow twin on many random cases")
@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_archives(tmp_path: Path, how: int) -> None:
    """Every 7th byte of an archive changed, one at a time."""
    path = tmp_path / "x.zip"
    files = {"a.gpx": samples.gpx(tmp_path).read_bytes(), "b.csv": samples.csv_positions(tmp_path).read_bytes()}
    data = _zipped(path, files, how).read_bytes()
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[at] ^= 0xFF
        survives(_written(path, bytes(damaged)))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed a thousand times, as zeros are: in an archive, in one within it, and gzipped."""
    monkeypatch.setattr(archives, "UNPACKED", 1 << 20)
    big = rec_line(location(MAY_1 + 5)).encode() + b"0" * (32 << 20)
    inner = _zipped(tmp_path / "inner.zip", {"x.rec": big}).read_bytes()
    outer = _zipped(tmp_path / "outer.zip", {"inner.zip": inner, "a.gpx": samples.gpx(tmp_path).read_bytes()})
    imported = import_logs([outer])
    assert set(imported.readings["source"]) == {"gpx", "owntracks-rec"}  # what was read before stays read
    ((file, why),) = imported.not_read
    assert file.endswith("outer.zip!inner.zip!x.rec")
    assert "unpacks to more than 200 times the size" in why
    for name, data in (
        ("x.rec.gz", gzip.compress(big)),
        ("y.csv.gz", gzip.compress(b"time,lat,lon\n" + b"0\n" * 10**7)),
    ):
        with pytest.raises(DataError, match="as bombs do"):
            import_logs([_written(tmp_path / name, data)])


def test_a_document_that_is_packed_as_documents_are_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "UNPACKED", 1 << 10)
    lines = "".join(rec_line(location(MAY_1 + k, (PARIS[0] + k / 1e6, PARIS[1]))) for k in range(2000))
    assert import_logs([_zipped(tmp_path / "x.zip", {"x.rec": lines.encode()})]).readings.height == 2000


def test_strict_takes_no_bad_record_and_no_damaged_file(tmp_path: Path) -> None:
    path = _written(tmp_path / "x.rec", (rec_line(location()) + rec_line(location(tst=None))).encode())
    for source in (path, tmp_path):
        with pytest.raises(DataError, match=r"^[^,]*x\.rec, line 2, column 'tst'.*--strict"):
            import_logs([source], strict=True)
    path.write_text(rec_line(location()))
    assert import_logs([tmp_path], strict=True).readings.height == 1
    (tmp_path / "notes.html").write_text("<html>")
    assert import_logs([tmp_path], strict=True).unknown == (str(tmp_path / "notes.html"),)
    buffer = io.BytesIO(_zipped(tmp_path / "y.zip", {"a.gpx": samples.gpx(tmp_path).read_bytes()}).read_bytes())
    (tmp_path / "y.zip").write_bytes(buffer.getvalue()[:-40])
    assert [Path(file).name for file, _ in import_logs([tmp_path]).not_read] == ["y.zip"]
    with pytest.raises(DataError, match=r"y\.zip: the zip archive is damaged"):
        import_logs([tmp_path], strict=True)


def test_visits_of_months_by_the_thousand_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred bytes that last for a year make 17,569 readings."""
    monkeypatch.setattr(importing, "MANY", 100_000)
    year = {"startTime": "2023-01-01T00:00:00Z", "endTime": "2024-01-01T00:00:00Z", **VISIT}
    path = _written(tmp_path / "location-history.json", json.dumps([year] * 5).encode())
    assert import_logs([path]).readings.height == 17_521
    path.write_text(json.dumps([year] * 20))
    with pytest.raises(DataError, match=r"location-history\.json: \d+ records make more than 100000 readings"):
        import_logs([path])
