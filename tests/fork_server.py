"""A fork server: it has imported hilgw once, and each `python -m hilgw` of a test is a fork of it.

Python and the imports of a gateway take most of the processor time of a short run. The process that
a fork makes is as one started anew: a child of this one, in its process group, with its own
arguments, folder, environment, standard streams and session, and nothing else that is open. What is
decided before the imports end must be as it was when the server began: `start` leaves all others,
and all that need more of `subprocess.Popen`, to a real start.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "hilgw"]
PLAIN = {  # what a start may ask of Popen
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
OWN = ("XDG_RUNTIME_DIR", "PYTEST_")  # variables that each start may have of its own
INHERITED = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapEff", "Cpus_allowed_list")
PACKAGES = (
    "firmware_mocks",
    "hilgw.adapters",
    "hilgw.assemble",
    "hilgw.bodies",
    "hilgw.cli.output",
    "hilgw.config",
    "hilgw.controllers",
    "hilgw.engine",
    "hilgw.transports",
)
MODULES = (
    "hilgw.cli.commands.bridge",
    "hilgw.cli.commands.mock",
    "hilgw.cli.commands.run",
    "hilgw.cli.main",
    "hilgw.cli.parser",
    "hilgw.cli.service",
)
LONGEST_S = 60
EXECUTE = inspect.signature(getattr(subprocess.Popen, "_execute_child"))  # noqa: B009 - not in typeshed
PR_SET_CHILD_SUBREAPER = 36


def inherited() -> list[str]:
    """What a process has from its parent, other than files and environment."""
    status = Path("/proc/thread-self/status").read_text().splitlines()
    lines = [line for line in status if line.partition(":")[0] in INHERITED]
    return [*lines, Path("/proc/self/limits").read_text(), str(os.getpriority(os.PRIO_PROCESS, 0))]


def others(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that must be as they were when the server began."""
    return {name: value for name, value in environment.items() if not name.startswith(OWN)}


class ForkServer:
    """The server, from its start to `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._others, self._inherited = others(environment), inherited()
        self._socket, of_server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(LONGEST_S)
        with of_server:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(of_server.fileno())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[of_server.fileno()],
            )
        try:
            if not self._socket.recv(1):  # after all imports
                raise ConnectionError("the fork server has ended")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()
        self._process.wait(LONGEST_S)

    def start(self, popen: Any, *given: Any) -> bool:
        """Does the work of Popen._execute_child. False: only a real start does it."""
        call = EXECUTE.bind(popen, *given).arguments
        cwd, env = call["cwd"] or os.curdir, os.environ if call["env"] is None else call["env"]
        if (
            any(call.get(name, usual) != usual for name, usual in PLAIN.items())
            or not (isinstance(cwd, str | Path) and os.access(cwd, os.X_OK))
            or others(env) != self._others
            or inherited() != self._inherited
        ):
            return False
        request = {
            "arguments": [os.fspath(each) for each in call["args"][len(COMMAND) :]],
            "cwd": os.path.abspath(cwd),  # noqa: PTH100 - resolves no link
            "environment": dict(env),
            "new_session": call["start_new_session"],
        }
        ends = (call["p2cread"], call["c2pwrite"], call["errwrite"])
        streams = [number if end == -1 else end for number, end in enumerate(ends)]
        with self._lock, self._adopting():
            try:
                socket.send_fds(self._socket, [json.dumps(request).encode()], streams)
            except OSError:  # the server has gone, or a stream is closed
                return False
            try:
                pid = int(self._socket.recv(20))
            except BaseException:
                self._socket.close()  # what comes late would answer another start
                raise
        popen._child_created, popen.pid = True, pid
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        popen._close_pipe_fds(*(call[name] for name in pipes))
        return True

    @contextmanager
    def _adopting(self) -> Iterator[None]:
        """This process becomes the parent of orphans among its descendants."""
        self._libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            yield
        finally:
            self._libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# --- the server ----------------------------------------------------------------------------------


def import_all() -> None:
    """What gateways and mocks import. `__main__` is for each process of its own."""
    for name in PACKAGES:
        package = import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            import_module(module.name)
    for name in MODULES:
        import_module(name)


def serve(connection: socket.socket) -> None:
    """Forks for each request; returns in the new process. Ends with the process of the tests."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            os._exit(0)
        from_parent, to_server = os.pipe()
        from_server, go = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid:  # ends, so that the process of the tests adopts the new one
                os.write(to_server, b"%d" % pid)
                os._exit(0)
            for each in (from_parent, to_server, go):
                os.close(each)
            os.read(from_server, 1)  # nothing: until it is adopted
            os.close(from_server)
            connection.close()
            become(json.loads(message), streams)
            return
        for each in (to_server, from_server):
            os.close(each)
        pid = os.read(from_parent, 20)
        os.waitpid(between, 0)
        for each in (*streams, from_parent, go):
            os.close(each)
        connection.send(pid)


def become(request: Mapping[str, Any], streams: list[int]) -> None:
    """This process is as Python makes it for the request, just before it runs the module."""
    if request["new_session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-m", *request["arguments"]]
    sys.orig_argv = [*COMMAND, *request["arguments"]]
    sys.path.insert(0, str(Path.cwd()))  # as -m does
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = opened(number, name, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def opened(number: int, name: str, before: Any) -> io.TextIOWrapper:
    """A standard stream, as Python opens it at its start; `before` is the one of the server."""
    mode, unbuffered = "r" if number == 0 else "w", before.write_through  # PYTHONUNBUFFERED
    size = 0 if unbuffered and number else -1
    buffer: Any = open(number, f"{mode}b", size, closefd=False)  # noqa: SIM115
    getattr(buffer, "raw", buffer).name = f"<{name}>"
    stream: Any = io.TextIOWrapper(
        buffer,
        before.encoding,
        before.errors,
        newline="\n",
        line_buffering=not unbuffered and (number == 2 or buffer.isatty()),
        write_through=unbuffered,
    )
    stream.mode = mode
    return stream


if __name__ == "__main__":
    connection = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they this process
    del sys.path[0]  # the folder of this file
    gc.disable()
    import_all()
    gc.collect()
    gc.freeze()
    gc.enable()
    connection.send(b"1")
    serve(connection)
    runpy._run_module_as_main("hilgw")
