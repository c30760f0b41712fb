#!/usr/bin/env python3
"""CPU time per packet received from an XBee: compares digi-xbee with hilgw.

An XBee 3 mock behind a pty answers the requests of each when it opens the port. Then it sends
numbered 32-byte packets (API frames 0x90), one at a time or back to back,
* to a packet callback of digi-xbee's XBeeDevice,
* to hilgw's port and session, up to the packet with its sender: as much as digi-xbee does,
* to a whole gateway: over the medium into a robot's Receiver, read by its controller.
The figure is the CPU time of the process until the last packet has arrived. Rounds take turns.

    python3 tools/bench/xbee.py [--packets 1000] [--rounds 3]

Exit 1 when port and session, back to back, need more than a 40th of digi-xbee's time, or when a
packet is lost.
"""

import argparse
import asyncio
import os
import select
import statistics
import subprocess
import sys
import time
import tty
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from table import Row, show_all

GOAL = 40.0
BACK_TO_BACK = "back to back"
PATTERNS = {"one at a time": 1, BACK_TO_BACK: 20}  # frames in one write
PAUSE_S = 0.002  # from one write to the next
SOURCE = bytes.fromhex("0013A20041424344")
DEADLINE_S = 60.0
BAUD_RATE = 115200

CONFIG = """
version: 1
backend: real
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: radio, channel: 12}}
      rx: {{node: Receiver, type: radio, channel: 12, bufferSize: -1, sampling_period_ms: 32}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 3600000, payload: "ping"}}
adapters:
  xbee0:
    {{kind: xbee, port: {port}, baudRate: {baud}, channel: 12, pan_id: 0x3332, api_mode: 1,
     air: lab, position: [1, 0, 0]}}
airs:
  lab: {{seed: 1}}
"""


def frame(number: int) -> bytes:
    """Return a receive packet (0x90) with 32 bytes of payload, all different."""
    data = b"\x90" + SOURCE + b"\xff\xfe\x01" + number.to_bytes(4, "big") * 8
    return b"\x7e" + len(data).to_bytes(2, "big") + data + bytes([0xFF - sum(data) % 256])


# --- the receivers -------------------------------------------------------------------------


def receive_with_digi_xbee(port: str, packets: int) -> None:
    import threading

    from digi.xbee.devices import XBeeDevice

    device = XBeeDevice(port, BAUD_RATE)
    device.set_sync_ops_timeout(20)
    device.open()
    all_came = threading.Event()
    count = 0

    def received(packet: Any) -> None:
        nonlocal count
        count += 1
        if count == packets:
            all_came.set()

    device.add_data_received_callback(received)
    print("ready", flush=True)
    all_came.wait(DEADLINE_S)
    print(count, flush=True)
    sys.stdin.readline()
    os._exit(0)


def receive_with_gateway(port: str, packets: int) -> None:
    from hilgw.engine.event_loop.direct_loop import DirectLoop

    _receive_with_gateway(port, packets, DirectLoop)


def receive_with_gateway_on_asyncio(port: str, packets: int) -> None:
    _receive_with_gateway(port, packets, asyncio.SelectorEventLoop)


def _receive_with_gateway(
    port: str, packets: int, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    import tempfile
    from pathlib import Path

    from hilgw.config.load import load_config

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.yaml"
        path.write_text(CONFIG.format(port=port, baud=BAUD_RATE))
        config = load_config(str(path), [], None).config
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run_gateway(config, packets))


async def _run_gateway(config: Any, packets: int) -> None:
    from hilgw.assemble.gateway import build
    from hilgw.engine.observer import Observer

    gateway = build(config, asyncio.get_running_loop(), Observer())
    stop = asyncio.Event()
    on_ready = partial(print, "ready", flush=True)
    running = asyncio.create_task(gateway.run(stop, on_ready=on_ready))

    counts = gateway.ledger.station("rover.rx")

    def delivered() -> int:
        return counts.delivered

    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and not running.done() and delivered() < packets:
        await asyncio.sleep(0.1)
    print(delivered(), flush=True)
    sys.stdin.readline()
    stop.set()
    await running
    gateway.close()


def receive_with_session(port: str, packets: int) -> None:
    from hilgw.engine.event_loop.direct_loop import DirectLoop

    with asyncio.Runner(loop_factory=DirectLoop) as runner:
        runner.run(_run_session(port, packets))


async def _run_session(port: str, packets: int) -> None:
    """Do only what an engine does for a session."""
    from hilgw.adapters.base import Event, Ready, Received, StationSettings, Write
    from hilgw.adapters.xbee import ADAPTER
    from hilgw.engine.event_loop.scheduler import Timer
    from hilgw.transports.base import LineSettings
    from hilgw.transports.serial.port import open_serial

    timer = Timer(asyncio.get_running_loop())
    transport = await open_serial(port, LineSettings(BAUD_RATE), timer)
    settings = ADAPTER.Settings(pan_id=0x3332, api_mode=1)
    common = StationSettings(port=port, baudRate=BAUD_RATE, channel=12)
    session = ADAPTER.session(settings, common)
    all_came = asyncio.Event()
    count = 0

    def take(events: list[Event]) -> None:
        nonlocal count
        for event in events:
            if isinstance(event, Received):
                count += 1
                if count == packets:
                    all_came.set()
            elif isinstance(event, Write):
                transport.write(event.data)
            elif isinstance(event, Ready):
                print("ready", flush=True)

    def expire() -> None:
        due, now = session.next_deadline(), timer.now()
        if due is not None and due <= now:
            take(session.expire(now))
        timer.call_at(now + 50_000_000, expire)

    transport.start(lambda data: take(session.receive(data, timer.now())), print)
    take(session.open(timer.now()))
    expire()
    await asyncio.wait_for(all_came.wait(), DEADLINE_S)
    print(count, flush=True)
    sys.stdin.readline()
    transport.close()
    timer.close()


