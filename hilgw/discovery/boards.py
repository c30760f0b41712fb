"""Boards by their USB ids, and what opening their port does to them.

Sources: Arduino's boards.txt (ids); the schematics of Uno, Mega 2560 and Nano (DTR resets the
processor through a capacitor); the CDC core of the 32U4 boards (no reset but at 1200 baud, and
`Serial` is true only while DTR is on).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

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
_BOARD = "Arduino"


def reset_notice(vid: int | None, pid: int | None, *, boot_s: float) -> str:
    """What opening the port does to a board with these USB ids; "" when it is not known."""
    if vid is None or pid is None:
        return ""
    if board := _NO_RESET.get((vid, pid)):
        return f"{board}: opening the port does not reset it; it sends only while DTR is on"
    board = _RESET_BY_DTR.get((vid, pid), "")
    if not board or boot_s:
        return f"{board}: opening the port resets it, hence boot_s: {boot_s:g}" if board else ""
    if not board.startswith(_BOARD):
        return f"{board}: if opening the port resets the board, set boot_s: {BOOT_S}"
    return f"{board}: opening the port resets it, and it starts within 2 s: set boot_s: {BOOT_S}"


def usb_ids(path: str, folder: Path = Path("/sys/class/tty")) -> tuple[int | None, int | None]:
    """The USB ids of the device behind a serial port (Linux, sysfs); None where there are none."""
    name = Path(os.path.realpath(path)).name
    with suppress(OSError, ValueError):
        device = (folder / name / "device").resolve(strict=True)
        for place in (device, *device.parents[:4]):
            if (place / "idVendor").is_file():
                vid = int((place / "idVendor").read_text(), 16)
                return vid, int((place / "idProduct").read_text(), 16)
    return None, None
