"""The example `motor_node` on an emulated board, and what it reports of its motors."""

import asyncio
import contextlib
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from firmware_mocks.wc2ec import cobs, wire
from hilgw.framing import create
from tests.e2e.running import HOST, Gateway, free_port
from tests.firmware.emulated import command

LONG_S = 40.0  # for a machine that is busy
WATCHDOG_S, LATE_S, STEP_S = 0.3, 0.05, 0.01
NODE = """
version: 1
webots: R2020a
network_ports: true
robots:
  cart:
    body: {kind: wc2ec, port: "PORT", baudRate: 115200, original_peer: true, simulated: true}
    controller: {kind: wc2ec, listen: "LISTEN"}
    safety: {command_timeout_s: 20}
"""


class Board:
    """A board whose serial line is this program: what it reports, with the time of its arrival."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.values: list[tuple[float, float]] = []
        self.commanded: dict[float, float] = {}  # velocity -> when it was sent first
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


@dataclass(frozen=True)
class Trial:
    """A gateway that ended: seconds to velocity 0 on the clock of the board, and in real time; the
    longest of the echoes before it, from a command on the line to its report."""

    own_s: float
    real_s: float
    echo_s: float

    @property
    def beyond_echo_s(self) -> float:
        return self.real_s - self.echo_s


async def killed_gateway(folder: Path, number: signal.Signals) -> Trial:
    """Send this signal to a gateway that drives a board through this program.

    The body is simulated for hilgw, so that its guardian does not stop it either."""
    listen = f"tcp://{HOST}:{free_port()}"
    with socket.create_server(("127.0.0.1", 0)) as serial:
        port = f"socket://127.0.0.1:{serial.getsockname()[1]}"
        text = NODE.replace("PORT", port).replace("LISTEN", listen)
        (folder / "node.yaml").write_text(text)
        serial.setblocking(False)
        async with powered("netduinoplus2") as board:
            with Gateway(folder, ["--config", "node.yaml"], ready=False) as running:
                loop = asyncio.get_running_loop()
                line, _ = await asyncio.wait_for(loop.sock_accept(serial), LONG_S)
                relays = [
                    loop.create_task(to_board(line, board)),
                    loop.create_task(from_board(line, board)),
                ]
                reader, writer = await until_it_listens(listen)
                await asyncio.wait_for(reader.readexactly(4), LONG_S)  # it registers the devices
                echoes = []
                for velocity in (3.0, 4.0, 5.0):
                    writer.write(wire.value(wire.SET_VALUE, 53, 0, velocity))
                    shown = await board.reports(velocity)
                    echoes.append(shown - board.commanded[velocity])
                board.values.clear()
                running.process.send_signal(number)
                last = time.monotonic()
                stopped = await board.reports(0.0)
                steps = [value for _, value in board.values].count(5.0)
                running.process.kill()
                for relay in relays:
                    relay.cancel()
                writer.close()
                line.close()
    return Trial(steps * STEP_S, stopped - last, max(echoes))


async def to_board(line: socket.socket, board: Board) -> None:
    """Pass on what the gateway sends; note when a velocity was commanded first."""
    framing = create("cobs-crc16")
    while data := await asyncio.get_running_loop().sock_recv(line, 4096):
        board.write(data)
        for message in framing.feed(data):
            if message[0] == wire.SET_VALUE:
                velocity = struct.unpack_from("<d", message, 3)[0]
                board.commanded.setdefault(velocity, time.monotonic())


async def from_board(line: socket.socket, board: Board) -> None:
    """Pass on what the board sends, which this program reads, too."""
    while True:
        data = await board.sent.get()
        with contextlib.suppress(ConnectionError):  # of a gateway that was killed
            await asyncio.get_running_loop().sock_sendall(line, data)


async def until_it_listens(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("tcp://").split(":")
    async with asyncio.timeout(LONG_S):
        while True:
            try:
                return await asyncio.open_connection(host, int(port))
            except OSError:
                await asyncio.sleep(0.05)
