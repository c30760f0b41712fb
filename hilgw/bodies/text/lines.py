"""Lines of body `text`: received bytes to lines, declared lines to bytes and patterns."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hilgw.bodies.text.settings import (
    DeclaredRequest,
    Line,
    TextBodySettings,
    TextSensor,
    groups_of_sensor,
)
from hilgw.control.exchange import Question
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import Device, Devices, Value, look_up
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.text.patterns import Match, Pattern, compiled
from hilgw.units import ms_to_ns, s_to_ns

PLACEHOLDER = re.compile(r'\{([^{}"]+)\}')  # not what JSON has in braces
_DECIMAL = re.compile(rb"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?[ \t]*")
_HEX = re.compile(rb"[ \t]*[+-]?(0[xX])?[0-9A-Fa-f]+[ \t]*")
LONGEST_NUMBER = 64
SHOWN = 96  # bytes of a line, for people


def to_bytes(text: str) -> bytes:
    r"""Return the text with each character as one byte.

    UnicodeEncodeError for one beyond \xff.
    """
    return text.encode("latin-1")


def shown(line: bytes) -> str:
    """Return a line of the robot, for people."""
    return repr(line[:SHOWN].decode("latin-1"))


def number_of(text: bytes, *, hexadecimal: bool = False) -> float | None:
    """Return the number that a group holds; None when it is invalid or not finite."""
    if len(text) > LONGEST_NUMBER:
        return None
    if hexadecimal:
        return float(int(text, 16)) if _HEX.fullmatch(text) else None
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def splitter(line_end: bytes, longest: int) -> LineSplitter:
    """Return a splitter of the robot's lines."""
    ends = [line_end] if line_end.strip(b"\r\n") else [b"\r", b"\n"]
    return LineSplitter(ends, longest)


@dataclass(frozen=True, slots=True)
class Sendable:
    """A declared line: the parts of its text (odd ones are placeholders), and its patterns.

    after: of a line that has to come before it.
    """

    parts: tuple[str, ...]
    end: bytes
    expect: Pattern | None
    failed: Pattern | None
    timeout_ns: int
    realtime: bool
    after: Pattern | None = None

    def filled(self, value_of: Callable[[str], str] | Mapping[str, str]) -> bytes:
        """Return the bytes, with each placeholder replaced."""
        look = value_of.__getitem__ if isinstance(value_of, Mapping) else value_of
        pieces = [look(part) if at % 2 else part for at, part in enumerate(self.parts)]
        return to_bytes("".join(pieces)) + self.end

    def answers(self, line: bytes) -> Match | None:
        """Return the match of a line that answers it."""
        return None if self.expect is None else self.expect.search(line)

    def refuses(self, line: bytes) -> bool:
        return self.failed is not None and self.failed.search(line) is not None


def sendable(line: Line, end: bytes, failed: str, *, fills: bool = False) -> Sendable:
    """Create it with `failed`, the pattern of a line without one of its own.

    fills: its text has placeholders.
    """
    refusal = line.failed or failed
    return Sendable(
        tuple(PLACEHOLDER.split(line.send)) if fills else (line.send,),
        b"" if line.realtime else end,
        compiled(line.expect, whole=True) if line.expect else None,
        compiled(refusal, whole=True) if refusal and line.expect else None,
        s_to_ns(line.timeout_s),
        line.realtime,
        compiled(line.after, whole=True) if line.after else None,
    )


@dataclass(slots=True, eq=False)
class Sent(Question[bytes]):
    """A line that was sent.

    subject: what it was for, as its owner named it. match: of its answer; None: the robot refused
    it.
    """

    line: Sendable
    subject: object
    match: Match | None = None

    def __post_init__(self) -> None:
        self.timeout_ns, self.realtime = self.line.timeout_ns, self.line.realtime

    def take(self, answer: bytes) -> bool:
        self.match = self.line.answers(answer)
        return self.match is not None or (not self.realtime and self.line.refuses(answer))


NO_END = 2.0**80  # span of a counter that does not wrap around


class Sensor:
    """A sensor. groups: those of the answer with its numbers. zeros: as of `Motor`."""

    def __init__(self, device: Device, settings: TextSensor, zeros: Mapping[str, float]) -> None:
        self.device = device
        self._zeros = zeros
        self.groups = groups_of_sensor(device.name, settings)
        self._settings = settings
        start = 0.0 if settings.starts_at_zero else None
        counts = settings.wraps or settings.starts_at_zero
        self._odometer = Odometer(settings.wraps or NO_END, start) if counts else None

    def rebase(self) -> None:
        """Rebase a counter that starts at 0 again: the robot was set up again."""
        if self._odometer is not None and self._settings.starts_at_zero:
            self._odometer.rebase()

    def read(self, groups: Mapping[str, bytes | None]) -> Value | None:
        """Return its value; None when a number of it is missing, invalid, or not finite."""
        values = [self._read(groups.get(name)) for name in self.groups]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values):
            return None
        return tuple(numbers) if self._settings.has_vector else numbers[0]

    def _read(self, text: bytes | None) -> float | None:
        settings = self._settings
        number = None if text is None else number_of(text, hexadecimal=settings.hex)
        if number is None:
            return None
        if self._odometer is not None:
            number = self._odometer.read(number)
        number -= self._zeros.get(settings.motor, 0.0)
        value = look_up(settings.table, number * settings.scale + settings.offset)
        return float(value) if math.isfinite(value) else None


