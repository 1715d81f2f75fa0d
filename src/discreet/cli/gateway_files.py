"""Where a gateway's settings and files are: as options say, as the settings say, or in the folder one is in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.gateway.config.settings import Settings

CONFIG = Path("discreet.toml")

DATA = "discreet-data"
"""The folder of a gateway's files, beside its settings."""

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The gateway's folder.", show_default="as the settings say, or discreet-data beside them"
    ),
]
Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The gateway's settings.", show_default="discreet.toml")
]


def settings_at(config: Path | None) -> Settings | None:
    """The settings; None where none are named and there are none here."""
    if config is None and not CONFIG.exists():
        return None
    from discreet.gateway.config.settings import Settings

    return Settings.read(config or CONFIG)


def folder_at(data: Path | None, config: Path | None, settings: Settings | None) -> Path:
    """The folder of a gateway's files, whether it is there or not."""
    if data is not None:
        return data
    if settings is None and not Path(DATA).is_dir():
        raise DiscreetError(
            f"there is neither {CONFIG} nor {DATA} here; go to the folder that discreet setup wrote to, or give it by "
            "--config FILE or --data DIR"
        )
    said = None if settings is None else settings.server.data
    return said or (config or CONFIG).parent / DATA


def journal_at(data: Path | None, config: Path | None, postgres: str | None) -> tuple[Path, str | None]:
    """The folder, and the address of a journal that is not in it. A folder that is named needs no settings."""
    settings = None if data is not None and config is None else settings_at(config)
    said = None if settings is None else settings.journal.url
    return folder_at(data, config, settings), postgres or said
