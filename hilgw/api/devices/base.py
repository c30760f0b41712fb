"""What all devices of a robot have, and all sensors."""

from __future__ import annotations

from typing import Any, ClassVar

from hilgw.api import current
from hilgw.api._errors import report
from hilgw.api.devices.states import STATES, SensorState, State, period_refusal
from hilgw.protocols.webots.queues import WaitingCommands


class Device:
    """A device of the robot. name: as in the world; a device that `Robot.getDevice` returns is made
    by its tag instead."""

    kinds: ClassVar[tuple[str, ...]] = ()  # of nodes; empty: all

    def __init__(self, name: str | int) -> None:
        self._state: Any = self._find(name)

    def _find(self, name: str | int) -> State:
        found = current.device(name)
        if found is None:
            report(f"wb_robot_get_device(): device '{name}' was not found.")
        elif self.kinds and found.kind not in self.kinds:
            report(f"device '{name}' has type {found.kind}, not {type(self).__name__}.")
        else:
            return found
        kind = self.kinds[0] if self.kinds else "LED"
        return STATES[kind](WaitingCommands(), 0, kind, 0, "", "")  # nothing of it is sent

    @property
    def tag(self) -> int:
        """The number of the device; 0 when the robot has none of this name and kind."""
        tag: int = self._state.tag
        return tag

    def getName(self) -> str:
        return self.name

    def getModel(self) -> str:
        return self.model

    def getNodeType(self) -> int:
        return self.node_type

    @property
    def name(self) -> str:
        return str(self._state.name)

    @property
    def model(self) -> str:
        return str(self._state.model)

    @property
    def node_type(self) -> int:
        return int(self._state.node)

    def _configured(self, field: str, default: Any) -> Any:
        """A field of what the simulator gave of the device at the start."""
        configuration = self._state.configuration
        return default if configuration is None else getattr(configuration, field)

    def _table(self) -> list[float]:
        """The rows of the lookup table, one after the other: value, response, noise."""
        return [number for row in self._configured("lookupTable", ()) for number in row]


class Sensor(Device):
    """A device with a sampling period in ms. Made by its name it is enabled: at the basic time step
    when no period is given."""

    function: ClassVar[str] = "sensor"  # in the names of the C functions

    def __init__(self, name: str | int, sampling_period: int | None = None) -> None:
        super().__init__(name)
        if isinstance(name, str):
            self.enable(current.basic_time_step() if sampling_period is None else sampling_period)

    def enable(self, p: int) -> None:
        """Samples at this period in ms; 0 disables."""
        refusal = period_refusal(p)
        if refusal:
            report(f"wb_{self.function}_enable() {refusal}.")
        else:
            state: SensorState = self._state
            state.enable(p)

    def disable(self) -> None:
        """Samples no more; the last value stays."""
        self._state.enable(0)

    def getSamplingPeriod(self) -> int:
        return self.sampling_period

    @property
    def sampling_period(self) -> int:
        return int(self._state.period)

    @sampling_period.setter
    def sampling_period(self, p: int | None) -> None:
        self.enable(p or 0)

    def _checked(self, getter: str) -> None:
        """Reports when the program reads a sensor that is off."""
        if not self._state.period:
            report(
                f"wb_{self.function}_{getter}() called for a disabled device! "
                f"Please use: wb_{self.function}_enable()."
            )

    def _scalar(self, getter: str = "get_value") -> float:
        """The last value; NaN when the sensor is off and never was on."""
        self._checked(getter)
        value: float = self._state.value
        return value

    def _vector(self, getter: str = "get_values") -> list[float]:
        self._checked(getter)
        return list(self._state.value)
