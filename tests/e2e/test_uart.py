"""`hilgw --config configs/uart.yaml`, and the faults of a microcontroller."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.e2e.running import ROOT, report_in, run

QUIET_ROBOT = "robots.rover.controller.period_ms=3600000"
UART = str(ROOT / "configs" / "uart.yaml")
FROM_UART = re.compile(r'^ +[\d.]+  uart0 +ch 5 +"(.*)" \d+ B', re.MULTILINE)


def simulated(
    tmp_path: Path, mock: str, *settings: str, duration: str = "4s"
) -> tuple[str, dict[str, Any]]:
    """What the terminal shows of that much simulated time, and the report."""
    overrides = [part for value in settings for part in ("--set", value)]
    lasting = ("--speed", "max", "--duration", duration, "--report", "out.json")
    mocked = f"adapters.uart0.mock={{{mock}}}"
    done = run("--config", UART, "--set", mocked, *overrides, *lasting, cwd=tmp_path)
    return done.stdout, report_in(tmp_path)


def packets(text: str) -> list[str]:
    return FROM_UART.findall(text)


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


def test_flow_control_bears_a_pause_of_the_firmware(tmp_path: Path) -> None:
    """It reads nothing for a second after ping 5. Its 64 bytes of buffer hold two thirds of what
    comes meanwhile; the rest waits."""
    pause = "mode: echo, stall_on: ping 5, stall_ms: 1000, buffer: 64"
    settings = ("robots.rover.controller.period_ms=100", "adapters.uart0.rtscts=true")
    text, report = simulated(tmp_path, pause, *settings)
    # It did pause: the first echo after ping 5 came when ping 15 had been sent.
    assert re.search(r'"ping 5"(?:(?! uart0 ).)*?"ping 15".*? uart0 ', text, re.DOTALL), text
    echoes, uart = [int(packet[5:]) for packet in packets(text)], report["stations"]["uart0"]
    assert echoes == [*range(1, 5), *range(6, 41)]  # ping 5 is the one that stops it
    assert (uart["dropped"], uart["refused"]) == ({}, {})


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
