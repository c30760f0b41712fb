"""Finds the process of STOP ALL, and whether it runs."""

from contextlib import suppress
from pathlib import Path


def stop_servers(parent: int) -> list[int]:
    """The processes of STOP ALL that run and that this process has started."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = process.joinpath("cmdline").read_bytes()
            started_by = int(process.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if started_by == parent and b"hilgw.web.stop_server" in words:
                pids.append(int(process.name))
    return pids


def runs(pid: int) -> bool:
    """Whether this process is neither frozen nor dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TZX"
    except OSError:
        return False
