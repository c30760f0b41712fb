"""dynamixel-sdk, the maker's client, unmodified on the mock of the bus."""

from typing import Any

import pytest
from dynamixel_sdk import (
    COMM_SUCCESS,
    GroupBulkRead,
    GroupSyncRead,
    GroupSyncWrite,
    PacketHandler,
    PortHandler,
    port_handler,
)

from hilgw.testing.sim import wait_until


def test_it_reads_writes_and_moves(firmware_mock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The client's setting for slow ports: it waits 34 ms for an answer, which a busy machine needs.
    monkeypatch.setattr(port_handler, "LATENCY_TIMER", 5_000)
    bus = firmware_mock("dynamixel", ids="1, 2", baud_rate=115200)
    port, client = PortHandler(str(bus.port)), PacketHandler(2.0)
    assert port.openPort() and port.setBaudRate(115200)
    try:
        assert client.ping(port, 1) == (1060, COMM_SUCCESS, 0)
        found, result = client.broadcastPing(port)
        assert result == COMM_SUCCESS and sorted(found) == [1, 2]
        assert client.write1ByteTxRx(port, 1, 11, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 1, 64, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 1, 11, 3) == (COMM_SUCCESS, 7)  # locked: torque on
        assert client.write4ByteTxRx(port, 1, 104, 300) == (COMM_SUCCESS, 6)  # beyond the limit
        writer = GroupSyncWrite(port, client, 104, 4)
        writer.addParam(1, [100, 0, 0, 0])
        assert writer.txPacket() == COMM_SUCCESS
        wait_until(lambda: bus.mock.servos[1].moves, what="the servo to move")
        reader = GroupSyncRead(port, client, 128, 8)
        bulk = GroupBulkRead(port, client)
        for number in (1, 2):
            reader.addParam(number)
            bulk.addParam(number, 132, 4)
        assert reader.txRxPacket() == COMM_SUCCESS
        assert reader.getData(1, 128, 4) == 100 and reader.getData(2, 128, 4) == 0
        assert reader.fastSyncRead() == COMM_SUCCESS and bulk.fastBulkRead() == COMM_SUCCESS
        assert reader.getData(1, 128, 4) == 100 and bulk.getData(2, 132, 4) == 2048
        first = reader.getData(1, 132, 4)

        def has_turned() -> bool:
            assert bulk.txRxPacket() == COMM_SUCCESS
            return bool(bulk.getData(1, 132, 4) > first + 20)

        wait_until(has_turned, what="the servo to turn")
        assert bulk.getData(2, 132, 4) == 2048
        assert client.write1ByteTxRx(port, 1, 98, 1) == (COMM_SUCCESS, 0)  # bus watchdog, 20 ms
        wait_until(lambda: bus.mock.servos[1].tripped, what="the watchdog")
        assert not bus.mock.servos[1].moves
        assert client.read1ByteTxRx(port, 1, 98) == (255, COMM_SUCCESS, 0)
        assert client.reboot(port, 1) == (COMM_SUCCESS, 0)
        assert client.write1ByteTxRx(port, 2, 7, 5) == (COMM_SUCCESS, 0)  # another id
        for number in (1, 5):
            assert client.write1ByteTxRx(port, number, 8, 3) == (COMM_SUCCESS, 0)  # 1 Mbit/s
        assert port.setBaudRate(1_000_000)
        assert client.ping(port, 5) == (1060, COMM_SUCCESS, 0)
    finally:
        port.closePort()
