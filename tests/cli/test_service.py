"""How a run ends: signals, robots that may still move, and what systemd receives."""

import asyncio
import configparser
import errno
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.cli.main import main
from hilgw.cli.parser import parse
from hilgw.cli.service import Service
from hilgw.cli.signals import ECHO_S, StopSignal
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.errors import ConfigError, UsageError
from hilgw.protocols.gateway.messages import SERVICES
from hilgw.testing.sim import DEADLINE_S, Clock, until
from tests.bodies.bench import WebotsLine
from tests.cli.conftest import Command
from tests.e2e.running import COMMAND, ROOT, environment, run_program, start
from tests.engine.control_loop.on_mocks import OnMock

PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
UNIT = ROOT / "tools" / "systemd" / "hilgw@.service"
MS = 1_000_000


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(tmp_path / "notify"))
        yield receiving


def received(manager: socket.socket) -> list[str]:
    manager.setblocking(False)
    messages = []
    with suppress(BlockingIOError):
        while True:
            messages.append(manager.recv(4096).decode())
    return messages


def environment_of(manager: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(manager.getsockname()), **more}


def test_the_watchdog_beats_while_the_event_loop_runs_and_no_longer(manager: socket.socket) -> None:
    clock = Clock()
    environ = environment_of(manager, WATCHDOG_USEC="2000000", WATCHDOG_PID=str(os.getpid()))
    service = Service(environ, clock)
    assert environ == {}  # no program that hilgw starts inherits them
    assert received(manager) == []
    service.ready()
    assert received(manager) == ["READY=1", "WATCHDOG=1"]
    clock.run(2000 * MS)
    assert received(manager) == ["WATCHDOG=1"] * 4
    clock.time += 10_000 * MS  # it hangs
    assert received(manager) == []
    service.stopping()
    assert received(manager) == ["STOPPING=1"]


def test_the_watchdog_of_another_process_gets_no_beats(manager: socket.socket) -> None:
    clock = Clock()
    Service(environment_of(manager, WATCHDOG_USEC="1000", WATCHDOG_PID="1"), clock).ready()
    clock.run(1000 * MS)
    assert received(manager) == ["READY=1"]


def test_without_a_manager_nothing_is_sent_and_one_that_is_gone_changes_nothing() -> None:
    clock = Clock()
    Service({"WATCHDOG_USEC": "1000"}, clock).ready()
    assert clock.waiting == 0
    Service({"NOTIFY_SOCKET": "/nowhere/notify"}, clock).ready()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract:
        abstract.bind(f"\0hilgw-{os.getpid()}")
        Service({"NOTIFY_SOCKET": f"@hilgw-{os.getpid()}"}, Clock()).ready()
        assert received(abstract) == ["READY=1"]


