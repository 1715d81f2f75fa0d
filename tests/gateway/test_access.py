"""Tokens, the owner's password, and limits that know the clock and the caller alone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import DiscreetError
from discreet.gateway.auth.login import QUEUE, SESSION, Owner, TooManyError
from discreet.gateway.auth.passwords import check
from discreet.gateway.auth.tokens import Access, Grant, digest_of
from discreet.gateway.rate_limits import CALLERS, Rate, RateLimit
from discreet.gateway.store.journal import JournalError
from tests.gateway.web import Wall, opened


def test_a_token_opens_what_it_was_made_for_and_is_kept_as_its_digest(tmp_path: Path) -> None:
    access = Access(tmp_path / "access.db")
    token, secret = access.add("application", "jane", view="family", now_only=True, name="fridge")
    assert access.grant(secret) == Grant(token, "application", "jane", "family", True)
    assert len(secret) == 43, "256 bits"
    for wrong in ("", token, secret[:-1], secret + "=", secret.swapcase(), "\ud800"):
        assert access.grant(wrong) is None
    access.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in kept
    assert digest_of(secret) in kept
    assert (tmp_path / "access.db").stat().st_mode & 0o077 == 0


def test_an_end_is_seen_at_once_whoever_makes_it(tmp_path: Path) -> None:
    """The command works on the same file from another process."""
    wall = Wall()
    running, command = Access(tmp_path / "access.db", clock=wall), Access(tmp_path / "access.db", clock=wall)
    told: list[str] = []
    running.on_revoked(told.append)
    one, first = command.add("application", "jane")
    two, second = command.add("source", "jane", expires=wall.now + 60)
    three, third = running.add("owner", None)
    assert all(running.grant(secret) is not None for secret in (first, second, third))
    running.look()
    assert told == []
    assert command.revoke(one)
    assert not command.revoke(one)
    assert not command.revoke("nothing")
    assert running.grant(first) is None
    running.look()
    assert told == [one]
    wall.now += 61
    assert running.grant(second) is None
    running.look()
    assert told == [one, two]
    assert running.revoke(three)
    assert told == [one, two, three]
    running.close()
    command.close()


def test_last_use_is_known_to_the_hour(tmp_path: Path) -> None:
    wall = Wall(1_800_000_123.0)
    access = Access(tmp_path / "access.db", clock=wall)
    _, secret = access.add("source", "jane")
    assert [one.used for one in access.list()] == [None]
    access.grant(secret)
    access.look()
    assert [one.used for one in access.list()] == [1_800_000_000]
    access.close()
    again = Access(tmp_path / "access.db", clock=wall)
    assert [one.used for one in again.list()] == [1_800_000_000]
    again.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"purpose": "friend", "person": "jane"}, "'friend' is none of them"),
        ({"purpose": "source", "person": None}, "of one person"),
        ({"purpose": "owner", "person": "jane"}, "an owner of none"),
        ({"purpose": "source", "person": "jane", "view": "family"}, "are for applications"),
        ({"purpose": "source", "person": "jane", "now_only": True}, "are for applications"),
        ({"purpose": "source", "person": "jane", "expires": 5.0}, "would have expired"),
    ],
)
def test_tokens_that_mean_nothing_are_refused(tmp_path: Path, given: dict[str, Any], told: str) -> None:
    access = Access(tmp_path / "access.db")
    with pytest.raises(DiscreetError, match=told):
        access.add(**given)
    assert access.list() == []
    access.close()


def test_a_file_of_something_else_or_of_a_later_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "access.db").write_bytes(b"no database at all, though long enough to be looked at" * 100)
    with pytest.raises(DiscreetError, match="is no list of tokens"):
        Access(tmp_path / "access.db")
    Access(tmp_path / "later.db").close()
    later = sqlite3.connect(tmp_path / "later.db")
    later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(DiscreetError, match="run the newer program"):
        Access(tmp_path / "later.db")


def test_a_limit_lets_a_burst_through_and_then_goes_by_the_clock() -> None:
    wall = Wall(0.0)
    limit = RateLimit(Rate(3, 0.5), wall)
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 2.0]
    assert limit.wait("b") == 0, "each caller has a bucket of their own"
    wall.now += 1.0
    assert limit.wait("a") == 1.0
    wall.now += 1.0
    assert limit.wait("a") == 0
    wall.now += 1e6
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 2.0], "no more than a burst is saved up"
    for number in range(2 * CALLERS):
        limit.wait(str(number))
    assert len(limit._left) == CALLERS


def test_the_first_password_needs_the_terminals_token_and_then_the_password(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(0.0)
        access = Access(tmp_path / "access.db")
        owner = Owner(access, clock=wall)
        first = owner.first
        assert first is not None
        assert await owner.login("10.0.0.1", "anything at all") is None, "there is no password yet"
        with pytest.raises(DiscreetError, match="not the token"):
            await owner.begin("10.0.0.1", "guessed", "a long password")
        with pytest.raises(DiscreetError, match="has 5 letters"):
            await owner.begin("10.0.0.1", first, "short")
        cookie = await owner.begin("10.0.0.1", first, "a long password")
        assert owner.session(cookie) is not None
        with pytest.raises(DiscreetError, match="has been used"):
            await owner.begin("10.0.0.1", first, "another password")
        again = Owner(access, clock=wall)
        assert again.first is None, "a restart offers no second token"
        assert await again.login("10.0.0.1", "another password") is None
        cookie = await again.login("10.0.0.1", "a long password") or ""
        session = again.session(cookie)
        assert session is not None
        assert session.grant.purpose == "owner"
        wall.now += SESSION
        assert again.session(cookie) is None
        access.close()
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"$argon2id$" in kept
        assert b"a long password" not in kept

    asyncio.run(story())


def test_tries_are_limited_by_address_and_clock_whether_right_or_wrong(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(0.0)
        access = Access(tmp_path / "access.db")
        owner = Owner(access, clock=wall, rate=Rate(2, 1 / 60))
        assert owner.first is not None
        await owner.begin("10.0.0.1", owner.first, "a long password")
        assert await owner.login("10.0.0.1", "wrong") is None
        with pytest.raises(TooManyError) as error:
            await owner.login("10.0.0.1", "a long password")
        assert error.value.wait == pytest.approx(60)
        assert await owner.login("10.0.0.2", "a long password") is not None
        wall.now += 60
        assert await owner.login("10.0.0.1", "a long password") is not None
        access.close()

    asyncio.run(story())


def test_an_expired_token_ends_its_streams_although_nothing_can_be_written(tmp_path: Path) -> None:
    """On a full disk the hour of its last use cannot be written down; that comes after the end."""
    wall = Wall()
    access = Access(tmp_path / "access.db", clock=wall)
    told: list[str] = []

    def broken(token: str) -> None:
        raise OSError("a listener that fails")

    access.on_revoked(broken)
    access.on_revoked(told.append)
    token, secret = access.add("application", "jane", expires=wall.now + 60)
    other, second = access.add("application", "jane")
    assert access.grant(secret) is not None
    access._connection.execute("PRAGMA query_only = ON")  # every write fails, as on a full disk
    wall.now += 61
    with pytest.raises(JournalError):
        access.look()
    assert told == [token]
    assert access.grant(second) is not None
    with pytest.raises(JournalError, match=f"{other} is refused now, but not after a restart"):
        access.revoke(other)
    assert told == [token, other]
    assert access.grant(second) is None
    access._connection.execute("PRAGMA query_only = OFF")
    assert access.revoke(other), "again, when there is room"
    assert not access.revoke(other)
    access.close()


def test_an_expired_token_ends_its_streams_although_the_file_cannot_be_read(tmp_path: Path) -> None:
    wall = Wall()
    access = Access(tmp_path / "access.db", clock=wall)
    told: list[str] = []
    access.on_revoked(told.append)
    token, _ = access.add("application", "jane", expires=wall.now + 60)
    access.look()
    access._connection.close()
    wall.now += 61
    with pytest.raises(JournalError):
        access.look()
    assert told == [token]


def test_tokens_are_watched_for_as_long_as_the_gateway_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that fails by any error is followed by the next one."""
    monkeypatch.setattr("discreet.gateway.app.TOKEN_CHECK", 0.01)

    async def story() -> None:
        async with opened(tmp_path) as web:
            looks = 0

            def look() -> None:
                nonlocal looks
                looks += 1
                raise OSError(28, "No space left on device")

            monkeypatch.setattr(web.served.owner, "look", look)
            ended: list[str] = []
            web.served.access.on_revoked(ended.append)
            token, _ = web.served.access.add("application", "jane", expires=time.time() + 0.05)
            for _ in range(12_000):
                if ended and looks > 1:
                    break
                await asyncio.sleep(0.01)
            assert ended == [token]
            assert looks > 1

    asyncio.run(story())


