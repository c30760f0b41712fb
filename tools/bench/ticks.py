#!/usr/bin/env python3
"""A step clock on hilgw's timer and event loop: prints CLOCK_MONOTONIC in ns at each tick.

python3 tools/bench/ticks.py 32000 100        100 steps of 32,000 µs
"""

import argparse
import asyncio
import gc
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hilgw.engine.event_loop.scheduler import Timer

LEAD_NS = 20_000_000  # before the first tick


def gateway_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop of the kind that a gateway uses."""
    if sys.platform == "linux":
        from hilgw.engine.event_loop.direct_loop import DirectLoop

        return DirectLoop()
    return asyncio.new_event_loop()


async def ticks(period_ns: int, count: int) -> tuple[int, list[int]]:
    """Return the first deadline, and the instant of each step."""
    loop = asyncio.get_running_loop()
    timer, done, ran = Timer(loop), asyncio.Event(), list[int]()
    first = timer.now() + LEAD_NS

    def tick() -> None:
        ran.append(time.monotonic_ns())
        if len(ran) == count:
            done.set()
        else:
            timer.call_at(first + len(ran) * period_ns, tick)

    timer.call_at(first, tick)
    await done.wait()
    timer.close()
    return first, ran


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("period_us", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", action="store_true", help="print the first deadline first")
    args = parser.parse_args()
    gc.freeze()
    with asyncio.Runner(loop_factory=gateway_loop) as runner:
        first, ran = runner.run(ticks(args.period_us * 1000, args.count))
    for instant in [first, *ran] if args.first else ran:
        print(instant)
    return 0


if __name__ == "__main__":
    sys.exit(main())
