"""`hilgw bridge` as a user runs it; socat, gpsd, avrdude and esptool over it, unmodified."""

import asyncio
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.framing import create
from hilgw.testing.sim import wait_until
from tests.bridge.rig import Device
from tests.bridge.served import RecordedPort, Served, client_of
from tests.e2e.running import (
    DEADLINE_S,
    HOST,
    Gateway,
    free_port,
    in_process,
    run,
    run_program,
    usage_error,
)
from tests.transports.network_servers import listens
from tests.transports.rig import ALL_VALUES


def record(device: Device, arrived: list[tuple[float, int]]) -> int:
    """Reads, and notes how much is there by now; the time is taken after the reading."""
    size = len(device.read()) + (arrived[-1][1] if arrived else 0)
    arrived.append((time.monotonic(), size))
    return size


class Bridge(Gateway):
    """A bridge in the background, ready, on a port it chose itself."""

    def __init__(
        self, device: Device, *more: str, listen: str = "127.0.0.1:0", ready: bool = True
    ) -> None:
        arguments = ["bridge", str(device.link), "--listen", listen, *more]
        super().__init__(device.link.parent, arguments, ready=ready)

    @property
    def address(self) -> tuple[str, int]:
        wait_until(lambda: "listening on" in self.text(), what="listening")
        match = re.search(r"listening on \[?([\d.:a-f]+?)\]?:(\d+)\n", self.text())
        assert match is not None, self.text()
        return match[1], int(match[2])

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, DEADLINE_S)
        host, port = connection.getsockname()[:2]
        peer = f"{host}:{port}"
        wait_until(lambda: f"client {peer} connected" in self.text().replace("[::1]", "::1"))
        return connection


def read_device(device: Device, size: int) -> bytes:
    data = bytearray()

    def enough() -> bool:
        data.extend(device.read())
        return len(data) >= size

    wait_until(enough)
    return bytes(data)


def received(connection: socket.socket, size: int) -> bytes:
    connection.settimeout(DEADLINE_S)
    data = b""
    while len(data) < size and (more := connection.recv(65536)):
        data += more
    return data


def report_of(tmp_path: Path) -> dict[str, Any]:
    return json.loads((tmp_path / "report.json").read_text())


def test_all_values_both_ways_and_a_report(device: Device, tmp_path: Path) -> None:
    report = str(tmp_path / "report.json")
    with Bridge(device, "--report", report, "--parity", "even", listen="[::1]:0") as bridge:
        assert bridge.address[0] == "::1"
        with bridge.connect() as client:
            client.sendall(ALL_VALUES)
            assert read_device(device, 256) == ALL_VALUES
            device.write(ALL_VALUES)
            assert received(client, 256) == ALL_VALUES
        assert bridge.stop(signal.SIGINT) == 130
    reported = report_of(tmp_path)
    assert reported["exit_code"] == 130
    assert reported["port"]["line"] == "115200 8E1"
    counts = {"accepted": 1, "refused": 0, "too_slow": 0}
    assert reported["clients"] == {"connected": 0, "paused": False, "slow": 0, **counts, "each": []}
    assert reported["to_serial"]["received_bytes"] == reported["to_serial"]["sent_bytes"] == 256
    assert reported["to_tcp"]["received_bytes"] == reported["to_tcp"]["sent_bytes"] == 256
    assert "up: 115200 8E1" in bridge.text()


