"""Counts of the engine: stations, control loops, links; and the history of the ports.

Ports and control loops keep counters, which are sampled once a second: a rate is the difference
between now and a sample that is one to two seconds old, so nothing is computed for each byte.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar

from hilgw.control.events import Command, MotorCommand, MotorSettings
from hilgw.devices.kinds import Device, Value, unit_of
from hilgw.engine.observer import ControlLoopStatus, Observer, State, ValueEvent
from hilgw.engine.recording.event_stream import state_of
from hilgw.engine.reporting.latency import Latency
from hilgw.events.kinds import plain
from hilgw.events.numbers import FORCES, Number, of_value
from hilgw.events.words import amounts
from hilgw.medium.ledger import StationCount
from hilgw.medium.packet import Copy
from hilgw.reasons import ExpiredReason, PacketRefused
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_S, ns_to_s

COUNTED = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")
Sample = dict[str, tuple[int, ...]]  # the counters of each port: those of COUNTED


class PortHistory(Observer):
    """The history of all ports.

    clock: of real time. sample: reads the counters. began_ns: when the gateway was made.
    """

    def __init__(self, clock: Scheduler, sample: Callable[[], Sample]) -> None:
        self._clock, self._now, self._sample = clock, clock.now, sample
        self.began_ns = self._now()
        self._since: dict[str, tuple[State, int]] = {}
        self._losses: dict[str, tuple[int, str, str]] = {}
        self._samples: deque[tuple[int, Sample]] = deque(maxlen=2)
        self._timer: Handle | None = None

    def start(self) -> None:
        """Sample the counters now, and then once a second."""
        now = self._now()
        self._samples.append((now, self._sample()))
        self._timer = self._clock.call_at(now + NS_PER_S, self.start)

    def close(self) -> None:
        """Stop sampling."""
        if self._timer is not None:
            self._timer.cancel()

    def state(self, station: str, state: State, reason: str) -> None:
        before, _ = self._since.get(station, (State.CLOSED, 0))
        if state is not before:
            self._since[station] = state, self._now()
        if before is State.UP and state not in (State.UP, State.RELEASED, State.CLOSED):
            self._losses[station] = self._now(), "port", reason

    def refused(self, station: str, reason: str, text: str) -> None:
        self._losses[station] = self._now(), "packet", reason

    def of(self, port: str, counts: tuple[int, ...]) -> dict[str, Any]:
        """Return what the status shows of a port. counts: of the port, now."""
        _, since_ns = self._since.get(port, (State.CLOSED, self.began_ns))
        loss_ns, loss, reason = self._losses.get(port, (0, "", ""))
        then_ns, then = self._samples[0] if self._samples else (self._now(), {})
        seconds, before = ns_to_s(self._now() - then_ns), then.get(port, (0,) * len(COUNTED))
        return {
            "since_s": self.age_s(since_ns),
            **dict(zip(COUNTED, counts, strict=True)),
            **{
                f"{name}_per_s": round((new - old) / seconds, 1) if seconds else 0.0
                for name, new, old in zip(COUNTED, counts, before, strict=True)
            },
            "last_loss": {"what": loss, "reason": reason, "age_s": self.age_s(loss_ns)}
            if loss
            else None,
        }

    def age_s(self, begin_ns: int) -> float:
        return round(ns_to_s(self._now() - begin_ns), 3)


NOTICES_REMEMBERED = 256
REFUSED = "refused_"
DIGITS = 4  # of a number in a line of status


class NoticeFilter:
    """The notices that were shown, so that each is shown once."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def is_due(self, text: str, once: bool) -> bool:
        """Return whether to show the text (again); `once`: not if it was shown before."""
        if once and text in self._texts:
            return False
        if len(self._texts) < NOTICES_REMEMBERED:
            self._texts.add(text)
        return True


