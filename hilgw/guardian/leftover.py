"""The guardian of a killed gateway, which still has a port of its robot.

It is frozen, or waits for the processor. Who opens this port next ends it (Linux).
"""

import os
import select
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

from hilgw.guardian import NAME

DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
SHARED_BYTES = 32  # the memory that a gateway shares with its guardian; process.py has the first
LOCK, LOCK_AT = struct.Struct("=QQQ"), 8  # there: user, pid, start time of the gateway
END_S = 0.5
ENDINGS = {
    signal.SIGCONT: "it has stopped the robot, and ended",
    signal.SIGKILL: "it was killed, and did NOT stop the robot; `hilgw disarm` does",
}


def started(pid: int) -> int:
    """Return when this process has started, in clock ticks since the boot; 0 if it does not run."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(rest[18])


def end(pid: int) -> str:
    """End this process if it is a guardian of this user whose gateway is dead.

    A frozen one is woken: it stops its robots, and ends. Return what happened; empty: it is
    another process, which runs on.
    """
    with suppress(OSError), os.fdopen(os.pidfd_open(pid), "rb", buffering=0) as process:
        # What is looked at is the process of the descriptor: a signal reaches no later one.
        if _is_left(Path(f"/proc/{pid}")):
            for number, done in ENDINGS.items():
                signal.pidfd_send_signal(process.fileno(), number)
                if select.select([process], [], [], END_S)[0]:
                    return f"{NAME} (pid {pid}) of a gateway that was killed had the port: {done}"
    return ""


def _is_left(process: Path) -> bool:
    for link in (process / "fd").iterdir():
        with suppress(OSError):
            if str(link.readlink()).startswith(f"/memfd:{NAME} "):
                user, pid, start = LOCK.unpack_from(link.read_bytes(), LOCK_AT)
                spaces = {(each / "ns/pid").readlink() for each in (process, Path("/proc/self"))}
                is_ours = user == process.stat().st_uid == os.geteuid() and len(spaces) == 1
                return is_ours and started(pid) != start
    return False
