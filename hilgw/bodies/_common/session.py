"""Bases of the sessions of all bodies, and of those of robots on a serial line.

`MotorSession` refuses what the robot cannot do, and counts commands, stops and refusals. The bytes
are those of the robot's own session.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from enum import Enum
from typing import ClassVar

from hilgw.bodies._common.settings import RobotSettings
from hilgw.control.events import (
    Accepted,
    Command,
    DeviceSettings,
    Disconnected,
    Event,
    LedValue,
    MotorCommand,
    MotorField,
    MotorSettings,
    Outcome,
    PacketOut,
    RefusedRequest,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.missing import is_all_missing
from hilgw.control.odometer import Odometer
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import (
    LED,
    MOTOR,
    POSITION_SENSOR,
    SENSOR,
    Device,
    Devices,
    Refusal,
    on_joint,
)
from hilgw.reasons import RequestRefused

STOP_COPIES = 3  # a serial line may damage one


class MotorSession(ABC):
    """The part of a `hilgw.bodies.base.BodySession` that all bodies share."""

    # The answer to a request while the robot takes none.
    down: ClassVar[str] = "not sent: body down"
    no_device: ClassVar[str] = "the robot has no device"
    missing: Collection[str] = ()
    _commanded: ClassVar[set[int]] = set()  # sessions of other distributions clear it

    def __init__(self, devices: Devices, missing: Collection[str]) -> None:
        self.devices = devices
        self.counts: Counter[str] = Counter()
        self.missing = missing

    # --- the robot ----------------------------------------------------------------------------

    @abstractmethod
    def _takes_requests(self, now: int) -> bool:
        """Return whether the robot is there, and a request may be written."""

    @property
    @abstractmethod
    def _can_stop(self) -> bool:
        """True if a stop may be written: also to a robot that has not answered yet."""

    def _is_motor(self, device: Device) -> bool:
        return device.role == MOTOR

    def _has_motor(self, index: int) -> bool:
        device = self.devices.by_index(index)
        return device is not None and self._is_motor(device)

    @abstractmethod
    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        """Execute a command to a motor of the robot, which takes requests.

        Returns the bytes that leave now (none where they follow), or why the robot cannot execute
        it.
        """

    @abstractmethod
    def _halt(self, reason: StopReason, now: int) -> StopPlan | list[Event]:
        """Stop the motors."""

    @abstractmethod
    def _halt_motor(self, index: int, now: int) -> StopPlan | list[Event] | None:
        """Stop one motor by its goal. None: it has no stop."""

    @abstractmethod
    def _stop_data(self) -> bytes:
        """Return the bytes that stop the motors in any case.

        Changes nothing.
        """

    # --- motors -------------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        index = command.index
        device = self._find(index, now)
        if not isinstance(device, Refusal) and not self._is_motor(device):
            device = unfit(device, "is not a motor")
        if isinstance(device, Refusal):
            return counted(self.counts, device), []
        if is_all_missing(command, self.missing):
            return Accepted.DROPPED, []
        events = self._move(device, command, now)
        if isinstance(events, Refusal):
            return counted(self.counts, events), []
        self.counts["commands"] += 1
        return Accepted.SENT, events

    def stop(self, reason: StopReason, now: int) -> StopPlan:
        if not self._can_stop:
            return StopPlan([])
        self.counts["stops"] += 1
        plan = self._halt(reason, now)
        return self._at_rest(plan) if isinstance(plan, list) else plan  # a list: of version 1

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        if not (self._can_stop and self._has_motor(index)):
            return None
        plan = self._halt_motor(index, now)
        return self._at_rest(plan, index) if isinstance(plan, list) else plan

    @property
    def _copies(self) -> int:
        """Number of times the control loop writes a stop: the robot acknowledges none."""
        return STOP_COPIES

    def _at_rest(self, events: list[Event], *motors: int) -> StopPlan:
        """Return a stop whose commands are velocity 0. motors: of these only."""
        indices = motors or [each.index for each in self.devices.of_role(MOTOR)]
        zeros = (MotorCommand(index, MotorField.VELOCITY, 0.0) for index in indices)
        return StopPlan(events, tuple(zeros), self._copies)

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        if not self._can_stop:
            return []
        if motors is None:
            return [Write(self._stop_data())]
        plans = [self.stop_motor(index, now) for index in motors]
        return [event for plan in plans if plan is not None for event in plan.events]

    def emergency(self) -> bytes:
        return self._stop_data() if self._can_stop else b""

    def leave(self, now: int) -> list[Event]:
        return []

    def is_idle(self) -> bool:
        return True

    def simulated_s(self) -> float | None:
        return None

    def faults(self) -> list[str]:
        return []

    # --- requests -----------------------------------------------------------------------------

    def own_period(self, index: int) -> float | None:
        return None

    def _find(self, index: int, now: int) -> Device | Refusal:
        if not self._takes_requests(now):
            return Refusal(RequestRefused.DOWN, self.down)
        return self._known(index)

    def _known(self, index: int) -> Device | Refusal:
        device = self.devices.by_index(index)
        if device is None:
            return Refusal(RequestRefused.UNKNOWN_DEVICE, f"{self.no_device} {index}")
        return device

    def _answer(self, index: int, answer: list[Event] | Refusal) -> list[Event]:
        if not isinstance(answer, Refusal):
            return answer
        return [refused(self.counts, index, answer.reason, answer.text)]


def unfit(device: Device, text: str) -> Refusal:
    return Refusal(RequestRefused.NOT_SETTABLE, f"{device.kind} '{device.name}' {text}")


def counted(counts: Counter[str], refusal: Refusal) -> Refusal:
    """Count the refusal of a command, and return it."""
    counts[f"refused_{refusal.reason}"] += 1
    return refusal


def refused(counts: Counter[str], index: int | None, reason: str, text: str) -> RefusedRequest:
    """Count a request that the session refuses, and return what it reports."""
    counts[f"refused_{reason}"] += 1
    return RefusedRequest(index, reason, text)


def _without_default_velocity(command: Command) -> Command:
    """Position +infinity alone selects velocity control.

    The velocity is then 0, not the motor's default, which is its largest: a robot on the floor must
    not run away for one call.
    """
    if (
        isinstance(command, MotorSettings)
        and command.position == math.inf
        and not command.velocity_set
    ):
        return replace(command, velocity=0.0)
    return command


class Phase(Enum):
    """Phases of a session with its robot. Not every robot has all of them."""

    CLOSED = "closed"
    QUIET = "quiet"  # the robot was stopped; what it still sends is dropped
    SETUP = "setup"  # it is asked who it is, and set up
    CHECK = "check"  # the first exchange as in every period
    UP = "up"


class RobotSession(MotorSession):
    """The session of a robot on a serial line, whose devices the configuration declares."""

    def __init__(self, settings: RobotSettings, devices: Iterable[Device]) -> None:
        super().__init__(Devices(), self.missing)
        for device in devices:
            self.devices.add(device)
        sensors = self.devices.of_role(SENSOR)
        motors = self.devices.of_role(MOTOR)
        self._motor_indices = frozenset(each.index for each in motors)
        zeros = [each for each in motors if each.zero_within < math.inf]
        watched = [on_joint(self.devices, each, POSITION_SENSOR) for each in zeros]
        self._watched = {each.index for each in watched if each is not None}
        self._always_on = [
            each.index
            for each in sensors
            if each.name in settings.always_on or each.index in self._watched
        ]
        self._odometers: dict[int, Odometer] = {}  # by the index of the sensor
        self._phase = Phase.CLOSED

    # --- the robot ----------------------------------------------------------------------------

    def _end(self) -> None:
        return

    @abstractmethod
    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Set the period of a sensor of the robot; None: every step, 0: off."""

    def _set_led(self, led: Device, value: int, now: int) -> list[Event]:
        return self._answer(led.index, unfit(led, "cannot be set so"))

    # --- the connection -----------------------------------------------------------------------

    def _begin_setup(self) -> None:
        """Go on from the present angles, as the robot may have started again and count anew."""
        self._phase = Phase.SETUP
        for odometer in self._odometers.values():
            odometer.rebase()

    @property
    def _is_up(self) -> bool:
        return self._phase is Phase.UP

    @property
    def _can_stop(self) -> bool:
        return self._phase is not Phase.CLOSED

    def _takes_requests(self, now: int) -> bool:
        return self._phase is Phase.UP

    def close(self) -> list[Event]:
        """Forget the connection: what the robot does now is in its own hands."""
        was_up = self._is_up
        self._phase = Phase.CLOSED
        self._end()
        return [Disconnected("connection closed")] if was_up else []

    # --- motors -------------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        return super().command(_without_default_velocity(command), now)

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        return index in self._motor_indices  # asked before each command

    # --- other devices ------------------------------------------------------------------------

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        device = self._known(index)
        if isinstance(device, Device) and device.role != SENSOR:
            device = unfit(device, "is not a sensor")
        if isinstance(device, Refusal):
            return self._answer(index, device)
        if period_ms == 0 and index in self._watched:
            return []  # its zero may be lost
        return self._enable(index, period_ms, now)

    def own_period(self, index: int) -> float | None:
        """Return 0 (off), unless the configuration has the sensor always on."""
        return None if index in self._always_on else 0.0

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        device = self._known(packet.index)
        if isinstance(device, Device):
            device = unfit(device, "is not an Emitter of the robot")
        return self._answer(packet.index, device)

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """Set an LED, or refuse: the robot has nothing else to set."""
        index = settings.index
        led = self._known(index)
        if isinstance(led, Refusal):
            return self._answer(index, led)
        if not isinstance(settings, LedValue) or led.kind != LED:
            return self._answer(index, unfit(led, "cannot be set so"))
        if not self._takes_requests(now):
            return self._answer(index, Refusal(RequestRefused.DOWN, self.down))
        return self._set_led(led, settings.value, now)
