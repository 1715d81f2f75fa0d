"""A folder of files as one archive, with a manifest of their digests; read in two passes.

The first pass checks everything and writes nothing, so that an archive that was altered, cut off, made by a later
program or meant to write elsewhere leaves no file behind.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from discreet.errors import DiscreetError
from discreet.files import written_whole
from discreet.gateway.sealed import SEALED, SealingFile, UnsealingFile, is_sealed

MANIFEST = "manifest.json"

FORMAT = 1

ARCHIVES = (".tar", ".tar.gz", ".tgz")

PIECE = 1 << 20

NOT_OURS = "is no archive of discreet backup"


def is_archive(path: Path) -> bool:
    """Whether a name is that of an archive, and not of a folder."""
    return path.name.removesuffix(SEALED).endswith(ARCHIVES)


def write_manifest(folder: Path, names: Sequence[str], said: Mapping[str, Any]) -> None:
    """Put a manifest of these files beside them."""
    files = {}
    for name in names:
        with (folder / name).open("rb") as file:
            files[name] = {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": _size(folder / name)}
    whole = {"format": FORMAT, "discreet": version("discreet"), **said, "files": files}
    with written_whole(folder / MANIFEST, private=True) as made:
        made.write(json.dumps(whole, indent=1, ensure_ascii=False).encode() + b"\n")


def _size(path: Path) -> int:
    return path.stat().st_size


def pack(folder: Path, names: Sequence[str], out: Path, passphrase: str | None = None) -> None:
    """One file, for its owner alone, whole or not at all; the manifest is the first in it."""
    packed = out.name.removesuffix(SEALED)
    with ExitStack() as opened:
        file: Any = opened.enter_context(written_whole(out, private=True))
        if passphrase is not None:
            file = opened.enter_context(closing(SealingFile(file, passphrase)))
        mode: Any = "w|" if packed.endswith(".tar") else "w|gz"
        with tarfile.open(fileobj=file, mode=mode) as tar:
            for name in (MANIFEST, *names):
                tar.add(folder / name, name, recursive=False, filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def checked(source: Path, known: Mapping[str, int], passphrase: str | None = None) -> dict[str, Any]:
    """An archive's manifest, when every file is as it says; nothing is written.

    `known` is the latest version of each schema that this program reads.
    """
    with _in_words(source):
        return _checked(source, known, passphrase)


def _checked(source: Path, known: Mapping[str, int], passphrase: str | None) -> dict[str, Any]:
    manifest: dict[str, Any] | None = None
    left: dict[str, Any] = {}
    for name, file in _files(source, passphrase):
        if manifest is None:
            if name != MANIFEST:
                raise DiscreetError(f"{source}: {NOT_OURS}: it does not begin with a manifest")
            manifest = _manifest(source, file, known)
            left = dict(manifest["files"])
            continue
        expected = left.pop(name, None)
        if expected is None:
            raise DiscreetError(f"{source}: {name!r} is not in its manifest; nothing was restored")
        digest, size = hashlib.sha256(), 0
        while piece := file.read(PIECE):
            digest.update(piece)
            size += len(piece)
        if (digest.hexdigest(), size) != (expected["sha256"], expected["bytes"]):
            raise DiscreetError(f"{source}: {name} is not as it was written; nothing was restored")
    if manifest is None or left:
        missing = next(iter(left), MANIFEST)
        raise DiscreetError(f"{source}: {missing} is missing; nothing was restored")
    return manifest


def unpack(source: Path, manifest: Mapping[str, Any], into: Path, passphrase: str | None = None) -> None:
    """The files of a checked archive in a new folder, each for its owner alone, and again as the manifest says."""
    with _in_words(source):
        _unpack(source, manifest, into, passphrase)


def _unpack(source: Path, manifest: Mapping[str, Any], into: Path, passphrase: str | None) -> None:
    for name, file in _files(source, passphrase):
        if name == MANIFEST:
            continue
        path, digest = into / name, hashlib.sha256()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_whole(path, private=True) as made:
            while piece := file.read(PIECE):
                digest.update(piece)
                made.write(piece)
        if manifest["files"].get(name, {}).get("sha256") != digest.hexdigest():
            raise DiscreetError(f"{source}: {name} has changed meanwhile; nothing was restored")


def _manifest(source: Path, file: BinaryIO, known: Mapping[str, int]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read(PIECE))
        form, schemas, files = int(found["format"]), found["schemas"], found["files"]
        assert all(_safe(name) and {"sha256", "bytes"} <= one.keys() for name, one in files.items())
        later = [name for name, number in schemas.items() if int(number) > known.get(name, 0)]
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise DiscreetError(f"{source}: {NOT_OURS}: its manifest cannot be read") from None
    if form > FORMAT or later:
        what = f"its {later[0]}" if later else "it"
        raise DiscreetError(
            f"{source}: {what} is of a later version, of discreet {found.get('discreet', '?')}; install that, or newer"
        )
    return found


def _safe(name: str) -> bool:
    """A path below the folder that it is unpacked in, and nowhere else."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\\" not in name and "\0" not in name


def _files(source: Path, passphrase: str | None) -> Iterator[tuple[str, BinaryIO]]:
    """Every file of an archive or of a folder that a backup is, the manifest first."""
    if source.is_dir():
        names = sorted(path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
        for name in sorted(names, key=lambda one: one != MANIFEST):
            with (source / name).open("rb") as file:
                yield name, file
        return
    with _opened(source, passphrase) as plain, tarfile.open(fileobj=plain, mode="r|*") as tar:
        for entry in tar:
            found: Any = tar.extractfile(entry) if entry.isreg() else None
            if found is None:
                raise DiscreetError(f"{source}: {entry.name!r} is no file; nothing was restored")
            yield entry.name, found
        while plain.read(PIECE):  # to the end, which says whether it is whole
            pass


@contextmanager
def _in_words(source: Path) -> Iterator[None]:
    """Whatever comes of bytes that are not as they were written."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, OverflowError) as error:
        raise DiscreetError(f"{source}: {NOT_OURS}, or damaged: {error}; nothing was restored") from None


@contextmanager
def _opened(source: Path, passphrase: str | None) -> Iterator[Any]:
    try:
        file: BinaryIO = source.open("rb")
    except OSError as error:
        raise DiscreetError(f"{source}: cannot be read: {error.strerror}") from None
    with file:
        if not is_sealed(file):
            yield file
        elif passphrase is None:
            raise DiscreetError(f"{source}: is encrypted; give the passphrase (--passphrase-file FILE)")
        else:
            with closing(io.BufferedReader(UnsealingFile(file, passphrase), PIECE)) as plain:
                yield plain