def test_a_duration_ends_it_with_the_code_of_its_port(device: Device, tmp_path: Path) -> None:
    options = ("--listen", "127.0.0.1:0", "--duration", "300ms", "--ready-file", "ready")
    done = run("bridge", "./absent", *options, cwd=tmp_path)
    assert done.returncode == 4
    assert "listening on 127.0.0.1:" in done.stdout and "waiting" in done.stdout
    assert "./absent" in done.stderr
    assert not (tmp_path / "ready").exists()
    done = run("bridge", str(device.link), *options, "--report", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["listen"] in done.stderr and report["duration_s"] >= 0.3


def test_an_idle_client_is_disconnected(device: Device) -> None:
    with Bridge(device, "--idle", "0.2") as bridge, bridge.connect() as client:
        assert received(client, 1) == b""
        wait_until(lambda: "it was idle for 0.2 s" in bridge.text())


def test_the_line_and_the_writer_are_those_of_the_command(device: Device) -> None:
    line = "--baud 57600 --databits 7 --parity odd --stopbits 2 --rtscts --writer last"
    with Bridge(device, *line.split()) as bridge:
        assert "up: 57600 7O2" in bridge.text()
        settings = termios.tcgetattr(device.slave)  # a pty has no other length and parity
        assert settings[5] == termios.B57600
        assert settings[2] & termios.CSTOPB and settings[2] & termios.CRTSCTS
        assert not settings[3] & termios.ECHO
        with bridge.connect() as first, bridge.connect() as second:
            first.sendall(b"dropped")
            second.sendall(b"passed")
            assert read_device(device, 6) == b"passed"
            device.write(b"both")
            assert received(first, 4) == received(second, 4) == b"both"


STARTED = """
import sys
from hilgw.cli.main import main
code = main(sys.argv[1:])
print(code, *sorted({"pydantic", "yaml", "crcmod"} & set(sys.modules)))
"""


def test_it_starts_without_the_libraries_of_the_configuration(device: Device) -> None:
    options = ("--listen", "127.0.0.1:0", "--duration", "50ms", "-q")
    command = (sys.executable, "-c", STARTED, "bridge", str(device.link), *options)
    done = run_program(*command, cwd=device.link.parent)
    assert done.stdout == "0\n", done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "--listen"),
        (("--listen", "0.0.0.0:0"), "not a loopback address"),
        (("--listen", "[::]:0"), "not a loopback address"),
        (("--listen", "::1:5000"), "not HOST:PORT"),
        (("--listen", "127.0.0.1:65536"), "not HOST:PORT"),
        (("--listen", "a" * 300 + ":5000"), "unknown address"),
        (("--listen", "127.0.0.1:0", "--baud", "0"), "--baudRate 0"),
        (("--listen", "127.0.0.1:0", "--parity", "M"), "--parity"),
        (("--listen", "127.0.0.1:0", "--frame", "cops-crc16"), "did you mean 'cobs-crc16'?"),
        (("--listen", "127.0.0.1:0", "--frame", "gap:20ms"), "TCP does not preserve pauses"),
        (("--listen", "127.0.0.1:0", "--idle", "nan"), "not a number of seconds"),
        (("--listen", "127.0.0.1:0", "--rfc2217", "0.0.0.0:2217"), "not a loopback address"),
    ],
)
def test_options_that_are_refused(options: tuple[str, ...], words: str) -> None:
    assert words in usage_error("bridge", "tty", *options)


def rfc2217_url(bridge: Bridge) -> str:
    match = re.search(r"listening on (rfc2217://\S+)\n", bridge.text())
    assert match is not None, bridge.text()
    return match[1]


def check_the_line_and_the_bytes(device: Device, url: str, rate: int) -> None:
    """What a client sets reaches the tty, and all values pass both ways."""
    with client_of(url, baudrate=rate, stopbits=2) as port:
        wait_until(lambda: speed_of(device) == getattr(termios, f"B{rate}"), what="the rate")
        assert termios.tcgetattr(device.slave)[2] & termios.CSTOPB
        port.write(ALL_VALUES)
        assert read_device(device, 256) == ALL_VALUES
        device.write(ALL_VALUES)
        assert port.read(256) == ALL_VALUES
        port.dtr = False
        port.break_condition = True
        port.break_condition = False


def speed_of(device: Device) -> int:
    return termios.tcgetattr(device.slave)[5]


def test_an_rfc_2217_client_sets_the_line_until_it_leaves(device: Device, tmp_path: Path) -> None:
    report = str(tmp_path / "report.json")
    with Bridge(device, "--rfc2217", "127.0.0.1:0", "--report", report) as bridge:
        url = rfc2217_url(bridge)
        check_the_line_and_the_bytes(device, url, 9600)
        with client_of(url) as port:  # a pty is always ready
            assert (port.cts, port.dsr, port.ri, port.cd) == (True, True, False, True)
        wait_until(lambda: speed_of(device) == termios.B115200, what="the line of the command")
        assert bridge.stop(signal.SIGTERM) == 143
        assert "the line is set to 9600 8N2\n" in bridge.text()
        assert "a pseudo terminal has no DTR" in bridge.text()
    result = report_of(tmp_path)
    assert f"rfc2217://{result['rfc2217']}" in bridge.text()
    assert result["port"]["line"] == "115200 8N1"


@pytest.mark.judge("ser2net")
def test_ser2net_connects_to_it_and_passes_the_line_on(device: Device, tmp_path: Path) -> None:
    """pyserial, ser2net as server and as client, the bridge, the device.

    Modem states are left out: ser2net loses those that come before it has its own client.
    """
    with Bridge(device, "--rfc2217") as bridge:
        port = free_port()
        (tmp_path / "ser2net.yaml").write_text(
            "connection: &bridge\n"
            f"  accepter: telnet(rfc2217),tcp,{HOST},{port}\n"
            "  connector: telnet(rfc2217),tcp,"
            + rfc2217_url(bridge).removeprefix("rfc2217://").replace(":", ",")
            + "\n"
        )
        command = ["ser2net", "-n", "-d", "-u", "-c", str(tmp_path / "ser2net.yaml")]
        ser2net = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: listens(port), what="ser2net")
            check_the_line_and_the_bytes(device, f"rfc2217://{HOST}:{port}", 19200)
        finally:
            ser2net.terminate()
            ser2net.wait()


