"""The session of body `dynamixel`: a bus of servos, each a motor with its position sensor.

Handshake: each servo answers a ping, lets go, and gets its bus watchdog. Then the positions are
read in every period. The torque is switched on by the first command to a servo. A servo that is
silent, or whose watchdog stopped it, makes the body go; the handshake begins anew.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from hilgw.bodies._common.missing import GAINS
from hilgw.bodies._common.session import Phase, RobotSession
from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.bus import Answered, Bus, Exchange
from hilgw.bodies.dynamixel.packet import Status, StatusReader
from hilgw.bodies.dynamixel.series import series_of
from hilgw.bodies.dynamixel.servo import Servo
from hilgw.bodies.dynamixel.settings import DynamixelSettings, devices_of, servos_of
from hilgw.control.events import (
    Command,
    Connected,
    DeviceFault,
    DeviceSettings,
    Disconnected,
    Event,
    FeedbackSwitch,
    MotorFeedback,
    Notice,
    ProtocolFailure,
    SensorValue,
    Write,
)
from hilgw.control.safety import Mode
from hilgw.devices.kinds import Refusal
from hilgw.errors import MismatchError
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_MS, NS_PER_S, ms_to_ns, s_to_ns

PATIENCE_NS = NS_PER_S
"""Between two handshakes."""
CHECK_NS = 250 * NS_PER_MS
"""Between two looks at the watchdog of a servo."""
TRIPPED = 255


class DynamixelSession(RobotSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    missing: ClassVar[tuple[str, ...]] = (GAINS,)

    def __init__(self, settings: DynamixelSettings) -> None:
        super().__init__(settings, devices_of(settings))
        self._settings = settings
        self._servos: dict[int, Servo] = {}  # by the index of the motor
        for name, each in servos_of(settings).items():
            motor = self.devices.by_name(name)
            assert motor is not None
            self._servos[motor.index] = Servo(motor, each)
        self._by_number = {servo.number: servo for servo in self._servos.values()}
        self._offsets = {servo.number: servo.offset for servo in self._servos.values()}
        self._bus = Bus(10 * NS_PER_S // settings.baudRate, ms_to_ns(settings.answer_ms))
        self._reader = StatusReader()
        self._period_ns = ms_to_ns(settings.period_ms)
        self._silence_ns = s_to_ns(settings.silence_s)
        self._events: list[Event] = []
        self._models: dict[int, int] = {}
        self._switch_off()

    def _switch_off(self) -> None:
        self._enabled = set(self._always_on)
        self._feedback: set[int] = set()

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._commanded.clear()
        self._switch_off()
        self._begin(now)
        return self._flush(now)

    def _end(self) -> None:
        """The servos stop by their watchdog."""
        self._bus.clear()

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        for status in self._reader.feed(data):
            servo = self._by_number.get(status.number)
            if servo is not None:
                servo.answered_ns = now
                self._watch_alert(servo, alert=status.alert)
            self._bus.take(status, now)
        self.counts.update(self._reader.dropped)
        self._reader.dropped.clear()
        return self._flush(now)

    def next_deadline(self) -> int | None:
        if self._phase is Phase.CLOSED:
            return None
        dues = [self._bus.next_deadline(), self._due_ns]
        dues += [servo.next_deadline() for servo in self._servos.values()]
        return min(due for due in dues if due is not None)

    def expire(self, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        for servo in self._servos.values():
            self._set(servo, servo.expire(now))
        if now >= self._due_ns:
            self._poll(now) if self._is_up else self._retry(now)
        return self._flush(now)

    def describe(self, data: bytes, *, received: bool) -> str:
        reader = StatusReader()
        words = [f"{each.number}: {each.data.hex(' ') or 'ok'}" for each in reader.feed(data)]
        return "; ".join(words) or data.hex(" ")

    def is_idle(self) -> bool:
        """Whether nothing waits to be written: a stop that is repeated has left."""
        return self._phase is Phase.CLOSED or not self._bus.has_waiting

    def _flush(self, now: int) -> list[Event]:
        """The events that came up, and the bytes that are due."""
        data = self._bus.bytes_due(now)
        if self._bus.failed is not None:
            self._lose(f"servo {self._bus.failed} does not answer", now)
        events, self._events = self._events, []
        return [*([Write(data)] if data else []), *events]

    # --- handshake ----------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        """Asks every servo who it is, and sets its watchdog."""
        self._phase = Phase.SETUP
        self._due_ns = now + PATIENCE_NS
        self._check_ns = now
        self._alerts: set[int] = set()
        self._models.clear()
        self._bus.clear()
        self._reader.clear()
        steps = max(2, self._settings.watchdog_ms // 20)
        for servo in self._servos.values():
            servo.forget()
            number, offset = servo.number, servo.offset
            self._ask(packet.packet(number, packet.PING), number, self._identified, 3)
            self._ask(packet.write(number, packet.TORQUE, 0, offset), number)
            self._ask(packet.write(number, packet.WATCHDOG, 0, offset), number)
            limits = packet.read(number, packet.LIMITS, packet.LIMITS_SIZE)
            self._ask(limits, number, self._limits, packet.LIMITS_SIZE)
            position = packet.read(number, packet.POSITION, 4, offset)
            self._ask(position, number, self._position, 4)
            watchdog = packet.write(number, packet.WATCHDOG, steps, offset)
            self._ask(watchdog, number, self._is_ready)

    def _ask(
        self, request: bytes, number: int, answered: Answered | None = None, size: int = 0
    ) -> None:
        self._bus.add(Exchange(request, [number], answered, size))

    def _identified(self, status: Status, now: int) -> None:
        if status.error:
            return
        number, model = status.number, int.from_bytes(status.data[:2], "little")
        servo, found = self._by_number[number], series_of(model)
        if found is not servo.series:
            what = f"servo {number} is a model {model} of series {found.name}"
            fix = f"set series: {found.name} of '{servo.device.name}', or correct its id"
            self._phase = Phase.CLOSED
            self._bus.clear()
            self._events.append(ProtocolFailure(MismatchError(what, fix=fix)))
            return
        self._models[number] = model
        servo.identify(model)

    def _limits(self, status: Status, now: int) -> None:
        if not status.error:
            self._by_number[status.number].take_limits(status.data)

    def _is_ready(self, status: Status, now: int) -> None:
        """The last answer of one servo's handshake."""
        known = [servo for servo in self._servos.values() if servo.pulses is not None]
        last = list(self._servos.values())[-1]
        if status.error or status.number != last.number or len(known) < len(self._servos):
            return
        if len(self._models) < len(self._servos):
            return
        self._phase = Phase.UP
        self._due_ns = now
        shown = ", ".join(f"{number}: model {model}" for number, model in self._models.items())
        self._events.append(Connected(f"Dynamixel servos {shown}"))

    def _retry(self, now: int) -> None:
        missing = [str(each) for each in self._by_number if each not in self._models]
        if missing:
            text = f"no answer of servo {', '.join(missing)}: id, baudRate, power?"
            self._events.append(Notice(text))
        self.counts["retries"] += 1
        self._begin(now)

    def _lose(self, text: str, now: int) -> None:
        if self._is_up:
            self._events.append(Disconnected(text))
        self._begin(now)

    # --- the period ---------------------------------------------------------------------------

    def _poll(self, now: int) -> None:
        silent = [
            servo.number
            for servo in self._servos.values()
            if now - servo.answered_ns >= self._silence_ns
        ]
        if silent:
            self.counts["silences"] += 1
            self._lose(f"servo {silent[0]} is silent for {self._settings.silence_s:g} s", now)
            return
        self._due_ns = max(now, self._due_ns + self._period_ns)
        if not self._bus.idle:
            self.counts["late_periods"] += 1
            self._due_ns = now + self._period_ns
            return
        numbers = list(self._by_number)
        more = self._feedback or self._settings.show_velocity
        register, size = (packet.LOAD, 10) if more else (packet.POSITION, 4)
        request = packet.read_all(register, size, self._offsets)
        self._bus.add(Exchange(request, numbers, self._position, size))
        if now >= self._check_ns:
            self._check_ns = now + CHECK_NS
            for number, offset in self._offsets.items():
                request = packet.read(number, packet.WATCHDOG, 1, offset)
                self._ask(request, number, self._watchdog, 1)

    def _position(self, status: Status, now: int) -> None:
        servo = self._by_number[status.number]
        if status.error:
            return
        servo.pulses = packet.signed(status.data[-4:])
        if not self._is_up:
            return
        index, position = servo.device.index, servo.position
        assert position is not None
        if index + 1 in self._enabled:
            self._events.append(SensorValue(index + 1, position))
        if self._settings.show_velocity and len(status.data) == 10:
            self._events.append(SensorValue(index, servo.velocity(packet.signed(status.data[2:6]))))
        if index in self._feedback and len(status.data) == 10:
            torque = servo.torque(packet.signed(status.data[:2]))
            self._events.append(MotorFeedback(index, torque))

    def _watchdog(self, status: Status, now: int) -> None:
        if status.data == bytes((TRIPPED,)) and self._is_up:
            self._lose(f"the bus watchdog stopped servo {status.number}", now)

    def _watch_alert(self, servo: Servo, *, alert: bool) -> None:
        """The first answer with the alert bit: asks what is wrong."""
        if not alert:
            self._alerts.discard(servo.number)
        elif servo.number not in self._alerts:
            self._alerts.add(servo.number)
            self.counts["hardware_errors"] += 1
            self._events.append(DeviceFault(servo.device.index))
            request = packet.read(servo.number, packet.HARDWARE_ERROR, 1, servo.offset)
            self._ask(request, servo.number, self._hardware_error, 1)

    def _hardware_error(self, status: Status, now: int) -> None:
        if not status.data:
            return
        names = packet.HARDWARE_ERRORS
        found = [names[bit] for bit in names if status.data[0] >> bit & 1]
        name = self._by_number[status.number].device.name
        text = f"'{name}': hardware error: {', '.join(found) or status.data.hex()}"
        self._events.append(Notice(text, once=False))

    # --- from the control loop ----------------------------------------------------------------

    def _move(self, command: Command, now: int) -> list[Event] | Refusal:
        """While answers are on the bus, the bytes follow them, and the Write is empty."""
        servo = self._servos[command.index]
        if servo.number in self._alerts:
            text = f"'{servo.device.name}' has a hardware error"
            return Refusal(RequestRefused.NOT_SETTABLE, text)
        writes = servo.command(command, now)
        if isinstance(writes, Refusal):
            return writes
        self._set(servo, writes)
        events = self._flush(now)
        return events if events and isinstance(events[0], Write) else [Write(b""), *events]

    def _set(self, servo: Servo, writes: list[tuple[int, int]]) -> None:
        """Goals go without an answer; what a goal needs first is answered, or the body is lost."""
        changes = packet.TORQUE in dict(writes)
        number = servo.number
        for register, amount in writes:
            if changes and register != writes[-1][0]:
                request = packet.write(number, register, amount, servo.offset)
                answered = partial(self._written, register)
                self._bus.add(Exchange(request, [number], answered, vital=True))
            else:
                request = packet.write_all(register, {number: amount}, self._offsets)
                self._bus.add(Exchange(request, []))

    def _written(self, register: int, status: Status, now: int) -> None:
        if status.error and self._is_up:
            why = packet.ERRORS.get(status.error, f"error {status.error}")
            self._lose(f"servo {status.number} refused register {register}: {why}", now)

    def stop_command(self, index: int, mode: Mode) -> Command | None:
        """Velocity 0, or holding the present position."""
        if mode is Mode.POSITION and index in self._servos:
            return self._servos[index].hold_command()
        return super().stop_command(index, mode)

    def stop_commands(self) -> list[Command]:
        """The commands that `stop` would send now. Changes nothing."""
        if not self._must_stop:
            return []
        commands = (self._servos[index].stop_command() for index in sorted(self._commanded))
        return [command for command in commands if command is not None]

    def _halt(self, now: int) -> list[Event]:
        """Stops every servo that was commanded, at once, and again when the bus is free: an answer
        may be on it. Requests that wait are dropped; a servo in the middle of a change of mode has
        no torque."""
        data = self._stop_data()
        changing = not self._bus.idle
        self._bus.drop_waiting()
        self._bus.add(Exchange(data, []))
        for index in self._commanded:
            self._servos[index].rest()
            if changing:
                self._servos[index].mode = None
        return [Write(data)]

    def _halt_motor(self, index: int, now: int) -> list[Event]:
        servo = self._servos[index]
        servo.rest()
        data = self._goals([servo])
        self._bus.add(Exchange(data, []))
        return [Write(data)]

    def _stop_data(self) -> bytes:
        """Each servo that was commanded gets both goals: it may be in the mode before the last
        command."""
        return self._goals([self._servos[index] for index in sorted(self._commanded)])

    def _goals(self, servos: list[Servo]) -> bytes:
        """Both goals that stop these servos."""
        still = {servo.number: 0 for servo in servos}
        hold = {servo.number: servo.pulses for servo in servos if servo.pulses is not None}
        data = packet.write_all(packet.GOAL_VELOCITY, still, self._offsets)
        if hold:
            data += packet.write_all(packet.GOAL_POSITION, hold, self._offsets)
        return data

    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """All positions are read in any case: a stop needs them."""
        if period_ms == 0:
            self._enabled.discard(index)
        else:
            self._enabled.add(index)
        return []

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """The feedback of torque only: it needs more bytes of each answer."""
        if not isinstance(settings, FeedbackSwitch) or settings.index not in self._servos:
            return super().tune(settings, now)
        if settings.period_ms:
            self._feedback.add(settings.index)
        else:
            self._feedback.discard(settings.index)
        return []
