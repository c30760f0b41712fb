"""`hilgw --config configs/uart.yaml`, and the faults of a microcontroller."""

import json
import os
import re
import select
import termios
import time
import tty
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from hilgw.testing.sim import wait_until
from tests.e2e.running import DEADLINE_S, ROOT, Gateway, run

UART = str(ROOT / "configs" / "uart.yaml")
QUIET_ROBOT = "robots.rover.controller.period_ms=3600000"
FROM_UART = re.compile(r'^ +[\d.]+  uart0 +ch 5 +"(.*)" \d+ B', re.MULTILINE)


def mocked(parameters: str, *more: str) -> list[str]:
    """Arguments for a gateway whose microcontroller has these parameters."""
    return ["--config", UART, "--set", f"adapters.uart0.mock={{{parameters}}}", *more]


def simulated(
    tmp_path: Path, mock: str, *settings: str, duration: str = "4s"
) -> tuple[str, dict[str, Any]]:
    """What the terminal shows of that much simulated time, and the report."""
    overrides = [part for value in settings for part in ("--set", value)]
    lasting = ("--speed", "max", "--duration", duration, "--report", "out.json")
    done = run(*mocked(mock, *overrides, *lasting), cwd=tmp_path)
    report: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    assert report["ledger"] == {"adds_up": True, "violations": []}
    return done.stdout, report


def packets(text: str) -> list[str]:
    """The microcontroller's packets, as the terminal shows them."""
    return FROM_UART.findall(text)


def test_all_256_values_come_back(tmp_path: Path) -> None:
    with Gateway(tmp_path, mocked("mode: echo", "--set", QUIET_ROBOT)) as gateway:
        for first in range(0, 256, 64):
            part = bytes(range(first, first + 64)).hex()
            done = run("send", "rover.tx", "--hex", part, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        wait_until(lambda: len(packets(gateway.text())) == 5, what="the echoes")
        shown = "".join(packets(gateway.text())[1:])
    escaped = re.compile(r"\\x([0-9a-f]{2})|(.)")
    values = [int(a, 16) if a else ord(b) for a, b in escaped.findall(shown)]
    assert values == list(range(256))


def test_any_program_can_open_the_mock(tmp_path: Path) -> None:
    """Without a gateway: a plain client on the link, the bytes as they are."""
    settings = ["--set", "mode=echo", "--set", "framing=raw", "--set", "baudRate=230400"]
    with Gateway(tmp_path, ["mock", "uart_node", "--link", "./u0", *settings]) as mock:
        assert "microcontroller, mode echo, raw, 230400 baud" in mock.text()
        port = os.open(tmp_path / "u0", os.O_RDWR | os.O_NOCTTY)
        try:
            tty.setraw(port)
            attributes = termios.tcgetattr(port)
            attributes[4] = attributes[5] = termios.B230400
            termios.tcsetattr(port, termios.TCSANOW, attributes)
            every = bytes(range(256)) * 4
            os.write(port, every)
            assert read(port, len(every)) == every
            attributes[4] = attributes[5] = termios.B9600
            termios.tcsetattr(port, termios.TCSANOW, attributes)
            os.write(port, every)
            assert Counter(read(port, len(every))) != Counter(every)
        finally:
            os.close(port)


def read(port: int, size: int) -> bytes:
    end = time.monotonic() + DEADLINE_S
    data = b""
    while len(data) < size:
        assert select.select([port], [], [], max(0.0, end - time.monotonic()))[0], f"only {data!r}"
        data += os.read(port, size - len(data))
    return data


def test_reboots_in_mid_stream_cost_no_good_frame(tmp_path: Path) -> None:
    reboots = "mode: flood, rate: 25, reboot_every_ms: 700, boot_ms: 60"
    text, report = simulated(tmp_path, reboots, QUIET_ROBOT)
    numbers = [int(packet[:6]) for packet in packets(text)]
    for last, number in pairwise(numbers):
        assert number in (last + 1, 1), numbers  # each in its order, or the first after a reboot
    reboots_seen = numbers.count(1) - (numbers[0] == 1)
    assert reboots_seen >= 3
    # The half frame and the banner are one bad frame, ended by what the firmware sends at first.
    dropped = report["stations"]["uart0"]["dropped"]
    assert reboots_seen <= sum(dropped.values()) <= reboots_seen + 2
    assert report["ports"]["uart0"]["opened"] == 1  # the port never went away


def test_a_flood_arrives_whole(tmp_path: Path) -> None:
    flood = "mode: silent, flood_on: go, count: 1000, size: 32, baudRate: 230400"
    more = ("adapters.uart0.baudRate=230400", "robots.rover.controller.payload=go", QUIET_ROBOT)
    _, report = simulated(tmp_path, flood, *more)
    uart, receiver = report["stations"]["uart0"], report["stations"]["rover.rx"]
    assert (uart["inbound"], uart["dropped"]) == (1000, {})
    assert (receiver["accepted"], receiver["delivered"]) == (1000, 1000)


def test_the_wrong_rate_gives_no_packet_but_counts_and_a_hint(tmp_path: Path) -> None:
    wrong = "adapters.uart0.baudRate=9600"
    # The bytes fill the line: they may be a frame of the largest size until that is over.
    text, report = simulated(tmp_path, "mode: noise, baudRate: 57600", wrong, duration="10s")
    assert text.count("no frame yet; begins") == 1
    assert packets(text) == []
    uart = report["stations"]["uart0"]
    assert uart["inbound"] == sum(uart["dropped"].values()) >= 8
    assert set(uart["dropped"]) <= {"bad_code", "bad_crc", "too_short", "too_long", "truncated"}
    trouble = re.findall(r"^ +([\d.]+) .*(?:refused|nothing but|more refusals)", text, re.MULTILINE)
    stamps = [float(stamp) for stamp in trouble]
    for stamp in stamps:
        assert sum(stamp <= other < stamp + 1 for other in stamps) < 10


def pings_around_a_pause(tmp_path: Path, mock: str, *more: str) -> tuple[list[int], Any]:
    """The numbers echoed by a device that reads nothing for a second after ping 5; the report."""
    pause = f"mode: echo, stall_on: ping 5, stall_ms: 1000, {mock}"
    text, report = simulated(tmp_path, pause, "robots.rover.controller.period_ms=100", *more)
    # It did pause: the first echo after ping 5 came when ping 15 had been sent.
    assert re.search(r'"ping 5"(?:(?! uart0 ).)*?"ping 15".*? uart0 ', text, re.DOTALL), text
    return [int(packet[5:]) for packet in packets(text)], report["stations"]["uart0"]


def test_flow_control_bears_a_pause_of_the_firmware(tmp_path: Path) -> None:
    """Its 64 bytes of buffer hold two thirds of what comes meanwhile; the rest waits."""
    rtscts = "adapters.uart0.rtscts=true"
    echoes, uart = pings_around_a_pause(tmp_path, "buffer: 64", rtscts)
    assert echoes == [*range(1, 5), *range(6, 41)]  # ping 5 is the one that stops it
    assert (uart["dropped"], uart["refused"]) == ({}, {})


def test_without_flow_control_the_same_pause_loses_bytes(tmp_path: Path) -> None:
    echoes, uart = pings_around_a_pause(tmp_path, "buffer: 24")
    assert echoes == [*range(1, 5), 6, 7, *range(16, 41)]  # the buffer holds two packets
    assert uart["dropped"] == {}  # what did come back is whole
