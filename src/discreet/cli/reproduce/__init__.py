"""`discreet reproduce`: the papers' experiments on recorded data, one file a paper."""

from __future__ import annotations

import typer

from discreet.cli.reproduce.adaptive import adaptive
from discreet.cli.reproduce.capp import capp
from discreet.cli.reproduce.dphmm import dphmm
from discreet.cli.reproduce.fdh import fdh
from discreet.cli.reproduce.maskit import maskit
from discreet.cli.reproduce.s_ppatp import s_ppatp

reproduce = typer.Typer(
    name="reproduce",
    help="Repeat a paper's experiments on recorded data, with tables and charts. "
    "Example: discreet reproduce maskit --data DIR. Each paper has its own --help and --json.",
    no_args_is_help=True,
)
for paper in (maskit, fdh, capp, dphmm, adaptive, s_ppatp):
    reproduce.command()(paper)
