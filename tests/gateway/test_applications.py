"""What applications get, to the byte; views that are written to the settings while it runs; codes for phones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.gateway.config.settings import view_of, write_view
from discreet.gateway.config.views import View
from discreet.outputs import SUPPRESSED, Released
from tests.gateway.browser import NODE, SOURCES
from tests.gateway.people import START, person_config, readings
from tests.gateway.qr_reader import read
from tests.gateway.test_day import logged_in
from tests.gateway.web import ROUTINE, Web, events, listening_web, opened

VIEWS = "/v1/owner/views"
SETTINGS = """# Who is served.
[clock]
zone = "UTC"  # here

[views.family]
groups = { home = ["home"] }
rest = "out"

# and the server
[server]
port = 8321
"""


def told(tmp_path: Path, story: Callable[[Web, Path], Awaitable[None]]) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text(SETTINGS)
    file.chmod(0o640)

    async def whole() -> None:
        people = [person_config(routine=ROUTINE, outputs="suppress")]
        async with opened(tmp_path / "files", people=people, file=file) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            await story(web, file)

    asyncio.run(whole())


async def lived(web: Web, slots: int) -> None:
    every = list(readings(("home",) * 4 + ("work",) * 8, START.date()))
    for slot in range(slots):
        await web.pass_slot(every[slot])


async def gets_of(web: Web, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """What the owner is shown of a new token, and the token's headers."""
    token, secret = web.served.access.add("application", "jane", **options)
    answer = await web.client.get(f"/v1/owner/tokens/{token}/gets")
    assert answer.status_code == 200, answer.text
    headers = {"Authorization": f"Bearer {secret}"}
    own = (await web.client.get("/v1/gets", headers=headers)).json()
    joined = ("groups", "rest")  # which contexts a view joins is the owner's alone: `elsewhere` would name its places
    assert own == {key: value for key, value in answer.json().items() if key not in joined}
    return answer.json(), headers


