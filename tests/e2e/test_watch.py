"""`hilgw watch` beside a running gateway."""

import json
import signal
import subprocess
from pathlib import Path

from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import COMMAND, ROOT, Gateway, environment
from tests.e2e.test_first_check import Terminal

UART = str(ROOT / "configs" / "uart.yaml")


def watch(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "watch", *options],
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_shows_packets_and_bytes_until_the_gateway_ends(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", UART]) as gateway:
        words, data = watch(tmp_path), watch(tmp_path, "uart0", "--bytes", "--json")
        assert words.stdout is not None and data.stdout is not None
        while "-> uart0" not in (line := words.stdout.readline()):
            assert line
        assert "rover.tx" in line and "ch 5 " in line
        event = json.loads(data.stdout.readline())
        assert (event["event"], event["part"]) == ("bytes", "uart0")
        gateway.stop()
        for each in (words, data):
            assert each.wait(DEADLINE_S) == 0
            each.communicate()


def test_on_a_terminal_it_is_a_table_until_q(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", UART]), Terminal(tmp_path, "watch") as terminal:
        terminal.see("\x1b[?1049h")
        terminal.see("uart0 ")
        terminal.see("EVENTS")
        terminal.see("-> uart0")
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.text().endswith("\x1b[?1049l")


def test_ctrl_c_ends_it_and_not_the_gateway(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", UART]) as gateway:
        words = watch(tmp_path, "rover.tx")
        assert words.stdout is not None
        assert words.stdout.readline()
        words.send_signal(signal.SIGINT)
        _, errors = words.communicate(timeout=DEADLINE_S)
        assert words.returncode == 130
        assert "Traceback" not in errors
        assert gateway.process.poll() is None
