#!/usr/bin/env python3
"""Fills virtual ports in both directions, and checks that they lose, double or reorder nothing.

The devices run in another process, behind virtual ports at the rate of real lines; this process
opens each port as the gateway does. Every frame has a number that determines its content, so the
check covers all bytes. Exit 1 when a frame is missing, doubled, out of order or altered.

    tools/soak [--seconds 60] [--ports 16] [--baud 115200] [--report FILE]
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from numbered import End

from hilgw.engine.event_loop.direct_loop import DirectLoop
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.virtual.pty import VirtualPort

AHEAD_S = 0.5  # a device has bytes for this time ready
TICK_S = 0.1
QUIET_S = 10.0  # a frame that has not come after this silence is lost
MOST_WAITING_BYTES = 4096


class HostEnd(End):
    """The gateway's end: writes as much as the port takes."""

    def __init__(self, line: int, port: Transport) -> None:
        super().__init__(2 * line, 2 * line + 1)
        self.sending = False
        self.port = port
        self.port.on_drained = self.fill
        self.port.start(self.received, self._lost)

    def fill(self) -> None:
        while self.sending and self.port.pending < MOST_WAITING_BYTES:
            self.port.write(self.next_frame())

    def _lost(self, error: Exception) -> None:
        raise SystemExit(f"the port was lost: {error}")


class DeviceEnd(End):
    """The device's end: keeps its line full, without a larger backlog."""

    def __init__(self, line: int, port: VirtualPort, baud_rate: int) -> None:
        super().__init__(2 * line + 1, 2 * line)
        self.port = port
        self._ahead_bytes = int(AHEAD_S * baud_rate / 10)
        port.start(lambda data, host_baud: self.received(data))

    def fill(self) -> None:
        while self.port.pending < self._ahead_bytes:
            self.port.write(self.next_frame())


