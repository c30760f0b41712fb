"""Cores of the two ends of a benchmark: one of them has a core of its own (Linux).

Two processes that the kernel puts on one core wake each other in a fraction of the time that it
takes between cores. Where the kernel may choose, a figure says more about its choice than about the
programs.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


def on_own_core(
    words: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program on the first core of this process; raise where it fails."""
    own = min(os.sched_getaffinity(0))
    return subprocess.run(
        words,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {own}),
    )


@contextmanager
def other_cores() -> Iterator[None]:
    """Keep processes that are started meanwhile off that core, if there is another one."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores - {min(cores)} or cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
