#!/usr/bin/env python3
"""Reads mutants of a real recording with every command and page that reads one.

Each ends by itself, and names what is wrong. Exit 1 with the seed of the first one that does not:
`--first SEED --count 1` reads that one again.

    tools/soak recordings [--count 200000] [--first 1] [--processes 2]
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.record.mutants import blocks_of, faults, mutant, real

TOGETHER = 100
SLOW_EVERY = 25


def run(*words: str, cwd: Path) -> Any:
    command = [sys.executable, "-m", "hilgw", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def read(first: int, count: int) -> list[str]:
    """Read this many mutants; return what is wrong, with the seeds."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        recordings = [blocks_of(data) for data in real(folder, run)]
        for seed in range(first, first + count):
            data = mutant(recordings, random.Random(seed))
            wrong = faults(data, folder, slow=seed % SLOW_EVERY == 0)
            problems += [f"seed {seed}: {each}" for each in wrong]
        os.chdir("/")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    begin_s, done, last = time.monotonic(), 0, args.first + args.count
    with ProcessPoolExecutor(args.processes) as pool:
        parts = [
            pool.submit(read, first, min(TOGETHER, last - first))
            for first in range(args.first, last, TOGETHER)
        ]
        for part in as_completed(parts):
            done += TOGETHER
            if problems := part.result():
                print("\n".join(problems))
                pool.shutdown(cancel_futures=True)
                return 1
            if done % 1000 == 0:
                print(f"{done} mutants in {time.monotonic() - begin_s:.0f} s", flush=True)
    print(f"{args.count} mutants: every command and page ended in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
