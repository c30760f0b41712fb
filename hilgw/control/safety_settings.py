"""The settings of safety; apart from its state, so that reading a file imports no devices."""

from dataclasses import dataclass
from typing import Literal

from hilgw.settings import setting

REAL_BODY_TIMEOUT_S = 0.5
STEPPED_TIMEOUT_S = 5.0
DEFAULT_GUARDIAN_MS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetySettings:
    """Settings of what stops the motors of one robot, besides a controller that disconnects."""

    command_timeout_s: float | None = setting(
        "longest time without a motor command or another valid message of the controller while a "
        "motor moves; after it the motors stop and the controller is disconnected; 0: no limit; "
        f"not set: {REAL_BODY_TIMEOUT_S:g} for a real body, no limit for a simulated one, or "
        f"{STEPPED_TIMEOUT_S:g} between an answer and the next request of a Webots controller",
        None,
        ge=0,
        le=3600,
        unit="s",
    )
    late_s: float | None = setting(
        "delay of hilgw itself at which the motors stop, the robot is disarmed if it latches, and "
        "its controller ends (`restart` of a program starts it again), where it has motors; not "
        f"set: {REAL_BODY_TIMEOUT_S:g} for a real body, {STEPPED_TIMEOUT_S:g} for a simulated one",
        None,
        ge=0.05,
        le=60,
        unit="s",
    )
    armed: bool | None = setting(
        "true: the motors may move from the start; false: not before `hilgw arm ROBOT` or the "
        "option --arm; not set: false for a real body, true for a simulated one",
        None,
    )
    latch: bool | None = setting(
        "true: a stop disarms the robot until `hilgw arm ROBOT`, and so does a body that is gone; "
        "a gateway that ends with such a stop has exit code 7; false: the next controller that "
        "connects may move the motors; not set: true for a real body, false for a simulated one",
        None,
    )
    on_fault: Literal["stop", "report"] | None = setting(
        "a hardware fault that the body reports; stop: all its motors stop, latched, and it cannot "
        "be armed while the fault is present; report: shown only; not set: stop for a real body, "
        "report for a simulated one",
        None,
    )
    standstill: Literal["stop", "report"] = setting(
        "motion that a real body reports from a stop until its motors may move again; stop: it "
        "gets the stop again; report: shown only",
        "stop",
    )
