"""`hilgw --config configs/uart.yaml`, and the faults of a microcontroller."""

from __future__ import annotations

import json
import os
import re
import select
import signal
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


def finish(gateway: Gateway) -> dict[str, Any]:
    """Stops it; its report, which must add up."""
    assert gateway.stop(signal.SIGINT) == 130
    report: dict[str, Any] = json.loads((gateway.cwd / "out.json").read_text())
    assert report["ledger"] == {"adds_up": True, "violations": []}
    return report


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
    with Gateway(
        tmp_path, mocked(reboots, "--set", QUIET_ROBOT, "--report", "out.json")
    ) as gateway:
        wait_until(lambda: len(re.findall(r'"000001 ', gateway.text())) >= 4, what="three reboots")
        wait_until(lambda: packets(gateway.text())[-1].startswith("000005"), what="frames after it")
        text = gateway.text()
        report = finish(gateway)
    numbers = [int(packet[:6]) for packet in packets(text)]
    for last, number in pairwise(numbers):
        assert number in (last + 1, 1), numbers  # each in its order, or the first after a reboot
    uart = report["stations"]["uart0"]
    reboots_seen = numbers.count(1) - (numbers[0] == 1)
    # The half frame and the banner are one bad frame, ended by what the firmware sends at first.
    assert reboots_seen <= sum(uart["dropped"].values()) <= reboots_seen + 2
    assert report["ports"]["uart0"]["opened"] == 1  # the port never went away


def test_a_flood_arrives_whole(tmp_path: Path) -> None:
    flood = "mode: silent, flood_on: go, count: 1000, size: 32, baudRate: 230400"
    more = ("adapters.uart0.baudRate=230400", "robots.rover.controller.payload=go", QUIET_ROBOT)
    overrides = [part for value in more for part in ("--set", value)]
    with Gateway(tmp_path, mocked(flood, *overrides, "--report", "out.json")) as gateway:
        wait_until(
            lambda: gateway.report()["stations"]["rover.rx"]["delivered"] == 1000,
            what="the last packet",
        )
        report = finish(gateway)
    uart, receiver = report["stations"]["uart0"], report["stations"]["rover.rx"]
    assert (uart["inbound"], uart["dropped"]) == (1000, {})
    assert (receiver["accepted"], receiver["delivered"]) == (1000, 1000)


def test_the_wrong_rate_gives_no_packet_but_counts_and_a_hint(tmp_path: Path) -> None:
    wrong = mocked("mode: noise, baudRate: 57600", "--set", "adapters.uart0.baudRate=9600")
    with Gateway(tmp_path, [*wrong, "--report", "out.json"]) as gateway:
        wait_until(
            lambda: "does the device use cobs-crc16, 9600 8N1?" in gateway.text(), what="the hint"
        )
        wait_until(lambda: gateway.text().count("... ") >= 3, what="more trouble than is shown")
        text = gateway.text()
        report = finish(gateway)
    assert packets(text) == []
    uart = report["stations"]["uart0"]
    assert uart["inbound"] == sum(uart["dropped"].values()) >= 8
    assert set(uart["dropped"]) <= {"bad_code", "bad_crc", "too_short", "too_long", "truncated"}
    trouble = re.findall(r"^ +([\d.]+) .*(?:refused|nothing but|more refusals)", text, re.MULTILINE)
    stamps = [float(stamp) for stamp in trouble]
    for stamp in stamps:
        assert sum(stamp <= other < stamp + 1 for other in stamps) < 10


def test_it_answers_garbage_at_the_wrong_rate(tmp_path: Path) -> None:
    wrong = mocked("replies: {ping: pong}, baudRate: 57600")
    fast = ["--set", "robots.rover.controller.period_ms=10"]
    with Gateway(tmp_path, [*wrong, *fast, "--report", "out.json"]) as gateway:
        wait_until(lambda: "all received frames are bad" in gateway.text(), what="the hint")
        report = finish(gateway)
    assert report["stations"]["rover.rx"]["delivered"] == 0
    assert sum(report["stations"]["uart0"]["dropped"].values()) >= 4


def pings_around_a_pause(tmp_path: Path, mock: str, *more: str) -> tuple[list[int], Any]:
    """The numbers echoed by a device that read nothing for a second, and the report."""
    every_100_ms = ["--set", "robots.rover.controller.period_ms=100", "--report", "out.json"]
    pause = f"mode: echo, stall_on: hold, stall_ms: 1000, {mock}"
    with Gateway(tmp_path, mocked(pause, *every_100_ms, *more)) as gateway:
        wait_until(lambda: packets(gateway.text()), what="an echo")
        assert run("send", "rover.tx", "hold", cwd=tmp_path).returncode == 0
        wait_until(lambda: '"hold"' in gateway.text(), what="the pause to begin")
        before = gateway.text().index('"hold"')
        sent_before = int(re.findall(r'rover\.tx .*"ping (\d+)"', gateway.text()[:before])[-1])
        over = f"ping {sent_before + 15}"
        wait_until(lambda: over in packets(gateway.text()), what="echoes after the pause")
        text = gateway.text()
        report = finish(gateway)
    # It did pause: what was sent behind "hold" came back, if at all, after much more was sent.
    echoes = re.finditer(r'uart0 .*"ping (\d+)"', text[before:])
    first = next(echo for echo in echoes if int(echo[1]) > sent_before)
    assert text[before:][: first.start()].count("rover.tx ") >= 8
    return [int(packet[5:]) for packet in packets(text)], report


def test_flow_control_bears_a_pause_of_the_firmware(tmp_path: Path) -> None:
    """Its 64 bytes of buffer hold two thirds of what comes meanwhile; the rest waits."""
    rtscts = ("--set", "adapters.uart0.rtscts=true")
    echoes, report = pings_around_a_pause(tmp_path, "buffer: 64", *rtscts)
    assert echoes == list(range(echoes[0], echoes[0] + len(echoes)))
    uart = report["stations"]["uart0"]
    assert (uart["dropped"], uart["refused"]) == ({}, {})


def test_without_flow_control_the_same_pause_loses_bytes(tmp_path: Path) -> None:
    echoes, report = pings_around_a_pause(tmp_path, "buffer: 24")
    lost = set(range(echoes[0], echoes[-1])) - set(echoes)
    assert 4 <= len(lost) <= 10
    assert report["stations"]["uart0"]["dropped"] == {}  # what did come back is whole


def test_a_device_that_stops_for_good_blocks_only_itself(tmp_path: Path) -> None:
    stall = mocked("mode: stall, buffer: 16", "--set", "adapters.uart0.rtscts=true")
    payload = "x" * 300 + "{n}"
    flood = (
        "robots.rover.controller.period_ms=5",
        f"robots.rover.controller.payload={payload}",
        "adapters.uart0.bufferSize=2000",
    )
    overrides = [part for value in flood for part in ("--set", value)]
    with Gateway(tmp_path, [*stall, *overrides, "--report", "out.json"]) as gateway:
        wait_until(lambda: "stalled: takes no bytes" in gateway.text(), what="the stall seen")
        report = finish(gateway)
    uart = report["stations"]["uart0"]
    assert uart["refused"].keys() <= {"overflow", "down"}
    assert uart["accepted"] > 0
