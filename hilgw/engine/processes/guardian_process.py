"""The guardian: a process that stops the robots of a gateway that does not run any more.

Called by path: SOCKET SHARED GUARDIAN_MS, the first two as descriptors. Standard library only, so
that nothing of hilgw can keep it from its work. `hilgw.engine.control_loop.guardian` is the other
end of the socket, and defines the messages. The guardian acts when that end is closed, or when no
beat comes for GUARDIAN_MS while a robot may move:

* it sets the flag in the shared memory, so that a gateway that goes on sends no more commands;
* a connection on TCP is closed, or shut down where the gateway still has it open: the robot stops
  at the end of the stream. No byte is written to it, as it may hold half a message;
* on a line it discards what is not sent yet, and writes the stop twice, as the robot may take the
  first copy for the end of a frame that was cut.
"""

from __future__ import annotations

import array
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

HEADER = struct.Struct("=cHH")  # kind, number of the port, length of what follows
BEAT, PORT, STOP, DROP = b"b", b"p", b"s", b"d"
ACTED, SEEN = 0, 1  # in the shared memory: the flag, the last beat
SHARED_BYTES = 2
# A machine that stalls wakes both processes at once: the gateway gets the time for a beat.
STALL_S = 0.05
STUCK_S = 0.02  # the longest wait for lines that send no byte
# A slow line sends the bytes of its UART's FIFO first, which is not seen: so many bits.
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
NAME = "hilgw-guardian"


class Port:
    """A connection to a robot. stop: what stops its motors; empty while none moves."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_line = os.isatty(fd)
        self.stop = b""
        self._rest = b""  # of the stop, which the line has not taken

    def end_stream(self, *, dead: bool) -> None:
        """Ends the connection: the peer reads the end of the stream."""
        if not dead:  # the gateway has it open, so closing it here ends nothing
            with suppress(OSError), socket.socket(fileno=os.dup(self.fd)) as connection:
                connection.shutdown(socket.SHUT_RDWR)
        os.close(self.fd)

    def begin_stop(self) -> None:
        """Begins to write the stop, twice."""
        if self.stop:
            self.discard()
            self._rest = 2 * self.stop

    def left(self) -> int:
        """How many bytes have not left yet; writes what the line takes, without blocking."""
        try:
            if self._rest:
                self._rest = self._rest[os.write(self.fd, self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self._rest = b""  # it is gone
        try:
            unsent = fcntl.ioctl(self.fd, termios.TIOCOUTQ, bytes(4))
        except OSError:
            unsent = bytes(4)
        return len(self._rest) + int(struct.unpack("=i", unsent)[0])

    def stuck_s(self) -> float:
        """How long this line may send no byte."""
        try:
            speed = SPEEDS.get(termios.tcgetattr(self.fd)[5], 0)
        except termios.error:
            speed = 0  # it is gone
        return max(STUCK_S, FIFO_BITS / speed) if speed else STUCK_S

    def discard(self) -> None:
        """Discards what the line has not sent."""
        with suppress(OSError, termios.error):
            termios.tcflush(self.fd, termios.TCOFLUSH)


class Guardian:
    """Reads the messages of the gateway; `run` returns when it has acted."""

    def __init__(self, gateway: socket.socket, shared: mmap.mmap, guardian_s: float) -> None:
        self._gateway = gateway
        self._shared = shared
        self._guardian_s = guardian_s
        self._ports: dict[int, Port] = {}
        self._data = b""
        self._descriptors: list[int] = []
        self._beat_s = time.monotonic()

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._gateway, select.POLLIN)
        limit_s = self._guardian_s
        while True:
            wait_s = self._beat_s + limit_s - time.monotonic() if self._watches() else None
            ready = poll.poll(None if wait_s is None else max(0.0, 1000 * wait_s))
            if ready and not self._read():
                self._act(dead=True)
                return
            silent_s = time.monotonic() - self._beat_s
            if not self._watches() or silent_s < self._guardian_s:
                limit_s = self._guardian_s
            elif limit_s == self._guardian_s and silent_s > limit_s + STALL_S:
                limit_s = silent_s + STALL_S
            elif silent_s >= limit_s:
                self._act(dead=False)
                return

    def _watches(self) -> bool:
        """Whether a robot may move."""
        return any(port.stop for port in self._ports.values())

    def _read(self) -> bool:
        """Reads all that has come; False at the end of the stream."""
        while True:
            try:
                data, descriptors = _receive(self._gateway)
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
        """Takes the whole messages out of what has come."""
        while len(self._data) >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self._data)
            end = HEADER.size + length
            if len(self._data) < end:
                return
            body, self._data = self._data[HEADER.size : end], self._data[end:]
            if kind == BEAT:
                self._beat_s = time.monotonic()
                self._shared[SEEN] = number
            elif kind == PORT:
                self._ports[number] = Port(self._descriptors.pop(0))
            elif kind == STOP and number in self._ports:
                if not self._watches():
                    self._beat_s = time.monotonic()  # it was not watched before
                self._ports[number].stop = body
            elif kind == DROP:
                if (port := self._ports.pop(number, None)) is not None:
                    os.close(port.fd)
                with suppress(OSError):
                    self._gateway.send(HEADER.pack(DROP, number, 0))

    def _act(self, *, dead: bool) -> None:
        """Stops all robots that may move, at once; then closes all ports. The driver of a line
        would wait with that for bytes that cannot leave: they are discarded."""
        self._shared[ACTED] = 1
        lines = [port for port in self._ports.values() if port.is_line]
        for port in self._ports.values():
            if not port.is_line:
                port.end_stream(dead=dead)
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
            os.close(port.fd)


def _receive(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Bytes and the descriptors that came with them."""
    descriptors = array.array("i")
    data, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(16 * descriptors.itemsize))
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            whole = len(content) - len(content) % descriptors.itemsize
            descriptors.frombytes(content[:whole])
    return data, list(descriptors)


def main() -> None:
    for each in IGNORED:
        signal.signal(each, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, IGNORED)
    with suppress(OSError), open("/proc/self/comm", "w") as name:  # noqa: PTH123
        name.write(NAME)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:  # noqa: PTH123
        score.write("-1000")  # the last to be killed, where that is permitted
    gateway = socket.socket(fileno=int(sys.argv[1]))
    gateway.setblocking(False)
    shared = mmap.mmap(int(sys.argv[2]), SHARED_BYTES)
    Guardian(gateway, shared, int(sys.argv[3]) / 1000).run()
    os._exit(0)


if __name__ == "__main__":
    main()
