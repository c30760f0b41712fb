"""Modem lines of an open port: switched in the driver or the mock, or refused with an error."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from hilgw.engine.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.quirks import KeepsModemLines
from hilgw.transports.serial.stream import SerialStream
from hilgw.transports.virtual.pipe import Pipe


class Driver:
    """What pyserial does: it keeps the state, and tells the port where it is open."""

    def __init__(self) -> None:
        self.told: list[tuple[str, bool]] = []
        self._states = {"dtr": True, "rts": True}

    def opened(self) -> None:
        self._update_dtr_state()

    def _update_dtr_state(self) -> None:
        self.told.append(("dtr", self._states["dtr"]))

    def _update_rts_state(self) -> None:
        self.told.append(("rts", self._states["rts"]))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("dtr", "rts"):
            self._states[name] = value
            getattr(self, f"_update_{name}_state")()


class Port(KeepsModemLines, Driver):
    fd = -1

    def fileno(self) -> int:
        return self.fd

    def close(self) -> None:
        os.close(self.fd)


def test_a_line_that_is_left_alone_can_be_switched_later() -> None:
    port = Port()
    port.opened()
    assert port.told == []
    port.switch("dtr", False)
    port.switch("rts", True)
    assert port.told == [("dtr", False), ("rts", True)]


async def test_a_serial_stream_switches_its_port_its_stand_in_or_says_why_not() -> None:
    master, slave = os.openpty()
    port = Port()
    port.fd = slave
    stream = SerialStream(port, "here", [], is_pty=False)
    stream.set_modem_line("dtr", True)
    assert port.told == [("dtr", True)]
    stream.close()
    await stream.wait_closed()
    os.close(master)

    master, port.fd = os.openpty()
    stream = SerialStream(port, "here", [], is_pty=True)
    with pytest.raises(PortError, match="has no RTS") as caught:
        stream.set_modem_line("rts", True)
    assert caught.value.reason == PortError.UNSUPPORTED
    told: list[tuple[str, bool]] = []
    stream.close()
    os.close(master)

    master, port.fd = os.openpty()
    switch = lambda name, on: told.append((name, on))  # noqa: E731
    stream = SerialStream(port, "here", [], is_pty=True, modem_lines=switch)
    stream.set_modem_line("rts", True)
    assert told == [("rts", True)]
    stream.close()
    os.close(master)


async def test_a_pipe_passes_it_to_its_device_while_that_is_there() -> None:
    timer = Timer(asyncio.get_running_loop())
    pipe = Pipe(timer, LineSettings())
    told: list[tuple[str, bool]] = []
    device: Any = pipe.device
    device.on_modem_line = lambda name, on: told.append((name, on))
    client: Any = await pipe.open()
    client.set_modem_line("dtr", True)
    client.close()
    client.set_modem_line("dtr", False)
    assert told == [("dtr", True)]
    timer.close()
