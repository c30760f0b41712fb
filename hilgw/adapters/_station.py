"""Settings every adapter shares: the port, its line, and where the hardware stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hilgw.errors import ConfigError
from hilgw.settings import setting
from hilgw.transports.base import RS485_MODES, LineSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbId:
    """A USB serial port by its descriptors instead of its path."""

    written_as: ClassVar[str] = "usb"  # in the file: port: {usb: {vid: ...}}

    vid: int = setting("USB vendor id", ge=0, le=0xFFFF, example=0x0403)
    pid: int = setting("USB product id", ge=0, le=0xFFFF, example=0x6015)
    serial: str = setting("USB serial number; empty: any", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StationSettings:
    """What the station around every adapter needs, whatever its kind."""

    port: str | UsbId = setting(
        "device path (a by-id link is best), or the USB ids",
        example="/dev/serial/by-id/usb-Digi_XBee-if00-port0",
    )
    baudRate: int = setting("UART rate", 9600, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int | None = setting(
        "cost of one byte on the wire, start + data + parity + stop; "
        "not set: from the line settings",
        None,
        ge=8,
        le=12,
        unit="bit",
    )
    bufferSize: int = setting("send queue; -1: 16 MiB", 4096, ge=0, also=(-1,), unit="byte")
    parity: str = setting("parity of the UART line", "none", choices=("none", "even", "odd"))
    stop_bits: int = setting("stop bits of the UART line", 1, choices=(1, 2))
    rtscts: bool = setting("hardware flow control by RTS and CTS", False)
    rs485: str = setting(
        "the driver switches an RS-485 transceiver by RTS: on (half-duplex) or off "
        "(half-duplex-inverted) while it sends",
        "none",
        choices=RS485_MODES,
    )
    dtr: bool | None = setting("DTR on opening; not set: left alone", None)
    rts: bool | None = setting("RTS on opening; not set: left alone", None)
    channel: int = setting("Webots channel the hardware stands for", 0, ge=0)
    air: str = setting("the space its signals share; default: one per kind", "", refers="air")
    relay: bool = setting("pass packets that came from another air", False)
    position: tuple[float, float, float] | None = setting("x, y, z", None, unit="m")
    rotation: tuple[float, float, float, float] | None = setting(
        "Webots rotation: axis x, y, z and angle", None, unit="rad"
    )
    attached_to: str | None = setting(
        "robot it moves with; position and rotation are on that robot", None, refers="robot"
    )
    rssi_at_1m_dbm: float = setting("RSSI measured at 1 m", -40.0, unit="dBm")
    sources: dict[str, str] = setting(
        "source address -> robot here that is behind it", default_factory=dict, refers="robot"
    )


def line_of(common: StationSettings) -> tuple[LineSettings, str]:
    """The UART line these settings ask for, and a notice for the user ("" if none).

    byteSize is the cost of one byte on the wire: 10 = 8N1, 11 = 8E1, 8O1 or 8N2, 12 = 8E2 or 8O2.
    8, Webots' default, pasted from a world file, means 8N1. ConfigError when it contradicts
    parity and stop bits, or when RTS is asked for two things.
    """
    line = LineSettings(
        baudRate=common.baudRate,
        parity=common.parity[0].upper(),
        stop_bits=common.stop_bits,
        rtscts=common.rtscts,
        dtr=common.dtr,
        rts=common.rts,
        rs485=common.rs485,
    )
    if common.rs485 != "none" and (common.rtscts or common.rts is not None):
        other = "rtscts" if common.rtscts else "rts"
        raise ConfigError(
            f"RTS cannot serve both rs485 and {other}",
            where="rs485",
            fix=f"leave one of them out: rs485 or {other}",
        )
    if common.byteSize is None or common.byteSize == line.byteSize:
        return line, ""
    if common.byteSize == 8 and line.byteSize == 10:
        return line, "byteSize 8 taken as 8N1: the wire takes 10 bits per byte"
    raise ConfigError(
        f"byteSize {common.byteSize} contradicts the line: 8 data bits, parity {common.parity}, "
        f"{common.stop_bits} stop make {line.byteSize}",
        where="byteSize",
        fix=f"write {line.byteSize}, leave it out, or change parity and stop_bits",
    )
