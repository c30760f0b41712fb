"""Child processes: output, restart, exit, and that none is left."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.engine.processes import processes
from hilgw.engine.processes.processes import FAILURES, LINE_BYTES, Child, Program, Restart
from hilgw.testing.sim import Recorder, until, wait_until
from tests.engine.fakes import is_gone

pytestmark = pytest.mark.process


def child(
    code: str, restart: Restart = "never", body_is_up: Callable[[], bool] = lambda: True
) -> tuple[Child, Recorder]:
    observer = Recorder()
    program = Program([sys.executable, "-uIS", "-c", code], restart)
    return Child("rover.controller", program, observer, body_is_up), observer


async def test_both_streams_and_its_environment_come_line_by_line() -> None:
    one, seen = child(
        "import os, sys; print(os.environ['A']); print('bad', file=sys.stderr); "
        f"print('x' * {LINE_BYTES + 5}); sys.stdout.buffer.write(b'\\xff rest'); sys.exit(3)"
    )
    one.start({"A": "value"})
    await one.join()
    why = "the program ended with exit code 3; start hilgw again; "
    why += "`restart: on-failure` restarts a program that fails"
    assert one.report() == {"state": "down", "reason": why, "runs": 1, "exit_codes": [3]}
    assert seen.lines == [
        "value",
        "bad",
        "x" * LINE_BYTES,
        "x" * 5,
        "\N{REPLACEMENT CHARACTER} rest",
    ]
    assert seen.notices == ["the program ended with exit code 3"]


async def ended(code: str, restart: Restart = "never") -> tuple[Child, Recorder]:
    one, seen = child(code, restart)
    one.start({})
    await one.join()
    return one, seen


async def test_a_program_that_fails_starts_again_and_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "BACKOFF_S", (0.0, 0.001))
    failing, seen = await ended("import os; os.kill(os.getpid(), 9)", "on-failure")
    assert failing.exits == [-9] * FAILURES
    assert seen.notices[0] == "the program ended by SIGKILL; starts again in 0 s"
    stays = "stays down after 10 failures in a row"
    assert seen.notices[-1] == f"the program ended by SIGKILL; {stays}"
    interrupted, seen = await ended("import os; os.kill(os.getpid(), 2)", "on-failure")
    assert interrupted.exits[-1] == -2 and "exit" not in seen.notices[0]
    assert seen.notices[0] == "the program was interrupted (Ctrl-C); starts again in 0 s"
    succeeding, seen = await ended("pass", "on-failure")
    assert succeeding.exits == [0] and seen.notices == ["the program ended with exit code 0"]


SLEEPER = "import signal; print('there', flush=True); signal.pause()"


@pytest.mark.parametrize("ends_with", ["its quit", "the gateway"])
async def test_a_dismissed_program_starts_again_when_its_body_is_up(
    ends_with: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "BACKOFF_S", (0.0,))
    monkeypatch.setattr(processes, "BODY_POLL_S", 0.001)
    monkeypatch.setattr(processes, "END_S", 0.0)
    asked: list[bool] = []
    body = {"up": True}

    def body_is_up() -> bool:
        asked.append(body["up"])
        return body["up"]

    one, seen = child(SLEEPER, "with-body", body_is_up)
    one.dismissed()  # it does not run yet
    one.start({})
    await until(lambda: seen.lines == ["there"])
    assert one.state == "running"
    body["up"] = False
    one.dismissed()
    one.quit_sent()
    await until(lambda: asked.count(False) > 3)  # once in the notice, then it waits
    assert (one.state, one.runs) == ("waiting", 1)
    assert one.reason == "the program starts again once the body is up"
    assert seen.notices == ["the program ended by SIGTERM; starts again once the body is up"]
    body["up"] = True
    await until(lambda: seen.lines == ["there"] * 2)
    assert (one.state, one.reason, one.runs) == ("running", "", 2)
    if ends_with == "the gateway":
        body["up"] = False
        one.dismissed()
        one.quit_sent()
        await until(lambda: one.state == "waiting")
        await one.stop()
    else:
        one.quit_sent()  # for another reason than its body
        await one.join()
    assert (one.state, one.runs) == ("down", 2)
    assert one.exits == [-signal.SIGTERM] * 2


# Its output stays open after it has ended.
LEAVES_OUTPUT_OPEN = """
import os, signal
here, there = os.pipe()
if os.fork():
    os.read(here, 1)
