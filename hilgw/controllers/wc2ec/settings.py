"""Settings of controller `wc2ec`."""

from dataclasses import dataclass
from typing import Any

from hilgw.control.parts import Listens, OnLine, url_setting
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Wc2ecControllerSettings(OnLine, Listens):
    """The connection to the external controller, and its dialect."""

    listen: str | None = url_setting("loopback address to listen on", None, "tcp://127.0.0.1:27015")
    port: str | None = setting("serial device path, instead of listen", None)
    extensions: bool = setting(
        "packets of Emitter and Receiver; only where the controller supports them", False
    )
    wc2ec_types: str = setting(
        "type numbers of distance sensors and motors: webots, those of the version in `webots:`; "
        "document, those of the WC2EC document (37, 46, 53), for a peer written from it alone",
        "webots",
        choices=("webots", "document"),
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock of the program or, on a serial line, of the microcontroller "
        "(`hilgw mock wc2ec-controller --list`, `hilgw mock wc2ec-node --list`)",
        default_factory=dict,
    )
