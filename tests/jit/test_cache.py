"""Where compiled loops are kept, and that a folder which cannot be written is no error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from discreet.jit import cache, rule, sums

LOOP = rule.LOOPS["discreet.jit.sums.sparse_product"]
GIVEN = np.array([0.1, 0.2]), np.array([0, 1, 2]), np.array([0, 1]), np.array([0.3, 0.7]), 2


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Candidates are looked for again, in an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    cached = (cache.candidates, cache._first_writable)
    for one in cached:
        one.cache_clear()
    yield tmp_path
    for one in cached:
        one.cache_clear()


def test_the_folder_that_is_told_comes_first(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(anew / "told"))
    assert cache.writable().parent == anew / "told"
    assert cache.writable().stat().st_mode & 0o022 == 0


def test_a_file_in_its_place_leads_to_the_users_own(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (anew / "told").write_text("", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(anew / "told"))
    monkeypatch.setattr(cache, "PACKAGE", anew / "told")
    assert anew in cache.writable().parents
    assert "told" not in cache.writable().parts


def test_without_any_it_is_a_folder_that_ends_with_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    no, here = str(tmp_path / "file"), str(tmp_path)
    told = {"NUMBA_CACHE_DIR": no, "XDG_CACHE_HOME": no, "TMPDIR": here}
    code = (
        "import sys; from pathlib import Path; from discreet.jit import cache; cache._digest()\n"
        "cache.PACKAGE = Path(sys.argv[1])\n"
        "print(cache.writable(), cache.writable().is_dir())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, no], env={**os.environ, **told}, capture_output=True, text=True, check=True
    )
    folder, was_there = run.stdout.split()
    assert was_there == "True"
    assert Path(folder).parent == tmp_path
    assert not Path(folder).exists()


def test_code_of_a_folder_that_cannot_be_written_is_used(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(anew / "image"))
    folder = cache.writable()
    for name in cache._files(LOOP):
        (folder / name).touch()
    monkeypatch.setattr(cache, "_told", anew / "own")
    monkeypatch.setattr(cache, "PACKAGE", anew / "package")
    assert cache.folder_of(LOOP) == folder
    cache.discard(LOOP)
    assert cache.folder_of(LOOP) == anew / "own"


def test_damaged_code_is_compiled_anew(tmp_path: Path) -> None:
    """Cut off, or not code at all: the process that finds it goes on, and says nothing."""
    code = (
        "import numpy as np\nfrom discreet.jit import cache, rule, sums\n"
        "loop = rule.LOOPS['discreet.jit.sums.sparse_product']\n"
        "for name in (*cache._files(loop), f'{cache.file_name(loop)}.nbi'):\n"
        "    (cache.writable() / name).write_bytes(b'no code')\n"
        "given = np.array([0.1, 0.2]), np.array([0, 1, 2]), np.array([0, 1]), np.array([0.3, 0.7]), 2\n"
        "from discreet.jit import backend\n"
        "assert backend.loaded(loop) is None and not cache.is_ready(loop)\n"
        "print(sums.sparse_product(*given), loop.is_compiled)\n"
    )
    told = {"NUMBA_CACHE_DIR": str(tmp_path), rule.VARIABLE: "now"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env={**os.environ, **told}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split()[-1] == "True"


def test_what_is_kept_has_names_and_no_code_that_llvm_would_parse(tmp_path: Path) -> None:
    """numba keeps the code for callers that inline it, beside the object. Only Python calls loops, so that none do."""
    code = (
        "import sys, numpy as np\nfrom discreet.jit import backend, rule, sums\n"
        "loop = rule.LOOPS['discreet.jit.sums.sparse_product']\n"
        "given = np.array([0.1, 0.2]), np.array([0, 1, 2]), np.array([0, 1]), np.array([0.3, 0.7]), 2\n"
        "if sys.argv[1] == 'kept': assert backend.loaded(loop) is not None\n"
        "print(sums.sparse_product(*given), loop.is_compiled)\n"
        "(made,) = backend._dispatchers[loop.name].overloads.values()\n"
        "shared = made.library._get_module_for_linking()\n"
        "print(sum(not one.is_declaration for one in shared.functions))\n"
    )
    told = {"NUMBA_CACHE_DIR": str(tmp_path), rule.VARIABLE: "now"}
    printed = []
    for how in ("made", "kept"):
        command = [sys.executable, "-W", "error", "-c", code, how]
        run = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        printed.append(run.stdout.splitlines())
    assert printed[0][0] == printed[1][0]
    assert printed[0][0].endswith("True")
    assert int(printed[0][1]) > 0
    assert int(printed[1][1]) == 0


def test_the_folder_depends_on_helpers_in_other_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba alone would go on with code of an older pivots.py, because programme.py is as it was."""
    before = cache._digest.__wrapped__()
    real = cache._digest_of_file
    monkeypatch.setattr(cache, "_digest_of_file", lambda path: "new" if path.endswith("pivots.py") else real(path))
    assert cache._digest.__wrapped__() != before
    monkeypatch.setattr(cache, "_digest_of_file", real)
    assert cache._digest.__wrapped__() == before
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic-of-this-test")
    assert cache._digest.__wrapped__() != before


def test_folders_of_earlier_versions_are_removed_but_for_a_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(cache.FOLDERS_KEPT + 2):
        folder = tmp_path / f"discreet-{number}"
        folder.mkdir()
        os.utime(folder, (number, number))
    (tmp_path / "another").mkdir()
    monkeypatch.setattr(cache, "_told", tmp_path / "discreet-0")
    cache.prune()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"discreet-0", "another", *(f"discreet-{2 + number}" for number in range(cache.FOLDERS_KEPT))}
    assert sums.sparse_product(*GIVEN).tolist() == [0.03, 0.13999999999999999]


def test_what_is_compiled_for_any_processor_is_found_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image is built on one machine and runs on others."""
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    before = cache._digest.__wrapped__()
    monkeypatch.setattr(cache, "_processor", lambda: "another")
    assert cache._digest.__wrapped__() != before
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    anywhere = cache._digest.__wrapped__()
    monkeypatch.setattr(cache, "_processor", lambda: "a third")
    assert cache._digest.__wrapped__() == anywhere
