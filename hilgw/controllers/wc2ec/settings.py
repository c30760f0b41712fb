"""Settings of controller `wc2ec`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hilgw.settings import boot_setting, setting

URL = r"tcp://(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):[0-9]{1,5}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wc2ecControllerSettings:
    """The connection to the external controller, and its dialect."""

    listen: str | None = setting(
        "loopback address to listen on", None, pattern=URL, example="tcp://127.0.0.1:27015"
    )
    port: str | None = setting("serial device path, instead of listen", None)
    boot_s: float = boot_setting()
    baudRate: int = setting("rate of the serial line", 115200, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int = setting(
        "cost of one byte on the line: 10 is 8N1, 11 is 8N2, 8 counts as 10",
        10,
        choices=(8, 10, 11),
        unit="bit",
    )
    extensions: bool = setting(
        "packets of Emitter and Receiver; only where the controller supports them", False
    )
    wc2ec_types: str = setting(
        "type numbers of distance sensors and motors: webots, those of the version in `webots:`; "
        "document, those of the WC2EC document (37, 46, 53), for a peer written from it alone",
        "webots",
        choices=("webots", "document"),
    )
    silence_s: float = setting(
        "on a serial line: silence that counts as a disconnect", 0.5, gt=0, le=3600, unit="s"
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock of the program or, on a serial line, of the microcontroller "
        "(`hilgw mock wc2ec-controller --list`, `hilgw mock wc2ec-node --list`)",
        default_factory=dict,
    )
