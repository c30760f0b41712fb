"""The session of controller `wc2ec`: hilgw serves an unmodified external controller.

To the external controller, hilgw is the Webots controller: it registers all devices in
index order, sends the values of the enabled sensors (at first: all), and takes commands.
"""

import math
from collections import Counter
from collections.abc import Iterable

from hilgw.control.events import (
    Connected,
    Disconnected,
    EmitterSettings,
    Event,
    MotorCommand,
    MotorField,
    MotorSettings,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    RefusedRequest,
    SensorSwitch,
    Stop,
    StopReason,
    Write,
)
from hilgw.controllers.wc2ec.settings import Wc2ecControllerSettings
from hilgw.devices.kinds import MOTOR, Device, Devices, Refusal, Value
from hilgw.errors import FrameError, HilgwError
from hilgw.framing.base import Framing
from hilgw.protocols.wc2ec import (
    LONGEST_FRAME,
    MOST_DEVICES,
    ORIGINAL,
    CommandByte,
    DisableSensor,
    EnableSensor,
    Error,
    Failure,
    Layouts,
    Message,
    PacketData,
    RegisterSensor,
    Rejected,
    SendPacket,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
    Side,
    Wc2ecLink,
    Wc2ecRefused,
    describe,
    encode_signal,
)
from hilgw.reasons import RequestRefused
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_MS, earliest, ms_to_ns

EARLY_NS = NS_PER_MS // 2
"""Steps and periods are whole milliseconds in Webots: half of one is rounding."""
JITTER_DECAY = 0.95  # per step
MOST_STEPS = 200
"""Steps that the estimate of a grid is made from: it follows a clock that drifts."""