# --- guessing


async def guessed(owner: Owner, addresses: list[str]) -> int:
    """How many wrong passwords are looked at before one is refused."""
    for count, address in enumerate(addresses):
        try:
            assert await owner.login(address, "wrong") is None
        except TooManyError:
            return count
    raise AssertionError("there is no limit")


def test_guessing_from_many_addresses_is_limited_and_does_not_lock_the_owner_out(tmp_path: Path) -> None:
    async def story() -> None:
        access = Access(tmp_path / "access.db")
        owner = Owner(access, clock=Wall(0.0), rate=Rate(3, 0.001), in_all=Rate(6, 0.001))
        owner._is_right = lambda hashed, password: password == "right"  # type: ignore[method-assign]
        access.set_password("hashed")
        assert await owner.login("192.0.2.1", "right") is not None
        assert await guessed(owner, [f"2001:db8::{host:x}" for host in range(100)]) == 3, "a /64 is one caller"
        assert await guessed(owner, [f"2001:db8:{net:x}::1" for net in range(1, 100)]) == 2, "six in all"
        assert await owner.login("192.0.2.1", "right") is not None, "where the owner has been"
        access.close()

    asyncio.run(story())


def test_few_tries_wait_for_each_other_and_the_owner_is_let_past(tmp_path: Path) -> None:
    async def story() -> None:
        access = Access(tmp_path / "access.db")
        owner = Owner(access, rate=Rate(1000, 1000), in_all=Rate(1000, 1000))
        held = threading.Event()

        def slow(hashed: str, password: str) -> bool:
            return held.wait(10) and password == "right"

        access.set_password("hashed")
        owner._is_right = lambda hashed, password: password == "right"  # type: ignore[method-assign]
        assert await owner.login("192.0.2.1", "right") is not None
        owner._is_right = slow  # type: ignore[method-assign]
        guesses = [asyncio.create_task(owner.login(f"10.0.0.{k}", "wrong")) for k in range(3 * QUEUE)]
        await asyncio.sleep(0.05)
        mine = asyncio.create_task(owner.login("192.0.2.1", "right"))
        await asyncio.sleep(0.05)
        held.set()
        found = await asyncio.gather(*guesses, return_exceptions=True)
        assert [type(one) for one in found].count(TooManyError) == 2 * QUEUE
        assert await mine is not None
        access.close()

    asyncio.run(story())


