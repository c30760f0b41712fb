"""A real serial port with a loopback plug: `tools/test tests/real --loop-plug /dev/ttyUSB0`."""

import random
import time
from pathlib import Path

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.serial.port import DataPath, open_serial
from tests.e2e.running import report_of
from tests.transports.rig import ALL_VALUES, Client, refuses

BITS = 10  # of a byte, 8N1
PATHS: list[DataPath] = ["posix", "asyncio"]
CONFIG = """
version: 1
robots:
  rover:
    devices:
      tx: {{node: Emitter, type: serial, channel: 5}}
    controller: {{kind: beacon, emitter: tx, period_ms: 100, payload: "ping {{n}}"}}
adapters:
  line: {{kind: uart, port: {port}, channel: 5, baudRate: 115200, framing: cobs-crc16}}
"""


@pytest.fixture
def port(request: pytest.FixtureRequest) -> str:
    return str(Path(request.config.getoption("--loop-plug")).absolute())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("baud_rate", [9600, 115200])
async def test_all_values_come_back_in_order(
    port: str, path: DataPath, baud_rate: int, timer: Timer
) -> None:
    sent = ALL_VALUES + random.Random(1).randbytes(baud_rate // BITS)  # a second of it
    client = Client(await open_serial(port, LineSettings(baud_rate), timer, path=path))
    client.transport.write(b"\r\n" * 8)  # the messages of a device after opening are over
    await client.received(16)
    client.data.clear()
    for start in range(0, len(sent), 1024):
        client.transport.write(sent[start : start + 1024])
        assert await client.received(start + len(sent[start : start + 1024]))
    assert bytes(client.data) == sent
    assert client.lost == []
    await client.close()


async def test_a_port_is_opened_once(port: str, timer: Timer) -> None:
    client = Client(await open_serial(port, LineSettings(115200), timer))
    with refuses(PortError.BUSY):
        await open_serial(port, LineSettings(115200), timer)
    await client.close()
    await Client(await open_serial(port, LineSettings(115200), timer)).close()


async def test_closing_does_not_wait_for_what_was_not_sent(port: str, timer: Timer) -> None:
    client = Client(await open_serial(port, LineSettings(1200), timer))
    client.transport.write(bytes(4096))  # half a minute
    begin = time.monotonic()
    await client.close()
    assert time.monotonic() - begin < 2


def test_a_robot_receives_its_own_packets_through_the_gateway(port: str, tmp_path: Path) -> None:
    config = tmp_path / "loop.yaml"
    config.write_text(CONFIG.format(port=port))
    report = report_of(tmp_path, "--config", str(config), "--duration", "2s")
    line = report["stations"]["line"]
    assert line["delivered"] >= 15
    assert line["inbound"] >= 10  # the last ones may still be in a plug that a busy machine serves
    assert line["dropped"] == {}
