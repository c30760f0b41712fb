#!/usr/bin/env python3
"""Cost of a recording to a gateway, and the time until a large one is shown.

A gateway with its mock in one process runs as fast as it can, with and without a recording, in
turns: CPU time of that process for each frame; the process that writes is another one. Frames per
second are its inverse. For comparison, without a goal: packets that an XBee mock behind a pty sends
back to back, as in xbee.py, where a packet costs least. Many ports in real time: record_ports.py.

    python3 tools/bench/record.py [--packets 4000] [--rounds 5] [--mb 1024]

Exit 1 when a recording costs more than 10 % of the frames per second, loses an event, makes the
event loop late, or when `hilgw show --from` in a recording of this many megabytes begins later than
after 2 s.
"""

import argparse
import asyncio
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import record_ports
import xbee
from table import Row, show_all

SHARE = 0.10  # of the frames per second
BEGIN_S = 2.0
PORTS_S = 2.0
RECORDED, NOT_RECORDED = "gateway, recorded", "gateway"
OVER = Path("/tmp")  # a disk, or memory: the gateway waits for neither


def receive_recorded(port: str, packets: int) -> None:
    """Receive as xbee.py's gateway does, with a recording."""
    from hilgw.assemble import gateway as assembled
    from hilgw.engine.recording.recordings import Recordings

    build = assembled.build
    folder = tempfile.TemporaryDirectory(dir=OVER)
    recordings: list[Recordings] = []

    def recorded(*given: Any) -> Any:
        gateway = build(*given)
        recordings.append(Recordings(gateway, Path(folder.name), dict, {}))
        recordings[0].begin_named("bench")
        close = gateway.close

        def closed() -> None:
            (report,) = recordings[0].report().values()
            if report["lost"]:
                raise SystemExit(f"lost {report['lost']} events: {report['error']}")
            close()

        gateway.close = closed
        return gateway

    assembled.build = recorded
    with folder:
        xbee.receive_with_gateway(port, packets)


def run_in_process(name: str, how: str, duration_s: str) -> None:
    """Run a shipped configuration with its mocks; print CPU time in us for each frame."""
    from hilgw.assemble.gateway import build
    from hilgw.config.load import load_config
    from hilgw.engine.observer import Observer
    from hilgw.engine.recording.recordings import Recordings
    from hilgw.engine.simulated.event_loop import PacedLoop

    folder = tempfile.TemporaryDirectory(dir=OVER)
    changed = ["speed=max", "robots.rover.controller.period_ms=20"]
    changed += ["airs.lab.nodes.spare.link=null"] if name == "xbee" else []
    config = load_config(str(shipped(name)), changed, None).config

    async def run() -> None:
        gateway = build(config, asyncio.get_running_loop(), Observer())
        gc.collect()
        gc.freeze()  # as `hilgw run` does
        recordings = Recordings(gateway, Path(folder.name), dict, {})
        if how == RECORDED:
            recordings.begin_named("bench")
        begin = time.process_time()
        await gateway.run(asyncio.Event(), float(duration_s))
        await recordings.close()
        took_s = time.process_time() - begin
        frames = sum(
            each.delivered for each in map(gateway.ledger.station, (f"{name}0", "rover.rx"))
        )
        if any(each["lost"] for each in recordings.report().values()):
            raise SystemExit("events were lost")
        gateway.close()
        print(took_s / frames * 1e6)

    with folder, asyncio.Runner(loop_factory=lambda: PacedLoop(config.speed)) as runner:
        runner.run(run())


def shipped(name: str) -> Path:
    return Path(__file__).parents[2] / "configs" / f"{name}.yaml"


def runs(rounds: int) -> list[Row]:
    rows = []
    for name in ("uart", "xbee"):
        us: dict[str, list[float]] = {NOT_RECORDED: [], RECORDED: []}
        for _ in range(rounds):
            for how, times_us in us.items():
                words = [sys.executable, __file__, "--run", name, how, "60"]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                times_us.append(float(done.stdout))
        fewer = statistics.median(1 - a / b for a, b in zip(*us.values(), strict=True))
        figures = [f"{statistics.median(each):.1f}" for each in us.values()]
        title = f"{name} with its mock, recorded, CPU us each frame; share of frames/s"
        rows.append(Row(title, figures[1], figures[0], fewer, SHARE))
    return rows


def costs(packets: int, rounds: int) -> list[Row]:
    xbee.RECEIVERS[RECORDED] = receive_recorded
    names = (xbee.GATEWAY, RECORDED)
    us: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            figure = xbee.measure(name, packets, xbee.PATTERNS[xbee.BACK_TO_BACK])
            if figure.received != packets:
                raise SystemExit(f"{name} lost packets")
            us[name].append(figure.us)
    fewer = statistics.median(
        1 - a / b for a, b in zip(us[xbee.GATEWAY], us[RECORDED], strict=True)
    )
    without, recorded = (statistics.median(us[name]) for name in names)
    name = "XBee packets to a recorded gateway, CPU us each; share of frames/s"
    return [Row(name, f"{recorded:.1f}", f"{without:.1f}", fewer, None)]


def write_large(path: Path, size: int) -> float:
    """Write a recording of this many bytes; return its length in seconds."""
    from hilgw.protocols.pcapng.events import Writer

    writer = Writer({}, ["uart0"], time.time_ns())
    step_ns, now = 1_000_000, 0
    with path.open("wb", buffering=1 << 20) as file:
        written = file.write(writer.begin(0))
        while written < size:
            now += step_ns
            written += file.write(writer.line(now, "uart0", now.to_bytes(8, "big") * 32, sent=True))
    return now / 1e9


def show(mb: int) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(dir=OVER) as folder:
        path = Path(folder) / "large.pcapng"
        length_s = write_large(path, mb * 1_000_000)
        for share in (0.0, 0.5, 0.99):
            words = [sys.executable, "-m", "hilgw", "show", str(path), "--bytes"]
            begin = time.monotonic()
            child = subprocess.Popen(
                [*words, "--from", f"{length_s * share:.3f}"], stdout=subprocess.PIPE
            )
            assert child.stdout is not None
            assert child.stdout.readline()
            took_s = time.monotonic() - begin
            child.kill()
            child.communicate()
            name = f"show --from, at {share:.0%} of {mb} MB: the first line, s"
            rows.append(Row(name, f"{took_s:.2f}", "-", took_s, BEGIN_S))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="The cost of recordings.")
    parser.add_argument("--packets", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=1024)
    parser.add_argument("--receive", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run_in_process(*args.run)
        return 0
    xbee.__file__ = __file__  # its receivers are processes of this program
    if args.receive:
        xbee.RECEIVERS[RECORDED] = receive_recorded
        name, port, packets = args.receive
        xbee.RECEIVERS[name](port, int(packets))
        return 0
    rows = runs(args.rounds) + costs(args.packets, args.rounds) + show(args.mb)
    rows += record_ports.rows(args.rounds, PORTS_S)
    return 0 if show_all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
