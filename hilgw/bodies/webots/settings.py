"""Settings of body `webots`."""

from dataclasses import dataclass
from typing import Any

from hilgw.control.parts import InWebots
from hilgw.devices.fields import BROADCAST, CHANNEL_MAX
from hilgw.devices.kinds import MotorLimits
from hilgw.settings import setting

LONGEST_STEP_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WebotsBodySettings(InWebots):
    """The robot in Webots, what hilgw forwards through it, and the limits of its motors."""

    robot: str | None = setting(
        "name of the robot in the world; its controller is <extern>; not set: the only such robot",
        None,
        pattern=r"[^\x00]*",
        example="gateway",
    )
    step_ms: int | None = setting(
        "duration of one step, a multiple of the world's basicTimeStep; not set: basicTimeStep",
        None,
        ge=1,
        le=LONGEST_STEP_MS,
        unit="ms",
    )
    to_medium: dict[str, str] = setting(
        "Receiver in the world -> Emitter of this robot under `devices`, which sends on hilgw's "
        "medium what the Receiver received",
        default_factory=dict,
        refers="emitter",
    )
    from_medium: dict[str, str] = setting(
        "Emitter in the world -> Receiver of this robot under `devices`: the Emitter sends what "
        "the Receiver received on hilgw's medium",
        default_factory=dict,
        refers="receiver",
    )
    channels: dict[int, int] = setting(
        "channel in the world -> channel on hilgw's medium, in both directions; a channel that is "
        "not listed is the same in both; -1: packets of a Receiver that listens to all channels",
        default_factory=dict,
        ge=BROADCAST,
        le=CHANNEL_MAX,
    )
    simulated: bool | None = setting(
        "true: a simulated robot, whose motors may run without a deadline for commands "
        "(`safety.command_timeout_s`); false: treated as a real one; not set: simulated",
        None,
    )
    limits: dict[str, MotorLimits] = setting("motor -> its limits", default_factory=dict)
    mock: dict[str, Any] = setting(
        "parameters of the mock of Webots (`hilgw mock webots-simulator --list`)",
        default_factory=dict,
    )
