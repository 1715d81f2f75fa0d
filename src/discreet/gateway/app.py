"""From settings to a running gateway: files opened, people configured, routes mounted, tasks beside the server."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from discreet.errors import DiscreetError, OneDayError
from discreet.gateway.auth.authorization import Authorization
from discreet.gateway.auth.login import Owner
from discreet.gateway.auth.tokens import Access
from discreet.gateway.config.broker import Broker
from discreet.gateway.config.sections import Backups, JournalAt, Keeping, Page, Rates, Server
from discreet.gateway.config.settings import Settings
from discreet.gateway.config.views import View
from discreet.gateway.metrics import GatewayMetrics
from discreet.gateway.owner import tiles
from discreet.gateway.owner.applications_http import application_routes
from discreet.gateway.owner.day_http import day_routes, pause_routes
from discreet.gateway.owner.http import UNKNOWN, owner_routes
from discreet.gateway.owner.maps import Maps
from discreet.gateway.owner.maps_http import map_routes
from discreet.gateway.owner.past import Pasts
from discreet.gateway.owner.previews import Previews
from discreet.gateway.owner.routines import RoutineFiles, Routines
from discreet.gateway.owner.routines_http import routine_routes
from discreet.gateway.owner.scheduled import ScheduledBackups
from discreet.gateway.owner.secrets import PolicyFiles
from discreet.gateway.owner.secrets_http import secrets_routes
from discreet.gateway.owner.setup_http import UPLOAD, setup_routes
from discreet.gateway.runtime import Gateway
from discreet.gateway.setup.files import history_file
from discreet.gateway.setup.steps import SetupSteps
from discreet.gateway.setup.supervisor import Supervisor
from discreet.gateway.slots.changes import present
from discreet.gateway.slots.keeper import Keeper
from discreet.gateway.slots.nightly import Notice, look
from discreet.gateway.slots.person import PersonConfig
from discreet.gateway.slots.restore import mended
from discreet.gateway.slots.served import checked_mechanism, of_one_day, unpromised
from discreet.gateway.slots.wall_clock import boot_time
from discreet.gateway.store.backup import BackupOrder
from discreet.gateway.store.folder import Folder
from discreet.gateway.store.integrity import CHECK, check_all, check_some
from discreet.gateway.store.journal import Journal, SqliteJournal
from discreet.gateway.store.own_store import OwnStore
from discreet.gateway.wires import page
from discreet.gateway.wires.guard import Guard
from discreet.gateway.wires.home_assistant import HomeAssistantSource, source_of
from discreet.gateway.wires.http import HANDLERS, routes
from discreet.gateway.wires.openapi import document_routes
from discreet.gateway.wires.owntracks_friends import Friend
from discreet.gateway.wires.owntracks_source import OwnTracksSource
from discreet.gateway.wires.reads import Reads
from discreet.gateway.wires.sse import BEAT, Streams
from discreet.places import Places
from discreet.policy import Policy

if TYPE_CHECKING:
    from discreet.gateway.wires.mqtt.publisher import MqttPublisher

LOG = logging.getLogger("discreet.gateway.app")

NIGHTLY = 600.0
"""Seconds between two looks at whether a new day has begun."""

DAILY, PAUSE = 86_400.0, 0.05
"""Seconds between two checks of the whole journal, and between two pages of one: others want the disk, too."""

RECHECK = 600.0
"""Seconds after which a check that could not be made is made again: the database was away, say."""

DONE = object()

TOKEN_CHECK = 1.0
"""Seconds between two looks at tokens that the command has revoked, and at sessions whose time is over."""

UNKNOWN_SHOWN = (
    "no reading is shown as 'unknown' now, and not as the rest: a phone that is off looked like leaving home. To show "
    "it as before, name 'unknown' in a group"
)

TOKENS = "tokens"
"""What health calls reading and writing them."""

TELLING = "telling the broker"
"""The task whose settings may change with a person who is added."""

Task = Callable[[], Awaitable[None]]
"""Work beside the server, such as a broker's: cancelled when the gateway stops."""