class StationStatistics:
    """Counts of one station, and its observer.

    left: the delivered copies by source. All copies of one event are counted before the first is
    reported, so the observer always finds a ledger that adds up. latency: of a copy until its end;
    line, module, air: of the hops, see docs/status.md.
    """

    __slots__ = (
        *("_notices", "air", "count", "latency", "left"),
        *("line", "module", "name", "observer"),
    )

    def __init__(self, name: str, count: StationCount, observer: Observer) -> None:
        self.name = name
        self.count = count
        self.observer = observer
        self.latency, self.line, self.module, self.air = (Latency() for _ in range(4))
        self.left: Counter[str] = Counter()  # by source
        self._notices = NoticeFilter()

    def deliver(self, copy: Copy, now: int) -> None:
        """Count a copy that reached its end: read, last byte out, or acknowledged."""
        self.count.deliver()
        self.left[copy.packet.source] += 1
        self.latency.add(now - copy.arrived_ns)
        self.observer.delivered(self.name, copy)

    def refuse(self, reason: str, text: str, copies: int = 1) -> None:
        """Count copies that are lost. reason: a word to count; text: the same for people."""
        if copies:
            self.count.refuse(reason, copies)
        for _ in range(copies):
            self.observer.refused(self.name, reason, text)

    def echo(self) -> None:
        """Count a packet that the hardware received and another module of this gateway had sent."""
        self.count.echo()
        self.observer.refused(self.name, PacketRefused.OWN_ECHO, "sent by a module of this gateway")

    def drop(self, reason: str, text: str, count: int = 1) -> None:
        """Count what the hardware received and cannot become a packet."""
        self.count.drop(reason, count)
        self.observer.refused(self.name, reason, text)

    def expire(self, copies: int, reason: ExpiredReason = ExpiredReason.STOPPED) -> None:
        """Count these copies, which were not delivered before the gateway ends, as expired."""
        self.count.expire(copies, reason)

    def notice(self, text: str, once: bool = False) -> None:
        """Show the user a notice. once: not if it was shown before."""
        if self._notices.is_due(text, once):
            self.observer.notice(self.name, text)


class ControlLoopStatistics:
    """Counts of one control loop, the last values by device, and the latency.

    The latency is that from sensor in to motor out: from the last values before a command until
    that command is written. lateness: of the steps that ended late. past_sensors, past_motors: what
    was the last before the body was lost. of: another one that has the same devices.
    """

    def __init__(self, of: "ControlLoopStatistics | None" = None) -> None:
        self.counts: Counter[str] = Counter(
            values_in=0, values_superseded=0, commands_in=0, commands_out=0
        )
        self.refused: Counter[str] = Counter()
        self.latency, self.lateness = Latency(), Latency()
        self.sensors: dict[str, Value] = {}
        self.motors: dict[str, dict[str, float]] = {}
        self.past_sensors: dict[str, Value] = {}
        self.past_motors: dict[str, dict[str, float]] = {}
        self.devices: dict[str, Device] = {} if of is None else of.devices
        self._names: dict[int, str] = {} if of is None else of._names
        self._shown: Counter[str] = Counter()
        self._values_ns: int | None = None

    def add(self, device: Device) -> None:
        self._names[device.index] = device.name
        self.devices[device.name] = device

    def keep(self, devices: Iterable[Device]) -> None:
        """Drop the values of all other devices, which belong to a body that is gone."""
        names = {device.name for device in devices}
        for shown in (self.sensors, self.motors, self.past_sensors, self.past_motors):
            for name in shown.keys() - names:
                del shown[name]

    def lost(self) -> None:
        """Move the values of a lost body to the past ones.

        What it reported and was given is not current any more.
        """
        self.past_sensors, self.sensors = self.past_sensors | self.sensors, {}
        self.past_motors, self.motors = self.last_motors(), {}

    def last_motors(self) -> dict[str, dict[str, float]]:
        """Return the last settings of each motor, also those of before the body was lost."""
        past, motors = self.past_motors, self.motors
        return {name: past.get(name, {}) | motors.get(name, {}) for name in past | motors}

    def forget_values(self) -> None:
        """Forget the values of an exchanged body: they are not those of the next one."""
        self.keep(())
        self._values_ns = None

    def begin_connection(self) -> None:
        """Begin the latency anew, for the connection that a controller or a body has opened."""
        self.latency.clear()
        self._values_ns = None

    def received(self, values: Sequence[tuple[int, Value]], now: int) -> None:
        """Count and keep the values that came from the body."""
        sensors, names = self.sensors, self._names
        for index, value in values:
            sensors[names.get(index) or str(index)] = value
        self.counts["values_in"] += len(values)
        self._values_ns = now

    def commanded(self, command: Command, now: int) -> None:
        """Count and show a command that was written to the body."""
        self.counts["commands_out"] += 1
        if self._values_ns is not None:
            self.latency.add(now - self._values_ns)
            self._values_ns = None
        self._show(command)

    def stopped(self, commands: Iterable[Command]) -> None:
        """Show these commands of a stop, which were written to the body."""
        for command in commands:
            self._show(command)

    def _show(self, command: Command) -> None:
        motor = self.motors.setdefault(self.name_of(command.index), {})
        if isinstance(command, MotorCommand):
            motor[command.field] = command.value
        elif isinstance(command, MotorSettings):
            motor |= {
                "position": command.position,
                "velocity": command.velocity,
                "acceleration": command.acceleration,
                "available": command.available,
            }
        else:
            motor |= {"P": command.p, "I": command.i, "D": command.d}

    def name_of(self, index: int) -> str:
        """Return the device's name; its index where it has none."""
        return self._names.get(index, str(index))

    def status(self, seconds: float, *, armed: bool = True) -> ControlLoopStatus:
        """Return what happened since the last call, `seconds` ago.

        armed: whether motors may move.
        """
        values, commands = (
            (self.counts[name] - self._shown[name]) / seconds
            for name in ("values_in", "commands_out")
        )
        self._shown = self.counts.copy()
        return ControlLoopStatus(
            self.sensors,
            self.motors,
            values,
            commands,
            self.latency,
            self.devices,
            armed,
            past_sensors=_without(self.past_sensors, self.sensors),
            past_motors=_without(self.past_motors, self.motors),
        )

    def named_values(self, units: dict[str, str | dict[str, str]]) -> Iterator[tuple[str, Any]]:
        """Yield the last value of each sensor: a number, or its numbers by name.

        units: gets the units of the same numbers; those without one are left out.
        """
        for name, value in (self.past_sensors | self.sensors).items():
            numbers, has_names = readings(value, self.devices.get(name)), isinstance(value, tuple)
            if by_name := {one.field: one.unit for one in numbers if one.unit}:
                units[name] = by_name if has_names else numbers[0].unit
            yield name, {one.field: one.value for one in numbers} if has_names else value


