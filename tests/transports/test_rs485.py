"""RS-485: set in the driver where supported, an error or a notice elsewhere."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import serial

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial import tty
from hilgw.transports.serial.port import open_serial, set_rs485
from tests.transports.rig import descriptors, until


@pytest.fixture
def pty() -> Iterator[str]:
    master, slave = os.openpty()
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize(("mode", "on"), [("half-duplex", True), ("half-duplex-inverted", False)])
def test_rts_is_on_while_it_sends_or_off(mode: str, on: bool) -> None:
    port = SimpleNamespace(port="/dev/ttyS9", rs485_mode=None)
    set_rs485(port, mode)
    asked = port.rs485_mode
    assert (asked.rts_level_for_tx, asked.rts_level_for_rx, asked.loopback) == (on, not on, False)


def test_a_driver_that_cannot_is_an_error_with_a_fix(pty: str) -> None:
    with serial.Serial(pty) as port, pytest.raises(PortError) as error:
        set_rs485(port, "half-duplex")
    assert error.value.reason == PortError.UNSUPPORTED
    assert "remove rs485" in error.value.fix


async def test_a_real_port_whose_driver_cannot_is_not_opened(
    pty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tty, "is_pseudo_terminal_path", lambda path: False)

    before = descriptors()
    timer = Timer(asyncio.get_running_loop())
    with pytest.raises(PortError) as error:
        await open_serial(pty, LineSettings(rs485="half-duplex"), timer)
    timer.close()
    assert error.value.reason == PortError.UNSUPPORTED
    assert "RS-485" in error.value.what
    assert error.value.where == pty
    await until(lambda: descriptors().items() <= before.items())


def test_a_pseudo_terminal_does_without_and_reports_it(pty: str) -> None:
    async def notices() -> list[str]:
        timer = Timer(asyncio.get_running_loop())
        transport = await open_serial(pty, LineSettings(rs485="half-duplex"), timer)
        try:
            reported: list[str] = transport.notices
            return reported
        finally:
            transport.close()
            await transport.wait_closed()
            timer.close()

    assert "a pseudo terminal has no RTS; rs485 is ignored" in asyncio.run(notices())
