from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.publish import spark_session

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


def test_without_spark_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "pip install 'discreet[spark]'" in str(spark_session.missing())


def test_settings_of_this_machine_are_for_this_machine() -> None:
    assert spark_session.is_local("local[2]")
    assert spark_session.is_local("local-cluster[2,1,1024]")
    assert not spark_session.is_local("spark://host:7077")
