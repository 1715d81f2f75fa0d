"""Where compiled loops are kept: a folder named after everything that their code depends on.

numba itself looks only at the file of the function that Python calls; a change in a helper's file would go unnoticed.
Here the folder's name is a digest of the sources of all loops, the versions and the processor, so what is in the folder
is right. Code of a folder that cannot be written is used all the same (an image with a read-only root); new code then
goes to the user's cache folder, and where that cannot be written either, to one that ends with the process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.jit.modules import OTHERS, PARTS, SESSION

if TYPE_CHECKING:
    from discreet.jit.rule import Loop

PACKAGE = Path(__file__).parents[1]

_told: Path | None = None

FOLDERS_KEPT = 4
"""Folders of earlier versions that stay, so that two checkouts do not compile in turns."""


def is_ready(loop: Loop) -> bool:
    """Whether the loop's code is in a cache, for every list of types that is declared."""
    return _found(loop) is not None


def folder_of(loop: Loop) -> Path:
    """The folder that has the loop's code, else the one to write it to."""
    return _found(loop) or writable()


def discard(loop: Loop) -> None:
    """Remove what cannot be loaded, so that it is compiled again."""
    found = _found(loop)
    if found is not None:
        with contextlib.suppress(OSError):
            for name in (*_files(loop), f"{file_name(loop)}.nbi"):
                (found / name).unlink(missing_ok=True)


def file_name(loop: Loop) -> str:
    """How the files of a loop begin."""
    return f"{loop.name}-{_digest_of_file(loop.py_func.__code__.co_filename)}"


@functools.cache
def candidates() -> tuple[Path, ...]:
    """Folders in which code may be, best first: the one that is told, that beside the package, and the user's own."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    bases = (*([Path(told)] if told else []), PACKAGE / "__pycache__", *_of_user())
    return tuple(base / f"discreet-{_digest()}" for base in bases)


def writable() -> Path:
    """Where code is written to."""
    return _told or _first_writable()


def use(folder: Path) -> None:
    """Write to this folder, which another process has chosen."""
    global _told
    _told = folder


@functools.cache
def _first_writable() -> Path:
    """The first of the candidates that can be written; else a folder that is removed when the process ends."""
    for folder in candidates():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o755)  # what root has compiled, others may use
            with tempfile.TemporaryFile(dir=folder):
                return folder
    own = Path(tempfile.mkdtemp(prefix="discreet-"))
    atexit.register(_removed, own, os.getpid())
    return own


def prune() -> None:
    """Remove the folders of earlier versions, less the latest few."""
    own = writable()
    with contextlib.suppress(OSError):
        others = [folder for folder in own.parent.glob("discreet-*") if folder != own]
        for folder in sorted(others, key=lambda one: one.stat().st_mtime, reverse=True)[FOLDERS_KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _of_user() -> list[Path]:
    """The user's cache folder, unless it is somebody else's: whoever can write there could put code in."""
    try:
        home = Path.home()
        told = os.environ.get("XDG_CACHE_HOME")
        folder = Path(told) if told else home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        own = not hasattr(os, "getuid") or home.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):
        return []
    return [folder / "discreet"] if own else []


def _found(loop: Loop) -> Path | None:
    names = _files(loop)
    for folder in dict.fromkeys((*candidates(), writable())):
        if names and all((folder / name).exists() for name in names):
            return folder
    return None


def _files(loop: Loop) -> list[str]:
    return [f"{file_name(loop)}.{number + 1}.nbc" for number in range(len(loop.signatures))]


def _removed(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _digest_of_file(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:8]
    except OSError:  # a notebook's cell
        return "0"


@functools.cache
def _digest() -> str:
    """Of the sources, the versions, the processor, and what numba is told of it."""
    digest = hashlib.sha256()
    for module in ("discreet.numerics", *PARTS, *SESSION, *OTHERS):
        path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
        digest.update(_digest_of_file(str(path)).encode())
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    told = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")]
    processor = "any" if told[0].lower() == "generic" else _processor()  # numba then asks for no features either
    digest.update(repr((sys.version, sys.byteorder, versions, told, platform.machine(), processor)).encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What tells processors apart, without loading LLVM."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0].splitlines()
    except OSError:
        return platform.processor()
    return "".join(line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part")))
