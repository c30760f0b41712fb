"""The session of a body with servos on a bus, each a motor with its position sensor.

After the handshake the positions are read in every period. The torque is switched on by the first
command to a servo. A servo that is silent, or one of whose registers is not what was set, makes
the body go: the others are stopped first, and the handshake begins anew.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, ClassVar

from hilgw.bodies._common.session import Phase, RobotSession
from hilgw.bodies._servo_bus.bus import Bus, ServoAnswer, ServoKind, StatusReader, Transaction
from hilgw.bodies._servo_bus.goals import CYCLE_NS, Faults, Goals, ReadBack
from hilgw.bodies._servo_bus.handshake import Handshake
from hilgw.bodies._servo_bus.servo import Servo
from hilgw.bodies._servo_bus.settings import devices_of, servos_of
from hilgw.control.events import (
    Command,
    Connected,
    DeviceSettings,
    Disconnected,
    Event,
    FeedbackSwitch,
    HardwareFault,
    MotorFeedback,
    Notice,
    SensorValue,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.missing import GAINS
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import MOTOR, Device, Refusal
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_S, earliest, ms_to_ns, s_to_ns

PATIENCE_NS = NS_PER_S  # between two handshakes
LATE = (
    "answers come later than answer_ms, and are dropped: set the latency timer of the USB adapter "
    "to 1 ms, or raise answer_ms"
)
UNCONFIRMED = "stop not confirmed by servo {}"
NOT_SET_UP = "stop not confirmed, as the servos are not set up"
GOAL_BYTES = 4  # of a goal, and what follows it
HANDSHAKE_BYTES, HANDSHAKE_ANSWERS = 500, 10  # of one servo, with a margin


class ServoBusSession(RobotSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    missing = (GAINS,)
    Kind: ClassVar[Any]
    Servo: ClassVar[Any]
    Handshake: ClassVar[Any]

    def __init__(self, settings: Any) -> None:
        super().__init__(settings, devices_of(settings))
        self._settings = settings
        self._servos: dict[int, Servo] = {}  # by the index of the motor
        offsets: dict[int, int] = {}
        self._kind: ServoKind = self.Kind(offsets)
        kind = self._kind
        given = servos_of(settings)
        for motor in self.devices.of_role(MOTOR):
            servo: Servo = self.Servo(kind, motor, given[motor.name], settings, self.counts)
            self._servos[motor.index] = servo
            offsets[servo.number] = servo.series.offset
        servos = self._servos.values()
        self._by_number = {servo.number: servo for servo in servos}
        byte_ns = 10 * NS_PER_S // settings.baudRate
        self._bus = Bus(kind, self.counts, byte_ns, ms_to_ns(settings.answer_ms))
        self._reader = StatusReader(kind)
        self._faults = Faults(kind)
        self._handshake = self._new_handshake()
        self._read_back = ReadBack(kind, self._bus, servos, self._differs)
        self._period_ns = ms_to_ns(settings.period_ms)
        self._goals = Goals(kind, self._bus, self._servos, self._period_ns, self._lose)
        self._silence_ns = s_to_ns(settings.silence_s)
        self._events: list[Event] = []
        self._urgent = b""  # is written at once
        self._stopping: set[int] = set()  # motors whose stop is written again
        self._stop_asked: Transaction | None = None  # the last one
        self._written_stops = 0  # copies of the last stop of all motors
        self._stopped: set[int] = set()  # motors that got a stop after their last command
        self._wake_ns: int | None = None
        self._switch_off()

    def _new_handshake(self) -> Handshake:
        made: Handshake = self.Handshake(
            self._kind, self._bus, self._servos.values(), self._settings
        )
        return made

    def _switch_off(self) -> None:
        self._enabled = set(self._always_on)
        self._feedback: set[int] = set()

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._switch_off()
        self._bus.clear()
        self._faults.clear()
        for servo in self._servos.values():
            servo.pulses = None
        self._begin(now)
        return self._flush(now)

    def _end(self) -> None:
        self._bus.clear()
        self._faults.clear()
        self._stopping.clear()

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        for status in self._reader.feed(data):
            servo = self._by_number.get(status.number)
            if servo is not None:
                self._watch_alert(servo, alert=status.alert)
                self._take(servo, status, now)
        self.counts.update(self._reader.dropped)
        self._reader.dropped.clear()
        if self._phase is Phase.SETUP:
            self._proceed(now)
        return self._flush(now)

    def _take(self, servo: Servo, status: ServoAnswer, now: int) -> None:
        """Note that a servo is there if it answers in time: one that is late leaves us blind."""
        taken = self._bus.take(status, now)
        if taken is None:
            self._events.append(Notice(LATE))
        elif taken[0].answered is not None:
            servo.answered_ns = now

    def next_deadline(self) -> int | None:
        if self._phase is Phase.CLOSED:
            return None
        wake_ns = self._bus.next_deadline() if self._bus.waiting else self._wake_ns
        servos = [servo.next_deadline() for servo in self._servos.values()]
        return earliest(self._due_ns, wake_ns, *servos)

    def expire(self, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        for servo in self._servos.values():
            servo.expire(now)
        if now >= self._due_ns:
            self._poll(now) if self._is_up else self._retry(now)
        return self._flush(now)

    def good_frames(self, data: bytes) -> int:
        return len(StatusReader(self._kind).feed(data))

    def describe(self, data: bytes, *, received: bool) -> str:
        reader = StatusReader(self._kind)
        words = [f"{each.number}: {each.data.hex(' ') or 'ok'}" for each in reader.feed(data)]
        return "; ".join(words) or data.hex(" ")

    def is_idle(self) -> bool:
        return self._phase is Phase.CLOSED or not (
            self._stopping or self._bus.repeats_stop or self._bus.has(self._stop_asked)
        )

    # --- what is written ----------------------------------------------------------------------

    def _flush(self, now: int) -> list[Event]:
        for lost in self._bus.end_late(now):
            self._reader.clear()  # what a damaged length still awaits would take the next answers
            if lost.vital is not None:
                culprit = self._by_number[lost.vital]
                self._lose(culprit, f"servo {culprit.number} does not answer", now)
            elif lost.of_stop:
                self._events.append(Notice(UNCONFIRMED.format(*lost.numbers), once=False))
            elif self._phase is Phase.SETUP and lost.answered is not None:
                self._handshake.proceed(now)
        data, self._urgent = self._urgent, b""
        if not self._bus.waiting and now >= self._bus.free_ns:
            data += self._bus.bytes_due(self._due(now), now)
        self._wake_ns = self._next_wake(now)
        events, self._events = self._events, []
        return [*([Write(data)] if data else []), *events]

    def _next_wake(self, now: int) -> int | None:
        free_ns = self._bus.free_ns
        if self._stopping or self._goals.has_waiting:
            due = free_ns
        elif self._bus.has_waiting or self._bus.repeats_stop:
            due = max(free_ns, self._bus.silent_ns)
        else:
            due = max(free_ns, self._read_back.due_ns)
        return due if due > now else None

    def _due(self, now: int) -> bytes:
        if self._bus.repeat_stop(now):
            self._stopping |= self._stopped
        data = self._goals.of_stop(self._these(self._stopping)) if self._stopping else b""
        self._stopping.clear()
        if not self._is_up:
            return data
        self._goals.change_modes()
        room_ns = self._due_ns - now - self._bus.duration_ns(len(data))
        if not self._bus.has_waiting:
            self._read_back.ask(now, room_ns)
        return data + self._goals.due(now, room_ns)

    def _these(self, indices: Iterable[int]) -> list[Servo]:
        return [self._servos[index] for index in sorted(indices)]

    # --- handshake ----------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        self._begin_setup()
        answers_ns = HANDSHAKE_ANSWERS * ms_to_ns(self._settings.answer_ms)
        servo_ns = self._bus.duration_ns(HANDSHAKE_BYTES) + answers_ns
        self._due_ns = now + max(PATIENCE_NS, len(self._servos) * servo_ns)
        self._asked_ns = now
        self._reading: Transaction | None = None
        self._stopped.clear()
        self._bus.forget()
        self._reader.clear()
        self._read_back.reset(now)
        self._handshake = self._new_handshake()
        self._handshake.begin(now)

    def _proceed(self, now: int) -> None:
        if self._handshake.is_complete:
            self._read_back.ask(now)
            if self._read_back.is_complete:
                self._handshake.check()
        if self._handshake.failure is not None:
            self._phase = Phase.CLOSED
            self._end()
            self._events.append(self._handshake.failure)
        elif self._read_back.is_complete:
            self._connect(now)

    def _connect(self, now: int) -> None:
        self._phase = Phase.UP
        self._due_ns = now
        models = self._handshake.models.items()
        shown = ", ".join(f"{number}: model {model}" for number, model in models)
        self._events.append(Connected(f"{self._kind.title} {shown}"))
        present = [index for index, servo in self._servos.items() if servo in self._faults]
        self._events += [HardwareFault(index) for index in present]

    def _retry(self, now: int) -> None:
        missing = [str(each) for each in self._handshake.missing()]
        if missing:
            self._events.append(
                Notice(f"no answer of servo {', '.join(missing)}: id, baudRate, power?")
            )
        elif unset := [str(each) for each in self._handshake.unset()]:
            self._events.append(
                Notice(f"servo {', '.join(unset)} did not let go, or its position is not known")
            )
        self.counts["retries"] += 1
        self._begin(now)

    def _differs(self, servo: Servo, text: str, now: int) -> None:
        if self._is_up:
            self.counts["differences"] += 1
            servo.pulses = None  # its goals are those of another life: a stop writes no position
            self._lose(servo, text, now)
        elif self._phase is Phase.SETUP:
            self._events.append(Notice(text))

    def _lose(self, culprit: Servo, text: str, now: int) -> None:
        """Stop the others first: at once, and again when the bus is free."""
        if not self._is_up:
            return
        culprit.is_lost = True
        others = [index for index, servo in self._servos.items() if servo is not culprit]
        if others:
            self._halt_now(others, now)
        self._events.append(Disconnected(text))
        self._begin(now)

    # --- the period ---------------------------------------------------------------------------

    def _poll(self, now: int) -> None:
        late_ns = now - self._due_ns
        for servo in self._servos.values():
            servo.answered_ns += late_ns  # in which none was asked
            if now - servo.answered_ns >= self._silence_ns:
                self.counts["silences"] += 1
                self._lose(
                    servo, f"servo {servo.number} is silent for {self._settings.silence_s:g} s", now
                )
                return
        self._due_ns = max(now + 1, self._due_ns + self._period_ns)
        if self._bus.has(self._reading):
            self.counts["late_periods"] += 1
            return
        more = self._feedback or self._settings.show_velocity
        register, size = self._kind.feedback if more else self._kind.present
        request = self._kind.read_all(register, size, self._by_number)
        self._reading = Transaction(request, list(self._by_number), self._position, size)
        self._bus.add(self._reading, first=True)
        if now - self._asked_ns >= CYCLE_NS:
            self._asked_ns = now
            for servo in self._servos.values():
                if servo in self._faults:
                    self._ask_error(servo)

    def _position(self, status: ServoAnswer, now: int) -> None:
        servo = self._by_number[status.number]
        if status.error:
            return
        pulses, velocity, load = self._kind.reading(status.data)
        servo.take(pulses)
        index, position = servo.device.index, servo.position
        assert position is not None
        if index + 1 in self._enabled:
            self._events.append(SensorValue(index + 1, position))
        if self._settings.show_velocity and velocity is not None:
            self._events.append(SensorValue(index, servo.velocity(velocity)))
        if index in self._feedback and load is not None:
            self._events.append(MotorFeedback(index, servo.torque_of(load)))

    # --- hardware errors ----------------------------------------------------------------------

    def _watch_alert(self, servo: Servo, *, alert: bool) -> None:
        if self._faults.watch(servo, alert=alert):
            self.counts["hardware_errors"] += 1
            if self._is_up:
                self._events.append(HardwareFault(servo.device.index))
            self._ask_error(servo)

    def _ask_error(self, servo: Servo) -> None:
        request = self._kind.read(servo.number, self._kind.hardware_error, 1)
        self._bus.add(Transaction(request, [servo.number], self._hardware_error, 1))

    def _hardware_error(self, status: ServoAnswer, now: int) -> None:
        servo = self._by_number[status.number]
        if self._faults.read(servo, status):
            self._events.append(Notice(self._faults.words(servo), once=False))

    def faults(self) -> list[str]:
        return [self._faults.words(each) for each in self._servos.values() if each in self._faults]

    # --- from the control loop ----------------------------------------------------------------

    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        servo = self._servos[command.index]
        moves = command.index not in self._stopped and servo.stop_command() is not None
        if moves and servo.is_still(command):
            servo.still(command)
        elif servo in self._faults:
            return Refusal(
                RequestRefused.NOT_SETTABLE, f"'{servo.device.name}' has a hardware error"
            )
        else:
            refusal = servo.command(command, now)
            if refusal is not None:
                return refusal
        self._stopped.discard(command.index)
        return self._flush(now)

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        """Return whether velocity 0, or holding the present position, stops it.

        One without torque moves freely.
        """
        if mode is None:
            return index in self._servos and self._servos[index].stop_command() is not None
        if mode is MotorMode.POSITION and index in self._servos:
            return self._servos[index].hold_command() is not None
        return super().can_stop(index, mode)

    def _commands(self, indices: Collection[int]) -> tuple[Command, ...]:
        """Return the commands of a stop of these servos; nothing for one without torque."""
        commands = (servo.stop_command() for servo in self._these(indices))
        return tuple(command for command in commands if command is not None)

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        commands = self._commands(self._servos)
        self._written_stops = 1
        self._halt_now(self._servos, now)
        return StopPlan(self._flush(now), commands, self._copies, is_asked=True)

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        if self._can_stop:
            self._stopping.update(self._servos if motors is None else motors)
        self._written_stops += motors is None
        is_asked = motors is None and self._is_up and self._written_stops >= self._copies
        asked = self._these(self._stopped if is_asked else ())
        if motors is None and not self._is_up:
            self._events.append(Notice(NOT_SET_UP))
        for servo in [each for each in asked if each.mode is not None]:  # others have no torque
            register = self._kind.goals[servo.mode != self._kind.velocity_mode]
            request = self._kind.read(servo.number, register, GOAL_BYTES)
            read = partial(self._read_goal, servo, register)
            self._stop_asked = Transaction(request, [servo.number], read, GOAL_BYTES, of_stop=True)
            self._bus.add(self._stop_asked)
        return self._flush(now)

    def _read_goal(self, servo: Servo, register: int, status: ServoAnswer, now: int) -> None:
        goal = 0 if register == self._kind.goal_velocity else servo.held_pulses()
        has_stop = status.data.startswith(self._kind.value(register, goal))
        if servo.device.index in self._stopped and not has_stop:
            self._events.append(Notice(UNCONFIRMED.format(servo.number), once=False))

    def _halt_motor(self, index: int, now: int) -> StopPlan:
        """Stop it at once, unless it was stopped before and got no command since.

        Then when the line is free, as such stops may come in a flood.
        """
        commands = self._commands([index])
        if index not in self._stopped:
            self._halt_now([index], now)
        else:
            self._goals.drop(self._servos[index])
            self._stopping.add(index)
        return StopPlan(self._flush(now), commands, self._copies)

    def _halt_now(self, indices: Collection[int], now: int) -> None:
        """Stop them at once, and again when the bus is free: an answer may be on it."""
        servos = self._these(indices)
        for servo in servos:
            self._goals.drop(servo)
        for servo in servos:
            if servo.pulses is not None:
                servo.hold_position()
        data = self._goals.of_stop(servos)
        self._stopping.update(indices)
        self._stopped.update(indices)
        self._urgent += data
        self._bus.occupy(len(data), now)
        self._bus.stopped(now)

    def _stop_data(self) -> bytes:
        return self._goals.of_stop(self._these(self._servos))

    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        if period_ms == 0:
            self._enabled.discard(index)
        else:
            self._enabled.add(index)
        return []

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """Switch the feedback of torque, which needs more bytes of each answer."""
        if not isinstance(settings, FeedbackSwitch) or settings.index not in self._servos:
            return super().tune(settings, now)
        if settings.period_ms:
            self._feedback.add(settings.index)
        else:
            self._feedback.discard(settings.index)
        return []
