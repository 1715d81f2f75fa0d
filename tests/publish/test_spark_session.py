from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.publish.engines.spark import session as spark_session

pytest.importorskip("pyspark", reason="no Spark: pip install 'discreet[spark]'")


def java(folder: Path, said: str) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.15" 2025-04-15', 17), ('java version "1.8.0_412"', 8), ("no Java at all", None)],
)
def test_the_version_of_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, version: int | None) -> None:
    java(tmp_path, said)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert spark_session.java_version() == version


def test_without_java_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiscreetError, match=r"there is no Java; .*`apt install openjdk-17-jre-headless`"):
        spark_session.spark_session("local[1]")
    java(tmp_path, 'openjdk version "11.0.1" 2018-10-16')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(DiscreetError, match="this is Java 11; Spark needs Java 17 or newer"):
        spark_session.spark_session("local[1]")


def test_without_a_package_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "java_version", lambda: 17)
    assert spark_session.missing() is None
    assert spark_session.missing(stream=True) is None
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "google.protobuf", None)
        assert spark_session.missing() is None  # tables do without
        told = "protobuf is not installed, and 5 or newer is needed; `pip install 'discreet[spark]'`"
        assert spark_session.missing(stream=True) == told
    for name, version, bound in (
        ("pyspark", "3.5.1", "4.1 or newer, below 5"),
        ("pyspark", "5.0.0", "4.1 or newer, below 5"),
        ("pandas", "3.0.1", "2.2 or newer, below 3"),
        ("pyarrow", "16.1.0", "17 or newer"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(import_module(name), "__version__", version)
            short = version.rpartition(".")[0]
            told = f"{name} {short} is installed, and {bound} is needed; `pip install 'discreet[spark]'`"
            assert spark_session.missing() == told
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert str(spark_session.missing()).startswith("pyspark is not installed")


def test_packages_are_those_of_the_extra() -> None:
    """What is said to be needed is what `pip install 'discreet[spark]'` gets."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    needed = spark_session.NEEDED | spark_session.NEEDED_BY_STREAMS
    dotted = spark_session._dotted
    written = [
        f"{name}>={dotted(least)}" + (f",<{dotted(below)}" if below else "") for name, (least, below) in needed.items()
    ]
    assert project["project"]["optional-dependencies"]["spark"] == written


def test_settings_of_this_machine_are_for_this_machine() -> None:
    assert spark_session.is_local("local[2]")
    assert spark_session.is_local("local-cluster[2,1,1024]")
    assert not spark_session.is_local("spark://host:7077")
