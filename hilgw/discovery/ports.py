"""Resolves configured ports to paths, and identifies the hardware behind them, also by its USB ids.

Sources for boards: Arduino's boards.txt (ids); the schematics of Uno, Mega 2560 and Nano (DTR
resets the processor through a capacitor); the CDC core of the 32U4 boards (no reset but at 1200
baud, and `Serial` is true only while DTR is on).
"""

import os
from contextlib import suppress
from pathlib import Path

from hilgw.adapters.base import UsbId
from hilgw.errors import PortError

URL_SCHEMES = ("loop://", "socket://", "rfc2217://")


def port_identity(path: str) -> object | None:
    """Return the identity of the hardware behind a path; None: absent.

    It changes when the hardware is replaced.
    """
    if path.startswith(URL_SCHEMES):
        return path
    try:
        status = os.stat(path)  # noqa: PTH116 - one call, no object, ten times a second
    except OSError:
        return None
    return (os.path.realpath(path), status.st_rdev, status.st_ino)


def resolve_port(port: str | UsbId) -> str:
    """Return the path of a configured port.

    Raises:
        PortError: absent, if no such USB device is connected.
    """
    if isinstance(port, str):
        return port
    from hilgw.transports.serial.port import list_ports

    matches = [
        info
        for info in list_ports()
        if port.vid in (None, info.vid)
        and port.pid in (None, info.pid)
        and port.serial in ("", info.serial)
        and port.location in ("", info.location, info.location.partition(":")[0])
    ]
    if not matches:
        raise PortError("no such USB device", reason=PortError.ABSENT, where=str(port))
    if len(matches) > 1:
        paths = ", ".join(f"{info.path} at location {info.location}" for info in matches)
        raise PortError(
            f"several devices match: {paths}",
            reason=PortError.UNSUPPORTED,
            where=str(port),
            fix="add the serial number; of devices without one the location, or use a by-path name",
        )
    return matches[0].path


def exists(port: str | UsbId) -> object | None:
    """Return the identity of a configured port, as `port_identity` returns it."""
    try:
        return port_identity(resolve_port(port))
    except PortError:
        return None


def stable_name(path: str, by: str, root: Path = Path("/dev/serial")) -> str:
    """Return the /dev/serial/by-id or by-path name of a port; "" when it has none.

    `by`: "id" is of the device, and the same for two without serial numbers; "path" of the socket.
    """
    folder = root / f"by-{by}"
    real = os.path.realpath(path)
    try:
        links = sorted(folder.iterdir())
    except OSError:
        return ""
    return next((str(link) for link in links if os.path.realpath(link) == real), "")


# Products by USB ids. Converters are part of many products, so this is only probable.
_KNOWN: dict[tuple[int, int], str] = {
    (0x0403, 0x6001): "FTDI FT232R converter: XBee Explorer, many boards",
    (0x0403, 0x6010): "FTDI FT2232 converter, two ports",
    (0x0403, 0x6011): "FTDI FT4232 converter, four ports",
    (0x0403, 0x6014): "FTDI FT232H converter: ROBOTIS U2D2",
    (0x0403, 0x6015): "FTDI FT230X converter: Digi XBee USB adapter, XBee Explorer",
    (0x04D8, 0xFD08): "USB IR Toy v2",
    (0x04D8, 0x000A): "Microchip CDC device",
    (0x067B, 0x2303): "Prolific PL2303 converter",
    (0x10C4, 0xEA60): "Silicon Labs CP210x converter: RYLR998 and HC-12 adapters, ESP32 boards",
    (0x1A86, 0x7523): "WCH CH340 converter: HC-12 adapters, Arduino clones",
    (0x1A86, 0x55D4): "WCH CH9102 converter: ESP32 boards",
    (0x2341, 0x0043): "Arduino Uno",
    (0x2341, 0x0042): "Arduino Mega 2560",
    (0x2341, 0x8036): "Arduino Leonardo",
    (0x239A, 0x800B): "Adafruit board",
    (0x2E8A, 0x0005): "Raspberry Pi Pico, MicroPython",
    (0x2E8A, 0x000A): "Raspberry Pi Pico",
    (0x303A, 0x1001): "Espressif ESP32 with USB",
}

_MAKERS: dict[int, str] = {
    0x0403: "FTDI converter",
    0x10C4: "Silicon Labs converter",
    0x1A86: "WCH converter",
    0x2341: "Arduino board",
    0x239A: "Adafruit board",
    0x2E8A: "Raspberry Pi board",
    0x303A: "Espressif board",
}


def probable_device(vid: int | None, pid: int | None) -> str:
    """Return the product that probably has these USB ids; empty when they are unknown."""
    if vid is None or pid is None:
        return ""
    return _KNOWN.get((vid, pid)) or _MAKERS.get(vid, "")


# --- boards by their USB ids, and what opening their port does to them ----------------------------


BOOT_S = 2  # a bootloader of these boards takes a little less

_RESET_BY_DTR: dict[tuple[int, int], str] = {
    (0x2341, 0x0001): "Arduino Uno",
    (0x2341, 0x0043): "Arduino Uno",
    (0x2341, 0x0243): "Arduino Uno",
    (0x2A03, 0x0043): "Arduino Uno",
    (0x2341, 0x0010): "Arduino Mega 2560",
    (0x2341, 0x0042): "Arduino Mega 2560",
    (0x2341, 0x0242): "Arduino Mega 2560",
    (0x2A03, 0x0042): "Arduino Mega 2560",
    (0x1A86, 0x7523): "CH340, as on many Arduino Nano and clones",
    (0x0403, 0x6001): "FT232R, as on Arduino Nano and Duemilanove",
}
_NO_RESET: dict[tuple[int, int], str] = {
    (0x2341, 0x0036): "Arduino Leonardo",
    (0x2341, 0x8036): "Arduino Leonardo",
    (0x2A03, 0x8036): "Arduino Leonardo",
    (0x2341, 0x0037): "Arduino Micro",
    (0x2341, 0x8037): "Arduino Micro",
}


def reset_notice(vid: int | None, pid: int | None, *, boot_s: float) -> str:
    """Return what opening the port does to a board with these USB ids; "" if unknown."""
    if vid is None or pid is None:
        return ""
    if board := _NO_RESET.get((vid, pid)):
        return f"{board}: opening the port does not reset it; it sends only while DTR is on"
    board = _RESET_BY_DTR.get((vid, pid), "")
    if not board or boot_s:
        return f"{board}: opening the port resets it, hence boot_s: {boot_s:g}" if board else ""
    if not board.startswith("Arduino"):
        return f"{board}: if opening the port resets the board, set boot_s: {BOOT_S}"
    return f"{board}: opening the port resets it, and it starts within 2 s: set boot_s: {BOOT_S}"


def usb_ids(path: str, folder: Path = Path("/sys/class/tty")) -> tuple[int | None, int | None]:
    """Return the USB ids of the device behind a serial port (Linux, sysfs); None if it has none."""
    name = Path(os.path.realpath(path)).name
    with suppress(OSError, ValueError):
        device = (folder / name / "device").resolve(strict=True)
        for place in (device, *device.parents[:4]):
            if (place / "idVendor").is_file():
                vid = int((place / "idVendor").read_text(), 16)
                return vid, int((place / "idProduct").read_text(), 16)
    return None, None
