"""A fork of tests/fork_server.py is as a process of `python -m hilgw` that was started anew."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE_S, environment, free_port, wait_until
from tests.fork_server import COMMAND, ForkServer

pytestmark = [
    pytest.mark.process,
    pytest.mark.real_start,
    pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="Linux has it"),
]
# An adapter of another distribution, which `hilgw adapters` imports: it writes what it finds.
PROBE = """
import json, os, random, sys, threading
from pathlib import Path

def of(stream):
    raw = getattr(stream.buffer, "raw", stream.buffer)
    names = "encoding", "errors", "line_buffering", "write_through", "mode", "name", "newlines"
    own = [getattr(stream, name) for name in names]
    file = os.readlink(f"/proc/self/fd/{raw.fileno()}")
    return [*own, type(stream.buffer).__name__, raw.closefd, raw.name, raw.mode, file]

status = Path("/proc/self/status").read_text().splitlines()
same = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": list(sys.flags),
    "warnings": sys.warnoptions, "main": sys.modules["__main__"].__spec__.name,
    "name": sys.modules["__main__"].__file__, "folder": os.getcwd(), "variables": dict(os.environ),
    "streams": [of(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "first_streams": [of(each) for each in (sys.__stdin__, sys.__stdout__, sys.__stderr__)],
    "files": len(os.listdir("/proc/self/fd")), "limits": Path("/proc/self/limits").read_text(),
    "status": [line for line in status if line.startswith(("Sig", "Shd", "Umask", "Cap", "Cpus"))],
    "nice": os.nice(0), "threads": threading.active_count(),
    "leads": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
    "parent": os.getppid(), "language": __import__("locale").getlocale(),
}
own = {"random": random.random(), "group": os.getpgrp()}
Path("state.json").write_text(json.dumps([same, own]))
ADAPTER = None
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


def forked(server: ForkServer, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    class Forked(subprocess.Popen[str]):
        def _execute_child(self, *given: Any) -> None:
            assert server.start(self, *given)

    return Forked([*COMMAND, *arguments], **options)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, errors = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, errors


@pytest.mark.parametrize("new_session", [False, True])
def test_what_a_process_finds_is_the_same(
    server: ForkServer, tmp_path: Path, new_session: bool
) -> None:
    info = tmp_path / "probe-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hilgw.adapters]\nprobe = probe:ADAPTER\n")
    (tmp_path / "probe.py").write_text(PROBE)
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "env": environment(tmp_path) | {"XDG_RUNTIME_DIR": f"{tmp_path}/\u00fc"},
        "stdin": subprocess.DEVNULL,
        "stdout": (tmp_path / "out.txt").open("w"),
        "stderr": (tmp_path / "errors.txt").open("w"),
        "text": True,
        "start_new_session": new_session,
    }
    found = []
    for number in range(3):
        if number:
            process = forked(server, "adapters", **options)
        else:
            process = subprocess.Popen([*COMMAND, "adapters"], **options)
        assert process.wait(DEADLINE_S) == 0
        found.append(json.loads((tmp_path / "state.json").read_text()))
    for stream in ("stdout", "stderr"):
        options[stream].close()
    real, *forks = found
    for same, own in forks:
        assert same == real[0]
        assert (own["group"] == real[1]["group"]) is not new_session
    assert real[0]["parent"] == os.getpid()
    assert len({own["random"] for _, own in found}) == 3


def test_its_end_is_that_of_a_child(server: ForkServer, tmp_path: Path) -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    options = {"cwd": tmp_path, "env": environment(tmp_path), **pipes}
    code, out, errors = ended(forked(server, "check", "none.yaml", **options))
    assert (code, out) == (3, "")
    assert "none.yaml" in errors
    mock = forked(server, "mock", "xbee", "--listen", f"tcp://127.0.0.1:{free_port()}", **options)
    os.kill(mock.pid, signal.SIGKILL)
    assert ended(mock)[0] == -signal.SIGKILL


@pytest.mark.parametrize(
    "other",
    [
        {"env": dict(os.environ) | {"PYTHONOPTIMIZE": "1"}},
        {"preexec_fn": os.getpid},
        {"pass_fds": (0,)},
        {"umask": 0o77},
        {"cwd": "/nowhere"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_it_cannot_do_is_left_to_a_real_start(server: ForkServer, other: Any) -> None:
    with pytest.raises(AssertionError, match="start"):
        forked(server, "--version", **other)


def test_it_ends_with_the_tests_and_what_it_started_goes_on(tmp_path: Path) -> None:
    server = ForkServer()
    ready = tmp_path / "ready"
    process = forked(
        server, "mock", "xbee", "--ready-file", str(ready),
        cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        wait_until(ready.exists)
        server.close()
        assert process.poll() is None
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 143
