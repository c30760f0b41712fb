"""The guardian: a process that stops the robots of a gateway that does not run any more.

Called as a program from a descriptor: SOCKET SHARED SEEN GUARDIAN_MS, the first two as descriptors.
Standard library only, so that nothing of hilgw can keep it from its work.
`hilgw.engine.control_loop.guardian` is the other end of the socket, and defines the messages. The
guardian acts when that end is closed, or when no message comes for GUARDIAN_MS while a robot may
move; a gateway that waits for the processor next to busy programs has BUSY_S:

* it sets the flag in the shared memory, so that a gateway that continues sends no more commands;
* a connection on TCP is closed, or shut down where the gateway still has it open: the robot stops
  at the end of the stream. No byte is written to it, as it may hold half a message;
* on a line it discards what is not sent yet, and writes the stop twice, as the robot may take the
  first copy for the end of a frame that was cut. So it does with a line behind a serial server,
  whose connection it ends then: no robot sees that end.
"""

import fcntl
import mmap
import os
import select
import signal
import socket
import struct
import sys
import termios
import time
from contextlib import suppress

PEER = struct.Struct("=iII")  # SO_PEERCRED: the process, its user and group
PROCESS_CLOCK = 2  # of clock_gettime for another process: CPUCLOCK_SCHED
HEADER = struct.Struct("=cHH")  # kind, number of the port, length of what follows
ANSWER = struct.Struct("=cI")  # kind; number of the port
BEAT, PORT, LINE, STOP, DROP, HELLO = b"b", b"p", b"l", b"s", b"d", b"h"
ACTED, SEEN = 0, 1  # in the shared memory: the flag, the last beat of each of two guardians
# A machine that stalls wakes both processes at once: the gateway gets the time for a beat.
STALL_S = 0.05
BUSY_S = 1.0
STUCK_S = 0.02  # the longest wait for lines that send no byte
UNREAD_BYTES = 1 << 24
STREAM_STUCK_S = 1.0  # for a serial server that has received none: TCP sends it again
# A slow line sends its UART's FIFO first, which is not visible: this many bits.
FIFO_BITS = 32 * 10
SPEEDS = {getattr(termios, each): int(each[1:]) for each in dir(termios) if each[1:].isdigit()}
# SIGABRT: systemd sends it to all processes of a service whose watchdog is late.
IGNORED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGTSTP,
    signal.SIGQUIT,
    signal.SIGABRT,
)
PRIORITY = -10


