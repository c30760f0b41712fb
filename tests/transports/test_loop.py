"""loop:// : a loop plug, at the rate of the line."""

import os

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import open_serial
from tests.transports.rig import ALL_VALUES, Client, turns, until

FAST = LineSettings(baudRate=10_000_000)


async def loop_client(timer: Timer, *, start: bool = True) -> Client:
    return Client(await open_serial("loop://", FAST, timer), start=start)


async def test_all_values_come_back_in_order(timer: Timer) -> None:
    client = await loop_client(timer)
    block = ALL_VALUES + os.urandom(20_000)
    client.transport.write(block)
    assert await client.received(len(block)) == block
    await until(lambda: client.transport.pending == 0)
    await client.close()


async def test_what_arrives_before_start_is_not_lost(timer: Timer) -> None:
    client = await loop_client(timer, start=False)
    client.transport.write(b"early")
    await until(lambda: client.transport.pending == 0)
    client.transport.start(client.data.extend, client.lost.append)
    assert await client.received(5) == b"early"
    await client.close()


async def test_it_is_bounded(timer: Timer) -> None:
    client = await loop_client(timer)
    client.transport.pause_reading()
    with pytest.raises(PortError) as caught:
        while True:
            client.transport.write(bytes(20_000))
    assert caught.value.reason == PortError.FULL
    await client.close()


async def test_closed_it_takes_no_bytes(timer: Timer) -> None:
    client = await loop_client(timer)
    client.transport.write(bytes(200_000))
    await turns()
    await client.close()
    assert not client.lost
    with pytest.raises(PortError) as caught:
        client.transport.write(b"x")
    assert caught.value.reason == PortError.LOST
