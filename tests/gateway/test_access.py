"""Tokens, the owner's password, and limits that know the clock and the caller alone."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.gateway.access import Access, Grant, digest_of
from discreet.gateway.limits import CALLERS, Limit, Rate
from discreet.gateway.owner import SESSION, Owner, TooManyError
from tests.gateway.web import Wall


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
    limit = Limit(Rate(3, 0.5), wall)
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
        assert again.session(cookie) is None
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
