#!/usr/bin/env python3
"""Drives a robot next to three busy programs for each core, and looks for a stop of its guardian.

None may come: a gateway that waits for the processor is not frozen. The programs are in sessions of
their own, or with `--together` in that of the gateway, which the scheduler of Linux treats
differently. Run it as an ordinary user: root gets a higher priority. Exit 1 after a stop.

    tools/soak guardian [--minutes 10] [--programs 6] [--together]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from stop_times import Gateway, Peer, Robot

KIND = "create2"
PATIENT = "{armed: true, late_s: 10, command_timeout_s: 30}"  # only the guardian stops it
REPEAT_S = 0.2
DISPLAY_S = 60.0
BUSY = "while True: pass"


def driven(gateway: Gateway, controller: Peer, seconds: float) -> bool:
    """Return whether the robot moves without a stop, for this many seconds."""
    robot, begin_s = gateway.robot, time.monotonic()
    shown_s, end_s = begin_s + DISPLAY_S, begin_s + seconds
    robot.mark()
    while (now_s := time.monotonic()) < end_s:
        controller.send(gateway.go)
        if robot.wait_for(lambda: robot.stopped_ns, REPEAT_S):
            print(f"stopped after {time.monotonic() - begin_s:.1f} s\n{gateway.output.read_text()}")
            return False
        if now_s > shown_s:
            print(f"{now_s - begin_s:.0f} s: it moves", flush=True)
            shown_s += DISPLAY_S
    return robot.moves()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--programs", type=int, default=3 * (os.cpu_count() or 1))
    parser.add_argument("--together", action="store_true", help="all in the session of the gateway")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        robot = Robot(KIND)
        robot.start()
        stack.callback(robot.close)
        gateway = Gateway(KIND, robot, Path(folder), safety=PATIENT)
        stack.callback(gateway.close)
        controller = gateway.drive()
        stack.callback(controller.finish)
        for _ in range(given.programs):
            busy = [sys.executable, "-c", BUSY]
            program = subprocess.Popen(busy, start_new_session=not given.together)
            stack.callback(program.wait)
            stack.callback(program.kill)
        is_driven = driven(gateway, controller, 60 * given.minutes)
    print(f"{given.programs} busy programs, {given.minutes:g} minutes:", end=" ")
    print("no stop" if is_driven else "a false stop")
    return 0 if is_driven else 1


if __name__ == "__main__":
    raise SystemExit(main())
