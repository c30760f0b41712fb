"""A gateway that is killed or frozen while five real robots move: the guardian stops all of them.

Nothing of the gateway could: before the guardian they drove on for ever. The times are those of
`tools/bench/stop_times.py`.
"""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.control_loop_peers import DEADLINE_S, Peer, knock, set_value
from tests.e2e.running import COMMAND, bench_tool, start

LISTENS = re.compile(r"(\w+)\.controller\b.*listening on 127\.0\.0\.1:(\d+)")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    return bench_tool("stop_times")


class Gateway:
    """A process with the robots of all kinds, which move."""

    def __init__(self, bench: ModuleType, robots: dict[str, Any], folder: Path) -> None:
        self.robots = robots
        self._output = folder / "output.txt"
        lines = ["version: 1", "network_ports: true", "backend: real", "webots: R2020a", "robots:"]
        for kind, robot in robots.items():
            body = ", ".join(
                filter(None, (f"kind: {kind}", robot.address, bench.KINDS[kind].settings))
            )
            lines += [
                f"  {kind}:",
                f"    body: {{{body}}}",
                '    controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}',
                "    safety: {armed: true, late_s: 10, command_timeout_s: 30}",
            ]
        config = folder / "fleet.yaml"
        config.write_text("\n".join([*lines, ""]))
        with self._output.open("w") as output:
            command = (*COMMAND, "--config", str(config))
            self.process = start(folder, *command, stdout=output, stderr=subprocess.STDOUT)
        self.controllers: list[Peer] = []

    def drive(self, bench: ModuleType) -> None:
        self.until(lambda: len(LISTENS.findall(self.output)) == len(self.robots))
        ports = dict(LISTENS.findall(self.output))
        self.controllers = [knock(int(ports[kind])) for kind in self.robots]
        for controller in self.controllers:
            controller.read(time.monotonic() + DEADLINE_S)  # devices: the robot is up
        moving: list[str] = []
        while len(moving) < len(self.robots):  # some have a watchdog of their own
            for kind, controller in zip(self.robots, self.controllers, strict=True):
                controller.send(*(set_value(each, 2.0) for each in bench.KINDS[kind].motors))
            moving = [kind for kind, each in self.robots.items() if each.wait_for(each.moves, 0.3)]
            assert self.process.poll() is None, self.output
        for robot in self.robots.values():
            robot.mark()

    @property
    def output(self) -> str:
        return self._output.read_text()

    def until(self, condition: Any) -> None:
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, self.output
            assert self.process.poll() is None, self.output
            time.sleep(0.005)

    def close(self) -> None:
        for controller in self.controllers:
            controller.finish()
        self.process.kill()
        self.process.wait()


@contextmanager
def fleet(bench: ModuleType, folder: Path) -> Iterator[Gateway]:
    with ExitStack() as stack:
        for attempt in range(5):
            robots = {kind: bench.Robot(kind) for kind in bench.KINDS}
            for robot in robots.values():
                robot.start()
                stack.callback(robot.close)
            gateway = Gateway(bench, robots, folder)
            stack.callback(gateway.close)
            try:
                gateway.drive(bench)
                break
            except OSError:  # it has disconnected a controller
                # On a busy machine the gateway stood still for 300 ms: another one.
                gateway.until(lambda: "the guardian has stopped the robot" in gateway.output)  # noqa: B023
                assert attempt < 4, gateway.output
                stack.close()
        yield gateway


def all_stop(gateway: Gateway) -> None:
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
        gateway.until(lambda: gateway.output.count("safety stop: hilgw was frozen") >= 5)
        all_stop(gateway)
        gateway.process.send_signal(signal.SIGINT)
        assert gateway.process.wait(DEADLINE_S) == 7, gateway.output
        assert not any(robot.moves() for robot in gateway.robots.values())
