"""The remote-control plug-in of tools/webots-plugin on a running hilgw with mocks of robots."""

import math
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.plugin_host import ACCELERATION, POSITION, VELOCITY, Built, PluginHost
from tests.e2e.running import Gateway, run, wait_until

pytestmark = pytest.mark.judge("gcc", "make")

LEFT, RIGHT, ENCODER = "left wheel motor", "right wheel motor", "left wheel sensor"
CREATE = {
    "camera": "Camera",
    RIGHT: "RotationalMotor",
    LEFT: "RotationalMotor",
    ENCODER: "PositionSensor",
    "led_on": "LED",
    "bumper_left": "TouchSensor",
    "cliff_left": "DistanceSensor",
    "cliff_right": "LightSensor",  # another type than that of the robot
}
CONFIG = """
version: 1
webots: R2025a
medium: {{step_ms: 32}}
robots:
  create:
    body: {{kind: create2, port: {port}, mode: full, simulated: true, silence_s: 20}}
    controller: {{kind: webots_plugin}}
    safety: {{command_timeout_s: {timeout_s}, latch: {latch}, late_s: {late_s}}}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("plugin"))


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """It waits 2 s for hilgw."""
    return Built(tmp_path_factory.mktemp("plugin"), answer_ms=2_000)


class PluginBench:
    """A mock of the robot, a gateway, and the plug-in's host. speed: of the wheels in mm/s."""

    def __init__(
        self,
        folder: Path,
        robot: Any,
        built: Built,
        timeout_s: float = 20.0,
        late_s: float = 20.0,
        *,
        latch: bool = False,
    ) -> None:
        self.folder = folder
        self.robot = robot
        self.built = built
        values = {"port": robot.port, "timeout_s": timeout_s, "latch": str(latch).lower()}
        values["late_s"] = late_s
        (folder / "c.yaml").write_text(CONFIG.format(**values))
        self.gateway = self.new_gateway()
        self.host = self.new_host()

    def new_gateway(self) -> Gateway:
        gateway = Gateway(self.folder, ["--config", "c.yaml"])
        wait_until(lambda: "create.body  up" in gateway.text(), what="the robot")
        return gateway

    def new_host(self) -> PluginHost:
        return PluginHost(self.built, self.folder, "create", CREATE)

    @property
    def speed(self) -> tuple[int, int]:
        return self.robot.mock.drive

    def drive(self) -> None:
        """The left wheel at 3 rad/s, as after a switch in velocity control."""
        self.host.emit(f"target {self.host.tags[LEFT]} inf")
        assert self.host.start(), self.host.text() + self.gateway.text()
        self.host.motor(VELOCITY, LEFT, 3.0)
        self.host.step()
        wait_until(lambda: self.speed == (93, 0), what="the wheel to turn")

    def wait_for_stop(self, words: str) -> None:
        wait_until(lambda: self.speed == (0, 0), what="the stop")
        wait_until(lambda: words in self.gateway.text(), what=words)


@pytest.fixture
def bench(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    firmware_mock: Any,
    built: Built,
) -> Iterator[PluginBench]:
    """A bench; a test may give it settings by an indirect parameter."""
    robot = firmware_mock("create2", width=20, depth=20)
    bench = PluginBench(tmp_path_factory.mktemp("p"), robot, built, **getattr(request, "param", {}))
    try:
        with bench.host:
            yield bench
    finally:
        bench.gateway.stop()


def test_motors_move_and_the_values_have_webots_units(bench: PluginBench) -> None:
    host = bench.host
    host.emit(f"target {host.tags[LEFT]} 1.5")  # position control
    assert host.start()
    host.motor(VELOCITY, LEFT, 3.0)
    host.step(3)
    assert bench.speed == (0, 0)
    host.motor(POSITION, LEFT, math.inf)
    host.step()
    wait_until(lambda: bench.speed == (93, 0), what="velocity control")
    for name in (ENCODER, "cliff_left", "bumper_left"):
        host.enable(name)
    first = host.step_until(ENCODER)[0]
    host.step(10)
    turned = host.values[ENCODER][0] - first
    assert 0 < turned < 3.0 * 2  # rad; the time of a busy machine is not that of its steps
    assert host.step_until("cliff_left") == [2500]
    assert host.step_until("bumper_left") == [0]
    host.emit(f"led {host.tags['led_on']} 1")
    host.motor(ACCELERATION, LEFT, -1)
    host.step()
    bench.robot.wait_for(lambda mock: mock.leds[2] > 0)
    host.emit(f"period {host.tags[ENCODER]} 0")
    host.step()
    host.values.clear()
    host.step(3)
    assert ENCODER not in host.values and "cliff_left" in host.values
    for _ in range(2):  # what the robot does not have
        host.enable("camera")
        host.enable("cliff_right")
        host.step()
        host.ask("every")
    assert not host.has_failed
    text = host.text()
    assert text.count("no device 'camera'") == 1
    assert text.count("'cliff_right' is a device of another type") == 1
    assert text.count("camera_set_fov") == text.count("display_draw_line") == 1