DIGI, SESSION, GATEWAY = "digi-xbee", "session", "gateway"
GATEWAY_ON_ASYNCIO = "gateway on asyncio"  # for event_loop.py
COMPARED = (DIGI, SESSION, GATEWAY)
RECEIVERS = {
    DIGI: receive_with_digi_xbee,
    SESSION: receive_with_session,
    GATEWAY: receive_with_gateway,
    GATEWAY_ON_ASYNCIO: receive_with_gateway_on_asyncio,
}


# --- the module, and the measurement --------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """us: CPU time per packet. received: number of packets."""

    us: float
    received: int


def answer(mock: Any, master: int, now: int) -> None:
    """Move the host's bytes to the mock, and the mock's bytes to the host."""
    ready, _, _ = select.select([master], [], [], 0.001)
    if ready:
        mock.receive(os.read(master, 4096), now)
    mock.advance(now)
    out = mock.take(now)
    if out:
        os.write(master, out)


def measure(name: str, packets: int, together: int) -> Figure:
    """Measure one new process of a receiver, from the moment it is ready to its last packet."""
    from hilgw.engine.mock_host import create_mock
    from hilgw.plugins import new_air

    master, slave = os.openpty()
    tty.setraw(slave)
    parameters = {"channel": 12, "pan_id": 0x3332, "baudRate": BAUD_RATE, "api_mode": 1}
    mock = create_mock("xbee", "bench", new_air(), parameters)
    child = subprocess.Popen(
        [sys.executable, __file__, "--receive", name, os.ttyname(slave), str(packets)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        while not select.select([child.stdout], [], [], 0)[0]:
            answer(mock, master, time.monotonic_ns())
        if child.stdout.readline() != b"ready\n":
            raise SystemExit(f"{name} did not become ready")
        before = cpu_ns(child.pid)
        send(master, packets, together)
        received = int(child.stdout.readline() or 0)
        return Figure((cpu_ns(child.pid) - before) / 1e3 / packets, received)
    finally:
        child.stdin.close()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
        os.close(master)
        os.close(slave)


def send(master: int, packets: int, together: int) -> None:
    """Send the numbered packets; a write waits while the receiver is behind."""
    due = time.monotonic()
    for start in range(0, packets, together):
        data = b"".join(frame(n) for n in range(start, min(start + together, packets)))
        while data:
            data = data[os.write(master, data) :]
        due += PAUSE_S
        time.sleep(max(0.0, due - time.monotonic()))


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process, by Linux' clock of that process."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def measure_all(
    packets: int, rounds: int, receivers: Sequence[str] = COMPARED
) -> dict[str, dict[str, list[Figure]]]:
    """Return one figure per round, by pattern and receiver."""
    figures: dict[str, dict[str, list[Figure]]] = {
        pattern: {name: [] for name in receivers} for pattern in PATTERNS
    }
    for _ in range(rounds):
        for pattern, together in PATTERNS.items():
            for name in receivers:
                figures[pattern][name].append(measure(name, packets, together))
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="CPU time per packet received from an XBee.")
    parser.add_argument("--packets", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--receive", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.receive:
        name, port, packets = args.receive
        RECEIVERS[name](port, int(packets))
        return 0
    return 0 if show_all(bench(args.packets, args.rounds)) else 1


def times_less(figures: dict[str, list[Figure]], name: str) -> float:
    """Return the ratio of digi-xbee's CPU time to ours, median of the rounds."""
    pairs = zip(figures[DIGI], figures[name], strict=True)
    return statistics.median(theirs.us / ours.us for theirs, ours in pairs)


def bench(packets: int, rounds: int) -> list[Row]:
    """Return rows of the table; SystemExit when hilgw lost a packet."""
    table = []
    for pattern, by_name in measure_all(packets, rounds).items():
        for name in (SESSION, GATEWAY):
            if any(each.received != packets for each in by_name[name]):
                raise SystemExit(f"{name} lost packets")
            table.append(
                Row(
                    f"XBee packets {pattern} to {name}, CPU us each",
                    f"{middle(by_name[name]):.1f}",
                    f"{DIGI} {middle(by_name[DIGI]):.0f}",
                    times_less(by_name, name),
                    GOAL if (pattern, name) == (BACK_TO_BACK, SESSION) else None,
                    at_least=True,
                )
            )
    return table


def middle(rounds: list[Figure]) -> float:
    return statistics.median(each.us for each in rounds)


if __name__ == "__main__":
    sys.exit(main())
