"""The one timer service: absolute deadlines, integer nanoseconds, on one kernel timer.

asyncio's own timer rounds up to whole milliseconds (epoll_wait), which is most of a byte at
9600 baud. A timerfd watched by the event loop has no such rounding. On systems without timerfd,
the same heap of deadlines runs on call_later of the event loop.
"""

import asyncio
import ctypes
import heapq
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from hilgw.units import NS_PER_S

_NEVER = sys.maxsize
_ALWAYS = -sys.maxsize  # before all deadlines
_LAST = 1 << 63  # what is called last at its time is behind this many others
_COMPACT_FROM = 64  # void entries stay in the heap until they are the larger half of it

Due = TypeVar("Due", bound=tuple[Any, ...])


class Deadline:
    """A callback that waits for its time. cancel() is O(1) and may be repeated."""

    __slots__ = ("_timer", "callback", "when")

    def __init__(
        self, timer: "Deadlines | None", when: int, callback: Callable[[], object] | None
    ) -> None:
        self._timer = timer  # None while no heap holds this deadline
        self.when = when
        self.callback = callback

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            if self._timer is not None:
                self._timer._forget()


class LazyHeap(Generic[Due]):
    """A heap by time. Entries that are void, the `_void` of them, leave it together, later."""

    def __init__(self, is_void: Callable[[Due], bool]) -> None:
        self._heap: list[Due] = []
        self._count = 0  # of all entries so far: those of one time keep their order
        self._void = 0
        self._is_void = is_void

    def _forget(self) -> None:
        self._void += 1
        heap = self._heap
        if _COMPACT_FROM < self._void > len(heap) // 2:
            is_void = self._is_void
            heap[:] = [entry for entry in heap if not is_void(entry)]
            heapq.heapify(heap)
            self._void = 0


class Deadlines(LazyHeap[tuple[int, int, Deadline]]):
    """The deadlines under a scheduler. A subclass with an alarm sets both of its fields."""

    _alarm: "_Alarm"

    def __init__(self) -> None:
        super().__init__(lambda entry: entry[2].callback is None)
        self._closed = False
        self._armed = _ALWAYS  # the time the alarm is set to; no deadline sets it to an earlier one

    @property
    def waiting(self) -> int:
        """The number of deadlines that wait."""
        return len(self._heap) - self._void

    def call_at(
        self, when: int, callback: Callable[[], object], *, is_last: bool = False
    ) -> Deadline:
        """Run `callback` at or after `when` (nanoseconds).

        is_last: after all others of that time, in simulated time also after what they have led to.
        """
        if self._closed:
            return Deadline(None, when, None)
        deadline = Deadline(self, when, callback)
        self._count = count = self._count + 1
        heapq.heappush(self._heap, (when, count + _LAST if is_last else count, deadline))
        if when < self._armed:
            self._armed = when
            self._alarm.set(when)
        return deadline

    def clear(self) -> None:
        """Cancel all deadlines."""
        for _, _, deadline in self._heap:
            deadline.callback = None
        self._heap.clear()
        self._void = 0

    def close(self) -> None:
        """Cancel all deadlines; later ones are cancelled at once."""
        self._closed = True
        self.clear()


class Timer(Deadlines):
    """The deadlines of one event loop; implements `hilgw.transports.base.Scheduler`.

    Callbacks run in the event loop at or after their time, never early, in the order of their times
    and, at equal times, of their calls. A callback that raises is reported to the
    exception handler of the event loop; the others run. After close() no callback runs, and
    call_at() returns a deadline that is already cancelled.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._armed = _NEVER
        self._alarm = _new_alarm(loop, self._fire)
        self.now: Callable[[], int] = time.monotonic_ns

    def close(self) -> None:
        if not self._closed:
            super().close()
            self._alarm.close()

    def _fire(self) -> None:
        """Run the deadlines that are due, then set the alarm for the next.

        Deadlines that the callbacks add wait for the next round, so a callback that is always
        late cannot keep the event loop from its descriptors.
        """
        heap = self._heap
        now = time.monotonic_ns()
        due: list[Deadline] = []
        while heap and heap[0][0] <= now:
            deadline = heapq.heappop(heap)[2]
            deadline._timer = None
            if deadline.callback is None:
                self._void -= 1
            else:
                due.append(deadline)
        self._armed = _ALWAYS
        try:
            for deadline in due:
                self._run(deadline)
        finally:
            if not self._closed:
                self._armed = heap[0][0] if heap else _NEVER
                self._alarm.set(self._armed)

    def _run(self, deadline: Deadline) -> None:
        callback = deadline.callback
        if callback is None or self._closed:
            return
        deadline.callback = None
        try:
            callback()
        except Exception as error:  # noqa: BLE001 - the others must run
            self._loop.call_exception_handler(
                {"message": f"timer callback {callback!r} failed", "exception": error}
            )


# --- the alarm clock underneath -----------------------------------------------------------------


class _Alarm(Protocol):
    def set(self, when: int) -> None: ...

    def close(self) -> None: ...


class _TimerfdAlarm:
    """A timerfd on CLOCK_MONOTONIC, watched by the event loop. Setting it clears an expiry."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._fd, self._settime = _timerfd()
        try:
            loop.add_reader(self._fd, ring)
        except BaseException:
            os.close(self._fd)
            raise

    def set(self, when: int) -> None:
        # Zero disarms, so a time at or before the clock's start becomes its first nanosecond.
        self._settime(0 if when == _NEVER else max(when, 1))

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


class _LoopAlarm:
    """A timer of the event loop, for systems without timerfd: early by at most its resolution."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, when: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if when != _NEVER:
            delay_s = max(when - time.monotonic_ns(), 0) / NS_PER_S
            self._handle = self._loop.call_later(delay_s, self._ring)

    def close(self) -> None:
        self.set(_NEVER)


def _new_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> _Alarm:
    try:
        return _TimerfdAlarm(loop, ring)
    except (OSError, AttributeError, NotImplementedError):
        return _LoopAlarm(loop, ring)


def _timerfd() -> tuple[int, Callable[[int], Any]]:
    """Return a new timerfd, and the function that sets its absolute time in nanoseconds.

    AttributeError or OSError where the system has none.
    """
    if sys.version_info >= (3, 13):
        fd = os.timerfd_create(time.CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK | os.TFD_CLOEXEC)
        settime, absolute = os.timerfd_settime_ns, os.TFD_TIMER_ABSTIME
        return fd, lambda when: settime(fd, flags=absolute, initial=when)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    return fd, _libc_settime(libc, fd)


def _libc_settime(libc: ctypes.CDLL, fd: int) -> Callable[[int], Any]:
    """Return timerfd_settime(fd, TFD_TIMER_ABSTIME, ...) with its argument block allocated once."""
    block = bytearray(struct.calcsize("@4l"))  # struct itimerspec: interval, then value
    address = (ctypes.c_char * len(block)).from_buffer(block)
    pack, settime = struct.Struct("@4l").pack_into, libc.timerfd_settime
    settime.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def set_absolute(when: int) -> None:
        pack(block, 0, 0, 0, *divmod(when, NS_PER_S))
        settime(fd, 1, address, None)

    return set_absolute