else:
    os.setsid()
    print(os.getpid(), flush=True)
    os.write(there, b".")
    signal.pause()
"""


async def test_a_program_that_has_ended_is_not_dismissed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TERMINATE_S", 60.0)
    one, seen = child(LEAVES_OUTPUT_OPEN, "with-body")
    one.start({})
    await until(lambda: one.runs and not one.is_alive)
    one.dismissed()
    await until(lambda: seen.lines)
    os.kill(int(seen.lines[0]), signal.SIGKILL)
    await until(lambda: one.state != "running")
    assert one.report()["state"] == "down"


@pytest.mark.parametrize("program", ["/no/such/program", "no-such-program"])
async def test_a_program_that_is_not_there_is_reported(program: str, tmp_path: Path) -> None:
    locked = tmp_path / "locked"  # as a folder of root in the PATH of an ordinary user
    locked.mkdir(mode=0)
    path = f"{locked}:{os.environ['PATH']}"
    seen = Recorder()
    one = Child("rover.controller", Program([program]), seen)
    one.start({"PATH": path})
    await one.join()
    assert seen.lines == [f"cannot run {program}: No such file or directory"]
    assert seen.notices == ["the program ended with exit code 1"]


async def test_stop_asks_and_then_ends_the_whole_group_even_when_it_goes_on() -> None:
    code = (
        "import os, signal; signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'asked\\n'))\n"
        "other = os.fork()\n"
        "os.write(1, f'{os.getpid()} {other}\\n'.encode())\n"  # at once: both write
        "while True: signal.pause()"
    )

    one, seen = child(code)
    one.start({})
    await until(lambda: len(seen.lines) == 2)
    await one.stop()
    assert one.exits == [-signal.SIGKILL]
    assert "asked" in seen.lines
    pids = [int(word) for word in " ".join(seen.lines[:2]).split() if word != "0"]
    await until(lambda: all(map(is_gone, pids)))


async def test_a_flood_of_output_does_not_delay_the_event_loop() -> None:
    """Others run between the reads, and the lines shown are bounded for each of them."""
    one, seen = child("while True: print('\\n' * 5000)")
    one.start({})
    turns = 0
    while sum("not shown" in line for line in seen.lines) < 5:
        await asyncio.sleep(0)
        turns += 1
    await one.stop()
    assert turns > 5
    assert len(seen.lines) <= 300 * sum("not shown" in line for line in seen.lines) + 300


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
def test_no_program_outlives_a_killed_gateway() -> None:
    code = (
        "import asyncio, os\n"
        "from hilgw.engine.observer import Observer\n"
        "from hilgw.engine.processes.processes import Child, Program\n"
        "class Show(Observer):\n"
        "    def output(self, source, line): print(line, flush=True)\n"
        "async def main():\n"
        "    sleeper = 'import os, signal; print(os.getpid(), flush=True); signal.pause()'\n"
        f"    child = Child('c', Program([{sys.executable!r}, '-c', sleeper]), Show())\n"
        "    child.start(os.environ)\n"
        "    await child.join()\n"
        "asyncio.run(main())\n"
    )
    gateway = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert gateway.stdout is not None
    with gateway, gateway.stdout:
        pid = int(gateway.stdout.readline())
        assert not is_gone(pid)
        os.kill(gateway.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid))


async def test_a_program_has_a_second_after_quit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Webots kills a controller that goes on after its step returned -1."""
    monkeypatch.setattr(processes, "END_S", 0.01)
    one, seen = child("print('there', flush=True)\nwhile True: pass")
    one.quit_sent()  # there is no program yet
    one.start({})
    await until(lambda: "there" in seen.lines)
    one.quit_sent()
    one.quit_sent()
    await one.join()
    assert one.exits == [-signal.SIGTERM]


@pytest.mark.parametrize(
    "line",
    ['Warning: "camera" device not found.', 'Device "camera" was not found on robot "rover"'],
)
async def test_a_crash_names_the_device_that_was_absent(line: str) -> None:
    """As libController and its Python module print it."""
    reason = "after it asked for a device that the robot does not have: 'camera'"
    _, seen = await ended(f"print({line!r}); import os; os.kill(os.getpid(), 11)")
    assert seen.notices == [f"the program ended by SIGSEGV {reason}"]
    _, seen = await ended(f"print({line!r}); exit(1)")
    assert reason not in seen.notices[0]
