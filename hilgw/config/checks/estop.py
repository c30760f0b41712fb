"""Checks of the emergency-stop switch."""

from __future__ import annotations

from hilgw.config.context import Inspection

_USE = "use the path of a serial port, or rfc2217://HOST:PORT"


def check_switch(inspection: Inspection) -> None:
    """Check that the switch's port has modem lines, and none that are joined without a switch."""
    for section, estop in inspection.made("estop"):
        scheme = str(estop.port).strip().partition("://")
        if scheme[1] and scheme[0] in ("loop", "socket"):
            inspection.error((*section, "port"), f"{scheme[0]}:// has no input for a switch", _USE)
