"""Run by test_network_port.py as root, in a network namespace of its own: a gateway's end and a
bridge with a device are in two namespaces. The network between them is slow (20 ms each way),
loses 2 % of its packets, and is cut.

Prints, for each cut, after how many seconds the device had the stop that the port's user writes
whenever the port is open again.
"""

import asyncio
import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
import tty
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hilgw.engine.event_loop.direct_loop import DirectLoop
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.lines import Lines, Port
from hilgw.engine.supervisor import PortListener, Supervisor
from hilgw.testing.sim import Recorder, until
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial.port import open_serial

HERE, THERE = "10.77.0.1", "10.77.0.2"
RAW, TELNET = 5000, 2217
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
DELAY_S, LOSS = 0.02, 0.02
SURVIVED_S = 3  # the connection may be the same after a cut so short, and then needs no stop
BRIDGE = """
from hilgw.transports.tcp import address
address.is_loopback = lambda text: True  # this network is the test's own
from hilgw.cli.main import main
main()
"""


def run(command: str, prefix: Sequence[str] = ()) -> None:
    subprocess.run([*prefix, *command.split()], check=True)


class Network(threading.Thread):
    """A network of two namespaces, this one and another: packets are late, and some are lost."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.is_cut = False
        self.passed = self.lost = 0
        self._holder = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == own:
            pass
        self.enter = ("nsenter", "-n", "-t", str(self._holder.pid))
        run("ip link set lo up")
        self._ends = [self._end("here", HERE, ()), self._end("there", THERE, self.enter)]
        self.start()

    def _end(self, device: str, address: str, prefix: Sequence[str]) -> int:
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
        request = struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI)
        fcntl.ioctl(descriptor, TUNSETIFF, request)
        if prefix:
            run(f"ip link set {device} netns {self._holder.pid}")
        run(f"ip addr add {address}/24 dev {device}", prefix)
        run(f"ip link set {device} up", prefix)
        return descriptor

    def run(self) -> None:
        chance = random.Random(1)
        late: deque[tuple[float, int, bytes]] = deque()
        other = dict(zip(self._ends, reversed(self._ends), strict=True))
        while True:
            wait_s = max(0.0, late[0][0] - time.monotonic()) if late else None
            for end in select.select(self._ends, [], [], wait_s)[0]:
                packet = os.read(end, 65536)
                if self.is_cut or chance.random() < LOSS:
                    self.lost += 1
                else:
                    late.append((time.monotonic() + DELAY_S, other[end], packet))
            while late and late[0][0] <= time.monotonic():
                self.passed += 1
                os.write(*late.popleft()[1:])

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()


class User:
    """What a body does: a stop when the port opens, then a byte each 20 ms. device: it sends as
    much, so that the dead connection has bytes without an acknowledgement at both ends."""

    name, identity = "body", ""

    def __init__(self, timer: Timer, device: int) -> None:
        self._device = device
        self.supervisor: PortListener = PortListener()
        self._timer = timer
        self._transport: Transport | None = None

    def attach(self, transport: Transport) -> None:
        self._transport = transport
        transport.write(b"STOP")
        self.supervisor.on_ready("there")

    def beat(self) -> None:
        if self._transport is not None:
            self._transport.write(b".")
        with suppress(BlockingIOError):
            os.write(self._device, b"values")
        self._timer.call_at(self._timer.now() + 20_000_000, self.beat)

    def detach(self) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        pass


async def main(kind: str, cuts: list[float]) -> None:
    far = Network()
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    listen = ("--listen", f"{THERE}:{RAW}", "--rfc2217", f"{THERE}:{TELNET}")
    bridge = await asyncio.create_subprocess_exec(
        *far.enter, sys.executable, "-c", BRIDGE, "bridge", os.ttyname(slave), *listen
    )
    timer = Timer(asyncio.get_running_loop())
    user, log = User(timer, master), Recorder()
    user.beat()
    url = f"{kind}://{THERE}:{RAW if kind == 'socket' else TELNET}"

    async def open_port() -> Transport:
        return await open_serial(url, LineSettings(115200), timer, allow_urls=True)

    supervisor = Supervisor(user, Port(url, open_port), Lines(log, timer.now))
    running = asyncio.create_task(supervisor.run())
    received = bytearray()

    def has_stop() -> bool:
        try:
            received.extend(os.read(master, 65536))
        except BlockingIOError:
            return False
        return b"STOP" in received

    try:
        await until(has_stop, timeout_s=60)
        for cut_s in cuts:
            received.clear()
            far.is_cut = True
            await asyncio.sleep(cut_s)
            has_stop()
            received.clear()
            far.is_cut = False
            back_s = asyncio.get_running_loop().time()
            is_back = has_stop if cut_s > SURVIVED_S else lambda: has_stop() or bool(received)
            await until(is_back, timeout_s=60)
            assert far.passed and far.lost
            print(f"{cut_s:g} {asyncio.get_running_loop().time() - back_s:.2f}", flush=True)
    finally:
        running.cancel()
        await asyncio.wait([running])
        bridge.kill()
        await bridge.wait()
        far.close()
        timer.close()


with asyncio.Runner(loop_factory=DirectLoop) as runner:
    runner.run(main(sys.argv[1], [float(each) for each in sys.argv[2:]]))
