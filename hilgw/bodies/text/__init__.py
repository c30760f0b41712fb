"""Body `text`: any robot on a serial line whose lines of text the configuration declares.

Whether such a robot stops by itself when the line is dead is the robot's; most have no watchdog.
"""

from typing import Any, ClassVar

from hilgw.bodies._common.settings import SerialRobot
from hilgw.bodies.text.check import latching_stops, line_load, problems_of
from hilgw.bodies.text.lines import sendable, to_bytes
from hilgw.bodies.text.session import TextBodySession
from hilgw.bodies.text.settings import DEFAULT_MOCK, TextBodySettings
from hilgw.control.declared import LineLoad, StopFrame
from hilgw.settings import MockSpec, Problem


class TextBody(SerialRobot):
    """The kind of body `text`."""

    kind: ClassVar[str] = "text"
    summary: ClassVar[str] = "any robot with lines of text, declared in the configuration"
    Settings: ClassVar[type[Any]] = TextBodySettings
    Session: ClassVar[type[Any]] = TextBodySession

    def check(self, settings: TextBodySettings) -> list[Problem]:
        return problems_of(settings)

    def doubts(self, settings: TextBodySettings) -> list[Problem]:
        return [*latching_stops(settings)]

    def line_load(self, settings: TextBodySettings) -> LineLoad:
        return line_load(settings)

    def stop_frame(self, settings: TextBodySettings) -> StopFrame:
        end = to_bytes(settings.line_end)
        lines = [
            sendable(line, end, settings.failed).filled({})
            for line in settings.stop
            if not line.after
        ]
        has_watchdog = settings.watchdog_ms > 0
        alone = "it goes on with the last line that it got"
        if has_watchdog:
            alone = f"it stops {settings.watchdog_ms:g} ms after the last line for its motors"
        stop = b"".join(lines)
        ended = b"" if all(line.realtime for line in settings.stop) else end + stop
        words, form = "the lines under `stop:`", stop.hex(" ")
        return StopFrame(words, form, alone, has_watchdog, emergency=ended.hex(" "))

    def mock(self, settings: TextBodySettings, version: str) -> MockSpec:
        given = dict(settings.mock)
        name = str(given.pop("kind", DEFAULT_MOCK))
        line: dict[str, Any] = {}
        if name == DEFAULT_MOCK:
            line = {
                "baudRate": settings.baudRate,
                "byteSize": max(10, settings.byteSize),
                "line_end": settings.line_end,
            }
        return MockSpec(name, line | given)


BODY = TextBody()
