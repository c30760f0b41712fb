"""Base classes of the devices of a robot, of those that are sampled, and of those on a joint."""

from abc import abstractmethod
from typing import Any, ClassVar

from hilgw.api import current
from hilgw.api.arguments import period, report, report_disabled, text
from hilgw.api.devices.states import STATES, SensorState, State
from hilgw.protocols.webots.queues import WaitingCommands


class Device:
    """A device of the robot.

    name: as in the world; a device that `Robot.getDevice` returns is made by its tag instead.
    """

    kinds: ClassVar[tuple[str, ...]] = ()  # of nodes; empty: all
    _state: Any  # a class of devices narrows it

    def __init__(self, name: str | int) -> None:
        self._state = self._find(name)

    def _find(self, name: str | int) -> State:
        state = current.device(name if isinstance(name, int) else text(name))
        if state is None:
            report(f"wb_robot_get_device(): device '{name}' was not found.")
        elif self.kinds and state.kind not in self.kinds:
            report(f"device '{name}' has type {state.kind}, not {type(self).__name__}.")
        else:
            return state
        kind = self.kinds[0] if self.kinds else "LED"
        return STATES[kind](WaitingCommands(), 0, kind, 0, "", "")  # nothing of it is sent

    @property
    def tag(self) -> int:
        """The number of the device; 0 if the robot has none of this name and kind."""
        return int(self._state.tag)

    def getName(self) -> str:
        return str(self._state.name)

    def getModel(self) -> str:
        return str(self._state.model)

    def getNodeType(self) -> int:
        return int(self._state.node)

    name = property(getName)
    model = property(getModel)
    node_type = property(getNodeType)

    def _configured(self, field: str, default: Any) -> Any:
        configuration = self._state.configuration
        return default if configuration is None else getattr(configuration, field)


class Sampled:
    """A device with a sampling period in ms; 0 is off.

    function: its part in the names of the C functions.
    """

    function: ClassVar[str]

    def enable(self, p: int) -> None:
        """Sample at this period in ms; 0 disables."""
        if (ms := period(p, f"{self.function}_enable")) is not None:
            self._sample(ms)

    def disable(self) -> None:
        """Stop sampling; the last value stays."""
        self._sample(0)

    def getSamplingPeriod(self) -> int:
        return self._period

    sampling_period = property(getSamplingPeriod, lambda self, p: self.enable(p))

    def _checked(self, getter: str) -> None:
        if not self._period:
            report_disabled(f"{self.function}_{getter}", f"{self.function}_enable")

    @property
    @abstractmethod
    def _period(self) -> int: ...

    @abstractmethod
    def _sample(self, period: int) -> None: ...


class Sensor(Sampled, Device):
    """A device with a sampling period in ms.

    Made by its name it is enabled: at the basic time step if no period is given.
    """

    function = "sensor"
    _state: SensorState

    def __init__(self, name: str | int, sampling_period: int | None = None) -> None:
        super().__init__(name)
        if isinstance(name, str):
            self.enable(current.basic_time_step() if sampling_period is None else sampling_period)

    @property
    def _period(self) -> int:
        return self._state.period

    def _sample(self, period: int) -> None:
        self._state.enable(period)

    def _vector(self, getter: str) -> list[float]:
        self._checked(getter)
        return list(self._state.value)


class Typed(Device):
    """A device with the field `type`."""

    def getType(self) -> int:
        return int(self._configured("type", 0))

    type = property(getType)


class OnJoint(Typed):
    """A device of a joint, which may have a motor, a brake and a position sensor."""

    ROTATIONAL, LINEAR = range(2)


class HasMotor(OnJoint):
    """A device on a joint with a motor."""

    def getMotor(self) -> Any:
        """Return the Motor of the same joint, or None."""
        kind = "LinearMotor" if self.type == self.LINEAR else "RotationalMotor"
        return current.associated(self._state, kind)

    motor = property(getMotor)


class HasBrake(OnJoint):
    """A device on a joint with a brake."""

    def getBrake(self) -> Any:
        """Return the Brake of the same joint, or None."""
        return current.associated(self._state, "Brake")

    brake = property(getBrake)


class HasPositionSensor(OnJoint):
    """A device on a joint with a position sensor."""

    def getPositionSensor(self) -> Any:
        """Return the PositionSensor of the same joint, or None."""
        return current.associated(self._state, "PositionSensor")

    position_sensor = property(getPositionSensor)