def test_a_second_controller_and_an_unknown_robot_are_refused(bench: PluginBench) -> None:
    bench.drive()
    folder = bench.folder / "second"
    folder.mkdir()
    runtime = str(bench.folder / "run")
    with PluginHost(bench.built, folder, "create", CREATE, XDG_RUNTIME_DIR=runtime) as second:
        assert not second.start()
        assert not second.start("rover") and "rover.plugin" in second.text()
        assert not second.start("x" * 200) and "too long" in second.text()
    bench.host.step()
    assert not bench.host.has_failed and bench.speed == (93, 0)


def test_back_to_simulation_stops_it_and_it_starts_again(bench: PluginBench) -> None:
    for _ in range(3):
        bench.drive()
        bench.host.ask("stop")
        assert "ended without notice" not in bench.gateway.text()
        bench.wait_for_stop("motors stopped: the controller disconnected")
    bench.drive()  # set_mode(2) in remote mode: libController calls start without stop
    assert bench.host.start(), bench.host.text()
    bench.wait_for_stop("motors stopped")
    bench.host.step()
    assert bench.speed == (0, 0)  # what was commanded before is not repeated
    assert bench.host.finish() == 0


def test_a_paused_simulation_stops_the_robot_until_the_controller_commands_it(
    bench: PluginBench,
) -> None:
    host = bench.host
    bench.drive()
    host.enable(ENCODER)
    host.step()
    host.ask("actuators")
    bench.wait_for_stop("motors stopped: the controller disconnected")
    host.step_until(ENCODER)  # it is enabled again
    assert bench.speed == (0, 0) and not host.has_failed
    host.motor(VELOCITY, LEFT, 2.0)
    host.step()
    wait_until(lambda: bench.speed == (62, 0), what="the new command")


@pytest.mark.parametrize("bench", [{"latch": True}], indirect=True)
def test_the_controller_learns_that_the_robot_is_not_armed(bench: PluginBench) -> None:
    bench.drive()
    assert "is not armed" not in bench.host.text()
    bench.host.ask("stop")
    bench.wait_for_stop("latched until `hilgw arm create`")
    assert bench.host.start() and "'create' is not armed" in bench.host.text()
    bench.host.motor(VELOCITY, LEFT, 3.0)
    bench.host.step(3)
    assert bench.speed == (0, 0) and not bench.host.has_failed
    assert run("arm", "create", cwd=bench.folder).returncode == 0
    bench.host.motor(VELOCITY, LEFT, 2.0)
    bench.host.step()
    wait_until(lambda: bench.speed == (62, 0), what="the wheel to turn")


@pytest.mark.parametrize("bench", [{"timeout_s": 2.0}], indirect=True)
def test_a_controller_that_freezes_or_dies_stops_the_robot(bench: PluginBench) -> None:
    bench.drive()
    bench.host.send(signal.SIGSTOP)
    bench.wait_for_stop("motors stopped: the controller sends no messages")
    bench.host.send(signal.SIGCONT)
    bench.host.step()
    assert bench.host.has_failed
    assert "hilgw ended the session" in bench.host.text()
    bench.drive()
    bench.host.process.kill()
    bench.wait_for_stop("motors stopped: the controller disconnected")


def test_a_gateway_that_dies_fails_the_controller_and_may_come_back(bench: PluginBench) -> None:
    bench.drive()
    bench.gateway.stop(signal.SIGKILL)
    bench.host.step()
    assert bench.host.has_failed and "closed the connection" in bench.host.text()
    assert not bench.host.start() and "cannot connect" in bench.host.text()
    bench.gateway = bench.new_gateway()
    bench.drive()


def test_a_gateway_that_freezes_or_whose_robot_is_down_fails_the_controller(
    tmp_path_factory: pytest.TempPathFactory, firmware_mock: Any, impatient: Built
) -> None:
    """The whole process is stopped: none of its threads runs. Where the robot is down, a start
    leaves no connection: the controller may come again at once, and so may another."""
    robot = firmware_mock("create2", width=20, depth=20)
    bench = PluginBench(tmp_path_factory.mktemp("p"), robot, impatient, late_s=1.0)
    try:
        with bench.host:
            bench.drive()
            bench.gateway.process.send_signal(signal.SIGSTOP)
            bench.host.step()  # returns all the same
            assert bench.host.has_failed
            assert "does not answer" in bench.host.text()
            bench.gateway.process.send_signal(signal.SIGCONT)
            bench.wait_for_stop("motors stopped: hilgw itself was late")
            robot.unplug()
            wait_until(lambda: "body DOWN" in bench.gateway.text(), what="the body to be down")
            assert not bench.host.start()
            state = bench.gateway.report()["ports"]["create.controller"]
            assert state["state"] == "waiting", state
            robot.plug()
            wait_until(lambda: bench.gateway.text().count("create.body  up") == 2, what="the robot")
            bench.drive()
    finally:
        bench.gateway.process.send_signal(signal.SIGCONT)
        bench.gateway.stop()
