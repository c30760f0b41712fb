"""Programs of others over the bridge: gpsd reads a receiver, avrdude a boot loader."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.bridge.rig import Device
from tests.e2e.running import free_port, run_program
from tests.e2e.test_bridge import Bridge

GGA = b"GPGGA,092204.999,4250.5589,S,14718.5084,E,1,04,24.4,19.7,M,,,,0000"
RMC = b"GPRMC,092204.999,A,4250.5589,S,14718.5084,E,0.00,89.68,211126,,,A"


@contextmanager
def running(work: Callable[[], object]) -> Iterator[None]:
    """Does the work again and again in a thread."""
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            work()
            done.wait(0.01)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def sentence(body: bytes) -> bytes:
    check = 0
    for byte in body:
        check ^= byte
    return b"$%s*%02X\r\n" % (body, check)


@contextmanager
def gpsd_of(bridge: Bridge, folder: Path) -> Iterator[int]:
    """Start gpsd, again where it ends as it starts; its port."""
    host, port = bridge.address
    own = 0
    gpsd: subprocess.Popen[bytes] | None = None
    with ExitStack() as stack:
        log = stack.enter_context((folder / "gpsd.txt").open("a"))
        options = [*("-N", "-n", "-b", "-D", "2"), f"tcp://{host}:{port}"]

        def starts() -> bool:
            nonlocal own, gpsd
            if gpsd is None or gpsd.poll() is not None:
                own = free_port()
                command = ["gpsd", "-S", str(own), *options]
                gpsd = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
                stack.callback(gpsd.terminate)
            return listens(own)

        wait_until(starts, what=log.name)
        yield own


@pytest.mark.judge("gpsd", "gpspipe")
def test_gpsd_has_a_fix_of_a_receiver_over_the_bridge(device: Device, tmp_path: Path) -> None:
    with Bridge(device) as bridge, gpsd_of(bridge, tmp_path) as port:
        wait_until(lambda: " connected" in bridge.text(), what="gpsd")
        with running(lambda: device.write(sentence(RMC) + sentence(GGA))):
            command = ("gpspipe", "-w", f"127.0.0.1:{port}")
            pipe = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            fixes = (line for line in pipe.stdout if '"TPV"' in line and '"lat"' in line)
            assert '"lat":-42.842648' in next(fixes)
            pipe.terminate()
            pipe.communicate()


class BootLoader:
    """Of an Arduino Uno: STK500 version 1 (Atmel AVR061)."""

    SIGNATURE = b"\x1e\x95\x0f"
    SIZES = {0x30: 2, 0x41: 3, 0x42: 22, 0x45: 7, 0x50: 2, 0x51: 2, 0x75: 2, 0x56: 6, 0x55: 4}

    def __init__(self, device: Device) -> None:
        self._device = device
        self._input = bytearray()

    def work(self) -> None:
        self._input += self._device.read()
        while self._input:
            size = self.SIZES.get(self._input[0], 1)
            if len(self._input) < size:
                return
            command = bytes(self._input[:size])
            del self._input[:size]
            value = {0x41: b"\x03", 0x75: self.SIGNATURE, 0x56: b"\0"}.get(command[0], b"")
            self._device.write(b"\x14" + value + b"\x10")


@pytest.mark.judge("avrdude")
def test_avrdude_reads_the_signature_over_the_bridge(device: Device, tmp_path: Path) -> None:
    with Bridge(device) as bridge, running(BootLoader(device).work):
        host, port = bridge.address
        words = ("avrdude", "-c", "arduino", "-p", "m328p", "-P", f"net:{host}:{port}")
        found = run_program(*words, cwd=tmp_path)
    assert "0x1e950f" in found.stderr and found.returncode == 0, found.stderr
