"""What a newcomer who follows the code passes: functions, files, and hops between rooms, of five walks through it.

`python -m benchmarks walks` traces each in a process of its own. A function counts once, however often it is called,
and lambdas and comprehensions belong to the function around them. A hop is a change of room in the order in which
functions are entered for the first time; a room is a folder of `src/discreet` or of the experiments, or a file beside
them.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import discreet

HERE = Path(__file__).resolve().parents[1]
SOURCES = (f"{HERE / 'src' / 'discreet'}{os.sep}", f"{HERE / 'experiments' / 'src' / 'discreet_experiments'}{os.sep}")


class Walk:
    """What was passed while it ran."""

    def __init__(self) -> None:
        self.functions: dict[CodeType, None] = {}

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """A call, as `sys.setprofile` tells it; the bodies of modules and classes are none."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCES) and code.co_flags & inspect.CO_OPTIMIZED:
            self.functions.setdefault(code)

    def of(self, work: Callable[[Walk], None]) -> str:
        """The counts of this work, as functions/files/hops; which may clear `functions` when all is set up."""
        threading.setprofile(self.see)
        sys.setprofile(self.see)
        try:
            work(self)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        files = [code.co_filename for code in self.functions if not code.co_name.startswith("<")]
        rooms = [_room_of(file) for file in files]
        hops = sum(one != other for one, other in itertools.pairwise(rooms))
        return f"{len(files)}/{len(set(files))}/{hops}"


def _room_of(file: str) -> str:
    for source in SOURCES:
        file = file.removeprefix(source)
    return file.partition(os.sep)[0]


def command(*arguments: object) -> None:
    """One `discreet` command, in this process."""
    from discreet.cli import run

    with contextlib.redirect_stdout(io.StringIO()):
        status = run([str(argument) for argument in arguments])
    assert status == 0, arguments


def csv_to_model(walk: Walk, folder: Path) -> None:
    """Readings with labels, learned."""
    readings = HERE / "examples" / "readings.csv"
    command("learn", readings, "--zone", "Europe/Paris", "--keep", "hospital", "--out", folder / "p01.model")


def phone_to_mqtt(walk: Walk, folder: Path) -> None:
    """A phone's position over a broker in, and what was decided over the same broker out, of a gateway that runs."""
    from tests.gateway.mosquitto import PROGRAM, Mosquitto

    if PROGRAM is None:
        raise SystemExit("not run: there is no Mosquitto")
    broker = Mosquitto(folder).start()
    try:
        asyncio.run(_phone_to_mqtt(walk, folder, broker))
    finally:
        broker.stop()


async def _phone_to_mqtt(walk: Walk, folder: Path, mosquitto: Any) -> None:
    import aiomqtt
    from tests.gateway.mosquitto import until
    from tests.gateway.payloads import LOCATION, encoded
    from tests.gateway.people import CLOCK, START, keeper, person_config

    from discreet.gateway.config.broker import Broker, ToldView
    from discreet.gateway.config.views import View
    from discreet.gateway.runtime import Gateway
    from discreet.gateway.wires.mqtt.publisher import MqttPublisher
    from discreet.gateway.wires.mqtt.subscriber import MqttSource
    from discreet.gateway.wires.owntracks_source import OwnTracksSource

    jane, now = person_config(outputs="suppress"), [START.timestamp()]
    gateway = Gateway(keeper(folder, now[0], jane), wall=lambda: now[0])
    broker = Broker(port=mosquitto.port, tells=(ToldView("jane"),))
    async with gateway.running():
        source = MqttSource(gateway, broker, [OwnTracksSource("jane", "jane")])
        publisher = MqttPublisher(gateway, broker, {"jane": jane}, {"whole": View()})
        tasks = [asyncio.create_task(one.run()) for one in (source, publisher)]
        await asyncio.wait_for(asyncio.gather(source.connected.wait(), publisher.connected.wait()), 120)
        async with aiomqtt.Client("127.0.0.1", mosquitto.port) as phone:
            await phone.subscribe("discreet/jane/whole")
            walk.functions.clear()
            await phone.publish("owntracks/jane/pixel", encoded({**LOCATION, "tst": int(now[0]) + 60}), 1)
            await until("the reading", lambda: bool(gateway.keeper.own.readings("jane", 0)), 60)
            now[0] = CLOCK.end_of(START.date(), 0).timestamp() + 60
            await asyncio.wait_for(anext(aiter(phone.messages)), 60)
            passed = dict(walk.functions)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    walk.functions = passed


def takeout_to_settings(walk: Walk, folder: Path) -> None:
    """Google's archive of some months, to the files of `discreet serve`."""
    from tests.data.histories import google_records

    archive = google_records(folder)
    answers = ["--zone", "Europe/Paris", "--secret", "work", "--vocabulary", "deceive", "--weeks", "2", "--yes"]
    command("setup", archive, "--dir", folder / "home", "--person", "me", "--slots", "12", *answers)


def events_to_table(walk: Walk, folder: Path) -> None:
    """The README's table of events, published."""
    out, events = folder / "published.csv", HERE / "examples" / "events.csv"
    how = ["--secret", "activity=gambling", "--topics", "3", "--workers", "1"]
    command("publish", events, "--zone", "Europe/Paris", *how, "--out", out)


def a_figure(walk: Walk, folder: Path) -> None:
    """MaskIt's Figure 4 of three made-up people."""
    from tests.experiments.recorded import made_up

    data = made_up(folder / "data", count=3, days=16)
    quick = ["--least-days", "16", "--level", "tower", "--slots", "24", "--search", "mondrian", "--merge-below", "0"]
    few = ["--processes", "1", "--people", "2", "--figure", "4"]
    command("reproduce", "maskit", "--data", data, "--out", folder / "out", *quick, *few)


WALKS: dict[str, tuple[Callable[[Walk, Path], None], str]] = {
    "CSV to model": (csv_to_model, "285/47/61"),
    "phone to MQTT": (phone_to_mqtt, "138/38/43"),
    "Takeout to settings": (takeout_to_settings, "727/109/198"),
    "events to table": (events_to_table, "560/76/155"),
    "a figure": (a_figure, "330/56/104"),
}
"""Each walk, and what another script, which is not at hand, counted at commit 03010e6."""


def main(arguments: Sequence[str] = ()) -> None:
    """Trace all walks; `--only NAME` traces one, in this process."""
    if list(arguments[:1]) == ["--only"]:
        with tempfile.TemporaryDirectory() as name:
            work = WALKS[arguments[1]][0]
            print(Walk().of(lambda walk: work(walk, Path(name))))
        return
    discreet.warm()  # else the compiler would be passed too
    print(f"{'':20} {'functions/files/hops':>20} {'at 03010e6':>14}")
    for name, (_, before) in WALKS.items():
        once = [sys.executable, "-m", "benchmarks", "walks", "--only", name]
        done = subprocess.run(once, capture_output=True, text=True, check=False, cwd=HERE)
        found = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["?"]
        print(f"{name:20} {found[-1]:>20} {before:>14}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
