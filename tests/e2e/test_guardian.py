"""Gateways that are killed or frozen while real robots move: the guardian stops them all."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hilgw.guardian import NAME, leftover
from hilgw.testing.sim import wait_until
from tests.e2e.control_loop_peers import DEADLINE_S, Peer, knock, set_value
from tests.e2e.running import COMMAND, HOST, Gateway, bench_tool, free_port, start
from tests.e2e.test_network_ports import serving

LISTENS = re.compile(r"(\w+)\.controller\b.*listening on 127\.0\.0\.1:(\d+)")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return bench_tool("stop_times")


class Fleet(Gateway):
    """A process with the robots of all kinds, which move."""

    def __init__(self, bench: ModuleType, robots: dict[str, Any], folder: Path) -> None:
        self.robots, self.controllers = robots, list[Peer]()
        lines = ["version: 1", "network_ports: true", "backend: real", "webots: R2020a", "robots:"]
        for kind, robot in robots.items():
            settings = (f"kind: {kind}", robot.address, bench.KINDS[kind].settings)
            lines += [
                f"  {kind}:",
                f"    body: {{{', '.join(filter(None, settings))}}}",
                '    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}',
                "    safety: {armed: true, late_s: 10, command_timeout_s: 30}",
            ]
        (folder / "fleet.yaml").write_text("\n".join([*lines, ""]))
        super().__init__(folder, ["--config", str(folder / "fleet.yaml")], ready=False)

    def drive(self, bench: ModuleType) -> None:
        self.until(lambda: len(LISTENS.findall(self.text())) == len(self.robots))
        ports = dict(LISTENS.findall(self.text()))
        self.controllers = [knock(int(ports[kind])) for kind in self.robots]
        for controller in self.controllers:
            controller.read(time.monotonic() + DEADLINE_S)  # devices: the robot is up
        moving: list[str] = []
        while len(moving) < len(self.robots):  # some have a watchdog of their own
            for kind, controller in zip(self.robots, self.controllers, strict=True):
                controller.send(*(set_value(each, 2.0) for each in bench.KINDS[kind].motors))
            moving = [kind for kind, each in self.robots.items() if each.wait_for(each.moves, 0.3)]
            assert self.process.poll() is None, self.text()
        for robot in self.robots.values():
            robot.mark()

    def until(self, condition: Any) -> None:
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, self.text()
            assert self.process.poll() is None, self.text()
            time.sleep(0.005)

    def close(self) -> None:
        for controller in self.controllers:
            controller.finish()
        self.stop(signal.SIGKILL)


@contextmanager
def fleet(bench: ModuleType, folder: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        for attempt in range(5):
            robots = {kind: bench.Robot(kind) for kind in bench.KINDS}
            for robot in robots.values():
                robot.start()
                stack.callback(robot.close)
            gateway = Fleet(bench, robots, folder)
            stack.callback(gateway.close)
            try:
                gateway.drive(bench)
                break
            except OSError:  # it has disconnected a controller
                # On a busy machine the gateway stood still for 300 ms: another one.
                gateway.until(lambda: "the guardian has stopped the robot" in gateway.text())  # noqa: B023
                assert attempt < 4, gateway.text()
                stack.close()
        yield gateway


def all_stop(gateway: Fleet) -> None:
    """Each gets its stop; some would have stopped by themselves, later."""
    for kind, robot in gateway.robots.items():
        assert robot.wait_for(lambda robot=robot: robot.stopped_ns, DEADLINE_S), kind
        assert robot.wait_for(lambda robot=robot: not robot.moves(), DEADLINE_S), kind


def test_all_robots_stop_when_the_gateway_is_killed(bench: ModuleType, tmp_path: Path) -> None:
    with fleet(bench, tmp_path) as gateway:
        gateway.process.kill()
        all_stop(gateway)


def test_all_robots_stop_when_the_gateway_is_frozen_and_stand_when_it_goes_on(
    bench: ModuleType, tmp_path: Path
) -> None:
    with fleet(bench, tmp_path) as gateway:
        gateway.process.send_signal(signal.SIGSTOP)
        all_stop(gateway)
        for controller in gateway.controllers:  # commands that wait for it
            controller.send(*(set_value(index, 2.0) for index in (0, 1, 2, 3, 4)))
        gateway.process.send_signal(signal.SIGCONT)
        gateway.until(lambda: gateway.text().count("safety stop: hilgw was frozen") >= 5)
        all_stop(gateway)
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.process.wait(DEADLINE_S) == 7, gateway.text()
        assert not any(robot.moves() for robot in gateway.robots.values())


ON_LINES = ("create2", "text")
SEARCHES = (
    ("pgrep", "hilgw"),
    ("pgrep", "python"),
    ("pgrep", "-f", "hilgw"),
    ("pgrep", "-f", "python"),
    ("pidof", "hilgw", "python", "python3", Path(sys.executable).name),
)


def children(pid: int) -> list[int]:
    """The tree below a process, leaves first."""
    pids = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and f"\nPPid:\t{pid}\n" in (process / "status").read_text():
                pids += [*children(int(process.name)), int(process.name)]
    return pids


def guardians(pid: int) -> set[int]:
    """The guardians of this gateway, by their lock."""
    pids = set()
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "comm").read_text().strip() == NAME:
                memories = [
                    link.read_bytes()
                    for link in (process / "fd").iterdir()
                    if str(link.readlink()).startswith("/memfd:")
                ]
                locks = [leftover.LOCK.unpack_from(data, leftover.LOCK_AT) for data in memories]
                pids |= {int(process.name) for lock in locks if lock[1] == pid}
    return pids


@contextmanager
def driving(bench: ModuleType, folder: Path, *kinds: str) -> Iterator[Fleet]:
    """A gateway whose robots of these kinds, or those on lines, move."""
    robots = {kind: bench.Robot(kind) for kind in kinds or ON_LINES}
    gateway = None
    try:
        for robot in robots.values():
            robot.start()
        gateway = Fleet(bench, robots, folder)
        gateway.drive(bench)
        yield gateway
    finally:
        if gateway is not None:
            left = guardians(gateway.process.pid)
            gateway.close()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for robot in robots.values():
            robot.close()


@pytest.mark.process
@pytest.mark.wall_clock("serial ports, and processes that end")
def test_no_kill_by_name_or_tree_finds_the_guardian(bench: ModuleType, tmp_path: Path) -> None:
    """They are not run, as they would find other gateways, too: their lists are."""
    with driving(bench, tmp_path) as gateway:
        pid = gateway.process.pid
        (guardian,) = guardians(pid)
        with again(tmp_path) as (process, output):  # a second one leaves the guardian alone
            assert process.wait(60) == 4, output.read_text()
        assert guardians(pid) == {guardian}
        pids: set[int] = set()
        for search in SEARCHES:
            listed = subprocess.run(search, capture_output=True, text=True).stdout.split()
            pids |= set(map(int, listed))
        assert pid in pids
        assert guardian not in pids
        tree = children(pid)
        assert guardian not in tree
        assert guardian not in children(os.getpid())
        assert os.getsid(guardian) != os.getsid(pid)
        assert os.getpgid(guardian) != os.getpgid(pid)
        for victim in (*tree, pid):
            os.kill(victim, signal.SIGKILL)
        all_stop(gateway)
        gateway.process.wait()
        wait_until(lambda: f"{NAME}: hilgw was killed" in gateway.text())
        wait_until(lambda: not guardians(pid))


def leaves_a_frozen_guardian(gateway: Fleet) -> int:
    """Kill the gateway with its guardian frozen; return the guardian. 0: the machine was so late
    that the gateway had started a second guardian, which stops the robots."""
    pid = gateway.process.pid
    (guardian,) = guardians(pid)
    os.kill(guardian, signal.SIGSTOP)
    gateway.process.kill()
    gateway.process.wait()
    moves = not any(robot.stopped_ns for robot in gateway.robots.values())
    return guardian if moves and guardians(pid) == {guardian} else 0


def ended_by_the_next(gateway: Fleet, guardian: int, folder: Path) -> None:
    with again(folder) as (process, output):
        all_stop(gateway)
        line = f"{NAME} (pid {guardian}) of a gateway that was killed"
        wait_until(lambda: line in output.read_text())
        assert process.poll() is None, output.read_text()
        assert not leftover.started(guardian)


@pytest.mark.process
@pytest.mark.wall_clock("serial ports, and processes that end")
def test_a_gateway_that_starts_again_ends_a_frozen_guardian_and_the_robot_stops(
    bench: ModuleType, tmp_path: Path
) -> None:
    """It would have ended with "in use", and the robots would drive on."""
    for trial in range(5):
        folder = tmp_path / f"{trial}"
        folder.mkdir()
        with driving(bench, folder) as gateway:
            if not (guardian := leaves_a_frozen_guardian(gateway)):
                continue
            return ended_by_the_next(gateway, guardian, folder)
    pytest.fail("this machine starts a second guardian before the gateway is killed")


@contextmanager
def again(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A second gateway of the same file."""
    output = folder / "again.txt"
    with output.open("wb") as stream:
        command = (*COMMAND, "--config", str(folder / "fleet.yaml"))
        process = start(folder, *command, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield process, output
    finally:
        process.kill()
        process.wait()


@pytest.mark.process
@pytest.mark.wall_clock("serial ports, and processes that end")
@pytest.mark.judge("socat")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_robot_behind_a_port_server_stops(bench: ModuleType, tmp_path: Path, number: int) -> None:
    """The end of a connection stops no robot."""
    robot, port = bench.Robot("create2"), free_port()
    robot.start()
    gateway = None
    try:
        with serving(tmp_path, "socket", robot.address.removeprefix("port: "), port):
            robot.address = f"port: 'socket://{HOST}:{port}'"
            gateway = Fleet(bench, {"create2": robot}, tmp_path)
            gateway.drive(bench)
            os.kill(gateway.process.pid, number)
            all_stop(gateway)
    finally:
        if gateway is not None:
            gateway.close()
        robot.close()
