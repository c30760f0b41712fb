#!/usr/bin/env python3
"""Gives readers that a stranger can reach changed inputs: none raises what it does not declare.

Readers: recordings and other pcapng files, worlds, requests of the control socket, messages and
packets of the federation, controllers on TCP and their handshake, the page with STOP ALL, metrics,
the serial port on the network. Exit 1 with the seed of the first input that raises something else:
`--first SEED --count 1 --reader NAME` reads it again.

    tools/soak fuzz [--count 1000000] [--first 1] [--reader NAME]
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.testing.fuzz import READERS, failure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="of each reader")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--reader", choices=READERS)
    args = parser.parse_args()
    for name in [args.reader] if args.reader else READERS:
        begin_s = time.monotonic()
        for seed in range(args.first, args.first + args.count):
            if why := failure(name, seed):
                print(f"{name}: seed {seed}: {why}")
                return 1
        print(f"{name}: {args.count} inputs in {time.monotonic() - begin_s:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