@pytest.mark.process
def test_a_gateway_reports_its_start_life_and_end(manager: socket.socket, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("version: 1\n")
    manager.settimeout(DEADLINE_S)
    more = environment_of(manager, WATCHDOG_USEC="40000")
    given = environment(tmp_path, **more)
    process = start(tmp_path, *COMMAND, "run", "f.yaml", "--quiet", env=given)
    try:
        messages = [manager.recv(4096).decode() for _ in range(4)]
        assert messages == ["READY=1", *["WATCHDOG=1"] * 3]
        process.send_signal(signal.SIGTERM)
        while (message := manager.recv(4096).decode()) == "WATCHDOG=1":
            pass
        assert message == "STOPPING=1"
        assert process.wait(DEADLINE_S) == 143
    finally:
        process.kill()
        process.wait()


def unit() -> dict[str, list[str]]:
    """The settings of [Service]; one that is written again adds to it."""
    parser = configparser.RawConfigParser(strict=False, delimiters="=")
    parser.read(UNIT)
    assert parser.sections() == ["Unit", "Service", "Install"]
    values: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", UNIT.read_text().split("[Service]")[1], re.M):
        values.setdefault(name, []).append(value)
    return values


def test_the_unit_keeps_what_stops_the_robots_alive() -> None:
    settings = unit()
    assert settings["Type"] == ["notify"] and float(settings["WatchdogSec"][0]) <= 5
    assert settings["KillMode"] == ["control-group"]
    assert settings["OOMPolicy"] == ["continue"]
    assert settings["RuntimeDirectory"] == ["hilgw/%i"]
    assert settings["Restart"] == ["on-failure"]
    assert "char-ttyUSB rw" in settings["DeviceAllow"] and settings["DevicePolicy"] == ["closed"]
    assert settings["SupplementaryGroups"] == ["dialout"]
    never = {int(code) for code in settings["RestartPreventExitStatus"][0].split()}
    assert never == {UsageError.exit_code, ConfigError.exit_code}


FILTERED = """
import asyncio, ctypes, os, struct, sys
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.event_loop.scheduler import Timer

number, action = map(int, sys.argv[1:])
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, action), (0x06, 0, 0, 0x7FFF0000)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in code))
program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(filters)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
assert prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP

class Body:
    late_ns = 10**12
    def in_time(self): ...
    def guard(self): ...

async def main():
    watchdog = Watchdog(Timer(asyncio.get_running_loop()))
    watchdog.watch(Body())
    watchdog.guardian.guarded.append(Body())
    watchdog.guardian.demand()
    watchdog.start()
    seen = set()
    while len(seen) < 4:  # beats of the thread that the guardian has echoed
        await asyncio.sleep(0.01)
        seen.add(watchdog.guardian.flag[1])
    watchdog.stop()
    watchdog.guardian.close()

asyncio.run(main())
print("runs")
"""
SETPRIORITY = {"x86_64": 141, "aarch64": 140}
KILL_PROCESS, ERRNO = 0x80000000, 0x00050000


@pytest.mark.process
@pytest.mark.skipif(platform.machine() not in SETPRIORITY, reason="the number of a system call")
def test_under_the_filter_of_the_unit_a_thread_may_ask_for_its_priority() -> None:
    """Without the error number the filter kills the whole process."""
    settings = unit()
    assert settings["Nice"] == ["-10"]
    assert "@resources" in settings["SystemCallFilter"][-1]
    (error,) = settings["SystemCallErrorNumber"]
    ends = {}
    for action in (ERRNO | getattr(errno, error), KILL_PROCESS):
        numbers = (SETPRIORITY[platform.machine()], action)
        command = [sys.executable, "-c", FILTERED, *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
        ends[action] = done.returncode
    assert ends == {ERRNO | errno.EPERM: 0, KILL_PROCESS: -signal.SIGSYS}, done.stderr


def test_its_command_is_one_and_its_socket_is_where_commands_look() -> None:
    (line,) = unit()["ExecStart"]
    words = line.replace("%t", "/run").replace("%i", "lab").split()
    assert words[0] == "/opt/hilgw/bin/hilgw"
    args = parse(words[1:])
    assert args.file == "/etc/hilgw/lab.yaml"
    assert Path(args.control).parent == SERVICES / "lab" and args.control.endswith(".sock")


@pytest.mark.process
@pytest.mark.judge("systemd-analyze")
def test_the_unit_is_exposed_to_little(tmp_path: Path) -> None:
    shutil.copy(UNIT, tmp_path / "hilgw@lab.service")
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager"]
    command.append(str(tmp_path / "hilgw@lab.service"))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(level) <= 2.5, done.stdout


@pytest.mark.process
def test_the_commands_of_the_page_fit_the_unit(tmp_path: Path) -> None:
    commands = re.findall(r"^    (.*)$", PAGE, re.M)
    shell = "\n".join(commands)
    settings = unit()
    assert "useradd --system --user-group --home-dir / --shell /usr/sbin/nologin hilgw" in shell
    assert settings["User"] == settings["Group"] == ["hilgw"]
    assert "python3 -m venv /opt/hilgw" in shell
    (copied,) = re.findall(r"install .* (tools/systemd/\S+) (\S+)", shell)
    assert (ROOT / copied[0]) == UNIT and copied[1] == "/etc/systemd/system/"
    for line in commands:
        words = line.removeprefix("sudo ").split()
        if words[0] == "hilgw":
            parse(words[1:])
    checked = subprocess.run(["sh", "-n"], input=shell, text=True, check=False)
    assert checked.returncode == 0


AFTER_A_RUN = """
import os, signal, sys
import hilgw.__main__ as entry
print(*sorted({"argparse", "asyncio", "yaml"} & set(sys.modules)))
sys.argv = ["hilgw", "-q", "--config", sys.argv[1], "--duration", "10ms"]
assert entry.main() == 0
os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
while True:
    signal.pause()
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_slow_is_imported_first_and_a_late_signal_has_its_code(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    command = (sys.executable, "-c", AFTER_A_RUN, "one.yaml")
    done = run_program(*command, cwd=tmp_path, SIGNAL=number.name)
    assert done.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], done.stderr
    assert (done.stdout.splitlines()[:1], done.stderr) == ([""], "")


def test_ctrl_c_in_a_command_is_an_exit_code_and_no_traceback(
    hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(file: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hilgw.security.access.write_token", pressed)
    ended = None
    with suppress(KeyboardInterrupt):  # which would end pytest
        ended = hilgw("token", "lab.token")
    assert ended == (130, "", "")


@pytest.fixture
def restored() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("is_over", [False, True], ids=["running", "last words"])
def test_a_signal_twice_at_once_is_one(is_over: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """timeout(1) signals its child, then its process group; the run still ends in order."""
    left: list[int] = []
    now_s = [100.0]
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setattr("hilgw.cli.signals.time", SimpleNamespace(monotonic=lambda: now_s[0]))

    async def test() -> None:
        stop = StopSignal()
        os.kill(os.getpid(), signal.SIGTERM)
        await until(stop.event.is_set)
        if is_over:
            stop.last_words()
        for after_s, expected in ((0.0, set()), (ECHO_S / 2, set()), (ECHO_S / 2, {130})):
            now_s[0] += after_s
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(3):
                await asyncio.sleep(0)
            assert set(left) == expected
        assert stop.code == 143

    asyncio.run(test())


@pytest.mark.usefixtures("restored")
def test_a_lost_reader_stops_the_robots_before_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hilgw ... | tee log`: Ctrl-C ends tee, too."""
    done: list[str] = []
    monkeypatch.setattr(os, "_exit", lambda code: done.append(f"exit {code}"))

    async def test() -> None:
        stop = StopSignal()
        stop.at_once = lambda: done.append("stopped")
        stop.output_lost(BrokenPipeError())
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(3):
            await asyncio.sleep(0)
        assert (stop.code, stop.event.is_set()) == (130, True)

    asyncio.run(test())
    assert done == ["stopped"]


def test_a_run_whose_last_stop_did_not_leave_ends_with_exit_code_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["-c", "create2", "--speed", "max", "--control", str(tmp_path / "control")]
    assert main([*arguments, "--duration", "2s"]) == 0
    assert "NOT confirmed" not in capsys.readouterr().err
    monkeypatch.setattr(PeerLink, "has_drained", lambda link: False)
    assert main([*arguments, "--duration", "2s"]) == 5
    error = capsys.readouterr().err
    assert "stop NOT confirmed: create.body: the line takes no bytes" in error
    assert "switch the robot off" in error


def loops_of(robot: OnMock) -> ControlLoops:
    loops = ControlLoops(robot.loop.scheduler, simulated=True)
    loops.add(robot.loop.loop)
    return loops


async def answer_of(robot: OnMock, loops: ControlLoops) -> dict[str, str]:
    """What `hilgw disarm` learns; time passes while it waits."""
    loops.disarm("cab")
    waiting = asyncio.create_task(loops.stops_left("cab"))
    while not waiting.done():
        robot.run(10)
        await asyncio.sleep(0)
    return await waiting


@pytest.mark.parametrize("kind", ["create2", "text", "epuck", "dynamixel"])
def test_a_disarm_waits_until_the_stop_has_left(kind: str) -> None:
    robot = OnMock(kind, simulated=False, armed=True).start()
    assert asyncio.run(answer_of(robot, loops_of(robot))) == {}
    assert robot.stop.search(robot.written)
    robot.loop.loop.arm()
    robot.loop.robot.stalled = True
    whys = asyncio.run(answer_of(robot, loops_of(robot)))
    assert whys == {"cab": "the line takes no bytes"}


def test_a_simulation_that_stands_still_is_named_after_300_ms() -> None:
    robot = OnMock("webots").start()
    robot.drive()
    robot.cut = True  # Webots is paused: it answers nothing
    robot.run(100)
    loops = loops_of(robot)
    loops.disarm("cab")
    robot.run(290)
    assert robot.loop.loop.safety.stops.is_leaving
    robot.run(20)
    assert not robot.loop.loop.safety.stops.is_leaving and robot.loop.observer.stops == []
    whys = asyncio.run(loops.stops_left("cab"))
    assert "the simulation stands still" in whys["cab"]


def test_a_simulation_that_stands_still_does_not_hold_the_end_of_the_run() -> None:
    bench = WebotsLine().start()
    session = bench.session
    session.stop("gateway_ended", 0)
    session.leave(0)
    assert session.next_deadline() == 300_000_000
