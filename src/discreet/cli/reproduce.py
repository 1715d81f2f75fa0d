"""`discreet reproduce`: the papers' experiments, which are a distribution of their own."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup

from discreet import plugins
from discreet.errors import DiscreetError

DISTRIBUTION = "discreet-experiments"


@cache
def _papers() -> Any:
    """The verb's commands, from the distribution that has them."""
    if "reproduce" not in plugins.names(plugins.COMMANDS):
        raise DiscreetError(f"the papers' experiments are not installed; pip install {DISTRIBUTION}")
    return typer.main.get_command(plugins.loaded(plugins.COMMANDS, "reproduce"))


class _Papers(TyperGroup):
    """A command a paper. They are looked for when the verb is used, so that other verbs do not wait for it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The papers."""
        return list(_papers().list_commands(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of one paper."""
        return _papers().get_command(ctx, cmd_name)


reproduce = typer.Typer(
    name="reproduce",
    cls=_Papers,
    help="Repeat a paper's experiments on recorded data, with tables and charts. "
    "Example: discreet reproduce maskit --data DIR. Each paper has its own --help and --json.",
    no_args_is_help=True,
)


@reproduce.callback()
def _group() -> None:
    """Make it a group, though its commands come later."""
