"""Kills gateways that drive the example `motor_node` on an emulated board.

Its watchdog stops the motors, in real time at most 350 ms beyond the longest echo of the same
trial.

    tools/soak motor [--trials 50] [--freeze]
    chrt -f 1 tools/soak motor     as root, where other programs take the processors from the board
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.firmware.motor_node import LATE_S, WATCHDOG_S, killed_gateway

LIMIT_S = WATCHDOG_S + LATE_S


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--freeze", action="store_true", help="SIGSTOP in the place of SIGKILL")
    args = parser.parse_args()
    number = signal.SIGSTOP if args.freeze else signal.SIGKILL
    late = 0
    for trial in range(1, args.trials + 1):
        with tempfile.TemporaryDirectory(prefix="hilgw-motor-") as folder:
            took = asyncio.run(killed_gateway(Path(folder), number))
        late += took.beyond_echo_s > LIMIT_S
        print(
            f"{trial:>3}  real {took.real_s * 1e3:4.0f} ms, echo {took.echo_s * 1e3:3.0f} ms, "
            f"beyond {took.beyond_echo_s * 1e3:4.0f} ms, board {took.own_s * 1e3:4.0f} ms, "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    print(f"{args.trials - late} of {args.trials} within {LIMIT_S * 1e3:.0f} ms beyond the echo")
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
