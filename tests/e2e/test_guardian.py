"""A gateway that is killed or frozen while five real robots move: the guardian stops all of them.

Nothing of the gateway could: before the guardian they drove on for ever. The times are those of
`tools/bench/stop_times.py`.
"""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.control_loop_peers import DEADLINE_S, Peer, knock, set_value
from tests.e2e.running import Gateway, bench_tool

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
