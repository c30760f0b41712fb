"""Small parts that the settings of controllers and bodies inherit, and are recognised by.

They have no slots: a class with slots cannot inherit several that have them.
"""

from typing import Any

from hilgw.records import dataclass
from hilgw.settings import boot_setting, setting

LARGEST_J = 1e12
LARGEST_W = 1e9


def url_setting(doc: str, default: str | None, example: str) -> Any:
    """Return a setting with the address of a TCP server."""
    pattern = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"
    return setting(doc, default, pattern=pattern, example=example)


@dataclass(frozen=True, kw_only=True)
class Listens:
    """hilgw listens at a TCP address, and the part connects to it. None: it does not."""

    listen: str | None = url_setting("address to listen on", None, "tcp://127.0.0.1:1234")


@dataclass(frozen=True, kw_only=True)
class ListensLocally:
    """hilgw listens on a local socket, too."""

    ipc: bool = setting(
        "a local socket in /tmp/webots too, which a controller of this user finds without an "
        "address",
        False,
    )


@dataclass(frozen=True, kw_only=True)
class Connects:
    """hilgw connects to the TCP address of the part. None: it does not."""

    connect: str | None = url_setting("address of the part", None, "tcp://127.0.0.1:1234")


@dataclass(frozen=True, kw_only=True)
class InWebots(Connects):
    """The robot is in the Webots at this address, which has several: it has a name there."""

    connect: str = url_setting(
        "address of Webots, which prints its port when it starts",
        "tcp://127.0.0.1:1234",
        "tcp://127.0.0.1:1234",
    )
    robot: str | None = setting("name of the robot in Webots; not set: the robot's name here", None)


@dataclass(frozen=True, kw_only=True)
class OnLine:
    """The part is on a serial line, whose silence counts as a disconnect. port None: it is not."""

    port: str | None = setting("serial device path", None)
    boot_s: float = boot_setting()
    baudRate: int = setting("rate of the serial line", 115200, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int = setting(
        "cost of one byte on the line: 10 is 8N1, 11 is 8N2, 8 counts as 10",
        10,
        choices=(8, 10, 11),
        unit="bit",
    )
    silence_s: float = setting(
        "on a serial line: silence that counts as a disconnect", 0.5, gt=0, le=3600, unit="s"
    )


@dataclass(frozen=True, kw_only=True)
class RunsProgram:
    """hilgw starts a program."""

    file: str = setting(
        "the program, relative to the configuration; it begins with `from controller import Robot`",
        example="brain.py",
    )
    args: list[str] = setting("its arguments", default_factory=list)


@dataclass(frozen=True, kw_only=True)
class HasBattery:
    """The robot may have a battery, which ends its controller when it is empty."""

    battery: tuple[float, ...] = setting(
        "Webots' field: energy (J), the most it holds (J), recharge (W, without effect: there is "
        "no Charger); at 0 J the robot stops and the controller ends; empty: no battery",
        (),
        ge=0,
        le=LARGEST_J,
        example=[1000, 2000, 0],
    )
    cpuConsumption: float = setting(
        "what empties the battery, in simulated time", 0.0, ge=0, le=LARGEST_W, unit="W"
    )
    battery_sensor: str = setting(
        "a sensor of the body that measures the energy in J, instead of `battery`",
        "",
        example="charge",
    )
    battery_j: float | None = setting(
        "short for battery: [J, J, 0]; not set: there is no battery",
        None,
        ge=0,
        le=LARGEST_J,
        unit="J",
    )

    @property
    def has_battery(self) -> bool:
        """True if one is declared."""
        return bool(self.battery or self.battery_sensor) or self.battery_j is not None