COMMON = """1234567890 Password123 p4ssw0rd!! qwertyuiop QWERTZUIOP 0987654321 aaaaaaaaaaaa abababababab iloveyou2024
1q2w3e4r5t discreet2026 homeassistant letmein123! passwordpassword correct-horse-battery-staple changeme123
abcdefghijk"""


@pytest.mark.parametrize("password", COMMON.split())
def test_the_commonest_passwords_are_refused(password: str) -> None:
    with pytest.raises(DiscreetError, match="among the first that are tried"):
        check(password)


@pytest.mark.parametrize("password", ["a long password", "olive tram ladder", "x7Qp-2mzR-9kLw", "Glöckchen im Mai"])
def test_others_are_taken(password: str) -> None:
    check(password)


def test_another_password_ends_every_session_whoever_sets_it(tmp_path: Path) -> None:
    async def story() -> None:
        wall = Wall(0.0)
        access = Access(tmp_path / "access.db")
        owner = Owner(access, clock=wall)
        ended: list[str] = []
        owner.on_ended(ended.append)
        one = await owner.begin("10.0.0.1", str(owner.first), "a long password")
        two = await owner.login("10.0.0.1", "a long password")
        with pytest.raises(DiscreetError, match="among the first"):
            await owner.change("10.0.0.1", "a long password", "password123")
        assert await owner.change("10.0.0.1", "a wrong password", "olive tram ladder") is None
        assert owner.session(one) is not None
        three = await owner.change("10.0.0.1", "a long password", "olive tram ladder")
        assert owner.session(one) is owner.session(str(two)) is None
        assert owner.session(str(three)) is not None
        assert len(ended) == 2
        assert await owner.login("10.0.0.1", "a long password") is None
        given = "brass kettle on tuesday\n"
        result = CliRunner().invoke(app, ["owner", "password", "--stdin", "--data", str(tmp_path)], input=given)
        assert result.exit_code == 0, result.output
        wall.now += 1.0
        owner.look()
        assert owner.session(str(three)) is None, "the command has set another one"
        assert await owner.login("10.0.0.2", "brass kettle on tuesday") is not None
        access.close()

    asyncio.run(story())