@dataclass(frozen=True)
class GatewayPlan:
    """What a gateway is made of, whether a file says so or a demo."""

    people: Sequence[PersonConfig]
    views: Mapping[str, View] = field(default_factory=dict)
    server: Server = field(default_factory=Server)
    keeping: Keeping = field(default_factory=Keeping)
    journal: JournalAt = field(default_factory=JournalAt)
    limits: Rates = field(default_factory=Rates)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """What is tried every night, of who is named."""
    broker: Broker | None = None
    owntracks: Sequence[OwnTracksSource] = ()
    home_assistant: Sequence[HomeAssistantSource] = ()
    page: Page = field(default_factory=Page)
    maps: Mapping[str, Path] = field(default_factory=dict)
    """The files of places, of who has one."""
    routines: Mapping[str, RoutineFiles] = field(default_factory=dict)
    """Where habits stand, of who has a file of them."""
    file: Path | None = None
    """The settings, if they are a file."""
    views_in_use: frozenset[str] = frozenset()
    """Views that the settings name elsewhere."""
    policy_files: Mapping[str, Path] = field(default_factory=dict)
    """Where policies stand, of who has one that the owner's page may change."""
    wall: Callable[[], float] = time.time
    backups: Backups | None = None
    friends: Sequence[Friend] = ()
    steady: Callable[[], float] | None = None
    """What tells that the wall clock jumped (`wall_clock`); None where it is moved as one likes."""
    pace: float = 1.0
    beat: float = BEAT


def plan_of(settings: Settings) -> GatewayPlan:
    """The plan of a file, everything that it names read and checked."""
    opened = settings.opened()
    people = [
        PersonConfig(
            name,
            settings.clock,
            served.routine,
            settings.people[name].spec,
            served.policy,
            served.places or Places([]),
            settings.people[name].carry,
            tuple(
                source_of(entity)
                for house in settings.home_assistant
                for entity, whose in house.entities.items()
                if whose == name
            ),
            settings.people[name].phone,
        )
        for name, served in opened.items()
    ]
    return GatewayPlan(
        people,
        settings.views,
        settings.server,
        settings.keeping,
        settings.journal,
        settings.limits,
        {name: served.policy for name, served in opened.items()},
        settings.broker,
        settings.owntracks,
        settings.home_assistant,
        page=settings.page,
        maps={name: one.places for name, one in settings.people.items() if one.places is not None},
        routines={name: RoutineFiles(one.routine, history_file(one)) for name, one in settings.people.items()},
        file=settings.file,
        views_in_use=frozenset(one.view for one in settings.applications.values())
        | frozenset(one.view for one in (settings.broker.tells if settings.broker else ()))
        | frozenset(one.view for one in settings.friends),
        policy_files={name: one.policy for name, one in settings.people.items()},
        backups=settings.backups,
        friends=settings.friends,
        steady=boot_time,
    )


