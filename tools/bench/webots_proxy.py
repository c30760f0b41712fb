#!/usr/bin/env python3
"""Cost of the proxy between a Webots controller and Webots, per step.

A controller in C (one sensor, one motor) steps against a bare blocking server, directly and through
hilgw; both take turns. The client has a core of its own, as in webots.py. Prints steps/s of both,
their ratio, and the latency that the proxy adds (difference of the medians). Exit 1 when a goal is
missed. Needs a C compiler.

    python3 tools/bench/webots_proxy.py [--steps 5000] [--rounds 8]
"""

import argparse
import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from cores import on_own_core, other_cores

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.running import Gateway, free_port  # noqa: E402

GOAL_MS = 0.15
GOAL_RATIO = 0.5
CONFIG = """version: 1
robots:
  rover:
    devices: {{tx: {{node: Emitter, channel: 12}}, rx: {{node: Receiver, channel: 12}}}}
    controller:
      kind: webots_proxy
      listen: "tcp://127.0.0.1:{listen}"
      connect: "tcp://127.0.0.1:{connect}"
      only: [tx]
"""
TEXTS = b"\0" * 7
SENSOR, MOTOR, EMITTER, RECEIVER, ROBOT = 42, 57, 43, 56, 34


def chunked(messages: bytes) -> bytes:
    size = 4 + len(messages)
    return struct.pack("<HiiBi", 1, size, size, 0, 0) + messages


def configuration() -> bytes:
    """Return a robot with the devices of the controller, and two radios."""
    names = ((SENSOR, b"ds"), (MOTOR, b"motor"), (EMITTER, b"tx"), (RECEIVER, b"rx"))
    made = b"\0\0\0rover\0R2025a\0" + struct.pack("<BBHHd", 0, 1, len(names) + 1, ROBOT, 0.0)
    made += b"".join(struct.pack("<H", node) + name + b"\0\0" for node, name in names)
    made += struct.pack("<d", 32.0) + TEXTS + struct.pack("<BBi", 0, 0, 1)
    made += struct.pack("<HBidddi", 1, 0, 0, 0.0, 1.0, 0.1, 0)
    made += struct.pack("<HBi11di", 2, 0, 0, *[0.0] * 11, 0)
    made += struct.pack("<HBiidddi", 3, 0, -1, 12, -1.0, -1.0, -1.0, 0)
    return chunked(made + struct.pack("<HBiii", 4, 0, -1, 12, 0))


def serve(listening: socket.socket) -> None:
    """Serve barely and blocking: a value of the sensor and the time for each request."""
    answer = chunked(struct.pack("<HBd", 0, 4, 0.032) + struct.pack("<HBd", 1, 50, 102.0))
    while True:
        connection, _ = listening.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.recv(4096)
        connection.send(b"CONNECTED")
        connection.recv(4096)
        connection.send(configuration())
        while (data := connection.recv(4096)) and data != bytes(4):
            connection.send(answer)
        connection.close()


def run(client: Path, port: int, steps: int) -> tuple[float, float]:
    """Return steps per second and median round trip in us."""
    done = on_own_core([str(client), str(port), str(steps)])
    rate, median = done.stdout.split()
    return float(rate), float(median)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="prints the numbers as JSON")
    args = parser.parse_args()
    listening = socket.create_server(("127.0.0.1", 0))
    direct_port, proxy_port = listening.getsockname()[1], free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        client = folder / "steps"
        source = Path(__file__).with_name("webots_steps.c")
        subprocess.run(["cc", "-O2", "-o", str(client), str(source)], check=True)
        (folder / "c.yaml").write_text(CONFIG.format(listen=proxy_port, connect=direct_port))
        direct, through = [], []
        with ExitStack() as stack:
            with other_cores():
                server = os.fork()  # a process of its own: a thread would wait for this one's lock
                if server == 0:
                    serve(listening)
                stack.enter_context(Gateway(folder, ["--config", "c.yaml"]))
            for _ in range(args.rounds):
                direct.append(run(client, direct_port, args.steps))
                through.append(run(client, proxy_port, args.steps))
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    rates = [statistics.median(rate for rate, _ in each) for each in (direct, through)]
    medians = [statistics.median(us for _, us in each) for each in (direct, through)]
    ratio, added_ms = rates[1] / rates[0], (medians[1] - medians[0]) / 1000
    result = {
        "direct_steps_per_s": round(rates[0]),
        "proxy_steps_per_s": round(rates[1]),
        "ratio": round(ratio, 3),
        "direct_p50_ms": round(medians[0] / 1000, 4),
        "proxy_p50_ms": round(medians[1] / 1000, 4),
        "added_p50_ms": round(added_ms, 4),
    }
    if args.json:
        print(json.dumps(result))
    else:
        print(f"direct {rates[0]:.0f} steps/s, through the proxy {rates[1]:.0f}: {ratio:.2f} x")
        print(f"added per step, p50: {added_ms * 1000:.0f} us (goal {GOAL_MS * 1000:.0f} us)")
    return 0 if ratio >= GOAL_RATIO and added_ms <= GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main())
