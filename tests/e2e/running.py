"""Runs the installed command as a user does."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from hilgw.cli.main import main
from hilgw.cli.signals import EXIT_BY_SIGNAL
from hilgw.client.connection import ask
from hilgw.testing.sim import DEADLINE_S, wait_until

ROOT = Path(__file__).parent.parent.parent
APART = ROOT / "tests" / "apart"  # its sitecustomize
XBEE = str(ROOT / "configs" / "xbee.yaml")
COMMAND = [sys.executable, "-m", "hilgw"]
ASKING = ("send", "set", "place", "mode", "arm", "disarm", "record", "note", "show", "convert")
READING = ("check", "diff", "explain", "example", "schema", "adapters", "bodies", "ports", "status")
# These end by themselves.
ALONE = (*ASKING, *READING, "scan", "metrics", "capture2test", "mocap-send")
# Plugins that no pytest that a test starts needs, and that take half of its start.
UNUSED = "-p no:anyio -p no:hypothesispytest"

# A loopback address of this process alone: what it serves there, no test of another process finds.
HOST = f"127.{os.getpid() >> 16 & 127 | 128}.{os.getpid() >> 8 & 255}.{os.getpid() & 255 | 1}"


def free_port() -> int:
    """Return a TCP port for a program that cannot choose one itself.

    It is none that the kernel gives to connections and to port 0 (Linux: from 32768), which another
    test could have before the program binds it.
    """
    while True:
        port = random.randrange(16384, 32768)
        with contextlib.suppress(OSError), socket.create_server(("", port)):
            return port


def run(
    *arguments: str, cwd: Path, timeout_s: float = 2 * DEADLINE_S, **env: str
) -> subprocess.CompletedProcess[str]:
    """One command of hilgw to its end. One that only asks or reads, or runs a gateway for a time,
    needs no process."""
    if not env and ({*arguments[:1]} & {*ALONE} or "--duration" in arguments):
        with patch.dict(os.environ, environment(cwd)):
            return subprocess.CompletedProcess(arguments, *in_process(*arguments, cwd=cwd))
    return run_program(*COMMAND, *arguments, cwd=cwd, timeout_s=timeout_s, **env)


def patient(robot: str, *keys: str) -> list[str]:
    """Options for a busy machine, on which a gateway stands still for a second: the guardian does
    not stop this robot, its controller stays connected, and `keys` have patience, too, such as
    `body.silence_s`."""
    patient_keys = ("safety.late_s", "safety.command_timeout_s", *keys)
    return ["--set=guardian_ms=10000", *(f"--set=robots.{robot}.{key}=30" for key in patient_keys)]


def usage_error(*arguments: str) -> str:
    """The message about a refused command line, which exits with 2 and prints nothing else."""
    code, out, err = in_process(*arguments, cwd=Path())
    assert (code, out) == (2, "")
    return err


def in_process(*arguments: str, cwd: Path) -> tuple[Any, str, str]:
    """Exit code, output and errors of a command that ends by itself; no process is started."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in EXIT_BY_SIGNAL}
    redirected = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    named = patch.object(sys, "argv", ["hilgw", *arguments])
    with redirected[0], redirected[1], contextlib.chdir(cwd), named:
        try:
            code: Any = main(list(arguments))
        except SystemExit as end:  # as argparse does
            code = end.code
        finally:
            for number, handler in handlers.items():
                if signal.getsignal(number) is not handler:  # a gateway has its own
                    signal.signal(number, handler)
    return code, out.getvalue(), err.getvalue()


def run_program(
    *command: str, cwd: Path, timeout_s: float = 2 * DEADLINE_S, **env: str
) -> subprocess.CompletedProcess[str]:
    given, nothing = environment(cwd, **env), subprocess.DEVNULL
    shown = {"capture_output": True, "text": True, "timeout": timeout_s}
    return subprocess.run(command, cwd=cwd, env=given, stdin=nothing, check=False, **shown)