V = TypeVar("V")


def _without(past: Mapping[str, V], newer: Mapping[str, object]) -> dict[str, V]:
    return {name: each for name, each in past.items() if name not in newer}


def motions(motors: Mapping[str, Mapping[str, float]], devices: Mapping[str, Device]) -> list[str]:
    """Return what the motors that do not rest follow, with the numbers of their last commands.

    Such as "left 5 rad/s" and "lift to 0.25 m".
    """
    return [
        f"{name} {motion(settings, devices.get(name))}"
        for name, settings in motors.items()
        if motion(settings, None) not in ("0", "-0")
    ]


def motion(settings: Mapping[str, float], device: Device | None) -> str:
    """Return what one motor follows: a finite position, a velocity, or a force or torque.

    Without any, its settings.
    """
    numbers = numbers_of(settings, device)
    known = {one.field: one for one in numbers if one.field != "position" or isfinite(one.value)}
    for name, form in (("position", "to "), ("velocity", ""), *((n, f"{n} ") for n in FORCES)):
        if name in known:
            return form + amounts([known[name]], DIGITS)
    return amounts(numbers, DIGITS)


def numbers_of(settings: Mapping[str, float], device: Device | None) -> list[Number]:
    """Return the settings of a motor with their units."""
    return [Number(name, value, unit_of(device, name)) for name, value in settings.items()]


def readings(value: Value, device: Device | None) -> list[Number]:
    """Return the numbers of a sensor with their names and units."""
    return of_value(plain(state_of(ValueEvent("", "", value, 0), device)))


def refusals(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the refusals by reason among a session's counts.

    There they are called "refused_REASON".
    """
    return {
        name.removeprefix(REFUSED): count
        for name, count in counts.items()
        if name.startswith(REFUSED)
    }


def merged(*counts: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of the counts of the same names."""
    total: Counter[str] = Counter()
    for other in counts:
        total.update(other)
    return dict(sorted(total.items()))


def finite(value: float | Mapping[str, float]) -> Any:
    """Return a number, or numbers by name, for JSON: one that is not finite is null."""
    if isinstance(value, Mapping):
        return {name: finite(each) for name, each in value.items()}
    return value if isfinite(value) else None