def test_a_name_moves_no_cursor_in_the_list(tmp_path: Path) -> None:
    access = Access(tmp_path / "access.db")
    access.add("application", "jane", name="\x1b[2Jgone\x07\u202e")
    access.close()
    shown = CliRunner().invoke(app, ["token", "list", "--data", str(tmp_path)])
    assert shown.exit_code == 0
    assert r"\x1b[2Jgone\x07\u202e" in shown.output
    assert all(one.isprintable() for one in shown.output.replace("\n", ""))


def test_sessions_survive_a_restart_until_they_end(tmp_path: Path) -> None:
    async def story() -> None:
        times = Wall(1e9)  # of the file; the sessions' own clock begins anew with each process
        access = Access(tmp_path / "access.db", clock=times)
        before = Owner(access, clock=Wall(500.0))
        assert before.first is not None
        cookie = await before.begin("10.0.0.1", before.first, "a long password")
        left = await before.login("10.0.0.1", "a long password")
        assert left is not None
        before.logout(left)
        was = before.session(cookie)
        access.close()
        times.now += SESSION - 10
        access = Access(tmp_path / "access.db", clock=times)
        wall = Wall(3.0)
        after = Owner(access, clock=wall)
        now = after.session(cookie)
        assert was is not None
        assert now is not None
        assert (now.grant, now.csrf) == (was.grant, was.csrf), "an open page goes on"
        assert len(now.csrf) == 64
        assert after.session(left) is None, "who logged out is out"
        wall.now += 11
        assert after.session(cookie) is None
        assert access.sessions() == {}
        held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert cookie.encode() not in held
        assert was.csrf.encode() not in held
        access.close()

    asyncio.run(story())


def test_a_password_set_while_nothing_runs_ends_the_sessions_that_were_kept(tmp_path: Path) -> None:
    async def story() -> None:
        access = Access(tmp_path / "access.db")
        before = Owner(access)
        cookie = await before.begin("10.0.0.1", str(before.first), "a long password")
        access.close()
        given = ["owner", "password", "--stdin", "--data", str(tmp_path)]
        assert CliRunner().invoke(app, given, input="brass kettle on tuesday\n").exit_code == 0
        access = Access(tmp_path / "access.db")
        assert Owner(access).session(cookie) is None
        access.close()

    asyncio.run(story())
