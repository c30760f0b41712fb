"""The events of a control loop, which all kinds of bodies and controllers share.

The session of a body reports values of sensors, the session of a controller reports commands; the
control loop passes each on to the other. `index` is the index of a device in the session that
reports the event. Events carry no times.
"""

from enum import StrEnum

from hilgw.devices.kinds import Device, Refusal, Value
from hilgw.errors import HilgwError
from hilgw.reasons import Reason, RequestReason
from hilgw.records import record

Direction = tuple[float, float, float]


@record
class Write:
    """Send these bytes to the peer now, in this order."""

    data: bytes


@record
class Connected:
    """The peer is there. `identity` is shown to the user."""

    identity: str


@record
class Disconnected:
    """The peer is gone, for this reason; the session waits for the next one."""

    reason: str


class StopReason(Reason):
    """The safety stopped the motors of a robot."""

    DISCONNECTED = "disconnected", "the controller disconnected"
    SILENCE = "silence", "the controller is silent"
    PROTOCOL = "protocol", "the controller sent invalid data"
    COMMAND_TIMEOUT = "command_timeout", "the controller sends no messages"
    BEHIND = "behind", "the serial line to the body is full"
    LATE = "late", "hilgw itself was late, by more than safety.late_s"
    SWAMPED = "swamped", "the controller sends commands too fast"
    BODY = "body", "the body is gone"
    EXCHANGED = "exchanged", "another body takes its place"
    FAULT = "fault", "a session failed"
    HARDWARE = "hardware_fault", "the robot reports a hardware fault"
    OUTSIDE = "outside_limits", "a motor is outside its limits of position, or has lost its zero"
    GUARDIAN = "guardian", "hilgw was frozen, and its guardian stopped the robot"
    GUARDIAN_ENDED = "guardian_ended", "the guardian of hilgw ended, and hilgw stopped the robot"
    BATTERY = "battery", "the battery is empty"
    REMOTE = "remote", "the controller's remote-control plug-in drives another robot"
    DISARMED = "disarmed", "the user disarmed the robot"
    LEASE_ENDED = "lease_ended", "the command that held it armed has ended"
    LEASE_EXPIRED = (
        "lease_expired",
        "the command that held it armed was silent for 300 ms",
    )
    LEASE_OVER = "lease_over", "the time of `hilgw arm --for` is over"
    RELEASED = "released", "the port of its body is handed to another program"
    ESTOP = "estop", "the emergency-stop switch is pressed, or cannot be read"
    ENDED = "gateway_ended", "the gateway ends"


@record
class Stop:
    """Set every motor of the body to its default now."""

    reason: StopReason

    def __post_init__(self) -> None:
        StopReason.check(self.reason)


@record
class StopSent:
    """A stop has left that the session had to keep for its next request.

    reason, commands: of a session of version 1.
    """

    reason: StopReason | None = None
    commands: "tuple[Command, ...]" = ()


@record
class ProtocolFailure:
    """The stream cannot be decoded: close the connection. The session ignores bytes until reopened.

    tail: the first bytes that could not be decoded, at most 256, for the log.
    """

    error: HilgwError
    tail: bytes = b""


@record
class RefusedRequest:
    """A request of the peer or of the control loop was refused.

    reason: declared as a RequestReason. moves: it would have moved the motor of this index, which
    the control loop stops.
    """

    index: int | None
    reason: str
    text: str
    moves: bool = False

    def __post_init__(self) -> None:
        RequestReason.check(self.reason)


@record
class Notice:
    """A line for the user. once: shown a single time per session."""

    text: str
    once: bool = True


@record
class FrameNotice(Notice):
    """A notice about a frame of the peer, which was understood as one."""


@record
class Registered:
    """The body has this device."""

    device: Device


@record
class SensorValue:
    """The present value of a sensor, or of a motor that reports its kind's `value`.

    `Device.reports` names its numbers.
    """

    index: int
    value: Value


@record
class MotorFeedback:
    """The force (N) or torque (N m) that a motor applies now."""

    index: int
    value: float


class MotorField(StrEnum):
    """A setting of a motor, under the name of its quantity (`hilgw.devices.kinds`).

    A motor applies FORCE or TORQUE until it gets a position or a velocity.
    """

    POSITION = "position"
    VELOCITY = "velocity"
    ACCELERATION = "acceleration"
    AVAILABLE_FORCE = "available_force"
    AVAILABLE_TORQUE = "available_torque"
    FORCE = "force"
    TORQUE = "torque"


