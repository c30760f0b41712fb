"""Settings of body `wc2ec`."""

from dataclasses import dataclass
from typing import Any

from hilgw.control.declared import LineLoad
from hilgw.control.parts import Connects, OnLine, url_setting
from hilgw.devices.kinds import MotorLimits
from hilgw.framing.base import Framing
from hilgw.protocols.wc2ec.codec import encode_value
from hilgw.settings import setting
from hilgw.units import ms_to_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Wc2ecBodySettings(OnLine, Connects):
    """The connection to the robot, its dialect, and the limits of its motors."""

    connect: str | None = url_setting(
        "address of the robot's WC2EC server", None, "tcp://127.0.0.1:27015"
    )
    port: str | None = setting("serial device path, instead of connect", None)
    simulated: bool | None = setting(
        "true: a simulated robot, whose motors may run without a deadline for commands "
        "(`safety.command_timeout_s`); false: a real one; not set: real, but for a mock",
        None,
    )
    extensions: bool = setting(
        "packets of Emitter and Receiver; only where the robot supports them", False
    )
    original_peer: bool = setting(
        "the robot runs the original program, which hangs on enableSensor, disableSensor and "
        "setSensor: these are never sent",
        False,
    )
    wc2ec_types: str = setting(
        "type numbers of distance sensors and motors: webots, those of the version in `webots:`; "
        "document, those of the WC2EC document (37, 46, 53), for a peer written from it alone",
        "webots",
        choices=("webots", "document"),
    )
    step_ms: float = setting(
        "on a serial line: time in which the robot sends each value once, its basic time step; a "
        "line that is too slow for that is an error when the devices are known",
        32.0,
        ge=1,
        le=60_000,
        unit="ms",
    )
    default_position: dict[str, float] = setting(
        "linear motor -> its position after a stop; a motor that is not listed holds the position "
        "that it reported last, and is refused commands while it has reported none",
        default_factory=dict,
        unit="m",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )
    limits: dict[str, MotorLimits] = setting("motor -> its limits", default_factory=dict)
    mock: dict[str, Any] = setting(
        "parameters of the mock of the robot (`hilgw mock wc2ec-robot --list`)",
        default_factory=dict,
    )


LOAD_FIX = "raise baudRate, or step_ms where the robot is slower"


def line_load(settings: Wc2ecBodySettings, count: int, framing: Framing) -> LineLoad:
    """Return the load of this many values in one direction; the other one runs at the same time."""
    size = len(framing.encode(encode_value(0, 0, 0.0)))
    bits, period_ns = max(10, settings.byteSize), ms_to_ns(settings.step_ms)
    return LineLoad(size * count, settings.baudRate, bits, period_ns)
