"""The examples of the C library on emulated boards: as module, as controller and as body."""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from firmware_mocks.wc2ec import cobs, wire
from hilgw.framing import create
from tests.e2e.running import HOST, Gateway, free_port
from tests.firmware.emulated import EMULATED, command

pytestmark = [
    pytest.mark.process,
    pytest.mark.emulated,
    pytest.mark.wall_clock("the clock of an emulated board"),
]
LONG_S = 40.0  # for a machine that is busy
WATCHDOG_S, LATE_S, STEP_S = 0.3, 0.05, 0.01


# --- ping: a module on the medium -----------------------------------------------------------------


@EMULATED
def test_packets_of_a_board_are_answered_through_an_xbee(board: str, gateway: Any) -> None:
    """This test is the controller of the robot, which relays between its wire and its radio."""
    config = {
        "version": 1,
        "robots": {
            "rover": {
                "position": [0, 0, 0],
                "devices": {
                    "wire_tx": {"node": "Emitter", "type": "serial", "channel": 1},
                    "wire_rx": {"node": "Receiver", "type": "serial", "channel": 1},
                    "tx": {"node": "Emitter", "type": "radio", "channel": 12},
                    "rx": {"node": "Receiver", "type": "radio", "channel": 12},
                },
            }
        },
        "adapters": {
            "board": {
                "kind": "uart",
                "port": "/dev/ttyACM0",
                "baudRate": 115200,
                "channel": 1,
                "framing": "cobs-crc16",
                "mock": {"program": command("ping", board)},
            },
            "xbee0": {
                "kind": "xbee",
                "port": "/dev/ttyUSB0",
                "channel": 12,
                "air": "lab",
                "position": [1, 0, 0],
            },
        },
        "airs": {
            "lab": {
                "nodes": {
                    "remote": {
                        "mock": "xbee",
                        "channel": 12,
                        "position": [3, 0, 0],
                        "replies": {"ping": "pong"},
                    }
                }
            }
        },
    }
    running = gateway(config)
    for number in (1, 2, 3):
        ping = b"ping %d" % number
        running.wait_for(ping, listener="rover.wire_rx", timeout_s=LONG_S)
        running.send("rover.tx", ping)
        answer = running.wait_for(b"pong %d" % number, listener="rover.rx", timeout_s=LONG_S)
        running.send("rover.wire_tx", answer.data)
    running.wait_for(b"ping 4", listener="rover.wire_rx", timeout_s=LONG_S)
    assert running.report()["ledger"]["adds_up"]


# --- wall follower: a controller ------------------------------------------------------------------


@EMULATED
def test_it_drives_the_robot_and_turns_at_walls(board: str, gateway: Any) -> None:
    config = {
        "version": 1,
        "webots": "R2020a",
        "robots": {
            "mouse": {
                "body": {
                    "kind": "wc2ec",
                    "connect": "tcp://127.0.0.1:27015",
                    "simulated": True,
                    "original_peer": True,
                    "mock": {"width": 1.0, "depth": 1.0},
                },
                "controller": {
                    "kind": "wc2ec",
                    "port": "/dev/ttyACM0",
                    "baudRate": 115200,
                    "mock": {"program": command("wall_follower", board)},
                },
            }
        },
    }
    running = gateway(config)
    robot = running.mock("mouse")
    straight, turning = (5.0, 5.0), (2.5, -2.5)
    for wheels in (straight, turning, straight):
        robot.wait_for(lambda mock, wheels=wheels: mock.body.wheels == wheels, LONG_S)
    frozen = running.mock("mouse.controller")
    frozen.stall()
    robot.wait_for(lambda mock: mock.body.wheels == (0.0, 0.0), LONG_S)
    frozen.reset()
    frozen.unstall()
    robot.wait_for(lambda mock: mock.body.wheels in (straight, turning), LONG_S)


# --- motor node: a body with a watchdog -----------------------------------------------------------