async def everything_came(ends: list[Any], sent: list[int]) -> None:
    """Return when all frames have come, or none came for QUIET_S."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        count = sum(end.checker.received for end in ends)
        if count >= sum(sent):
            return
        if count != last:
            last, since = count, time.monotonic()
        await asyncio.sleep(TICK_S)


# --- the devices, in a process of their own -------------------------------------------------------


async def run_devices(ports: int, seconds: float, baud_rate: int) -> None:
    """Print the ports, wait for a line and send.

    Then read the number of frames that the gateway's end has sent.
    """
    timer = Timer(asyncio.get_running_loop())
    ends = []
    for line in range(ports):
        ends.append(DeviceEnd(line, VirtualPort(timer, baud_rate=baud_rate), baud_rate))
    words = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(words)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    print(json.dumps([end.port.path for end in ends]), flush=True)
    await words.readline()
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        for end in ends:
            end.fill()
        await asyncio.sleep(TICK_S)
    print(json.dumps([end.sent for end in ends]), flush=True)
    sent: list[int] = json.loads(await words.readline())
    await everything_came(ends, sent)
    results = [end.result(count) for end, count in zip(ends, sent, strict=True)]
    overrun = sum(end.port.overrun for end in ends)
    print(json.dumps({"ends": results, "overrun_bytes": overrun, "cpu_s": cpu_s()}), flush=True)
    await words.readline()  # the ports stay until the gateway's end has finished too
    for end in ends:
        end.port.close()
    timer.close()


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


# --- the gateway's end ---------------------------------------------------------------------------


async def run_host(ports: int, seconds: float, baud_rate: int) -> dict[str, Any]:
    timer = Timer(asyncio.get_running_loop())
    devices = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--devices", "--ports", str(ports)),
        *("--seconds", str(seconds), "--baud", str(baud_rate)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=1 << 20,
    )
    assert devices.stdin is not None
    assert devices.stdout is not None

    async def receive() -> Any:
        line = await devices.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise SystemExit("the devices' process has ended")
        return json.loads(line)

    def send(message: Any) -> None:
        devices.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]

    line_settings = LineSettings(baudRate=baud_rate)
    ends = [
        HostEnd(line, await open_serial(path, line_settings, timer))
        for line, path in enumerate(await receive())
    ]
    send("go")
    started, cpu_before = time.monotonic(), cpu_s()
    for end in ends:
        end.sending = True
        end.fill()
    await asyncio.sleep(seconds)
    cpu_share = (cpu_s() - cpu_before) / (time.monotonic() - started)
    for end in ends:
        end.sending = False
    send([end.sent for end in ends])
    sent = await receive()
    await everything_came(ends, sent)
    results = [end.result(count) for end, count in zip(ends, sent, strict=True)]
    devices_result = await receive()
    took_s = time.monotonic() - started
    for end in ends:
        end.port.close()
    send("bye")
    await devices.wait()
    timer.close()
    return summary(results, devices_result, seconds, took_s, baud_rate, cpu_share)


def summary(
    host: list[dict[str, int]],
    devices: dict[str, Any],
    seconds: float,
    took_s: float,
    baud_rate: int,
    cpu_share: float,
) -> dict[str, Any]:
    """Summarize both directions, all lines together.

    `full` is the share of the time in which a line had bytes to carry.
    """
    report: dict[str, Any] = {
        "ports": len(host),
        "seconds": seconds,
        "baud_rate": baud_rate,
        "gateway_cpu_percent": round(100 * cpu_share, 1),
        "devices_cpu_percent": round(100 * devices["cpu_s"] / took_s, 1),
        "overrun_bytes": devices["overrun_bytes"],
    }
    for name, senders, receivers in (
        ("to_devices", host, devices["ends"]),
        ("to_gateway", devices["ends"], host),
    ):
        total = {
            key: sum(each[key] for each in receivers)
            for key in ("received", "lost", "doubled", "reordered", "altered", "bad_frames")
        }
        carried = sum(each["sent_bytes"] for each in senders) * 10 / baud_rate
        report[name] = {
            "sent": sum(each["sent"] for each in senders),
            **total,
            "full": round(min(1.0, carried / (seconds * len(host))), 3),
        }
    report["good"] = not devices["overrun_bytes"] and all(
        report[name]["received"] == report[name]["sent"] > 0
        and not any(report[name][key] for key in ("lost", "doubled", "reordered", "altered"))
        and not report[name]["bad_frames"]
        for name in ("to_devices", "to_gateway")
    )
    return report


def print_report(report: dict[str, Any]) -> None:
    print(
        f"{report['ports']} ports at {report['baud_rate']} baud for {report['seconds']:g} s, "
        f"gateway's end {report['gateway_cpu_percent']} % of a core, "
        f"devices {report['devices_cpu_percent']} %"
    )
    for name in ("to_devices", "to_gateway"):
        counts = report[name]
        print(
            f"  {name.replace('_', ' ')}: {counts['received']} of {counts['sent']} frames, lines "
            f"{100 * counts['full']:.0f} % full; lost {counts['lost']}, doubled "
            f"{counts['doubled']}, out of order {counts['reordered']}, altered "
            f"{counts['altered']}, bad {counts['bad_frames']}"
        )
    if report["overrun_bytes"]:
        print(f"  {report['overrun_bytes']} bytes of the devices lost: the gateway read too slowly")
    print("nothing lost" if report["good"] else "NOT GOOD")


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Check the options before the run, so that no run ends without its report."""
    for name, low, high in (("seconds", 1, 86_400), ("ports", 1, 64), ("baud", 9600, 921_600)):
        value = getattr(args, name)
        if not low <= value <= high:  # refuses NaN too
            parser.error(f"--{name} {value:.10g}: from {low} to {high}")
    if args.report and not Path(args.report).absolute().parent.is_dir():
        parser.error(f"--report {args.report}: no such folder")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/soak", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="default 60, at least 1")
    parser.add_argument("--ports", type=int, default=16, help="1 to 64, default 16")
    parser.add_argument("--baud", type=int, default=115200, help="9600 to 921600, default 115200")
    parser.add_argument("--report", metavar="FILE", help="also write the figures as JSON")
    parser.add_argument("--devices", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    check(parser, args)
    with asyncio.Runner(loop_factory=DirectLoop) as runner:
        if args.devices:
            runner.run(run_devices(args.ports, args.seconds, args.baud))
            return 0
        report = runner.run(run_host(args.ports, args.seconds, args.baud))
    print_report(report)
    if args.report:
        Path(args.report).write_text(json.dumps(report, indent=2) + "\n")
    return 0 if report["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
