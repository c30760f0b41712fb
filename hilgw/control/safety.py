"""The safety of a control loop: when motors must stop, and how they may move again."""

import math
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from hilgw.control.events import (
    Command,
    Event,
    MotorCommand,
    MotorField,
    MotorPid,
    MotorSettings,
    SensorValue,
    StopReason,
)
from hilgw.control.safety_settings import REAL_BODY_TIMEOUT_S, STEPPED_TIMEOUT_S, SafetySettings
from hilgw.devices.kinds import LINEAR_MOTOR, POSITION_SENSOR, ROTATIONAL_MOTOR, Device, Devices
from hilgw.devices.properties import PositionSensorFields
from hilgw.units import NS_PER_MS, ns_to_s, s_to_ns

DISARM_AT_REST = (
    StopReason.BODY,
    StopReason.FAULT,
    StopReason.HARDWARE,
    StopReason.GUARDIAN,
    StopReason.GUARDIAN_ENDED,
)
"""Reasons that disarm a robot that latches, also while no motor moves."""
ALWAYS_LATCH = (StopReason.HARDWARE, StopReason.GUARDIAN, StopReason.GUARDIAN_ENDED)
"""Those that latch whatever `latch` is, also while no motor moves."""
BY_HAND = (StopReason.DISARMED, StopReason.ESTOP, StopReason.RELEASED)
"""A person or the switch asks for these stops: they are written in any case."""
SAG_RAD, SAG_M = 0.2, 0.02
"""A loaded motor that holds a position gives way a little. Within this, the next stop holds the
same position: a new one each time would lower the load step by step."""
STRETCH_NS, STRETCHES = 100 * NS_PER_MS, 6
"""A motor moves that has moved one way for this many stretches: noise has no direction, and a push
by hand is shorter."""
NOISE_RAD, NOISE_M = 0.02, 0.002
SOON_NS, SOON_STOPS, LATER_NS = 300 * NS_PER_MS, 3, 2_000 * NS_PER_MS
"""The first SOON_STOPS stops are SOON_NS apart, the others LATER_NS."""
SETTLE_NS = 1_000 * NS_PER_MS
"""After a stop by the control loop the motors slow down."""


class SafetyState:
    """The safety of one body, simulated or not.

    stepped: whether the controller asks for steps. moving: a motor was commanded since the last
    stop. was_commanded: one was in this run. armed: whether motors may move. latch: whether a stop
    disarms. latched: the reason of the stop that disarmed it, None without one. disarmed_by: what
    disarmed it last, None while it is armed; disarms: how often that happened. stops: counted by
    reason. stops_on_fault: whether a hardware fault of the body stops and latches, whatever `latch`
    is. enforces_standstill: whether motion after a stop gets the stop again. waits_for_us: a
    controller that is stepped waits for the end of its step; its silence means nothing.
    """

    def __init__(self, settings: SafetySettings, *, simulated: bool, stepped: bool = False) -> None:
        self.simulated = simulated
        timeout_s = settings.command_timeout_s
        if timeout_s is None:
            timeout_s = STEPPED_TIMEOUT_S if stepped else 0.0
            timeout_s = timeout_s if simulated else REAL_BODY_TIMEOUT_S
        self.timeout_ns = s_to_ns(timeout_s)
        late_s = STEPPED_TIMEOUT_S if simulated else REAL_BODY_TIMEOUT_S
        self.late_ns = s_to_ns(late_s if settings.late_s is None else settings.late_s)
        self.moving = self.was_commanded = self.waits_for_us = False
        self.latched: StopReason | None = None
        self.disarmed_by: StopReason | None = None
        self.disarms = 0
        self.stops: Counter[str] = Counter()
        self.armed = simulated if settings.armed is None else settings.armed
        self.latch = not simulated if settings.latch is None else settings.latch
        on_fault = settings.on_fault or ("report" if simulated else "stop")
        self.stops_on_fault = on_fault == "stop"
        self.enforces_standstill = settings.standstill == "stop"
        self._alive_ns = 0

    @property
    def timeout_s(self) -> float | None:
        """The deadline for commands; None without one."""
        return ns_to_s(self.timeout_ns) if self.timeout_ns else None

    def alive(self, time_ns: int) -> None:
        """Note a sign of life of the controller.

        at: now, or later when bytes on a slow line still keep it waiting.
        """
        self._alive_ns = time_ns

    def silent_ns(self, now: int) -> int:
        """Return for how long a controller that is free to compute has given no sign of life."""
        return 0 if self.waits_for_us else max(0, now - self._alive_ns)

    def command(self, now: int) -> None:
        """Note that a motor was commanded."""
        self.moving = True
        self._alive_ns = max(self._alive_ns, now)

    def stop(self, reason: StopReason, *, latch: bool = True) -> bool:
        """Note that the motors must stop.

        True, and counted, when one was commanded since the last stop.

        latch: whether this reason may latch (the orderly end of the gateway does not).
        """
        latches_always = reason in ALWAYS_LATCH
        latch = latch and (self.latch or latches_always)
        # The port of a released one was closed: its body is gone.
        if latch and reason in DISARM_AT_REST and self.disarmed_by is not StopReason.RELEASED:
            self.disarm(reason)
        if latch and latches_always:
            self.latched = reason
        if not self.moving:
            return False
        self.moving = False
        self.stops[reason] += 1
        if latch:
            self.disarm(reason)
            self.latched = reason
        return True

    def owes_stop(self, reason: StopReason, *, by_hand: bool) -> bool:
        """Return whether a stop for this reason is written.

        It needs no memory of a command, as a robot may move from before this run, or by another
        program: only a simulated robot that this run has not commanded gets none, unless a person
        asks for it (by_hand: ends the run).
        """
        return by_hand or reason in BY_HAND or self.was_commanded or not self.simulated

    def arm(self) -> bool:
        """Let the motors move; return whether they could not before."""
        was, self.armed, self.latched, self.disarmed_by = self.armed, True, None, None
        return not was

    def disarm(self, reason: StopReason = StopReason.DISARMED) -> bool:
        """Let no motor move until `arm`; return whether one could before.

        A latched stop stays latched.
        """
        was, self.armed, self.disarmed_by = self.armed, False, reason
        self.disarms += 1
        return was

    def deadline(self) -> int | None:
        """Return the time by which the next sign of life must come, or None."""
        watched = self.moving and self.timeout_ns and not self.waits_for_us
        return self._alive_ns + self.timeout_ns if watched else None


