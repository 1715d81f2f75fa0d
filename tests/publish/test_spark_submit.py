"""The example that spark-submit is given, run by the spark-submit that pyspark brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from discreet.cli import run

EXAMPLES = Path(__file__).parents[2] / "examples"
SUBMIT = Path(sys.executable).parent / "spark-submit"


@pytest.mark.spark
@pytest.mark.skipif(not SUBMIT.exists(), reason="no spark-submit beside this Python: pip install 'discreet[spark]'")
def test_the_example_publishes_by_spark_submit_as_the_command_does(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    lines = (EXAMPLES / "events.csv").read_text(encoding="utf-8").splitlines()[:81]
    events.write_text("\n".join(lines), encoding="utf-8")
    given = [str(events), "--secret", "activity=gambling", "--habits", "chain", "--mechanism", "pa-markov"]
    given += ["--seed", "1", "--json", "--out"]
    submit = [str(SUBMIT), "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    ran = subprocess.run(
        [*submit, str(EXAMPLES / "spark_publish.py"), *given, str(tmp_path / "spark.parquet")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    code = run(["publish", *given, str(tmp_path / "local.parquet")])
    assert ran.returncode == code, ran.stderr
    told = ran.stdout[ran.stdout.index("{") :]  # spark-submit puts notes there too, before and after
    assert json.JSONDecoder().raw_decode(told)[0]["events"] == 80
    parts = sorted((tmp_path / "spark.parquet").iterdir())
    assert pl.concat(map(pl.read_parquet, parts)).equals(pl.read_parquet(tmp_path / "local.parquet"))