def test_quiet_prints_only_errors(device: Device) -> None:
    with Bridge(device, "-q") as bridge:
        assert bridge.stop(signal.SIGTERM) == 143
        assert bridge.text() == ""


def test_pacing_takes_the_time_of_the_line(device: Device) -> None:
    """1152 B at 115200 8N1 are 100 ms, and no byte may come before its time."""
    with Bridge(device, "--pace") as bridge, bridge.connect() as client:
        start = time.monotonic()
        client.sendall(bytes(1152))
        arrived: list[tuple[float, int]] = []
        wait_until(lambda: record(device, arrived) >= 1152)
        for when, count in arrived:
            assert when - start >= count * 10 / 115200


def test_a_taken_tcp_port_is_exit_code_4(device: Device, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        code, _, errors = in_process("bridge", str(device.link), "--listen", where, cwd=tmp_path)
    assert code == 4
    assert where in errors
    assert "Traceback" not in errors


@pytest.mark.judge("socat")
def test_two_bridges_and_socat_make_one_serial_line(tmp_path: Path) -> None:
    """Framed both ways: device, bridge, socat, bridge, device."""
    framing = create("cobs-crc16")
    frames = b"".join(framing.encode(bytes([n]) * (n + 1)) for n in range(200))
    ends = []
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        ends.append(Device(tmp_path / name / "tty"))
    with Bridge(ends[0], "--frame", "cobs-crc16") as left:
        with Bridge(ends[1], "--frame", "cobs-crc16") as right:
            addresses = [f"TCP:{b.address[0]}:{b.address[1]}" for b in (left, right)]
            socat = subprocess.Popen(["socat", *addresses])
            wait_until(lambda: " connected" in left.text() and " connected" in right.text())
            ends[0].write(frames[:4000])
            ends[1].write(frames[:3000])
            whole = [frames[: frames.rindex(b"\0", 0, size) + 1] for size in (4000, 3000)]
            assert read_device(ends[1], len(whole[0])) == whole[0]
            assert read_device(ends[0], len(whole[1])) == whole[1]
            socat.terminate()
            socat.wait()
    for end in ends:
        end.close()


def test_a_signal_while_the_port_is_absent_ends_it_at_once(device: Device) -> None:
    device.unplug()
    bridge = Bridge(device, ready=False)
    assert bridge.address
    assert bridge.stop(signal.SIGINT) == 130
    device.plug()


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
        done = run_program(*words, cwd=tmp_path)
    assert "0x1e950f" in done.stderr and done.returncode == 0, done.stderr


SYNC, READ_REG = 0x08, 0x0A
SYNC_ANSWERS = 8
TIMEOUT_S = 60
# pyserial's client waits for answers in steps of 50 ms, four times for each command of esptool.
HASTY = """
import runpy, time
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.002))
runpy.run_module("esptool", run_name="__main__")
"""


class Esp8266(RecordedPort):
    """The ROM of an ESP8266 on the port: it answers after a reset with GPIO0 low.

    The board's wires: DTR on pulls GPIO0 low, RTS on pulls EN low, which is the reset.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, bool] = {"dtr": False, "rts": False}
        self.programs: list[str] = []  # what ran after each reset

    def set_modem_line(self, name: str, on: bool) -> None:
        super().set_modem_line(name, on)
        if name == "rts" and self.lines["rts"] and not on:
            self.programs.append("boot loader" if self.lines["dtr"] else "program")
        self.lines[name] = on

    def write(self, data: bytes) -> None:
        self.calls.append(("data", data))
        if not self.programs or self.programs[-1] != "boot loader":
            return
        command, _, _ = data.strip(b"\xc0").partition(b"\xc0")
        count = SYNC_ANSWERS if command[1] == SYNC else 1
        answer = b"\xc0" + struct.pack("<BBHIH", 1, command[1], 2, 0x07122007, 0) + b"\xc0"
        asyncio.get_running_loop().call_soon(self.send, answer * count)


def esptool(url: str, *arguments: str) -> Any:
    command = [sys.executable, "-c", HASTY, "--chip", "esp8266", "--port", url, "--no-stub"]
    return subprocess.run(
        [*command, "--connect-attempts", "1", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


@pytest.mark.process
def test_it_resets_into_the_boot_loader_reads_and_starts_the_program() -> None:
    port = Esp8266()
    with Served(port) as bridge:
        done = esptool(bridge.url, "read_mem", "0x3ff00050")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0x3ff00050 = 0x07122007" in done.stdout
    assert port.programs == ["boot loader", "program"]
    written = [call[1] for call in port.calls if call[0] == "data"]
    assert next(data[2] for data in written) == SYNC
    assert any(data[2] == READ_REG for data in written)
    lines = [call[1] for call in port.calls if call[0] == "line"]
    assert "115200 8N1" in lines
