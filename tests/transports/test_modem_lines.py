"""What DTR and RTS are once a port is open."""

from __future__ import annotations

from typing import Any

import pytest

from hilgw.transports.base import LineSettings, describe_modem_lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ({}, "DTR on, RTS on: Linux raises them at opening"),
        ({"dtr": False, "rts": False}, "DTR off after a pulse at opening, RTS off after a pulse"),
        ({"dtr": False, "rtscts": True}, "DTR off after a pulse at opening, RTS by flow control"),
        ({"rs485": "half-duplex"}, "DTR on, RTS on while the port sends"),
        ({"rs485": "half-duplex-inverted"}, "DTR on, RTS off while it sends"),
    ],
)
def test_on_linux(line: dict[str, Any], text: str) -> None:
    assert describe_modem_lines(LineSettings(**line), "linux").startswith(text)


def test_elsewhere_the_driver_decides() -> None:
    assert describe_modem_lines(LineSettings(dtr=True), "win32") == (
        "DTR on, RTS as the driver sets it"
    )
