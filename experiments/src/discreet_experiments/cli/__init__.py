"""The commands of `discreet reproduce`, one file a paper."""

from __future__ import annotations

import typer

from discreet_experiments.cli.adaptive import adaptive
from discreet_experiments.cli.capp import capp
from discreet_experiments.cli.dphmm import dphmm
from discreet_experiments.cli.fdh import fdh
from discreet_experiments.cli.maskit import maskit
from discreet_experiments.cli.s_ppatp import s_ppatp

reproduce = typer.Typer(
    name="reproduce",
    help="Repeat a paper's experiments on recorded data, with tables and charts. "
    "Example: discreet reproduce maskit --data DIR. Each paper has its own --help and --json.",
    no_args_is_help=True,
)
for paper in (maskit, fdh, capp, dphmm, adaptive, s_ppatp):
    reproduce.command()(paper)