class Standstill:
    """From a stop until a motor may move again. is_shown: a notice about it was shown."""

    def __init__(self, now: int) -> None:
        self.is_shown = False
        self._stops, self._next_ns = 0, now + SETTLE_NS
        self._courses: dict[int, tuple[float, int, int]] = {}  # position, since when, stretches

    def moving(self, events: Iterable[Event], devices: Devices, now: int) -> list[Device]:
        """Take the positions among these events. Return the devices whose position moves."""
        positions = (
            (devices.by_index(event.index), event.value)
            for event in events
            if type(event) is SensorValue
        )
        return [
            device
            for device, value in positions
            if device is not None
            and device.kind in (POSITION_SENSOR, LINEAR_MOTOR)
            and not isinstance(value, tuple)
            and self._goes_on(device, value, now)
        ]

    def _goes_on(self, device: Device, position: float, now: int) -> bool:
        """Return whether it goes on one way, and not to the default that a stop sends it to."""
        before, since_ns, stretches = self._courses.setdefault(device.index, (position, now, 0))
        if now - since_ns < STRETCH_NS:
            return False
        fields = device.fields
        is_slider = isinstance(fields, PositionSensorFields) and fields.type == "linear"
        is_linear = device.kind == LINEAR_MOTOR or is_slider
        moved, noise = position - before, NOISE_M if is_linear else NOISE_RAD
        way = (moved > noise) - (moved < -noise)
        if device.default is not None and way * (device.default - position) > 0:
            way = 0
        stretches = way + (stretches if way * stretches > 0 else 0)
        self._courses[device.index] = position, now, stretches
        return abs(stretches) >= STRETCHES

    def is_due(self, now: int) -> bool:
        """Return whether the stop is written again now; it counts as written."""
        if now < self._next_ns:
            return False
        self._stops = 1 if now >= self._next_ns + LATER_NS else self._stops + 1
        self._next_ns = now + (SOON_NS if self._stops < SOON_STOPS else LATER_NS)
        return True


class MotorMode(StrEnum):
    """Quantity that a motor follows.

    A finite position, a velocity (position +infinity), or a force or torque.
    """

    POSITION = "position"
    VELOCITY = "velocity"
    FORCE = "force"


_SELECTS = {
    MotorField.POSITION: MotorMode.POSITION,
    MotorField.VELOCITY: MotorMode.VELOCITY,
    MotorField.FORCE: MotorMode.FORCE,
    MotorField.TORQUE: MotorMode.FORCE,
}


def mode_of(command: Command) -> MotorMode | None:
    """Return the mode that this command selects; None: it leaves the mode as it is."""
    if isinstance(command, MotorCommand):
        mode = _SELECTS.get(command.field)
        return _mode_at(command.value) if mode is MotorMode.POSITION else mode
    return None if isinstance(command, MotorPid) else _mode_at(command.position)


def stands_still(command: Command) -> bool:
    """Return whether this command stops a motor: velocity 0, also on the way to a position."""
    if isinstance(command, MotorCommand):
        return command.value == 0 and command.field == MotorField.VELOCITY
    return isinstance(command, MotorSettings) and command.velocity == 0


def _mode_at(position: float) -> MotorMode:
    return MotorMode.VELOCITY if position == math.inf else MotorMode.POSITION


def default_command(device: Device, reported: float | None) -> MotorCommand | None:
    """Return the command that sets a motor to its default and stops it in any mode.

    Rotational: velocity 0. Linear: its default position; without one, it holds the position that it
    last reported. None for a linear motor with neither.
    """
    if device.kind == ROTATIONAL_MOTOR:
        return MotorCommand(device.index, MotorField.VELOCITY, 0.0)
    if device.kind != LINEAR_MOTOR:
        return None
    position = reported if device.default is None else device.default
    if position is None:
        return None
    return MotorCommand(device.index, MotorField.POSITION, position)