class PreparedGateway:
    """A gateway with its routes, not yet running; `routes` and `tasks` may be added to before `app` is asked for."""

    def __init__(
        self,
        plan: GatewayPlan,
        folder: Folder,
        *,
        complete: Path | None = None,
        new_stream: bool = False,
        settings: Settings | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`complete` and `new_stream` are what becomes of a restored backup (`restored.mended`).

        With `settings` the page can add people to them; with `supervisor`, from Home Assistant.
        """
        self.plan, self.folder = plan, folder
        self._tiles = None if plan.page.tiles is None else tiles.opened(plan.page.tiles)
        folder.lock()
        with ExitStack() as undone:
            undone.callback(folder.unlock)
            if self._tiles is not None:
                undone.callback(self._tiles.close)
            key = folder.key()
            self.access = undone.enter_context(closing(Access(folder.access)))
            journal = undone.enter_context(closing(opened_journal(plan.journal, folder)))
            check_not_lost(plan.people, journal)
            own = undone.enter_context(closing(OwnStore(folder.own)))
            self.notes: Sequence[str] = mended(
                plan.people,
                journal,
                own,
                key,
                plan.wall(),
                complete=complete,
                new_stream=new_stream,
                aside=folder.aside,
            )
            grace, margin = plan.keeping.grace, plan.keeping.margin
            keeper = Keeper(plan.people, journal, own, key, plan.wall(), grace=grace, margin=margin)
            undone.pop_all()
            self.notes = [
                *self.notes,
                *keeper.notes,
                *_unpromised(keeper),
                *_changed_views(plan.views, folder, new=not keeper.reached),
            ]
        self._map_files, self._policy_files = dict(plan.maps), PolicyFiles(plan.policy_files)
        maps = Maps(keeper, self._map_files, self._taken_over)
        self._routines = Routines(keeper, maps, plan.routines, folder.path)
        self._pasts = Pasts(keeper, self._routines.past, folder.path)
        plan = self.plan = replace(plan, people=_with_maps(plan.people, maps))
        retention = dt.timedelta(days=plan.keeping.retention_days)
        self.gateway = Gateway(keeper, wall=plan.wall, steady=plan.steady, pace=plan.pace, retention=retention)
        self.owner = Owner(self.access)
        self.notices: dict[str, Notice] = {}
        self.streams = Streams(self.access, beat=plan.beat)
        self.owner.on_ended(self.streams.end)
        self.metrics = GatewayMetrics(self.gateway, self.streams)
        people = self._people = {one.name: one for one in plan.people}
        self._teller: MqttPublisher | None = None
        previews = Previews()
        instance = hashlib.sha256(b"cookie" + key).hexdigest()[:8]
        self.auth = Authorization(self.access, self.owner, people, plan.views, plan.limits, instance)
        self._reads = Reads(self.gateway, self.auth.charge)
        self.steps = None if settings is None else SetupSteps(folder.path, settings, plan.limits.upload * 1_000_000)
        if self.steps is not None:
            self.steps.known, self.steps.supervisor = journal.people, supervisor
            self.steps.tiles = tiles.described(self._tiles)
        self.routes: list[BaseRoute] = [
            *routes(self.gateway, self.auth, self.streams, self._reads),
            *owner_routes(self.auth, self.metrics, self.notices, self.settle_accounts),
            *application_routes(self.gateway, self.auth, plan.file, self._view_shown, plan.views_in_use),
            *day_routes(self.gateway, self.auth, self._pasts, broker=plan.broker is not None),
            *map_routes(self.gateway, self.auth, maps, self._redrawn, self._tiles),
            *routine_routes(self.gateway, self.auth, self._routines),
            *pause_routes(self.gateway, self.auth),
            *secrets_routes(self.gateway, self.auth, self._policy_files, previews),
            *page.routes(),
            *document_routes(),
            *([] if self.steps is None else setup_routes(self.steps, self.auth, self.admit)),
        ]
        self.settle_accounts()
        check_some(journal, key, self.gateway.health)
        self._key = key
        self._loop: asyncio.AbstractEventLoop | None = None
        self.tasks: list[Task] = [self._watch_tokens, self._look_nightly, self._check_nightly, previews.watch]
        self._mount_wires(people)
        self._beside: dict[str, asyncio.Future[None]] = {}
        """Tasks of wires that came with people since the start."""
        if plan.backups is not None and plan.people:
            self.tasks.append(partial(self._scheduled(plan.backups).run, self.gateway.precedence.telling.passed))

    def _scheduled(self, backups: Backups) -> ScheduledBackups:
        """Backups by the clock, of what this gateway is: read beside it, so that no slot waits."""
        url, plan = self.plan.journal.url, self.plan
        order = BackupOrder(
            self.folder.path,
            journal=None if url is None else partial(opened_journal, plan.journal, self.folder, look=True),
            settings=plan.file,
        )
        return ScheduledBackups(backups, order, plan.wall, ZoneInfo(plan.people[0].clock.zone), self.gateway.health)

    def settle_accounts(self) -> None:
        """Erase the past of whoever's account ended or was taken over, before anybody else sees to them."""
        accounts = self.access.accounts
        for person in accounts.owed():
            self.gateway.keeper.own.erase_past(person)
            self.notices.pop(person, None)
            accounts.erased(person)

    def _taken_over(self, person: str, places: Places) -> None:
        """A map came into force with its habits, in the thread that decides; what it was decided by is told later."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._redrawn, person, places)

    def _redrawn(self, person: str, places: Places) -> None:
        """A map is in force from now on, on every wire."""
        self.auth.redraw(person, places)
        if self._teller is not None:
            self._teller.redraw(person, places)

    def _view_shown(self, name: str, view: View | None) -> None:
        """A view is another from now on, on every wire."""
        self.auth.show(name, view)
        if self._teller is not None and view is not None:
            self._teller.show(view)

    def _mount_wires(self, people: Mapping[str, PersonConfig]) -> None:
        """OwnTracks, the broker and Home Assistant, as far as the plan has them."""
        from discreet.gateway.wires import home_assistant_socket, owntracks
        from discreet.gateway.wires.mqtt import subscriber as mqtt

        plan, gateway = self.plan, self.gateway
        self.routes += owntracks.routes(gateway, self.auth, plan.owntracks, self._reads, plan.friends)
        if plan.broker is not None:
            self._telling(plan.broker, people)
            sources = partial(mqtt.run, gateway, plan.broker, plan.owntracks, plan.home_assistant)
            self.tasks.append(sources)
        self.tasks += [
            partial(home_assistant_socket.run, gateway, one) for one in plan.home_assistant if one.url is not None
        ]

    def _telling(self, broker: Broker, people: Mapping[str, PersonConfig]) -> MqttPublisher:
        """Who tells this broker; a token that is revoked ends what is told under it."""
        from discreet.gateway.wires.mqtt.publisher import MqttPublisher

        ended = [one.grant.token for one in self.access.list() if one.revoked is not None]
        teller = self._teller = MqttPublisher(self.gateway, broker, people, self.auth.views, revoked=ended)
        self.access.on_revoked(teller.revoke)
        return teller

    async def _look_nightly(self) -> None:
        """Are the habits still true? Asked once after each cut, for the owner."""
        asked: dict[str, dt.date] = {}
        while True:
            for one in self.plan.people:
                today, _ = one.clock.locate(dt.datetime.fromtimestamp(self.plan.wall(), dt.UTC))
                if one.name in self.plan.policies and asked.get(one.name) != today:
                    asked[one.name] = today
                    keeper = self.gateway.keeper
                    now = present(keeper.people[one.name].config.history, today)
                    try:
                        found = await asyncio.to_thread(
                            look, keeper.own, one.name, now.routine, now.policy, today, one.spec.make
                        )
                    except Exception as error:  # of one night, of one person
                        LOG.error("the habits could not be tried", extra={"kind": type(error).__name__})
                    else:
                        self.notices[one.name] = found
            await asyncio.sleep(NIGHTLY)

    async def _check_nightly(self) -> None:
        """Is the journal as it was written? All of it after the start, and again every day; sooner where a check could
        not be made. A stop waits for a page that is being read: a closed file would look like a damaged one.
        """
        gateway = self.gateway
        while True:
            steps = check_all(gateway.keeper.journal, self._key, gateway.health)
            while await gateway.read(partial(next, steps, DONE)) is not DONE:
                await asyncio.sleep(PAUSE)
            await asyncio.sleep(RECHECK if any(one.what == CHECK for one in gateway.health.reasons) else DAILY)

    async def admit(self, settings: Settings, name: str) -> None:
        """Serve somebody whom the settings name since the gateway was started."""
        if name in self._people:
            return
        own = await asyncio.to_thread(plan_of, replace(settings, people={name: settings.people[name]}))
        (config,) = own.people
        await self.gateway.admit(config)
        self.auth.admit(config)
        self._people[name] = config
        self._map_files.update(own.maps)
        self._policy_files.admit(name, own.policy_files[name])
        self._routines.admit(name, own.routines[name])
        policies = {**self.plan.policies, **own.policies}
        self.plan = replace(self.plan, people=[*self.plan.people, config], policies=policies)
        if self.steps is not None:
            self.steps.settings = settings
            if self.steps.supervisor is not None:
                await self._connect(settings)

    async def _connect(self, settings: Settings) -> None:
        """Trackers and views on the broker that the settings name since the gateway was started."""
        from discreet.gateway.wires import home_assistant_socket

        for source in settings.home_assistant:
            if source not in self.plan.home_assistant and source.url is not None:
                self._begin(str(source.entities), partial(home_assistant_socket.run, self.gateway, source))
        broker = settings.broker
        if broker is not None and broker != self.plan.broker:
            await self._end(TELLING)
            self._begin(TELLING, self._telling(broker, self._people).run)
        self.plan = replace(self.plan, broker=broker, home_assistant=settings.home_assistant)

    def _begin(self, name: str, task: Task) -> None:
        self._beside[name] = asyncio.ensure_future(self._kept(task))

    async def _end(self, name: str) -> None:
        if (task := self._beside.pop(name, None)) is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def app(self) -> ASGIApp:
        """The application that a server runs."""
        inner = Starlette(routes=self.routes, exception_handlers=HANDLERS, lifespan=self._lifespan)
        inner.router.redirect_slashes = False  # a redirect repeats the caller's address
        server = self.plan.server
        return Guard(
            inner,
            server.answers_to,
            server.behind,
            counted=self.metrics.count,
            streamed=[UPLOAD],
            unknown=UNKNOWN,
            turn=self.gateway.precedence.telling.passed,
            tls_only=server.hsts,
            root_path=server.root_path,
            ingress=server.ingress,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At work within the block; files are closed after it."""
        self._loop = asyncio.get_running_loop()
        async with self.gateway.running():
            tasks = [asyncio.ensure_future(self._kept(task)) for task in self.tasks]
            if self._teller is not None:
                self._begin(TELLING, self._teller.run)
            try:
                yield
            finally:
                self.streams.end_all()
                if self.steps is not None:
                    await asyncio.to_thread(self.steps.cancel)
                await asyncio.to_thread(self._routines.cancel)
                await asyncio.to_thread(self._pasts.cancel)
                for task in (*tasks, *self._beside.values()):
                    task.cancel()
                await asyncio.gather(*tasks, *self._beside.values(), return_exceptions=True)
        self.access.close()
        if self._tiles is not None:
            self._tiles.close()
        self.folder.unlock()

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self.running():
            yield

    async def _kept(self, task: Task) -> None:
        try:
            await task()
        except Exception as error:  # it is said, and the slots go on being decided
            kind = type(error).__name__
            words = f"a task beside the server ended by an error ({kind}); restart the gateway"
            self.gateway.health.broken("tasks", "a task beside the server ended; restart the gateway", words, kind=kind)

    async def _watch_tokens(self) -> None:
        """Whatever fails in one look, the next one comes: tokens that end must be noticed for as long as it runs."""
        while True:
            await asyncio.sleep(TOKEN_CHECK)
            errors = []
            for at_ends in (self.owner.look, self.access.look, self.settle_accounts):
                try:
                    at_ends()
                except Exception as error:
                    errors.append(error)
            if errors:
                kind = type(errors[0]).__name__
                self.gateway.health.broken(
                    TOKENS, "the tokens cannot be read, or their use not written down", str(errors[0]), kind=kind
                )
            else:
                self.gateway.health.mended(TOKENS)


def _with_maps(people: Sequence[PersonConfig], maps: Maps) -> list[PersonConfig]:
    """Everybody, with the map that came into force with their habits while the gateway was off."""
    taken: dict[str, Places] = {}
    for one in people:
        taken.update(maps.take_over(one.name))
    return [replace(one, places=taken.get(one.name, one.places)) for one in people]


def _unpromised(keeper: Keeper) -> list[str]:
    """What is not promised of whose stream, said at every start."""
    found = {name: unpromised(person.session.mechanism) for name, person in keeper.people.items()}
    return [f"{name}: {words}" for name, words in found.items() if words is not None]


def _changed_views(views: Mapping[str, View], folder: Folder, *, new: bool) -> list[str]:
    """What is shown otherwise than by the version before, said at the first start of a folder that has run."""
    names = sorted(name for name, view in views.items() if view.leaves_unknown)
    if not names or not folder.says_once(UNKNOWN_SHOWN) or new:
        return []
    return [f"views {', '.join(names)}: {UNKNOWN_SHOWN}"]


def opened_journal(at: JournalAt, folder: Folder, *, look: bool = False) -> Journal:
    """SQLite in the folder, or PostgreSQL at its address."""
    if at.url is None:
        return SqliteJournal(folder.journal, look=look)
    try:
        made = import_module("discreet.gateway.store.journal.postgres").PostgresJournal
    except ImportError:
        raise DiscreetError(
            "journal.url: PostgreSQL needs psycopg; install it with: pip install 'discreet[postgres]'"
        ) from None
    journal: Journal = made(at.url, look=look)
    return journal


def check_not_lost(people: Sequence[PersonConfig], journal: Journal) -> None:
    """Nobody to serve, beside a journal of somebody: the settings are gone, and are not to be made anew by mistake."""
    if not people and (known := journal.people()):
        raise DiscreetError(
            f"the settings name nobody, and the journal is of {', '.join(known[:3])}; put discreet.toml back, or give "
            "it by --config FILE (or another folder by --data DIR)"
        )


def checked(people: Iterable[PersonConfig]) -> None:
    """Make everybody's mechanism once, as the gateway would from today on: what cannot be decided is an error now."""
    today = dt.datetime.now(dt.UTC).date()
    for one in people:
        try:
            made = one.make(one.routine.since(today))
        except OneDayError as error:
            raise of_one_day(one, error) from None
        except DiscreetError as error:
            raise DiscreetError(f"people.{one.name}.mechanism: {error}") from None
        checked_mechanism(one, made)
