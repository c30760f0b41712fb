"""A recorded run, again: in simulated time, with the recording in place of all hardware."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text, recorded
from hilgw.config.replays import ReplayOptions
from hilgw.engine.gateway import COMMAND_SOURCE, Gateway
from hilgw.engine.recording.event_stream import EventStream
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.events.kinds import plain
from hilgw.record.recording import Recording
from hilgw.record.story import Story
from hilgw.units import NS_PER_S

SPEED = "max"
EDGE_S = 0.05  # events this close to the end of the recording may have come after it then
GRACE_S = 5.0  # wait this long, in simulated time, for missing events at the end
LOOK_S = 0.01
PATIENCE = 100  # programs have this many times `command_timeout_s`: machines that test are busy


def again(
    file: Path,
    folder: Path,
    overrides: Sequence[str] = (),
    keep: Callable[[Gateway, dict[str, Any]], object] = lambda gateway, head: None,
) -> Story:
    """Return the story of the second run, until the recording ends; later if something is missing.

    Args:
        file: The recording.
        folder: Where the configuration is, with its programs.
        overrides: KEY.KEY=VALUE each.
        keep: Gets the gateway before it runs, and the head of a recording of it.

    Raises:
        RecordingError: the recording is damaged.
        ConfigErrors: see `hilgw check`.
        HilgwError: see `Gateway.run`.
    """
    first = _FirstRun(Recording(file))
    path, text = folder / Path(str(first.head.get("config"))).name, first.head.get("configuration")
    # The effect of the devices in the air on these lines is in the recording.
    airs = recorded({**first.head, "config": str(path)}).airs
    nodes = [f"airs.{name}.nodes={{}}" for name, air in airs.items() if air.nodes]
    options = [*overrides, *first.armed.values(), *nodes]
    replay = ReplayOptions(str(file.absolute()))
    config = load_text(str(text), str(path), options, None, SPEED, replay).config

    async def run() -> Story:
        loop, story, stop = asyncio.get_running_loop(), Story(first.story), asyncio.Event()
        assert isinstance(loop, PacedLoop)
        late: dict[str, int] = {}
        if first.head.get("speed") != SPEED:
            # The interpreter of a program needed some time, for which simulated time would wait:
            # so that the program is not early, it starts when it had connected.
            late = {name: loop.clock.now() + at for name, at in first.up_ns.items()}
        loop.holds.wait_longer(PATIENCE, late)
        played = _StoryOf(story)
        with closing(build(config, loop, played)) as gateway:
            keep(gateway, {**first.head, "speed": SPEED})
            running = asyncio.create_task(gateway.run(stop))
            try:
                await first.follow(gateway, story, running)
            finally:
                gateway.observer.remove(played)
                stop.set()
                story.parts.extend(gateway.replays)
                await running
        return story

    with asyncio.Runner(loop_factory=lambda: PacedLoop(SPEED)) as runner:
        return runner.run(run())


class _StoryOf(EventStream):
    def __init__(self, story: Story) -> None:
        super().__init__(("command", "notice", "packet"))
        self._story = story

    def emit(self, takers: Any, event: Any) -> None:
        self._story.add(plain(event))


class _FirstRun:
    """The contents of a recording of its run.

    armed: overrides for the robots that were armed at its start. up_ns: when each port was up
    first, since the start.
    """

    def __init__(self, recording: Recording) -> None:
        self.head, self.story, self.up_ns = recording.head, Story(), dict[str, int]()
        self.armed, self._length_ns, begin_ns = dict[str, str](), 0, 0
        self._actions: list[tuple[int, Callable[[Gateway], object]]] = []  # of the user
        for event in recording.events():
            begin_ns = begin_ns or event["time_ns"]
            self._length_ns = event["time_ns"] - begin_ns
            self.story.add(event)
            if event["event"] == "port" and event["state"] == "up":
                self.up_ns.setdefault(event["name"], self._length_ns)
            elif event["event"] == "armed" and (not event["text"] or "since_ns" in event):
                self.armed.setdefault(
                    _robot(event),
                    f"robots.{_robot(event)}.safety.armed={str(event['armed']).lower()}",
                )
            elif (act := _act_of(event)) is not None:
                self._actions.append((self._length_ns, act))
        if recording.error is not None:
            raise recording.error

    async def follow(self, gateway: Gateway, story: Story, run: asyncio.Task[None]) -> None:
        """Repeat the user's actions; return when the recording, or the run, is over."""
        loop = asyncio.get_running_loop()
        begin_s, at_s = loop.time(), self._length_ns / NS_PER_S - EDGE_S

        async def until(at_s: float) -> None:
            await asyncio.wait((run,), timeout=max(0.0, begin_s + at_s - loop.time()))

        for at_ns, act in self._actions:
            await until(at_ns / NS_PER_S)
            act(gateway)
        await until(at_s)
        story.is_over, end_s, replays = True, at_s + GRACE_S, gateway.replays.values()
        while at_s < end_s and not run.done():
            if story.is_complete() and all(each.is_complete for each in replays):
                return
            at_s += LOOK_S
            await until(at_s)


def _robot(event: dict[str, Any]) -> str:
    return str(event["robot"]).partition(".")[0]  # of two bodies, each is named


def _act_of(event: dict[str, Any]) -> Callable[[Gateway], object] | None:
    match event["event"]:
        case "armed" if event["armed"]:
            return lambda gateway: gateway.control_loops.arm(_robot(event))
        case "armed" if event["text"].startswith("disarmed"):
            return lambda gateway: gateway.control_loops.disarm(_robot(event))
        case "packet" if event["source"] == COMMAND_SOURCE and event["received_by"]:
            data, (station, *_) = bytes.fromhex(event["data"]), event["received_by"]
            return lambda gateway: gateway.send(station, data, event["channel"])
    return None
