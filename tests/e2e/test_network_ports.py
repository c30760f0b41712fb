"""Ports of another machine: Debian's ser2net and socat serve them."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hilgw.testing.sim import wait_until
from tests.conftest import SEARCH
from tests.e2e.running import HOST, ROOT, Gateway, free_port, report_in
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