def python(
    cwd: Path, *arguments: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python to its end. path: a folder whose packages come before ours; None: `cwd`."""
    packages = os.pathsep.join(map(str, (APART, path or cwd, ROOT)))
    return run_program(sys.executable, *arguments, cwd=cwd, PYTHONPATH=packages)


def start(cwd: Path, *command: str, **more: Any) -> subprocess.Popen[Any]:
    """Start a program in the environment of this folder; more: of `subprocess.Popen`."""
    given = {"cwd": cwd, "env": environment(cwd), "stdin": subprocess.DEVNULL, **more}
    return subprocess.Popen(command, **given)


def bench_tool(name: str) -> ModuleType:
    """A module of tools/bench."""
    module = ModuleType(name)
    module.__file__ = str(ROOT / "tools" / "bench" / f"{name}.py")
    sys.modules[name] = module  # its dataclasses look there
    SourceFileLoader(name, module.__file__).exec_module(module)
    return module


def report_in(cwd: Path, name: str = "out.json") -> dict[str, Any]:
    """The report that a gateway has written; its ledger adds up."""
    report: dict[str, Any] = json.loads((cwd / name).read_text())
    assert report["ledger"] == {"adds_up": True, "violations": []}
    return report


def copy_checkout(target: Path, *folders: str) -> None:
    """Copies folders of the checkout, and what Python compiled of them."""
    for name in folders:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
        if sys.pycache_prefix:
            compiled, copies = (
                Path(sys.pycache_prefix, *each.parts[1:], name) for each in (ROOT, target)
            )
            if compiled.is_dir():
                shutil.copytree(compiled, copies, copy_function=shutil.copyfile, dirs_exist_ok=True)


def environment(cwd: Path, **env: str) -> dict[str, str]:
    """Each test has its own control folder, and the checkout's package; no gateway of the user is
    found. A pytest that it runs is not a worker of this one."""
    folder = cwd / "run"
    folder.mkdir(mode=0o700, exist_ok=True)
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    packages = f"{APART}{os.pathsep}{ROOT}"
    more = {"XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": packages, "PYTEST_ADDOPTS": UNUSED}
    return {**own, **more, **env}


def report_of(cwd: Path, *arguments: str, timeout_s: float = 2 * DEADLINE_S) -> dict[str, Any]:
    """Runs a gateway to its end; it must exit 0; returns its report."""
    done = run(*arguments, "--report", "report.json", cwd=cwd, timeout_s=timeout_s)
    assert done.returncode == 0, done.stdout + done.stderr
    return report_in(cwd, "report.json")


class Gateway:
    """A gateway (or another lasting command) in the background; `with` stops it by SIGINT."""

    def __init__(self, cwd: Path, arguments: Sequence[str], *, ready: bool = True) -> None:
        self.cwd = cwd
        self.ready_file = cwd / "ready"
        self.ready_file.unlink(missing_ok=True)
        self.output = cwd / "output.txt"
        self._stream = self.output.open("w")
        command = (*COMMAND, *arguments, "--ready-file", str(self.ready_file))
        self.process = start(cwd, *command, stdout=self._stream, stderr=subprocess.STDOUT)
        if ready:
            try:
                wait_until(self._is_ready, what="ready")
            except AssertionError:
                self.process.kill()
                self.process.wait()
                self._stream.close()
                raise AssertionError(self.text()) from None

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.text()
        return self.ready_file.exists()

    def text(self) -> str:
        return self.output.read_text()

    def ask(self, do: str) -> dict[str, Any]:
        """Return the answer of the control socket to a request without arguments."""
        (control,) = (self.cwd / "run").rglob("*.sock")
        return ask(control, {"do": do}, DEADLINE_S)

    def report(self) -> dict[str, Any]:
        return self.ask("report")["report"]

    def stop(self, number: int = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        self._stream.close()
        return code

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        self.stop()
        if isinstance(error, BaseException):
            error.add_note(f"The end of what {self.cwd.name} printed:\n{self.text()[-4000:]}")


def with_a_second_module(tmp_path: Path) -> str:
    """The XBee example with another module of ours in the same air."""
    text = Path(XBEE).read_text()
    start, end = text.index("  xbee0:"), text.index("airs:")
    second = text[start:end].replace("xbee0:", "xbee1:").replace("if00", "if01")
    path = tmp_path / "two.yaml"
    path.write_text(text[:end] + second + text[end:])
    return str(path)