class RequestLine:
    """A line that asks for sensors. due_ns: when it is sent next, if one of them is enabled."""

    def __init__(
        self, settings: DeclaredRequest, sensors: list[Sensor], end: bytes, failed: str, own_ns: int
    ) -> None:
        self.line: Sendable = sendable(settings, end, failed)
        self.data = self.line.filled({})
        groups = set() if self.line.expect is None else set(self.line.expect.groupindex)
        self.sensors = [each for each in sensors if groups.issuperset(each.groups)]
        self.due_ns = 0
        self._own_ns = own_ns

    def period_ns(self, enabled: dict[int, int]) -> int | None:
        """Return the shortest period of its enabled sensors; None: none is enabled.

        enabled: index -> period.
        """
        periods = [
            enabled[each.device.index] for each in self.sensors if each.device.index in enabled
        ]
        return max(self._own_ns, min(periods)) if periods else None

    def left(self, now: int, enabled: dict[int, int]) -> bool:
        """Note that the line was sent; return whether it was a period late."""
        period_ns = self.period_ns(enabled) or self._own_ns
        late = now - self.due_ns >= period_ns
        self.due_ns = now + period_ns if late else self.due_ns + period_ns
        return late


class Requests:
    """The lines that ask for sensors, and the sensors that are enabled (index -> period)."""

    def __init__(
        self,
        settings: TextBodySettings,
        devices: Devices,
        always_on: list[int],
        end: bytes,
        zeros: Mapping[str, float],
    ) -> None:
        sensors = [
            Sensor(device, settings.sensors[device.name], zeros)
            for device in devices
            if device.name in settings.sensors
        ]
        own_ns = ms_to_ns(settings.period_ms)
        self.lines = [
            RequestLine(each, sensors, end, settings.failed, own_ns) for each in settings.requests
        ]
        self._sensors = sensors
        self._unasked = [compiled(each.expect, whole=True) for each in settings.unasked]
        self.enabled = dict.fromkeys(always_on, 0)

    def unasked(self, line: bytes) -> Match | None:
        """Return the match of a line that the robot sends by itself."""
        return next(filter(None, (pattern.search(line) for pattern in self._unasked)), None)

    def values(self, groups: Mapping[str, bytes | None]) -> list[tuple[Sensor, Value | None]]:
        """Return the values of the enabled sensors whose numbers are among these groups."""
        return [
            (each, each.read(groups))
            for each in self._sensors
            if each.device.index in self.enabled and groups.keys() >= set(each.groups)
        ]

    def asked(self) -> list[RequestLine]:
        """Return the lines with an enabled sensor."""
        return [line for line in self.lines if line.period_ns(self.enabled) is not None]

    def restart(self, now: int) -> None:
        """Make all lines due now: the robot was set up."""
        for sensor in self._sensors:
            sensor.rebase()
        for line in self.lines:
            line.due_ns = now

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        before = self.asked()
        if period_ms == 0:
            self.enabled.pop(index, None)
        else:
            self.enabled[index] = ms_to_ns(period_ms or 0)
        for line in self.asked():
            if line not in before:
                line.due_ns = max(line.due_ns, now)


class Leds:
    """The LEDs by their names: the newest value of each waits until its line has left."""

    def __init__(self, settings: TextBodySettings, end: bytes) -> None:
        self._lines = {
            name: sendable(each, end, settings.failed, fills=True)
            for name, each in settings.leds.items()
        }
        self._values: dict[str, int] = {}
        self._waiting: dict[str, int] = {}

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def forget(self) -> None:
        """Another robot may be there."""
        self._values.clear()
        self._waiting.clear()

    def restart(self) -> None:
        """Send all values again: the robot was set up again."""
        self._waiting = dict(self._values)

    def set(self, name: str, value: int) -> None:
        self._values[name] = self._waiting[name] = value

    def due(self) -> list[tuple[Sendable, bytes, str]]:
        """Return line, bytes and name of each LED that waits."""
        return [
            (
                self._lines[name],
                self._lines[name].filled({"value": str(value), "on": str(int(value != 0))}),
                name,
            )
            for name, value in self._waiting.items()
        ]

    def left(self, name: str) -> None:
        self._waiting.pop(name, None)

    def lost(self, name: str) -> None:
        """Send its line again, which was not answered."""
        self._waiting.setdefault(name, self._values[name])
