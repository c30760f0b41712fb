"""Run by test_network_cut.py as root, in a network namespace of its own: a gateway's end and a
bridge with a device are in two namespaces, and the network between them is cut.

Prints, for each cut, after how many seconds the device had the stop that the port's user writes
whenever the port is open again. The kernel shapes the network where it can (netem).
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tty
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


NO_HOST = "02:00:00:00:00:99"
BRIDGE = """
from hilgw.transports.tcp import address
address.is_loopback = lambda text: True  # this network is the test's own
from hilgw.cli.main import main
main()
"""


def run(command: str, prefix: Sequence[str] = (), *, check: bool = True) -> str:
    words = [*prefix, *command.split()]
    return subprocess.run(words, check=check, capture_output=True, text=True).stdout


class Far:
    """The other namespace."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == own:
            pass
        self.enter = ("nsenter", "-n", "-t", str(self._holder.pid))
        run("ip link set lo up")
        run("ip link add va type veth peer name vb")
        run(f"ip link set vb netns {self._holder.pid}")
        self.ends = [("va", HERE, ()), ("vb", THERE, self.enter)]
        for device, address, prefix in self.ends:
            run(f"ip addr add {address}/24 dev {device}", prefix)
            run(f"ip link set {device} up", prefix)
            run(f"tc qdisc add dev {device} root netem delay 20ms loss 2%", prefix, check=False)
        self._macs = [run(f"ip -o link show {device}", prefix) for device, _, prefix in self.ends]

    def set(self, *, is_cut: bool) -> None:
        """Cut: the frames of both ends go to a host that does not exist."""
        for (device, _, prefix), (_, other, _), text in zip(
            self.ends, reversed(self.ends), reversed(self._macs), strict=True
        ):
            mac = NO_HOST if is_cut else text.split("link/ether ")[1].split()[0]
            run(f"ip neigh replace {other} lladdr {mac} dev {device} nud permanent", prefix)

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
    far = Far()
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
            far.set(is_cut=True)
            await asyncio.sleep(cut_s)
            has_stop()
            received.clear()
            far.set(is_cut=False)
            back_s = asyncio.get_running_loop().time()
            await until(has_stop, timeout_s=60)
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