class _Grid:
    """The instants of a body's steps, from values that come with jitter.

    The least-squares line through the arrivals. On a grid without jitter it returns `now`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._arrived_ns = 0
        self._instant_ns = 0.0
        self._step_ns = 0.0
        self.jitter_ns = 0.0  # how far arrivals lately were from the line

    def instant(self, now: int) -> float:
        interval, self._arrived_ns = now - self._arrived_ns, now
        self._count += 1
        if self._count == 1:
            self._instant_ns = now
        elif self._count == 2:
            self._step_ns, self._instant_ns = interval, now
        else:
            self._correct(now, interval)
        return self._instant_ns

    def _correct(self, now: int, interval: int) -> None:
        expected = self._instant_ns + self._step_ns
        error = now - expected
        if abs(error) > self._step_ns / 2:  # a pause, or other steps
            self._count, self._step_ns, self._instant_ns = 2, interval, now
            return
        self.jitter_ns = max(abs(error), self.jitter_ns * JITTER_DECAY)
        n = min(self._count, MOST_STEPS)
        self._instant_ns = expected + error * 2 * (2 * n - 1) / (n * (n + 1))
        self._step_ns += error * 6 / (n * (n + 1))


class _Period:
    """Period of one sensor.

    A value is due once the period has elapsed since the last sample, which begins the next one: 50
    ms at steps of 20 ms gives a value each 60 ms.
    """

    def __init__(self, period_ns: int, now: int) -> None:
        self._period_ns = period_ns
        self._sampled_ns: float = now
        self._grid = _Grid()

    def is_due(self, now: int) -> bool:
        instant = self._grid.instant(now)
        early_ns = EARLY_NS + self._grid.jitter_ns
        if instant - self._sampled_ns < self._period_ns - early_ns:
            return False
        self._sampled_ns = instant
        return True


class Sampling:
    """Values that a controller wants, by device index.

    Every step (at first), at a period from the request on, or none (WC2EC 128, 129, 131).
    """

    def __init__(self) -> None:
        self._periods: dict[int, _Period | None] = {}  # None: off

    def clear(self) -> None:
        """Send all values at every step again, for a new controller."""
        self._periods.clear()

    def switch(self, index: int, period_ms: float | None, now: int) -> None:
        """Set the period, which begins now; None: every step; 0: off."""
        if period_ms is None:
            self._periods.pop(index, None)
        else:
            self._periods[index] = _Period(ms_to_ns(period_ms), now) if period_ms else None

    def is_due(self, index: int, now: int) -> bool:
        """Return whether a value that came now is due; it then counts as sent."""
        if index not in self._periods:
            return True
        period = self._periods[index]
        return period is not None and period.is_due(now)


REGISTER_S = 1.0
"""On a serial line, registrations are repeated at this period until a good frame comes; on a slow
line the first ones leave before."""
_FIELDS = {str(each): each for each in MotorField}
_MOVE = (CommandByte.SET_VALUE, CommandByte.SET_SENSOR)  # the commands that move a motor


class Wc2ecControllerSession:
    """The pure session; see `hilgw.controllers.base.PeerSession`.

    A refused message is counted and answered with Error (127). The control loop checks the limits
    of motors, not this session.
    """

    def __init__(
        self, settings: Wc2ecControllerSettings, version: str, framing: Framing | None = None
    ) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()
        self._settings = settings
        layouts = Layouts(version, types=settings.wc2ec_types, extensions=settings.extensions)
        self._line = LineSettings(settings.baudRate)
        silence_ns = self._line.patience_ns(LONGEST_FRAME, settings.silence_s)
        self._link = Wc2ecLink(Side.EXTERNAL, layouts, framing, silence_ns)
        self._numbers: dict[int, int] = {}
        self._with_value: dict[int, int] = {}  # of the devices whose value WC2EC carries
        self._sampling = Sampling()
        self._register_ns: int | None = None

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._link.open(now)
        self._sampling.clear()
        events: list[Event] = [] if self._link.framed else [Connected("external controller")]
        return events + self._register_all(now)

    def close(self) -> list[Event]:
        was_there = self._link.alive
        self._link.close()
        self._register_ns = None
        if not was_there:
            return []
        return [self._stop(StopReason.DISCONNECTED), Disconnected("connection closed")]

    def receive(self, data: bytes, now: int) -> list[Event]:
        events = self._check_silence(now)
        was_there = self._link.alive
        messages = self._link.feed(data, now)
        if self._link.alive and not was_there:
            self._register_ns = None
            events.append(Connected("external controller on a serial line"))
        for message in messages:
            events += self._receive(message, now)
        return events

    def next_deadline(self) -> int | None:
        return earliest(self._link.next_deadline(), self._register_ns)

    def expire(self, now: int) -> list[Event]:
        events = self._check_silence(now)
        if self._register_ns is not None and now >= self._register_ns:
            events += self._register_all(now)
        return events

    def describe(self, data: bytes, *, received: bool) -> str:
        return describe(data, Side.EXTERNAL if received else Side.WEBOTS, self._link.layouts)

    # --- from the control loop ----------------------------------------------------------------

    def register(self, device: Device) -> list[Event]:
        """Add a device that the control loop has; repeating a registration does nothing.

        A second device under one index, or one that WC2EC cannot carry, is refused.
        """
        known = self.devices.by_index(device.index)
        if known == device:
            return []
        if known is not None:
            text = f"index {device.index} is '{known.name}', not '{device.name}'"
            return [self._count(RefusedRequest(device.index, Wc2ecRefused.INDEX_TAKEN, text))]
        try:
            number = self._link.layouts.numbers.number(device.kind)
            data = self._link.wrap(RegisterSensor(number, device.index, device.name.encode()))
        except HilgwError as error:
            return [
                self._count(RefusedRequest(device.index, RequestRefused.UNSENDABLE, error.what))
            ]
        if device.index >= MOST_DEVICES:
            text = f"WC2EC carries at most {MOST_DEVICES} devices; '{device.name}' is left out"
            return [self._count(RefusedRequest(device.index, Wc2ecRefused.TOO_MANY, text))]
        self.devices.add(device)
        self._numbers[device.index] = number
        if (CommandByte.SENSOR_DATA, device.kind) in ORIGINAL:
            self._with_value[device.index] = number
        self._link.kinds[device.index] = device.kind
        return [Write(data)] if self._link.is_open else []

    def forget(self) -> None:
        self.devices.clear()
        self._numbers.clear()
        self._with_value.clear()
        self._link.kinds.clear()

    def forget_values(self) -> None:
        """Do nothing: a value is sent at once, or left out, and never kept."""

    def report(self, values: Iterable[tuple[int, Value]], now: int) -> list[Event]:
        """Report values of sensors, (index, value) each, in one write.

        A sensor that is off, or not due at its period, is left out; a value that is not finite, or
        of a kind that WC2EC does not carry, is refused.
        """
        events: list[Event] = []
        data = []
        numbers, is_open, is_due = self._with_value, self._link.is_open, self._sampling.is_due
        for index, value in values:
            number = numbers.get(index)
            if number is None or isinstance(value, tuple):
                events.append(self._count(self._cannot_report(index)))
            elif not math.isfinite(value):
                text = f"device {index} shows {value}"
                events.append(self._count(RefusedRequest(index, RequestRefused.NOT_FINITE, text)))
            elif is_open and is_due(index, now):
                data.append(self._link.wrap_value(number, index, value))
        if data:
            self.counts["values"] += len(data)
            events.append(Write(b"".join(data)))
        return events

    def _cannot_report(self, index: int) -> RefusedRequest:
        device = self.devices.by_index(index)
        if device is None:
            return RefusedRequest(
                index, RequestRefused.UNKNOWN_DEVICE, f"no device {index} in this control loop"
            )
        text = f"WC2EC cannot carry values of {device.kind} '{device.name}'"
        return RefusedRequest(index, RequestRefused.UNSENDABLE, text)

    def feedback(self, index: int, value: float, now: int) -> list[Event]:
        """Return no events: WC2EC carries no feedback, and its controllers cannot ask for it."""
        return []

    def deliver(self, packet: PacketIn) -> list[Event]:
        index = packet.index
        number = self._numbers.get(index)
        if number is None or not self._link.is_open:
            return [
                self._count(
                    RefusedRequest(index, RequestRefused.DOWN, "no controller is connected")
                )
            ]
        if not self._settings.extensions:
            return [
                self._count(RefusedRequest(index, Wc2ecRefused.NO_EXTENSIONS, "extensions are off"))
            ]
        signal = encode_signal(packet.signal_strength, packet.direction)
        message = PacketData(number, index, packet.channel, *signal, packet.data)
        try:
            data = self._link.wrap(message)
        except FrameError as error:
            return [self._count(RefusedRequest(index, RequestRefused.UNSENDABLE, error.what))]
        self.counts["packets_in"] += 1
        return [Write(data)]

    def fault(self, index: int) -> list[Event]:
        number = self._numbers.get(index)
        if number is None or not self._link.is_open:
            return []
        return [Write(self._link.wrap(Error(number, index)))]

    # --- from the controller ------------------------------------------------------------------

    def _receive(self, message: Message, now: int) -> list[Event]:
        match message:
            case SetValue(number, index, value):
                return self._command(index, value)
            case SetMotor(_, index, position, velocity, acceleration, available):
                self.counts["commands"] += 1
                return [MotorSettings(index, position, velocity, acceleration, available)]
            case SetPeriod(_, index, period):
                return self._switch(index, period, now)
            case EnableSensor(_, index):
                return self._switch(index, None, now)
            case DisableSensor(_, index):
                return self._switch(index, 0.0, now)
            case SendPacket(_, index, channel, data):
                self.counts["packets_out"] += 1
                return [PacketOut(index, channel, data)]
            case SetEmitter(_, index, channel, range_m):
                return [EmitterSettings(index, channel, range_m)]
            case SetReceiver(_, index, channel, period_ms):
                return [ReceiverSettings(index, channel, period_ms)]
            case Rejected(command, number, index, reason, text):
                return self._refuse(command, number, index, Refusal(reason, text))
            case Failure(error, _, tail):
                self.counts["failures"] += 1
                self._link.fail()
                return [self._stop(StopReason.PROTOCOL), ProtocolFailure(error, tail)]
        return []

    def _command(self, index: int, value: float) -> list[Event]:
        device = self.devices.by_index(index)
        # The decoder accepts setValue for registered devices, and of these for motors only.
        assert device is not None and device.value is not None
        self.counts["commands"] += 1
        return [MotorCommand(index, _FIELDS[device.value.name], value)]

    def _switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        self._sampling.switch(index, period_ms, now)
        return [SensorSwitch(index, period_ms)]

    def _refuse(self, command: int, number: int, index: int, refusal: Refusal) -> list[Event]:
        device = self.devices.by_index(index)
        moves = command in _MOVE and device is not None and device.role == MOTOR
        refused = self._count(RefusedRequest(index, refusal.reason, refusal.text, moves))
        if command == CommandByte.ERROR:
            return [refused]  # the echo of our own Error: an answer would repeat forever
        return [refused, Write(self._link.wrap(Error(number, index)))]

    # --- inside -------------------------------------------------------------------------------

    def _register_all(self, now: int) -> list[Event]:
        waits = self._link.framed and not self._link.alive
        registrations = (
            RegisterSensor(self._numbers[each.index], each.index, each.name.encode())
            for each in self.devices
        )
        data = b"".join(map(self._link.wrap, registrations))
        pause_ns = self._line.patience_ns(2 * len(data), REGISTER_S)
        self._register_ns = now + pause_ns if waits else None
        return [Write(data)] if data else []

    def _check_silence(self, now: int) -> list[Event]:
        if not self._link.fell_silent(now):
            return []
        self._register_ns = now
        self.counts["silences"] += 1
        text = f"silent for {self._settings.silence_s:g} s"
        return [self._stop(StopReason.SILENCE), Disconnected(text)]

    def _stop(self, reason: StopReason) -> Stop:
        self.counts[f"stop_{reason}"] += 1
        return Stop(reason)

    def _count(self, refused: RefusedRequest) -> RefusedRequest:
        self.counts[f"refused_{refused.reason}"] += 1
        return refused
