"""Work, counted instead of timed: the same on a busy machine as on a quiet one."""

import gc
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

import hilgw

PACKAGE = str(Path(hilgw.__file__).parent)
TESTING = str(Path(PACKAGE) / "testing")


@contextmanager
def without_gc() -> Iterator[None]:
    """What other tests left behind is not collected, and its finalizers and hooks do not count."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def calls(action: Callable[[], object]) -> Counter[str]:
    """The calls of hilgw's own functions in an action, as `counting` counts them."""
    counts: Counter[str] = Counter()
    with counting(counts):
        action()
    return counts


@contextmanager
def counting(counts: Counter[str]) -> Iterator[None]:
    """Counts the calls of hilgw's own functions, by file and name. Comprehensions and generators do
    not count: what they are differs between versions of Python."""

    def count(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or (code.co_name.startswith("<") and code.co_name != "<lambda>"):
            return
        if code.co_filename.startswith(PACKAGE) and not code.co_filename.startswith(TESTING):
            counts[f"{Path(code.co_filename).stem}.{code.co_name}"] += 1

    before = sys.getprofile()
    with without_gc():
        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(before)


def all_calls(action: Callable[[], object]) -> int:
    """The number of Python and C functions that an action calls, those of others, too."""
    counting = Profile()
    before = sys.getprofile()
    try:
        counting.runcall(action)
    finally:
        sys.setprofile(before)
    return sum(each.callcount for each in counting.getstats())


def instructions(action: Callable[[], object]) -> int:
    """The bytecode instructions of an action: every round of a loop counts."""
    return _monitored(action) if sys.version_info >= (3, 12) else _traced(action)


def _traced(action: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    with without_gc():
        sys.settrace(trace)
        try:
            action()
        finally:
            sys.settrace(before)
    return count


def _monitored(action: Callable[[], object]) -> int:
    """From Python 3.12 on, `f_trace_opcodes` changes the code of a function and not its frame: the
    instructions of the first call, and of one that is under way, do not all count."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    thread, tool, event = get_ident(), monitoring.PROFILER_ID, monitoring.events.INSTRUCTION
    count = 0

    def note(code: CodeType, offset: int) -> None:
        nonlocal count
        count += get_ident() == thread and code is not _monitored.__code__

    monitoring.use_tool_id(tool, "instructions")
    monitoring.register_callback(tool, event, note)
    with without_gc():
        monitoring.set_events(tool, event)
        try:
            action()
        finally:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, event, None)
            monitoring.free_tool_id(tool)
    return count


def allocated(action: Callable[[], object]) -> int:
    """The most bytes that an action holds at a time: loops in C, which make copies, count."""
    with without_gc():
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        try:
            action()
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
