"""The session of body `wc2ec`: hilgw is the external controller of a Webots robot.

The robot's registrations define the devices; commands carry the type byte of the registration.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from hilgw.bodies._common.session import MotorSession, refused
from hilgw.bodies.wc2ec.motors import Motors
from hilgw.bodies.wc2ec.settings import LOAD_FIX, Wc2ecBodySettings, line_load
from hilgw.control.events import (
    Command,
    Connected,
    DeviceFault,
    DeviceSettings,
    Disconnected,
    EmitterSettings,
    Event,
    FrameNotice,
    Notice,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    Registered,
    SensorValue,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.limits import check_settings
from hilgw.control.missing import ACCELERATION, AVAILABLE, GAINS
from hilgw.control.safety import SAG_M, MotorMode
from hilgw.devices.kinds import (
    DISTANCE_SENSOR,
    EMITTER,
    LINEAR_MOTOR,
    MOTOR,
    NO_LIMITS,
    RECEIVER,
    SENSOR,
    Device,
    Devices,
    Refusal,
)
from hilgw.errors import ConfigError, FrameError, HilgwError, PeerError
from hilgw.framing.base import Framing
from hilgw.protocols import wc2ec
from hilgw.reasons import RequestRefused
from hilgw.transports.base import LineSettings
from hilgw.units import earliest

EARLY = "sends values before it registers its devices: dropped until it has, at most a second"


class Wc2ecBodySession(MotorSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    down: ClassVar[str] = "not sent: body down, or it has not registered all its devices"
    no_device: ClassVar[str] = "the robot registered no device"

    def __init__(
        self, settings: Wc2ecBodySettings, version: str, framing: Framing | None = None
    ) -> None:
        missing = (ACCELERATION, AVAILABLE, GAINS) if settings.original_peer else (GAINS,)
        super().__init__(Devices(), missing)
        self.positions: dict[int, float] = {}
        self._held: dict[int, float] = {}  # positions of the last stop
        self._settings = settings
        self._framing = framing
        line = LineSettings(settings.baudRate)
        self._silence_ns = line.patience_ns(wc2ec.LONGEST_FRAME, settings.silence_s)
        layouts = wc2ec.Layouts(version, types=settings.wc2ec_types, extensions=settings.extensions)
        self._link = wc2ec.Wc2ecLink(wc2ec.Side.WEBOTS, layouts, framing, self._silence_ns)
        self._types: dict[int, int] = {}
        self._motors = Motors(original_peer=settings.original_peer)
        self._registrations = Registrations(None if framing is None else line)
        self._all_registered = False
        self._wrote_ns = 0

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self.devices.clear()
        self.positions.clear()
        self._held.clear()
        self._types.clear()
        self._link.kinds.clear()
        self._motors.clear()
        self._all_registered = False
        self._link.open(now)
        self._registrations.open(now)
        self._wrote_ns = now
        return [] if self._link.framed else [Connected("WC2EC robot")]

    def close(self) -> list[Event]:
        was_there = self._link.alive
        self._link.close()
        return [Disconnected("connection closed")] if was_there else []

    def receive(self, data: bytes, now: int) -> list[Event]:
        events = self._check_silence(now)
        was_there = self._link.alive
        messages = self._link.feed(data, now)
        if self._link.alive and not was_there:
            events.append(Connected("WC2EC robot on a serial line"))
        for message in messages:
            if type(message) is wc2ec.SensorData and self._all_registered:
                events.append(self._value(message))
                continue
            events += self._receive(message, now)
            if events and isinstance(events[-1], ProtocolFailure):
                break
        return events

    def next_deadline(self) -> int | None:
        if not (self._link.is_open and self._link.framed):
            return self._motors.next_deadline() if self._link.is_open else None
        return earliest(
            self._motors.next_deadline(), self._link.next_deadline(), self._keepalive_due()
        )

    def expire(self, now: int) -> list[Event]:
        events = self._check_silence(now)
        if self._link.is_open:
            events += self._write(self._motors.expire(now), now)
        due = self._keepalive_due()
        if due is not None and now >= due:
            # On a line the robot takes silence for a disconnect: repeat the last messages.
            events += self._write(self._motors.last() or self._greeting(), now)
        return events

    def describe(self, data: bytes, *, received: bool) -> str:
        sent_by = wc2ec.Side.WEBOTS if received else wc2ec.Side.EXTERNAL
        return wc2ec.describe(data, sent_by, self._link.layouts)

    # --- from the control loop ----------------------------------------------------------------

    def _takes_requests(self, now: int) -> bool:
        return self._link.alive and self._registrations.is_complete(now)

    @property
    def _can_stop(self) -> bool:
        return self._link.can_write

    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        position = self.positions.get(command.index)
        events = self._send(self._motors.command(device, command, position, now), now)
        if not isinstance(events, Refusal):
            self._held.pop(command.index, None)
        return events

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        return self._motors.stop_command(index, mode, self._resting().get(index)) is not None

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        self._held = self._resting()
        return self._plan(self._motors.stop_commands(self._held), now)

    def _plan(self, commands: Sequence[Command], now: int) -> StopPlan:
        events = self._write([self._motors.adopt(each) for each in commands], now)
        return StopPlan(events, tuple(commands), self._copies)

    @property
    def _copies(self) -> int:
        """Zero on TCP, which loses nothing."""
        return super()._copies if self._link.framed else 0

    def _halt_motor(self, index: int, now: int) -> StopPlan | None:
        position = self._resting().get(index)
        command = self._motors.stop_now(index, position)
        if command is None:
            return None
        if position is not None:
            self._held[index] = position
        return self._plan([command], now)

    def _stop_data(self) -> bytes:
        commands = self._motors.stop_commands(self._resting())
        return b"".join(self._link.wrap(self._motors.message(each)) for each in commands)

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Set the period of a sensor; None: every step, 0: off.

        Refused for an original peer.
        """

        def make(device: Device, number: int) -> wc2ec.Sent | Refusal:
            if self._settings.original_peer:
                text = f"'{device.name}': the original program enables all its sensors"
                return Refusal(wc2ec.Wc2ecRefused.ORIGINAL_PEER, text)
            return switch_message(device, number, period_ms)

        return self._request(index, make, now)

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        return self._request(
            packet.index, partial(send_message, packet=packet), now, extension=True
        )

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """Channel and range, or channel and period, of a radio of the robot (extension).

        WC2EC carries no other settings.
        """
        make = partial(tune_message, settings=settings)
        radio = isinstance(settings, EmitterSettings | ReceiverSettings)
        return self._request(settings.index, make, now, extension=radio)

    def _request(
        self,
        index: int,
        make: Callable[[Device, int], wc2ec.Sent | Refusal],
        now: int,
        *,
        extension: bool = False,
    ) -> list[Event]:
        device = self._find(index, now)
        if isinstance(device, Refusal):
            return self._answer(index, device)
        if extension and not self._settings.extensions:
            text = f"'{device.name}': extensions are off"
            return self._answer(index, Refusal(wc2ec.Wc2ecRefused.NO_EXTENSIONS, text))
        return self._answer(index, self._send(make(device, self._types[index]), now))

    def _send(self, message: wc2ec.Sent | Refusal, now: int) -> list[Event] | Refusal:
        if isinstance(message, Refusal):
            return message
        try:
            return self._write([message], now)
        except FrameError as error:
            return Refusal(RequestRefused.UNSENDABLE, error.what)

    # --- from the robot -----------------------------------------------------------------------

    def _receive(self, message: wc2ec.Message, now: int) -> list[Event]:
        match message:
            case wc2ec.SensorData(_, index) if self.devices.by_index(index) is None:
                return [self._value(message)]  # of a robot that was sending; it registers yet
            case wc2ec.SensorData() if not self._registrations.is_complete(now):
                return self._early()
            case wc2ec.SensorData():
                if error := self._line_error():
                    return self._fail(error, b"")
                return [*self._notices(), self._value(message)]
            case wc2ec.RegisterSensor():
                return self._register(message)
            case wc2ec.PacketData(_, index, channel, strength, direction, data):
                self.counts["packets_in"] += 1
                return [PacketIn(index, channel, *wc2ec.decode_signal(strength, direction), data)]
            case wc2ec.Error(_, index):
                self.counts["faults"] += 1
                return [DeviceFault(index)]
            case wc2ec.Rejected(_, _, index, reason, text):
                if reason == RequestRefused.UNKNOWN_DEVICE:
                    self._registrations.unknown(index)
                    if self._link.framed and not self._all_registered:
                        return self._early()
                return [refused(self.counts, index, reason, text)]
            case wc2ec.Failure(error, _, tail):
                return self._fail(error, tail)
        return []

    def _value(self, message: wc2ec.SensorData) -> SensorValue:
        self.counts["values"] += 1
        index = message.index
        if self._link.kinds[index] == LINEAR_MOTOR:
            self.positions[index] = message.value
        return SensorValue(index, message.value)

    def _register(self, message: wc2ec.RegisterSensor) -> list[Event]:
        name, index = wc2ec.readable(message.name), message.index
        kind = self._link.layouts.numbers.kind(message.type)
        known = self.devices.by_index(index)
        if known is not None:
            if (known.name, known.kind) == (name, kind):
                return []
            text = f"device {index} was {known.kind} '{known.name}' and is now {kind} '{name}'"
            return self._fail(PeerError(text), b"")
        device = Device(
            name=name,
            kind=kind,
            index=index,
            limits=self._settings.limits.get(name, NO_LIMITS),
            default=self._settings.default_position.get(name),
        )
        self.devices.add(device)
        self._types[index] = message.type
        self._registrations.registered(index)
        if device.role == MOTOR:
            self._motors.add(device, message.type)
        return [Registered(device)]

    def _early(self) -> list[Event]:
        """Handle a value on a line before or amid the registration: the port was opened late."""
        self.counts[f"refused_{RequestRefused.UNKNOWN_DEVICE}"] += 1
        return [FrameNotice(EARLY)]

    def _notices(self) -> list[Event]:
        self._all_registered = True
        named = {*self._settings.limits, *self._settings.default_position}
        return [Notice(f"the robot has no motor '{name}'") for name in self._motors.lacks(named)]

    def _line_error(self) -> ConfigError | None:
        """Report whether the line carries one step of the robot, after the registration.

        A step is a value of each sensor, and a command to each motor the other way.
        """
        if self._framing is None:
            return None
        motors = len(self.devices.of_role(MOTOR))
        values = len(self.devices.of_role(SENSOR))
        text = line_load(self._settings, max(motors, values), self._framing).overload
        if not text:
            return None
        return ConfigError(
            f"{values} sensors and {motors} motors of the robot: {text}", fix=LOAD_FIX
        )

    def _fail(self, error: HilgwError, tail: bytes) -> list[Event]:
        self.counts["failures"] += 1
        self._link.fail()
        return [ProtocolFailure(error, tail)]

    def _check_silence(self, now: int) -> list[Event]:
        if not self._link.fell_silent(now):
            return []
        self.counts["silences"] += 1
        return [Disconnected(f"silent for {self._settings.silence_s:g} s")]

    # --- writing ------------------------------------------------------------------------------

    def _greeting(self) -> Sequence[wc2ec.Sent]:
        """Return the first frames on a line.

        They are the defaults, which the motors have anyway, or a message that changes nothing.
        """
        index, number = next(iter(self._types.items()))
        commands = self._motors.stop_commands(self._resting())
        return [*map(self._motors.adopt, commands)] or [wc2ec.EnableSensor(number, index)]

    def _resting(self) -> dict[int, float]:
        """Return the positions that a stop holds: those before it, where the motors are still."""
        kept = {
            index: position
            for index, position in self._held.items()
            if abs(self.positions[index] - position) <= SAG_M
        }
        return self.positions | kept

    def _keepalive_due(self) -> int | None:
        if not (self._link.framed and self._link.is_open and len(self.devices)):
            return None
        return max(self._wrote_ns + self._silence_ns // 3, self._registrations.due())

    def _write(self, messages: Sequence[wc2ec.Sent], now: int) -> list[Event]:
        if not messages:
            return []
        self._wrote_ns = now
        return [Write(b"".join(map(self._link.wrap, messages)))]


# A gap in the registered indices that lasts this long is taken as intended.
PATIENCE_S, PATIENCE_BYTES = 3.0, 1024


class Registrations:
    """line: None for TCP, which loses nothing.

    A robot on a serial line stops registering when it receives a good frame, and the line may lose
    frames: the session sends nothing until the registered indices have no gap. An index that came
    with a value only counts as one to be registered.
    """

    def __init__(self, line: LineSettings | None) -> None:
        self._line = line
        self._highest = -1
        self._missing: set[int] = set()
        self._until = 0

    def open(self, now: int) -> None:
        self._highest = -1
        self._missing.clear()
        if self._line is not None:
            self._until = now + self._line.patience_ns(PATIENCE_BYTES, PATIENCE_S)

    def registered(self, index: int) -> None:
        self._missing.update(range(self._highest + 1, index))
        self._missing.discard(index)
        self._highest = max(self._highest, index)

    def unknown(self, index: int) -> None:
        """Report a message from a device that was not registered."""
        self._missing.add(index)

    def is_complete(self, now: int) -> bool:
        """Return whether the session may send."""
        if self._line is None:
            return True
        return self._highest >= 0 and (not self._missing or now >= self._until)

    def due(self) -> int:
        """Return the latest time from which the session may send."""
        return self._until if self._missing else 0


# --- requests of a controller that move no motor, as messages of WC2EC ----------------------------


def switch_message(device: Device, number: int, period_ms: float | None) -> wc2ec.Sent | Refusal:
    """Return the message that sets the period of a sensor; None: every step, 0: off."""
    index = device.index
    if period_ms and device.kind == DISTANCE_SENSOR:
        return check_settings(device, (period_ms,)) or wc2ec.SetPeriod(number, index, period_ms)
    return (
        wc2ec.DisableSensor(number, index) if period_ms == 0 else wc2ec.EnableSensor(number, index)
    )


def send_message(device: Device, number: int, packet: PacketOut) -> wc2ec.Sent | Refusal:
    """Return the message that sends one packet through an Emitter."""
    if device.kind != EMITTER:
        return _wrong_kind(device, EMITTER)
    if not packet.data or packet.channel < -1:
        text = f"'{device.name}': {len(packet.data)} bytes on channel {packet.channel}"
        return Refusal(RequestRefused.OUT_OF_RANGE, text)
    return wc2ec.SendPacket(number, device.index, packet.channel, packet.data)


def tune_message(device: Device, number: int, settings: DeviceSettings) -> wc2ec.Sent | Refusal:
    """Return the message for the settings of an Emitter or a Receiver."""
    if not isinstance(settings, EmitterSettings | ReceiverSettings):
        return Refusal(
            RequestRefused.NOT_SETTABLE, f"WC2EC cannot set {device.kind} '{device.name}'"
        )
    index, channel = device.index, settings.channel
    wanted = EMITTER if isinstance(settings, EmitterSettings) else RECEIVER
    if device.kind != wanted:
        return _wrong_kind(device, wanted)
    if isinstance(settings, EmitterSettings):
        refusal = check_settings(device, (channel, settings.range))
        return refusal or wc2ec.SetEmitter(number, index, channel, settings.range)
    refusal = check_settings(device, (channel, settings.period_ms))
    return refusal or wc2ec.SetReceiver(number, index, channel, settings.period_ms)


def _wrong_kind(device: Device, kind: str) -> Refusal:
    article = "an" if kind == EMITTER else "a"
    return Refusal(
        RequestRefused.NOT_SETTABLE, f"{device.kind} '{device.name}' is not {article} {kind}"
    )