@pytest.mark.parametrize("view", ["whole", "family"])
def test_what_a_token_gets_is_what_it_is_sent(tmp_path: Path, view: str) -> None:
    async def whole() -> None:
        people = [person_config(routine=ROUTINE, outputs="suppress")]
        async with listening_web(tmp_path, people=people) as web:
            await logged_in(web)
            await lived(web, 7)
            shown, headers = await gets_of(web, view=view)
            now, stream, table = (one["body"] for one in shown["answers"])
            assert now == (await web.client.get("/v1/people/jane/now", headers=headers)).text
            sent = await web.client.get("/v1/people/jane/releases?format=csv", headers=headers)
            assert table.encode() == sent.content
            first = {**headers, "Last-Event-ID": "2020-01-01.0"}
            async with web.client.stream("GET", "/v1/people/jane/stream", headers=first) as answer:
                heard = await events(answer.aiter_lines(), 7)
            assert [f"id: {name}" for name, _ in heard] == [line for line in stream.split("\n") if line[:2] == "id"]
            data = [json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: ")]
            assert data == [event for _, event in heard]
            assert shown["groups"] == (None if view == "whole" else {"home": ["home"]})

    asyncio.run(whole())


def test_a_token_for_the_present_gets_one_slot(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        empty, _ = await gets_of(web, now_only=True)
        assert empty["slots"] == 0
        await lived(web, 5)
        shown, _ = await gets_of(web, now_only=True)
        assert shown["slots"] == 1
        assert [one["request"].rsplit("/", 1)[1] for one in shown["answers"]] == ["now", "stream"]
        assert shown["answers"][1]["body"].count("id: ") == 1

    told(tmp_path, story)


def test_what_a_token_gets_is_for_its_owner_and_for_who_has_it(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        token, _ = web.served.access.add("application", "jane")
        path = f"/v1/owner/tokens/{token}/gets"
        web.client.cookies.clear()
        assert (await web.client.get(path)).status_code == 401
        assert (await web.client.get("/v1/gets")).status_code == 401
        assert (await web.client.get(path, headers=web.bearer("application"))).status_code == 403
        for purpose, person in (("source", "jane"), ("owner", None)):
            assert (await web.client.get("/v1/gets", headers=web.bearer(purpose, person))).status_code == 403
        owner = web.bearer("owner", None)
        assert (await web.client.get("/v1/owner/tokens/nobody/gets", headers=owner)).status_code == 404

    told(tmp_path, story)


def test_a_view_is_in_force_at_once_in_open_streams_too_and_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text(SETTINGS)
    file.chmod(0o640)

    async def whole() -> None:
        people = [person_config(routine=ROUTINE, outputs="suppress")]
        async with listening_web(tmp_path / "files", people=people, file=file) as web:
            await logged_in(web)
            web.client.headers["X-CSRF-Token"] = (await web.client.get("/v1/owner")).json()["csrf"]
            every = list(readings(("home",) * 12, START.date()))
            await web.pass_slot(every[0])
            headers = web.bearer("application", view="family")
            async with web.client.stream("GET", "/v1/people/jane/stream", headers=headers) as answer:
                lines = answer.aiter_lines()
                ((_, before),) = await events(lines, 1)
                assert before["context"] == "home"
                made = {"groups": {"in": ["home"]}, "rest": "elsewhere"}
                assert (await web.client.put(f"{VIEWS}/family", json=made)).status_code == 200
                await web.pass_slot(every[1])
                ((_, after),) = await events(lines, 1)
                assert after["context"] == "in"
            assert tomllib.loads(file.read_text())["views"] == {"family": made}
            assert file.stat().st_mode & 0o777 == 0o640
            assert "# and the server\n[server]" in file.read_text()

    asyncio.run(whole())


def test_settings_behind_a_link_are_written_there(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        kept = file.rename(tmp_path / "kept.toml")
        file.symlink_to(kept)
        assert (await web.client.put(f"{VIEWS}/busy", json={"groups": {"busy": ["work"]}})).status_code == 200
        assert file.is_symlink()
        assert set(tomllib.loads(kept.read_text())["views"]) == {"family", "busy"}

    told(tmp_path, story)


def test_views_are_made_and_removed_unless_somebody_reads_them(tmp_path: Path) -> None:
    async def story(web: Web, file: Path) -> None:
        found = (await web.client.get(VIEWS)).json()
        assert found["views"] == {"family": {"groups": {"home": ["home"]}, "rest": "out"}}
        assert {"home", "work", "clinic"} <= set(found["contexts"])
        made = await web.client.put(f"{VIEWS}/two words", json={"groups": {"busy": ["work"]}})
        assert set(made.json()["views"]) == {"family", "two words"}
        assert "two words" in (await web.client.get("/v1/owner")).json()["views"]
        token, _ = web.served.access.add("application", "jane", view="two words", name="wall")
        refused = await web.client.delete(f"{VIEWS}/two words")
        assert (refused.status_code, "wall" in refused.json()["error"]) == (400, True)
        web.served.access.revoke(token)
        assert (await web.client.delete(f"{VIEWS}/two words")).status_code == 200
        assert file.read_text() == SETTINGS, "to the letter"
        for name, document in (
            ("whole", {"groups": {"a": ["home"]}}),
            ("x", {"groups": {}}),
            ("x", {"groups": {"a": ["home"], "b": ["home"]}}),
            ("x", {"groups": {"a": "home"}}),
            ("x", {"groups": {"a": ["home"]}, "rest": 3}),
            ("a+b", {"groups": {"a": ["home"]}}),
        ):
            assert (await web.client.put(f"{VIEWS}/{name}", json=document)).status_code == 400, document
        assert (await web.client.delete(f"{VIEWS}/nothing")).status_code == 404
        del web.client.headers["X-CSRF-Token"]
        assert (await web.client.put(f"{VIEWS}/x", json={"groups": {"a": ["home"]}})).status_code == 403

    told(tmp_path, story)


@pytest.mark.parametrize(
    "before",
    [
        "",
        SETTINGS,
        '[views."family"]\ngroups.home = ["home"]\n[views.family.x]\n[clock]\nslots = 3\n',
        '[[owntracks]]\nperson = "a"\n[views.family]\n[views.family.groups]\nhome = ["a"]\n[[owntracks]]\nuser = "b"\n',
        'views = { family = { groups = { home = ["home"] } } }\n',
    ],
)
def test_writing_a_view_leaves_all_else_as_it_was(tmp_path: Path, before: str) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text(before)
    write_view(file, "family", view_of("family", {"at 'home'": ["home", 'a "b"']}, None))
    after = file.read_text()
    others = tomllib.loads(before)
    others.setdefault("views", {})["family"] = {"groups": {"at 'home'": ['a "b"', "home"]}}
    assert tomllib.loads(after) == others
    write_view(file, "family", None)
    gone = tomllib.loads(file.read_text())
    assert gone.get("views", {}) == {}
    assert {line for line in before.split("\n") if line.startswith("#")} <= set(after.split("\n"))


@pytest.mark.skipif(NODE is None or not (SOURCES / "node_modules").is_dir(), reason="Node is not installed")
def test_codes_are_read_back_by_a_reader_of_its_own() -> None:
    asked = [(level, ("Aé:/?=" * 120)[:size]) for level in "LM" for size in (1, 9, 17, 60, 134, 213, 280, 400, 550)]
    said = subprocess.run(
        [str(NODE), str(SOURCES / "look" / "qr.mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    versions = set()
    for (level, text), code in zip(asked, json.loads(said.stdout), strict=True):
        assert read(code) == (level, text)
        versions.add((len(code) - 17) // 4)
    assert len(versions) > 8


def test_no_reading_is_no_part_of_the_rest() -> None:
    """A phone that is off is not somebody who has left home."""
    family = View("family", {"home": frozenset({"home"})}, rest="out")
    assert family.of(Released("work")) == Released("out")
    assert family.of(Released("unknown")) == Released("unknown")
    assert View("family", {"out": frozenset({"unknown"})}, rest="out").of(Released("unknown")) == Released("out")
    assert View("family", {"home": frozenset({"home"})}).of(Released("unknown")) == SUPPRESSED, "there is no rest"


def test_that_no_reading_is_shown_otherwise_is_said_once(tmp_path: Path) -> None:
    async def notes(folder: Path) -> list[str]:
        async with opened(folder, people=[person_config(routine=ROUTINE, outputs="suppress")]) as web:
            await web.pass_slot()
            return list(web.served.notes)

    def old() -> None:
        (tmp_path / "old" / "said.txt").unlink()

    assert asyncio.run(notes(tmp_path / "old")) == [], "a new gateway has shown nothing yet"
    old()
    (note,) = asyncio.run(notes(tmp_path / "old"))
    assert "views family" in note
    assert "'unknown'" in note
    assert asyncio.run(notes(tmp_path / "old")) == []