@record
class MotorCommand:
    """Sets one field of a motor."""

    index: int
    field: MotorField
    value: float


@record
class MotorSettings:
    """All settings of a motor at once.

    available: force in N, or torque in N m. velocity_set: the controller set this velocity; false:
    it is the motor's default. is_stale: the controller's last position or velocity was refused, and
    this has the one before: a real motor stands still, a simulated one goes on as in Webots.
    """

    index: int
    position: float
    velocity: float
    acceleration: float
    available: float
    velocity_set: bool = True
    is_stale: bool = False


@record
class MotorPid:
    """The gains of a motor's position control: p above 0, i and d 0 or more."""

    index: int
    p: float
    i: float
    d: float


Command = MotorCommand | MotorSettings | MotorPid
"""What moves a motor, or changes how it moves: each passes the safety."""


@record
class LedValue:
    """Sets an LED: 0 is off, other values are colours or on (Webots reference manual, LED)."""

    index: int
    value: int


@record
class BrakeDamping:
    """The damping constant of a brake, in N m s/rad or N s/m."""

    index: int
    damping: float


@record
class SensorSwitch:
    """The period of a sensor; None: every step, 0: off."""

    index: int
    period_ms: float | None


@record
class FeedbackSwitch:
    """The period of a motor's force or torque feedback; 0: off, as at first."""

    index: int
    period_ms: float


@record
class StepRequest:
    """A controller that is stepped waits for an answer: after this time, or at once (0)."""

    duration_ms: int


@record
class PacketOut:
    """The controller sends one packet through this Emitter, on this channel."""

    index: int
    channel: int
    data: bytes


@record
class PacketIn:
    """The body's Receiver received one packet. Strength and direction are NaN when unknown."""

    index: int
    channel: int
    signal_strength: float
    direction: Direction
    data: bytes


@record
class EmitterSettings:
    """Channel (-1: broadcast) and range (-1: infinite) for the packets sent from now on."""

    index: int
    channel: int
    range: float


@record
class ReceiverSettings:
    """Channel (-1: all) and sampling period (0: off) of a Receiver."""

    index: int
    channel: int
    period_ms: int


DeviceSettings = EmitterSettings | ReceiverSettings | LedValue | BrakeDamping | FeedbackSwitch
"""What sets a device and moves no motor."""


@record
class DeviceFault:
    """The device failed, or the robot itself refused a command to it."""

    index: int


@record
class MotorHeld:
    """The robot itself refused a command to this motor, and the session has stopped the motor."""

    index: int


@record
class HardwareFault:
    """The robot reports a fault of its hardware, at this device.

    None where the controller does not know the device. `BodySession.faults` has the fault for as
    long as it is present.
    """

    index: int | None


Event = (
    Write
    | Connected
    | Disconnected
    | Stop
    | StopSent
    | ProtocolFailure
    | RefusedRequest
    | Notice
    | Registered
    | SensorValue
    | MotorFeedback
    | Command
    | SensorSwitch
    | StepRequest
    | PacketOut
    | PacketIn
    | DeviceSettings
    | DeviceFault
    | MotorHeld
    | HardwareFault
)


class Accepted(StrEnum):
    """Outcomes of a motor command that was not refused."""

    SENT = "sent"
    """Its bytes leave now, or with the next request of the body's session."""
    WAITS = "waits"
    """It waits until the line to the body has room."""
    REPLACED = "replaced"
    """It waited, and a newer command or a stop has taken its place."""
    DROPPED = "dropped"
    """The robot has nothing of what the command sets, and goes on as it does."""


Outcome = Accepted | Refusal
"""The answer to a motor command."""


@record
class StopPlan:
    """A stop in step with what else the session writes.

    events: what leaves now; without a Write it leaves with the next request, and `StopSent` reports
    it then. commands: what it sets the motors to. copies: how often the control loop writes it, at
    least 30 ms apart, as a serial line may damage it and the robot acknowledges none; 0: the stream
    is reliable, or the session itself repeats the stop until the robot has acknowledged it
    (`is_idle`). is_asked: with the last copy the session asks whether the robot has it, and
    reports where it has not.
    """

    events: list[Event]
    commands: tuple[Command, ...] = ()
    copies: int = 0
    is_asked: bool = False
