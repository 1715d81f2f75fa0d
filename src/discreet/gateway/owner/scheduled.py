"""Backups by the clock: one archive every day or week, and the latest of them kept."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.gateway.config.sections import Backups
from discreet.gateway.health import Health
from discreet.gateway.sealed import SEALED
from discreet.gateway.store.backup import BackupOrder, back_up

LOG = logging.getLogger("discreet.gateway.owner.scheduled")

LOOK = 60.0
"""Seconds between two looks at whether a backup is due."""

NAME = re.compile(r"discreet-(\d{4}-\d{2}-\d{2})\.tar\.gz(\.sealed)?")

PART = "backup"
"""What health calls it."""


class ScheduledBackups:
    """Makes the archives that are due; when depends on the clock alone."""

    def __init__(
        self, plan: Backups, order: BackupOrder, wall: Callable[[], float], zone: dt.tzinfo, health: Health
    ) -> None:
        self._plan, self._wall, self._zone, self._health = plan, wall, zone, health
        self._order = replace(order, passphrase=plan.passphrase)

    def made(self) -> list[tuple[dt.date, Path]]:
        """The archives that are there, the oldest first."""
        there = self._plan.folder.glob("discreet-*") if self._plan.folder.is_dir() else ()
        named = ((NAME.fullmatch(path.name), path) for path in there)
        return sorted((dt.date.fromisoformat(name[1]), path) for name, path in named if name is not None)

    def due(self) -> Path | None:
        """The archive that is to be made now; None where there is one already."""
        today = dt.datetime.fromtimestamp(self._wall(), self._zone).date()
        made = self.made()
        if made and 0 <= (today - made[-1][0]).days < self._plan.days:
            return None
        sealed = SEALED if self._plan.passphrase is not None else ""
        out = self._plan.folder / f"discreet-{today}.tar.gz{sealed}"
        return None if out.exists() else out

    def make(self) -> Path | None:
        """Make what is due, and take away what is more than are kept; the new archive."""
        out = self.due()
        if out is None:
            return None
        self._plan.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        back_up(self._order, out, dt.datetime.fromtimestamp(self._wall(), dt.UTC))
        for _, path in self.made()[: -self._plan.keep]:
            path.unlink(missing_ok=True)
        return out

    async def run(self, turn: Callable[[], Awaitable[None]]) -> None:
        """Look every minute, after `turn`: what is told at a boundary goes first."""
        while True:
            await turn()
            try:
                if await asyncio.to_thread(self.make) is not None:
                    LOG.info("a backup was made")
                self._health.mended(PART)
            except (DiscreetError, OSError) as error:
                self._health.broken(PART, "a backup could not be made", str(error), kind=type(error).__name__)
            await asyncio.sleep(LOOK)
