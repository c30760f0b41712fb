"""Ports of another machine: Debian's ser2net and socat serve them."""

import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.conftest import SEARCH
from tests.e2e.running import DEADLINE_S, HOST, ROOT, Gateway, free_port, report_in, run
from tests.transports.network_servers import SER2NET

UART = str(ROOT / "configs" / "uart.yaml")
RFC2217 = "telnet(rfc2217),tcp"


@contextmanager
def serving(folder: Path, kind: str, device: str, port: int) -> Iterator[None]:
    if kind == "socket":
        listen = f"TCP4-LISTEN:{port},bind={HOST},reuseaddr,nodelay"
        command = ["socat", listen, f"{device},raw,echo=0,b115200"]
    else:
        config = folder / "ser2net.yaml"
        config.write_text(SER2NET.format(accepter=RFC2217, host=HOST, tcp=port, device=device))
        program = shutil.which("ser2net", path=SEARCH) or "ser2net"
        command = [program, "-n", "-c", str(config), "-P", str(folder / "pid")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def gone(gateway: Gateway) -> int:
    text = gateway.text()
    return text.count("reconnect") + text.count("waiting")


@pytest.mark.judge("ser2net", "socat")
@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_robot_sends_through_a_late_port_server_that_stops(tmp_path: Path, kind: str) -> None:
    port = free_port()
    bench = tmp_path / "bench"
    bench.mkdir()
    mock = ["mock", "uart_node", "--link", "./u0", "--set", "replies={ping: pong}"]
    url = f"{kind}://{HOST}:{port}"
    allowed = ["--set", "network_ports=true", "--set", f"adapters.uart0.port={url}"]
    gateway = ["--config", UART, "--backend", "real", "--report", "out.json", *allowed]
    with Gateway(bench, [*mock, "--set", "framing=cobs-crc16"]):
        device = str(bench / "u0")
        with Gateway(tmp_path, gateway, ready=False) as running:
            wait_until(lambda: "ping 1" in running.text(), what="the robot")
            for served in (1, 2):
                downs = gone(running)
                with serving(bench, kind, device, port):
                    seen = running.text().count('"pong')
                    wait_until(
                        lambda n=seen: running.text().count('"pong') > n, f"answers, {served}"
                    )
                wait_until(lambda n=downs: gone(running) > n, what="the end of the server")
            assert running.stop(signal.SIGINT) == 130
    assert report_in(tmp_path)["ports"]["uart0"]["ups"] == 2


@contextmanager
def answering(first: bytes) -> Iterator[tuple[str, bytearray]]:
    """A server that sends this to each client; gives its address, and what it receives."""
    listening = socket.create_server((HOST, 0))
    received = bytearray()

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(first)
            while data := connection.recv(1000):
                received.extend(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                serve(listening.accept()[0])

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"{HOST}:{listening.getsockname()[1]}", received
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(DEADLINE_S)


@pytest.mark.process
@pytest.mark.parametrize(
    ("config", "port"),
    [("xbee.yaml", "adapters.xbee0.port"), ("create2.yaml", "robots.create.body.port")],
)
def test_no_byte_leaves_to_a_telnet_server(tmp_path: Path, config: str, port: str) -> None:
    with answering(b"\xff\xfd\x2c\xff\xfb\x03") as (address, received):
        given = ["--set", "network_ports=true", "--set", f"{port}=socket://{address}"]
        arguments = ["--config", str(ROOT / "configs" / config), "--backend", "real", *given]
        done = run(*arguments, "--duration", "2s", cwd=tmp_path)
    assert done.returncode == 4 and received == b""
    assert "use rfc2217://, or its raw address" in done.stdout + done.stderr


class Middlebox:
    """Passes bytes on to a port. `break_now`: the far end of what is open is gone, and its near end
    stays: it acknowledges all bytes, and swallows them. swallows: the same for what is opened."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server((HOST, 0))
        self.port = self._listening.getsockname()[1]
        self.swallows = False
        self.accepted = 0
        self._pairs: list[tuple[socket.socket, socket.socket | None]] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = None if self.swallows else socket.create_connection((HOST, self._target))
                self.accepted += 1
                self._pairs.append((near, far))
                for ends in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._pass, args=ends))
                    self._threads[-1].start()

    def _pass(self, source: socket.socket | None, sink: socket.socket | None) -> None:
        with suppress(OSError):
            while source is not None and (data := source.recv(65536)):
                with suppress(OSError):
                    if sink is not None:
                        sink.sendall(data)

    def break_now(self) -> None:
        for _, far in self._pairs:
            if far is not None:
                with suppress(OSError):
                    far.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.break_now()
        for near, _ in self._pairs:
            with suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(DEADLINE_S)
        for end in (end for pair in self._pairs for end in pair if end is not None):
            end.close()


@pytest.mark.process
@pytest.mark.wall_clock("the silence of a robot, and of a connection without answers")
def test_a_middlebox_that_swallows_all_costs_one_connection(tmp_path: Path) -> None:
    """TCP sees no loss. The silence of the robot does, and it is stopped on another connection;
    so is one that answers nothing from its first byte on."""
    port, link = free_port(), str(tmp_path / "c2")
    folders = [tmp_path / "mock", tmp_path / "bridge"]
    for folder in folders:
        folder.mkdir()
    bridge = ["bridge", link, "--baud", "115200", "--listen", f"{HOST}:{port}"]
    with Gateway(folders[0], ["mock", "create2", "--link", link]), Gateway(folders[1], bridge):
        box = Middlebox(port)
        try:
            url = f"socket://{HOST}:{box.port}"
            given = ["--set", "network_ports=true", "--set", f"robots.create.body.port={url}"]
            config = ["--config", str(ROOT / "configs" / "create2.yaml"), "--backend", "real"]
            with Gateway(tmp_path, [*config, *given]) as running:
                wait_until(lambda: ups(running) == 1, what="the robot")
                box.break_now()
                wait_until(lambda: ups(running) == 2, what="it on another connection")
                assert "silent for 0.5 s" in running.text()
                box.swallows = True
                box.break_now()
                wait_until(lambda: "no answer on this" in running.text(), what="silence")
                box.swallows = False
                wait_until(lambda: ups(running) == 3, what="it on a third one")
        finally:
            box.close()


def ups(gateway: Gateway) -> int:
    return gateway.text().count("up: Create 2")