class GuardedPort:
    """A connection to the body of this name.

    is_line: a line, perhaps behind a serial server. stop: what stops its motors; empty while none
    moves.
    """

    def __init__(self, fd: int, name: str = "", *, is_line: bool = False) -> None:
        self.fd = fd
        self.name = name
        self.is_line = is_line or os.isatty(fd)
        self.stop = b""
        self._rest = b""  # of the stop, which the line has not taken

    def begin_stop(self) -> None:
        """Begin to write the stop, twice."""
        if self.stop:
            self.discard()
            self._rest = 2 * self.stop

    def left(self) -> int:
        """Write what the line takes, without blocking, and return the bytes that have not left."""
        try:
            if self._rest:
                self._rest = self._rest[os.write(self.fd, self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self._rest = self.stop = b""  # it is gone, and was not stopped
        try:
            unsent = fcntl.ioctl(self.fd, termios.TIOCOUTQ, bytes(4))  # on TCP: not confirmed
        except OSError:
            unsent = bytes(4)
        return len(self._rest) + int(struct.unpack("=i", unsent)[0])

    def stuck_s(self) -> float:
        """Return how long this line may send no byte."""
        try:
            speed = SPEEDS.get(termios.tcgetattr(self.fd)[5], 0)
        except termios.error:
            return STREAM_STUCK_S
        return max(STUCK_S, FIFO_BITS / speed) if speed else STUCK_S

    def discard(self) -> None:
        """Discard what the line has not sent."""
        with suppress(OSError, termios.error):
            termios.tcflush(self.fd, termios.TCOFLUSH)

    def close(self) -> None:
        """Close the port; on TCP also where the gateway has it open.

        All that was sent arrives: unread bytes would make a reset of the end.
        """
        try:
            connection = socket.socket(fileno=self.fd)
        except OSError:  # a line
            os.close(self.fd)
            return
        with connection, suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
            connection.recv(UNREAD_BYTES)


class Guardian:
    """Reads the messages of the gateway; `run` returns when it has acted."""

    def __init__(
        self, gateway: socket.socket, shared: mmap.mmap, guardian_s: float, seen_at: int = SEEN
    ) -> None:
        self._gateway = gateway
        self._shared = shared
        self._guardian_s = guardian_s
        self._seen_at = seen_at
        self._ports: dict[int, GuardedPort] = {}
        self._data = b""
        self._descriptors: list[int] = []
        self._pid = _peer(gateway)
        self._received_s, self._used_s = time.monotonic(), used_s(self._pid)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._gateway, select.POLLIN)
        limit_s = self._guardian_s
        while True:
            wait_s = self._received_s + limit_s - time.monotonic() if self._watches() else None
            ready = poll.poll(None if wait_s is None else max(0.0, 1000 * wait_s))
            if ready and not self._read():
                self._act("was killed or has crashed")
                return
            silent_s = time.monotonic() - self._received_s
            if not self._watches() or silent_s < self._guardian_s:
                limit_s = self._guardian_s
            elif silent_s >= limit_s:
                stalled = limit_s == self._guardian_s and silent_s > limit_s + STALL_S
                if not stalled and (silent_s >= BUSY_S or not self._is_kept_waiting(silent_s)):
                    self._act(f"was frozen for {silent_s:.1f} s")
                    return
                limit_s = silent_s + STALL_S

    def _watches(self) -> bool:
        return any(port.stop for port in self._ports.values())

    def _is_kept_waiting(self, silent_s: float) -> bool:
        """Return whether a thread of the gateway could run, and got no processor.

        One that hangs in a loop has run for most of the time.
        """
        return used_s(self._pid) - self._used_s < silent_s / 2 and is_runnable(self._pid)

    def _read(self) -> bool:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._gateway, 4096, 16)
            except BlockingIOError:
                return True
            except OSError:
                return False
            self._descriptors += descriptors
            if not data:
                return False
            self._data += data
            self._take()

    def _take(self) -> None:
        """Process the whole messages that have come; each shows that the gateway runs."""
        while len(self._data) >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self._data)
            end = HEADER.size + length
            if len(self._data) < end:
                return
            body, self._data = self._data[HEADER.size : end], self._data[end:]
            self._received_s, self._used_s = time.monotonic(), used_s(self._pid)
            if kind == BEAT:
                self._shared[self._seen_at] = number
            elif kind in (PORT, LINE):
                fd = self._descriptors.pop(0)
                self._ports[number] = GuardedPort(fd, body.decode(), is_line=kind == LINE)
            elif kind == STOP and number in self._ports:
                self._ports[number].stop = body
            elif kind == DROP:
                if (port := self._ports.pop(number, None)) is not None:
                    os.close(port.fd)
                with suppress(OSError):
                    self._gateway.send(ANSWER.pack(DROP, number))

    def _act(self, why: str) -> None:
        """Stop all robots that may move, at once; then close all ports.

        The driver of a line would wait with that for bytes that cannot leave: they are discarded.
        """
        self._shared[ACTED] = 1
        ports = self._ports.values()
        lines = [port for port in ports if port.is_line]
        for port in ports:
            if not port.is_line:
                port.close()
        for port in lines:
            port.begin_stop()
        last, end_s = -1, 0.0
        stuck_s = max((port.stuck_s() for port in lines if port.stop), default=STUCK_S)
        while left := sum(port.left() for port in lines):
            if last < 0 or left < last:
                last, end_s = left, time.monotonic() + stuck_s
            elif time.monotonic() > end_s:
                break
            time.sleep(0.001)
        for port in lines:
            if left:
                port.discard()
            port.close()
        # A gateway that was killed shows nothing any more.
        if names := [port.name for port in ports if port.stop]:
            done = f"{', '.join(names)} stopped" + f", {left} bytes were NOT sent" * bool(left)
            with suppress(OSError):
                os.write(2, f"{sys.orig_argv[0]}: hilgw {why}: {done}\n".encode())


def _peer(gateway: socket.socket) -> int:
    with suppress(AttributeError, OSError):  # not Linux
        credentials = gateway.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
        return int(PEER.unpack(credentials)[0])
    return 0


def used_s(pid: int) -> float:
    """Return the processor time that a process has used; 0 where the system does not report it."""
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | PROCESS_CLOCK)
    return 0.0


def is_runnable(pid: int) -> bool:
    """Return whether a thread of this process runs or waits for a processor (proc(5), stat)."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - each import costs time
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as stat:  # noqa: PTH123
                if stat.read().rpartition(b") ")[2][:1] == b"R":
                    return True
    return False


def main() -> None:
    for ignored in IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED)
    if os.fork():  # what ends the gateway and its children, or its session, does not find it
        os._exit(0)
    with suppress(OSError), open("/proc/self/comm", "w") as name:  # noqa: PTH123
        name.write(sys.orig_argv[0])
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
        score.write("-1000")  # the last to be killed, where that is permitted
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    gateway = socket.socket(fileno=int(sys.argv[1]))
    own: list[int] = []
    with suppress(AttributeError, OSError):  # not Linux
        own.append(os.pidfd_open(os.getpid()))
    socket.send_fds(gateway, [ANSWER.pack(HELLO, 0)], own)
    gateway.setblocking(False)
    shared = mmap.mmap(int(sys.argv[2]), 0)
    seen_at, guardian_ms = map(int, sys.argv[3:])
    Guardian(gateway, shared, guardian_ms / 1000, seen_at).run()
    os._exit(0)


if __name__ == "__main__":
    main()
