"""Pipe: the contract of a transport and of a device's side, without a port."""

import os

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.testing.sim import Clock, until
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pipe import Pipe
from tests.transports.rig import ALL_VALUES, LINE, Client, Device, refuses, turns


async def test_the_newest_bytes_of_the_device_are_dropped_and_counted(clock: Clock) -> None:
    pipe = Pipe(clock, LineSettings(1_000_000), device_limit=100)
    client = Client(await pipe.open())
    pipe.device.write(b"a" * 60)
    pipe.device.write(b"b" * 60)
    assert pipe.overrun == 20
    await client.received(100)
    await turns()
    assert client.data == b"a" * 60 + b"b" * 40


async def test_paused_a_client_keeps_no_more_than_its_limit(clock: Clock) -> None:
    pipe = Pipe(clock, LineSettings(4_000_000), limit=100)
    client = Client(await pipe.open())
    client.transport.pause_reading()
    pipe.device.write(bytes(150))
    await until(lambda: pipe.overrun == 50)
    assert not client.data
    client.transport.resume_reading()
    await client.received(100)


async def test_unplugged_it_is_lost_and_absent_and_comes_back(clock: Clock) -> None:
    pipe = Pipe(clock, LINE)
    device = Device(pipe.device)
    for _ in range(3):
        client = Client(await pipe.open())
        client.transport.write(bytes(1000))
        at = clock.now()
        pipe.device.unplug()
        assert not pipe.device.plugged
        await turns()
        assert clock.now() == at
        assert [error.reason for error in client.lost] == [PortError.LOST]
        with pytest.raises(PortError):
            client.transport.write(b"x")
        with refuses(PortError.ABSENT):
            await pipe.open()
        await client.close()
        pipe.device.plug()
    assert len(device.data) < 1000, "what was on the wire is gone"
    client = Client(await pipe.open())
    client.transport.write(b"back")
    await until(lambda: device.data.endswith(b"back"))


async def test_opened_twice_it_is_busy_and_closed_it_is_free(clock: Clock) -> None:
    pipe = Pipe(clock, LINE)
    first = Client(await pipe.open())
    with refuses(PortError.BUSY):
        await pipe.open()
    await first.close()
    second = Client(await pipe.open())
    pipe.device.write(b"hello")
    assert await second.received(5) == b"hello"
    assert not first.data
    assert not first.lost


async def test_a_loop_plug_returns_all_values_in_order(timer: Timer) -> None:
    client = Client(await open_serial("loop://", LineSettings(10_000_000), timer))
    block = ALL_VALUES + os.urandom(20_000)
    client.transport.write(block)
    assert await client.received(len(block)) == block
    await client.close()