class Board:
    """A board whose serial line is this test: what it reports, with the time of its arrival."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.values: list[tuple[float, float]] = []
        self.sent: asyncio.Queue[bytes] = asyncio.Queue()
        self._framing = create("cobs-crc16")
        self._news = asyncio.Event()
        self.reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self.process.stdout
        while data := await self.process.stdout.read(4096):
            self.sent.put_nowait(data)
            self.take(data)

    def take(self, data: bytes) -> None:
        now = time.monotonic()
        for message in self._framing.feed(data):
            if message[0] == wire.SENSOR_DATA and message[2] == 0:
                self.values.append((now, struct.unpack_from("<d", message, 3)[0]))
        self._news.set()

    def write(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)

    async def reports(self, velocity: float) -> float:
        """Return when the board first reported this velocity, of the values that are kept."""
        async with asyncio.timeout(LONG_S):
            while True:
                for when, value in self.values:
                    if value == velocity:
                        return when
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def powered(board: str) -> AsyncIterator[Board]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command("motor_node", board).split(), stdin=pipe, stdout=pipe
    )
    on = Board(process)
    try:
        yield on
    finally:
        process.kill()
        await process.wait()
        await on.reader


def drive(velocity: float) -> bytes:
    return b"".join(cobs.frame(wire.value(wire.SET_VALUE, 53, wheel, velocity)) for wheel in (0, 1))


async def falls_silent(on: Board, velocity: float) -> tuple[float, float]:
    """Drive as a gateway does, then end. Return the seconds from its last byte to velocity 0, on
    the clock of the board and on ours; ours beyond an echo: from a command to its report."""
    echoes = []
    for step in range(3):
        on.values.clear()
        sent = time.monotonic()
        on.write(drive(velocity + step))
        echoes.append(await on.reports(velocity + step) - sent)
    stopped = await on.reports(0.0)
    steps = [value for _, value in on.values].count(velocity + 2)
    return steps * STEP_S, stopped - sent - max(echoes)


@EMULATED
async def test_its_motors_stop_when_the_gateway_is_gone(board: str) -> None:
    """50 times: on boards side by side. An emulated AVR takes a processor for itself: fewer.

    A busy machine slows an emulated board down, clock and all: what counts is its own clock."""
    boards, times = (10, 5) if board == "netduinoplus2" else (1, 5)

    async def one(first: float) -> list[tuple[float, float]]:
        async with powered(board) as on:
            await on.reports(0.0)
            return [await falls_silent(on, first + 4 * n) for n in range(times)]

    rows = await asyncio.gather(*map(one, range(1, boards + 1)))
    own = [took for row in rows for took, _ in row]
    ours = [took for row in rows for _, took in row]
    assert len(own) == boards * times
    assert max(own) <= WATCHDOG_S + LATE_S, sorted(own)
    assert min(own) >= WATCHDOG_S - LATE_S, "the watchdog, and nothing else, stops them"
    assert min(ours) <= WATCHDOG_S + LATE_S, sorted(ours)


@pytest.mark.judge("qemu-system-arm")
@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_its_motors_stop_after_a_killed_or_frozen_gateway(
    number: int, tmp_path: Path
) -> None:
    """The body is simulated for hilgw, so that its guardian does not stop it either."""
    listen = f"tcp://{HOST}:{free_port()}"
    with socket.create_server(("127.0.0.1", 0)) as serial:
        robot = {
            "body": {
                "kind": "wc2ec",
                "port": f"socket://127.0.0.1:{serial.getsockname()[1]}",
                "baudRate": 115200,
                "original_peer": True,
                "simulated": True,
            },
            "controller": {"kind": "wc2ec", "listen": listen},
            "safety": {"command_timeout_s": 20},
        }
        config = {
            "version": 1,
            "webots": "R2020a",
            "network_ports": True,
            "robots": {"cart": robot},
        }
        (tmp_path / "node.yaml").write_text(yaml.safe_dump(config))
        serial.setblocking(False)
        async with powered("netduinoplus2") as board:
            with Gateway(tmp_path, ["--config", "node.yaml"], ready=False) as running:
                loop = asyncio.get_running_loop()
                line, _ = await asyncio.wait_for(loop.sock_accept(serial), LONG_S)
                relays = [
                    loop.create_task(to_board(line, board)),
                    loop.create_task(from_board(line, board)),
                ]
                reader, writer = await until_it_listens(listen)
                await asyncio.wait_for(reader.readexactly(4), LONG_S)  # it registers the devices
                writer.write(wire.value(wire.SET_VALUE, 53, 0, 5.0))
                await board.reports(5.0)
                board.values.clear()
                running.process.send_signal(number)
                last = time.monotonic()
                stopped = await board.reports(0.0)
                assert stopped - last < LONG_S
                steps = [value for _, value in board.values].count(5.0)
                assert steps * STEP_S <= WATCHDOG_S + 2 * LATE_S
                running.process.kill()
                for each in relays:
                    each.cancel()
                writer.close()
                line.close()


async def to_board(line: socket.socket, board: Board) -> None:
    while data := await asyncio.get_running_loop().sock_recv(line, 4096):
        board.write(data)


async def from_board(line: socket.socket, board: Board) -> None:
    """Pass on what the board sends, which this test reads, too."""
    while True:
        data = await board.sent.get()
        await asyncio.get_running_loop().sock_sendall(line, data)


async def until_it_listens(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("tcp://").split(":")
    async with asyncio.timeout(LONG_S):
        while True:
            try:
                return await asyncio.open_connection(host, int(port))
            except OSError:
                await asyncio.sleep(0.05)


@pytest.mark.judge("qemu-system-arm")
@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
def test_a_program_is_the_body(gateway: Any) -> None:
    """It registers its motors and reports their velocities, after a reset, too."""
    body = {
        "kind": "wc2ec",
        "port": "/dev/ttyACM0",
        "baudRate": 115200,
        "original_peer": True,
        "mock": {"program": command("motor_node", "netduinoplus2")},
    }
    controller = {"kind": "wc2ec", "listen": f"tcp://127.0.0.1:{free_port()}"}
    robot = {"body": body, "controller": controller}
    running = gateway({"version": 1, "webots": "R2020a", "robots": {"cart": robot}})

    def values() -> int:
        return int(running.report()["control_loops"]["cart"]["values_in"])

    for _ in range(2):
        before = values()
        running.wait_for(lambda before=before: values() > before + 20, timeout_s=LONG_S)
        assert running.state("cart.body") == "up"
        running.mock("cart.body").reset()
