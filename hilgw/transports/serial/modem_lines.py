"""DTR and RTS of a port that hilgw opens.

Linux raises both at each opening (drivers/tty/tty_port.c, tty_port_block_til_ready), before a
program can lower one: a line that is to be off has a short pulse.
"""

from __future__ import annotations

import sys

from hilgw.transports.base import LineSettings


def describe_modem_lines(line: LineSettings, platform: str = sys.platform) -> str:
    """The states of both lines once the port is open."""
    raised = "on" if platform == "linux" else "as the driver sets it"
    dtr = _state(line.dtr, raised, platform)
    if line.rtscts:
        rts = "by flow control"
    elif line.rs485 != "none":
        rts = "on while the port sends" if line.rs485 == "half-duplex" else "off while it sends"
    else:
        rts = _state(line.rts, raised, platform)
    why = ": Linux raises them at opening" if "on" in (dtr, rts) and platform == "linux" else ""
    return f"DTR {dtr}, RTS {rts}{why}"


def _state(wanted: bool | None, raised: str, platform: str) -> str:
    if wanted is None:
        return raised
    if wanted:
        return "on"
    return "off after a pulse at opening" if platform == "linux" else "off"
