"""The session of a robot on a serial line whose devices the configuration declares.

It refuses what the robot cannot do, counts commands, stops and refusals, and knows which motors
were commanded since the last stop. The robot's own session adds the bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

from hilgw.bodies._common.missing import MissingSettings, without_default_velocity
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
    Outcome,
    PacketOut,
    Refused,
    StopReason,
)
from hilgw.control.safety import Mode
from hilgw.devices.kinds import LED, MOTOR, SENSOR, Device, Devices, Refusal
from hilgw.reasons import RequestRefused


class Phase(Enum):
    """How far a session is with its robot. Not every robot has all of them."""

    CLOSED = "closed"
    QUIET = "quiet"  # the robot was stopped; what it still sends is dropped
    SETUP = "setup"  # it is asked who it is, and set up
    CHECK = "check"  # the first exchange as in every period
    UP = "up"


DOWN = Refusal(RequestRefused.DOWN, "not sent: body down")


class RobotSession(ABC):
    """The part of a `hilgw.bodies.base.BodySession` that these robots share."""

    missing: ClassVar[tuple[str, ...]] = ()
    """The settings of motors that the robot lacks; see `hilgw.bodies._common.missing`."""

    def __init__(self, settings: RobotSettings, devices: Iterable[Device]) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()
        for device in devices:
            self.devices.add(device)
        sensors = self.devices.of_role(SENSOR)
        self._always_on = [each.index for each in sensors if each.name in settings.always_on]
        self._motor_indices = [each.index for each in self.devices.of_role(MOTOR)]
        self._missing = MissingSettings(self.missing, self.counts)
        self._phase = Phase.CLOSED
        self._commanded: set[int] = set()  # motors that were commanded since the last stop

    # --- the robot ----------------------------------------------------------------------------

    def _end(self) -> None:
        """The port is closed."""
        return

    @abstractmethod
    def _move(self, command: Command, now: int) -> list[Event] | Refusal:
        """A command to a motor of the robot, which is up: the bytes that leave now, none where they
        follow; or why the robot cannot execute it."""

    @abstractmethod
    def _halt(self, now: int) -> list[Event]:
        """Stops the motors: writes the stop at once."""

    @abstractmethod
    def _halt_motor(self, index: int, now: int) -> list[Event]:
        """Stops one motor, which was commanded: the bytes of its goal, none where they follow."""

    @abstractmethod
    def _stop_data(self) -> bytes:
        """The bytes that stop the motors in any case. Changes nothing."""

    @abstractmethod
    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Sets the period of a sensor of the robot; None: every step, 0: off."""

    def _shine(self, led: Device, value: int, now: int) -> list[Event]:
        """Sets an LED of the robot, which is up."""
        return self._refuse(led.index, self._unknown(led.index, "cannot be set so"))

    # --- the connection -----------------------------------------------------------------------

    @property
    def _is_up(self) -> bool:
        return self._phase is Phase.UP

    def close(self) -> list[Event]:
        """The connection is gone: what the robot does now is in its own hands."""
        was_up = self._is_up
        self._phase = Phase.CLOSED
        self._commanded.clear()
        self._missing.forget()
        self._end()
        return [Disconnected("connection closed")] if was_up else []

    # --- motors -------------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        """A command to a motor, which the control loop has checked."""
        index = command.index
        if not self._is_up:
            return counted(self.counts, DOWN), []
        if index not in self._motor_indices:
            return counted(self.counts, self._unknown(index, "is not a motor")), []
        device = self.devices.by_index(index)
        assert device is not None
        notices: list[Event] = []
        left, stops = self._missing.reduce(device, without_default_velocity(command), notices)
        if stops and (stop := self.stop_motor(index, now)) is not None:
            return Accepted.SENT, stop + notices
        if left is None:
            return Accepted.DROPPED, notices
        events = self._move(left, now)
        if isinstance(events, Refusal):
            return counted(self.counts, events), notices
        self._commanded.add(index)
        self.counts["commands"] += 1
        return Accepted.SENT, events + notices

    def stop_command(self, index: int, mode: Mode) -> Command | None:
        """The command that would stop this motor in any mode."""
        return (
            MotorCommand(index, MotorField.VELOCITY, 0.0) if index in self._motor_indices else None
        )

    def stop_commands(self) -> list[Command]:
        """The commands that `stop` would send now. Changes nothing."""
        commands = (self.stop_command(index, Mode.VELOCITY) for index in self._motor_indices)
        return [each for each in commands if each is not None] if self._must_stop else []

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        """Stops all motors at once; does nothing unless a command came since the last."""
        self._missing.stopped(reason)
        if not self._must_stop:
            return []
        self.counts["stops"] += 1
        self.counts[f"stop_{reason}"] += 1
        events = self._halt(now)
        self._commanded.clear()
        return events

    def stop_motor(self, index: int, now: int) -> list[Event] | None:
        """Stops one motor at once; None: it was not commanded since the last stop."""
        must_stop = self._must_stop and index in self._commanded
        return self._halt_motor(index, now) if must_stop else None

    def faults(self) -> list[str]:
        """The hardware faults of the robot; most report none."""
        return []

    def is_idle(self) -> bool:
        """Whether nothing waits to be written; most sessions write at once."""
        return True

    def stop_bytes(self) -> bytes:
        """The bytes that stop the motors now. Changes nothing."""
        return self._stop_data() if self._must_stop else b""

    @property
    def _must_stop(self) -> bool:
        return self._phase is not Phase.CLOSED and bool(self._commanded)

    # --- other devices ------------------------------------------------------------------------

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """The period of a sensor; None: every step, 0: off."""
        device = self.devices.by_index(index)
        if device is None or device.role != SENSOR:
            return self._refuse(index, self._unknown(index, "is not a sensor"))
        return self._enable(index, period_ms, now)

    def own_period(self, index: int) -> float | None:
        """Off, unless the configuration has the sensor always on."""
        return None if index in self._always_on else 0.0

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        """The protocol carries no packets of the robot's radios."""
        index = packet.index
        return self._refuse(index, self._unknown(index, "is not an Emitter of the robot"))

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """LEDs only."""
        device = self.devices.by_index(settings.index)
        if not isinstance(settings, LedValue) or device is None or device.kind != LED:
            index = settings.index
            return self._refuse(index, self._unknown(index, "cannot be set so"))
        if not self._is_up:
            return self._refuse(device.index, DOWN)
        return self._shine(device, settings.value, now)

    # --- refusals -----------------------------------------------------------------------------

    def _unknown(self, index: int, text: str) -> Refusal:
        device = self.devices.by_index(index)
        if device is None:
            return Refusal(RequestRefused.UNKNOWN_DEVICE, f"the robot has no device {index}")
        return Refusal(RequestRefused.NOT_SETTABLE, f"{device.kind} '{device.name}' {text}")

    def _refuse(self, index: int, refusal: Refusal) -> list[Event]:
        return [refused(self.counts, index, refusal.reason, refusal.text)]


def counted(counts: Counter[str], refusal: Refusal) -> Refusal:
    """The refusal of a command, after it was counted."""
    counts[f"refused_{refusal.reason}"] += 1
    return refusal


def refused(counts: Counter[str], index: int | None, reason: str, text: str) -> Refused:
    """What a session reports of a request that it refuses, and counts."""
    counts[f"refused_{reason}"] += 1
    return Refused(index, reason, text)
