"""A recorded run, again: in simulated time, with the recording in the place of all hardware."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.config.replays import ReplayOptions
from hilgw.config.source.document import compose
from hilgw.engine.gateway import COMMAND_SOURCE, Gateway
from hilgw.engine.recording.event_stream import EventStream
from hilgw.engine.recording.kept import KeptEvents
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.protocols.gateway.events import NAMES, Command, Notice, Packet
from hilgw.record.recording import Recording
from hilgw.record.story import Story
from hilgw.units import NS_PER_S

SPEED = "max"
EDGE_S = 0.05  # what comes so shortly before the end of the recording may have come after it then
GRACE_S = 5.0  # what is missing at the end is waited for, in simulated time
LOOK_S = 0.01
PATIENCE = 100  # programs have so many times `command_timeout_s`: machines that test are busy


class _StoryOf(EventStream):
    """The story of a gateway."""

    def __init__(self, story: Story) -> None:
        super().__init__(lambda robot, device: None)
        self._story = story

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> bool:
        return kind in (Command, Notice, Packet)

    def emit(self, takers: Any, event: Any) -> None:
        self._story.add({"event": NAMES[type(event)], **asdict(event)})


class Again:
    """A recorded run, and the same run again; see `run`.

    packets, commands, departures: as of `Story`, of the second run, which is `played`; recorded:
    the first one. parts: that the recording has played. kept: the events of the second run.
    """

    def __init__(self, file: Path, folder: Path, overrides: Sequence[str] = ()) -> None:
        """folder: where the configuration is, with its programs. overrides: KEY.KEY=VALUE each.
        Raises RecordingError, and ConfigErrors as `hilgw check`."""
        recording, self.recorded, self.played = Recording(file), Story(), Story()
        played, self.parts, self.kept = self.played, list[str](), list[KeptEvents]()
        self.packets, self.commands, self.departures = (
            played.packets,
            played.commands,
            played.departures,
        )
        self._head, self._up_ns = recording.head, dict[str, int]()  # when each port was up first
        self._actions: list[tuple[int, Callable[[Gateway], object]]] = []
        armed: dict[str, str] = {}
        begin_ns = self._length_ns = 0
        for event in recording.events():
            begin_ns = begin_ns or event["time_ns"]
            self._length_ns = event["time_ns"] - begin_ns
            self.recorded.add(event)
            if event["event"] == "port" and event["state"] == "up":
                self._up_ns.setdefault(event["name"], self._length_ns)
            elif event["event"] == "armed" and not event["text"]:
                name = f"robots.{event['robot']}.safety.armed"
                armed.setdefault(name, f"{name}={str(event['armed']).lower()}")
            elif (act := _act_of(event)) is not None:
                self._actions.append((self._length_ns, act))
        if recording.error is not None:
            raise recording.error
        path = folder / Path(str(self._head.get("config"))).name
        text, options = str(self._head.get("configuration")), ReplayOptions(str(file.absolute()))
        data = compose(text, str(path)).data
        airs = data.get("airs") if isinstance(data, dict) else None
        # What the devices in the air did to these lines is in the recording.
        nodes = [f"airs.{air}.nodes={{}}" for air in airs] if isinstance(airs, dict) else []
        overrides = [*overrides, *armed.values(), *nodes]
        self.config = load_text(text, str(path), overrides, None, SPEED, options).config

    def run(self) -> Again:
        """Runs until the recording ends; later where something is missing. Raises HilgwError as
        `Gateway.run`."""
        with asyncio.Runner(loop_factory=lambda: PacedLoop(SPEED)) as runner:
            runner.run(self._run())
        return self

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PacedLoop)
        stop, played = asyncio.Event(), _StoryOf(self.played)
        with closing(build(self.config, loop, played)) as gateway:
            self.kept.append(KeptEvents(gateway, lambda: {**self._head, "speed": SPEED}))
            self._delay_programs(gateway, loop)
            run = asyncio.create_task(gateway.run(stop))
            try:
                await self._follow(gateway, run)
            finally:
                gateway.observer.remove(played)
                stop.set()
                self.parts = [*gateway.replays]
                await run

    def _delay_programs(self, gateway: Gateway, loop: PacedLoop) -> None:
        """In real time the interpreter of a program needed some time to begin. Simulated time waits
        for it: so that the program is not early, it starts when it had connected."""
        holds, late = loop.holds, dict[str, int]()
        for child in gateway.children if self._head.get("speed") != SPEED else ():
            late[child.name] = at = gateway.timer.now() + self._up_ns.get(child.name, 0)
            start: Any = child.start
            vars(child)["start"] = partial(loop.call_at, at / NS_PER_S, start)
        wait_s, real_now = holds.wait_s, lambda: time.monotonic_ns() // PATIENCE

        def wait_for_those_that_began(now: int, end: int) -> float | None:
            is_free = all(now < late.get(each.holder, 0) for each in holds.held)
            return 0.0 if is_free else wait_s(now, end)

        vars(holds).update(wait_s=wait_for_those_that_began, real_now=real_now)

    async def _follow(self, gateway: Gateway, run: asyncio.Task[None]) -> None:
        begin_ns, end_s = gateway.timer.now(), self._length_ns / NS_PER_S - EDGE_S

        async def until(at_s: float) -> None:
            left_s = at_s - (gateway.timer.now() - begin_ns) / NS_PER_S
            await asyncio.wait((run,), timeout=max(0.0, left_s))

        for at_ns, act in self._actions:
            await until(at_ns / NS_PER_S)
            act(gateway)
        await until(end_s)
        self.played.until, wanted = self.recorded, self.recorded.streams().items()
        for look in range(1, int(GRACE_S / LOOK_S)):
            played, replays = (
                self.played.streams(),
                [each.report() for each in gateway.replays.values()],
            )
            is_complete = all(len(played.get(name, ())) >= len(each) for name, each in wanted)
            if run.done() or (
                is_complete and all(r["departures"] or r["matched"] >= r["frames"] for r in replays)
            ):
                break
            await until(end_s + look * LOOK_S)


def _act_of(event: dict[str, Any]) -> Callable[[Gateway], object] | None:
    """What the user did, to be done again; None: nothing."""
    match event["event"]:
        case "armed" if event["armed"]:
            return lambda gateway: gateway.control_loops.arm(event["robot"])
        case "armed" if event["text"].startswith("disarmed"):
            return lambda gateway: gateway.control_loops.disarm(event["robot"])
        case "packet" if event["source"] == COMMAND_SOURCE and event["received_by"]:
            data, (station, *_) = bytes.fromhex(event["data"]), event["received_by"]
            return lambda gateway: gateway.send(station, data, event["channel"])
    return None
