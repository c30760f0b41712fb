"""The robot of the API: steps, requests byte by byte, its own data, its scene, the end."""

import asyncio
import contextlib
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from ctypes import ArgumentError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw import api
from hilgw.api import Field, Keyboard, Motor, Node, Robot, Supervisor
from hilgw.api.connection import connect
from hilgw.api.robot import Modes
from hilgw.api.session import Session, Warnings
from hilgw.assemble.gateway import build
from hilgw.client import Gateway
from hilgw.config.load import load_text
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.errors import PeerError
from hilgw.protocols.gateway.messages import CONTROL
from hilgw.protocols.webots import robot_messages
from hilgw.protocols.webots.device_messages import EmitterConfiguration, SetVelocity
from hilgw.testing.sim import Recorder, until
from tests.api.simulator import Simulator, motor, robot_of
from tests.api.test_interface import DEVICES, method
from tests.cli.commands.clients.test_clients import with_gateway


@pytest.fixture
def simulator() -> Simulator:
    return Simulator()


def test_the_requests_are_those_of_libcontroller(simulator: Simulator, robot: Robot) -> None:
    robot.step(32)
    robot.close()
    assert [data.hex(" ") for data in simulator.raw] == [
        "11 00 00 00 00 00 00 00 00 00 03 00 00 00 23 00 00",
        "08 00 00 00 20 00 00 00",
        "0f 00 00 00 00 00 00 00 00 00 01 00 00 00 26",
    ]
    assert simulator.left and simulator.commands(0) == [robot_messages.JoystickSamplingPeriod(0)]
    assert simulator.commands() == [robot_messages.ClientExitNotify()]


def test_steps_and_time(simulator: Simulator, robot: Robot) -> None:
    simulator.delays = [0, 17, -1, -1, 5]
    assert robot.getTime() == 0.0
    assert [robot.step(), robot.step(64)] == [0, 17] and robot.getTime() == 0.096
    assert robot.step(32) == 5  # two immediate answers before the one that ends the step
    assert robot.step(0) == 0 and robot.getTime() == 0.128
    assert robot.stepBegin(32) == 0 and robot.stepEnd() == 0 and robot.getTime() == 0.16


def test_wrong_steps_are_reported_and_take_no_time(
    robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    assert robot.step(-1) == 0 and "negative duration=-1" in capsys.readouterr().err
    assert robot.step(2**31) == 0 and "above 2147483647 ms" in capsys.readouterr().err
    assert robot.stepBegin(2**40) == robot.stepEnd() == 0
    robot.stepBegin(32)
    assert robot.step(32) == 0 and "between" in capsys.readouterr().err
    assert robot.stepEnd() == 0 and robot.getTime() == 0.032


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([robot_messages.Quit()], ""),
        (
            [robot_messages.Battery(0.0), robot_messages.Quit()],
            "the battery of the robot is empty: the controller ends.",
        ),
        (None, "Error: Broken pipe: the controller ends.\n"),  # the connection is lost
    ],
)
def test_after_the_end_steps_return_minus_1(
    answer: list[Any] | None,
    text: str,
    simulator: Simulator,
    robot: Robot,
    capsys: pytest.CaptureFixture[str],
) -> None:
    simulator.lost = answer is None
    simulator.answers = [answer or []]
    assert [robot.step(32), robot.step(32), robot.step(0)] == [-1, -1, -1]
    assert robot.stepBegin(32) == robot.stepEnd() == -1
    shown = capsys.readouterr().err
    assert text in shown and shown.count("\n") == bool(text)
    robot.close()
    assert len(simulator.requests) == 1 + (answer is not None)  # nothing after it but the leave


def test_one_robot_per_process(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    second = Robot()
    assert "only one Robot instance" in capsys.readouterr().err
    assert not hasattr(second, "devices") and Robot.created is robot
    robot.close()
    with pytest.raises(RuntimeError, match="make a Robot"):
        Motor("wheel")


def test_a_lidar_is_refused_by_name() -> None:
    with pytest.raises(PeerError, match=r"does not support 'eye' \(Lidar\)"):
        robot_of(Simulator([("Lidar", "eye", None)]))


def test_a_robot_that_another_controller_has_is_named() -> None:
    """On a local socket: its connection ends."""
    taken = Simulator()
    taken.lost = True
    with pytest.raises(PeerError, match="another controller has the robot, or the ") as caught:
        robot_of(taken)
    assert caught.value.fix.startswith("end that one; where it is a mock, ")


def test_the_robots_own_data(simulator: Simulator, robot: Robot) -> None:
    assert robot.getName() == "rover" and robot.getModel() == "m"
    assert robot.getBasicTimeStep() == 32.0 and robot.getSynchronization()
    assert robot.getProjectPath() == "/project" and robot.getWorldPath().endswith("w.wbt")
    assert not robot.getSupervisor() and robot.getMode() == Robot.MODE_SIMULATION
    assert robot.getCustomData() == "data"
    robot.setCustomData("more")
    simulator.answers = [[robot_messages.CustomData("from the simulator")]]
    robot.step(32)
    assert simulator.commands() == [robot_messages.SetCustomData("more")]
    assert robot.custom_data == "from the simulator"


def test_battery(simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    assert robot.batterySensorGetValue() == 0.0 and "disabled" in capsys.readouterr().err
    robot.batterySensorEnable(64)
    simulator.answers = [[robot_messages.Battery(99.5)]]
    robot.step(32)
    assert simulator.commands() == [robot_messages.BatterySamplingPeriod(64)]
    assert robot.batterySensorGetValue() == 99.5 and robot.batterySensorGetSamplingPeriod() == 64
    robot.batterySensorDisable()
    robot.step(32)
    assert simulator.commands() == [robot_messages.BatterySamplingPeriod(0)]
    assert robot.batterySensorGetValue() == 0.0


def test_urdf_window_and_user_input_are_immediate(simulator: Simulator, robot: Robot) -> None:
    simulator.answers = [
        [robot_messages.Urdf("<robot/>")],
        [robot_messages.WwiMessage(b"hello\0"), robot_messages.WwiMessage(b"again\0")],
        [robot_messages.UserInputEvent(Robot.EVENT_KEYBOARD)],
        [],
    ]
    assert robot.getUrdf("p") == "<robot/>" and simulator.commands() == [
        robot_messages.GetUrdf("p")
    ]
    robot.wwiSendText("hé")
    assert simulator.commands() == [robot_messages.WwiMessage("hé\0".encode())]
    texts = [robot.wwiReceiveText() for _ in range(3)]
    assert texts == ["hello", "again", None]
    assert robot.waitForUserInputEvent(Robot.EVENT_KEYBOARD, 1000) == Robot.EVENT_KEYBOARD
    assert simulator.commands() == [robot_messages.WaitForUserInput(Robot.EVENT_KEYBOARD, 1000)]
    assert robot.waitForUserInputEvent(Robot.EVENT_KEYBOARD, 0) == Robot.EVENT_NO_EVENT
    assert all(request.duration_ms == 0 for request in simulator.requests)


def test_the_force_of_a_joystick_has_a_sign(
    simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    joystick: Any = robot.joystick
    joystick.setConstantForce(-5)
    for duration in (-1, 1.5):
        joystick.setConstantForceDuration(duration)
    robot.step(32)
    assert simulator.raw[-1].endswith(bytes.fromhex("29 fbff 2a 000000000000f83f"))
    assert "negative 'duration'" in capsys.readouterr().err


def test_keys_come_one_by_one(simulator: Simulator, robot: Robot) -> None:
    robot.getKeyboard().enable(32)
    simulator.answers = [
        [robot_messages.KeyboardKeys((Keyboard.UP, Keyboard.CONTROL | ord("A")))],
        [],
    ]
    robot.step(32)
    assert simulator.commands() == [robot_messages.KeyboardSamplingPeriod(32)]
    assert [robot.keyboard.getKey() for _ in range(3)] == [315, 0x20041, -1]
    keys = (Keyboard.CONTROL | Keyboard.PAGEUP, Keyboard.SHIFT | ord("B"), ord("C"))
    simulator.answers = [[robot_messages.KeyboardKeys(keys)], []]
    robot.step(32)
    assert [robot.keyboard.get_key() for _ in range(2)] == ["control-page up", "shift-B"]
    robot.step(32)  # one that was not read is of the past
    assert robot.keyboard.get_key() == ""


def test_the_mouse_and_a_joystick_without_axes(simulator: Simulator, robot: Robot) -> None:
    mouse, joystick = robot.mouse, robot.joystick
    mouse.enable(32)
    mouse.enable3dPosition()
    assert math.isnan(mouse.getState().u) and not joystick.isConnected()
    simulator.answers = [
        [
            robot_messages.MouseState(True, False, False, (0.25, 0.5), (1.0, 2.0, 3.0)),
            robot_messages.JoystickConfiguration(0, 9, 1, "wheel"),
            robot_messages.JoystickState((4, 7), (), (90,)),
        ]
    ]
    robot.step(32)
    asked = [robot_messages.MouseSamplingPeriod(32), robot_messages.MouseEnable3dPosition(True)]
    assert simulator.commands() == asked
    shown = api.MouseState(0.25, 0.5, 1.0, 2.0, 3.0, left=True, middle=False, right=False)
    assert mouse.getState() == shown
    assert joystick.isConnected() and joystick.model == "wheel"
    assert (joystick.getNumberOfAxes(), joystick.getNumberOfPovs()) == (0, 1)
    assert [joystick.getPovValue(pov) for pov in (-1, 0, 1)] == [0, 90, 0]
    assert [joystick.getPressedButton() for _ in range(4)] == [4, 7, -1, 4]


# names and properties of the vendored package of R2025a, less what is not supported
SURFACE = {
    "Emitter": "CHANNEL_BROADCAST getBufferSize send getChannel setChannel getRange setRange "
    "buffer_size channel range",
    "Receiver": "getBytes getData getDataSize getFloats getInts getBools getQueueLength getString "
    "nextPacket getSignalStrength getEmitterDirection getChannel setChannel queue_length data "
    "data_size string signal_strength emitter_direction channel enable disable sampling_period",
    "Robot": "getDevice getKeyboard getMouse getJoystick getDeviceByIndex getBasicTimeStep getName "
    "getModel getCustomData setCustomData getProjectPath getWorldPath getSupervisor "
    "getSynchronization getNumberOfDevices getTime getUrdf wwiSendText wwiReceiveText step "
    "stepBegin stepEnd waitForUserInputEvent batterySensorEnable batterySensorDisable "
    "batterySensorGetSamplingPeriod batterySensorGetValue getMode setMode basic_time_step name "
    "model custom_data project_path world_path supervisor synchronization time number_of_devices "
    "battery_sensor_sampling_period mode getAccelerometer getAltimeter getBrake getCamera "
    "getCompass getConnector getDisplay getDistanceSensor getEmitter getGPS getGyro "
    "getInertialUnit getLED getLidar getLightSensor getMotor getPen getPositionSensor getRadar "
    "getRangeFinder getReceiver getSkin getSpeaker getTouchSensor EVENT_QUIT MODE_REMOTE_CONTROL",
    "Motor": "setPosition setVelocity setAcceleration setAvailableForce setAvailableTorque "
    "setControlPID getTargetPosition getMinPosition getMaxPosition getVelocity getMaxVelocity "
    "getAcceleration getAvailableForce getMaxForce getAvailableTorque getMaxTorque getMultiplier "
    "enableForceFeedback disableForceFeedback getForceFeedbackSamplingPeriod getForceFeedback "
    "enableTorqueFeedback disableTorqueFeedback getTorqueFeedbackSamplingPeriod getTorqueFeedback "
    "setForce setTorque getType getBrake getPositionSensor brake position_sensor "
    "force_feedback_sampling_period torque_feedback_sampling_period max_position min_position "
    "max_velocity target_position target_velocity available_force max_force available_torque "
    "max_torque target_acceleration multiplier force_feedback torque_feedback type force torque "
    "ROTATIONAL LINEAR",
    "Keyboard": "END HOME LEFT UP RIGHT DOWN PAGEUP PAGEDOWN NUMPAD_HOME NUMPAD_LEFT NUMPAD_UP "
    "NUMPAD_RIGHT NUMPAD_DOWN NUMPAD_END KEY SHIFT CONTROL ALT enable disable getSamplingPeriod "
    "getKeyCode getKey get_key sampling_period",
    "Joystick": "enable disable getSamplingPeriod isConnected getNumberOfAxes getAxisValue "
    "getNumberOfPovs getPovValue getPressedButton setConstantForce setConstantForceDuration "
    "setAutoCenteringGain setResistanceGain setForceAxis is_connected model number_of_axes "
    "number_of_povs pressed_button",
    "Mouse": "enable disable getState enable3dPosition disable3dPosition is3dPositionEnabled",
    "GPS": "LOCAL WGS84 convertToDegreesMinutesSeconds getSpeed getSpeedVector getValues "
    "getCoordinateSystem coordinate_system speed speed_vector value",
    "InertialUnit": "getRollPitchYaw getQuaternion getNoise roll_pitch_yaw quaternion noise",
    "TouchSensor": "BUMPER FORCE FORCE3D getValue getValues getLookupTable getType lookup_table",
    "Brake": "setDampingConstant getType getMotor getPositionSensor motor position_sensor type "
    "dampingConstant ROTATIONAL LINEAR",
    "LED": "set get value",
    "DistanceSensor": "GENERIC INFRA_RED SONAR LASER getAperture getLookupTable getMaxValue "
    "getMinValue getType getValue aperture lookup_table max_value min_value type value",
}


@pytest.mark.parametrize("name", SURFACE)
def test_names_are_those_of_webots(name: str) -> None:
    missing = [each for each in SURFACE[name].split() if not hasattr(getattr(api, name), each)]
    assert not missing


ODD = [-1, 10**12, 2**31, math.nan, math.inf, 10**400, 1.5, "x", "a\0b", "\ud800", b"x", None, []]
SETTERS = """robot.step robot.getUrdf robot.batterySensorEnable robot.setCustomData
robot.wwiSendText keyboard.enable mouse.enable joystick.setConstantForce
joystick.setConstantForceDuration joystick.setAutoCenteringGain joystick.setForceAxis
wheel.setPosition wheel.setVelocity
wheel.setAcceleration wheel.setAvailableTorque wheel.setTorque wheel.enableTorqueFeedback
stop.setDampingConstant led.set rx.setChannel rx.enable tx.setChannel tx.setRange"""


@pytest.mark.parametrize("name", SETTERS.split())
def test_a_wrong_value_is_an_error_of_its_call_or_a_line_but_never_of_a_step(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As libController, where no value ends the program."""
    simulator = Simulator(DEVICES)
    with contextlib.closing(robot_of(simulator)) as rover:
        for number, value in enumerate(ODD, 1):
            with contextlib.suppress(TypeError, ValueError, OverflowError, ArgumentError):
                method(rover, name)(value)
            rover.getDevice("tx").send(bytes([number]))
            assert rover.step(32) == 0
            assert [number] in [list(getattr(each, "data", b"")) for each in simulator.commands()]


def test_old_names_do_what_their_successors_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["brain.py", "--fast", "7"])
    simulator = Simulator(DEVICES)
    with contextlib.closing(robot_of(simulator)) as robot:
        assert isinstance(robot.getServo("wheel"), Motor)
        assert robot.getServo("nothing") is None and robot.getMotor("wheel").name == "wheel"
        assert robot.getData() == "data" and robot.getType() == 34
        robot.setData("more")
        assert robot.getCustomData() == "more"
        assert robot.getControllerArguments() == "--fast 7" and robot.getControllerName() == ""
        robot.batterySensorEnable(64)
        assert robot.getBatterySamplingPeriod() == 64
        robot.keyboardEnable(32)
        code = Robot.KEYBOARD_CONTROL | ord("B")
        simulator.answers = [
            [robot_messages.KeyboardKeys((code, Keyboard.UP)), robot_messages.Battery(1.0)],
            [],
        ]
        robot.step(32)
        keys = [robot.keyboardGetKey() for _ in range(3)]
        assert keys == [code, Robot.KEYBOARD_UP, 0] and code & Robot.KEYBOARD_KEY == ord("B")
        robot.keyboardDisable()
        assert robot.keyboard.getSamplingPeriod() == 0
    errors = capsys.readouterr().err
    assert "Robot.getServo is deprecated, please use Robot.getDevice instead." in errors
    assert "Robot.keyboardGetKey is deprecated, please use Keyboard.getKey instead." in errors


class FakeGateway:
    """Answers requests about the mode of a robot; refuses them with `refusal`."""

    def __init__(self) -> None:
        self.current, self.refusal = "simulation", ""
        self.requests: list[tuple[str, str | None]] = []

    def mode(self, robot: str, mode: str | None = None) -> Any:
        self.requests.append((robot, mode))
        if self.refusal:
            raise PeerError(self.refusal)
        self.current = mode or self.current
        return SimpleNamespace(mode=self.current)


def test_the_mode_is_read_from_and_set_in_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONTROL, raising=False)
    gateway = FakeGateway()
    session: Any = SimpleNamespace(configuration=SimpleNamespace(name="rover"), gateway=gateway)
    modes = Modes(session)
    assert not modes.is_remote()
    assert modes.set(remote=True) == ""
    assert modes.is_remote()
    gateway.current = "shadow"  # the program reads the simulated body
    assert not modes.is_remote()
    assert gateway.requests == [("rover", each) for each in (None, "remote", None, None)]
    gateway.refusal = "the remote body is not connected"
    assert modes.set(remote=True) == "the remote body is not connected"
    assert not modes.is_remote()
    asked = len(gateway.requests)
    assert not modes.is_remote() and len(gateway.requests) == asked, "looked for once"


def test_commands_before_a_change_of_the_mode_go_to_the_old_robot() -> None:
    gateway, simulator = FakeGateway(), Simulator([("RotationalMotor", "wheel", motor)])
    session: Any = Session(simulator)
    session.gateway = gateway
    with closing(Robot(session=session)) as robot:
        robot.getDevice("wheel").setVelocity(2.0)
        robot.setMode(Robot.MODE_SIMULATION)  # it is already
        assert len(simulator.requests) == 1
        robot.setMode(Robot.MODE_REMOTE_CONTROL)
        assert simulator.commands() == [SetVelocity(1, 2.0)]
        assert robot.getMode() == Robot.MODE_REMOTE_CONTROL and gateway.current == "remote"


@pytest.fixture
def sender() -> Iterator[Robot]:
    def make(tag: int) -> EmitterConfiguration:
        return EmitterConfiguration(tag, -1, 3, -1.0, 2.0, 5.0, ())

    with contextlib.closing(robot_of(Simulator([("Emitter", "tx", make)]))) as made:
        yield made


def test_a_step_beside_the_multiples_is_named_once(
    sender: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    for duration in (32, 64, 0, None):
        sender.step(duration)
    assert capsys.readouterr().err == ""
    for duration in (40, 50, 10):
        sender.step(duration)
    line = (
        "Warning: robot.step(40): a step of 40 ms takes 64 ms: "
        "steps are multiples of the basic time step of 32 ms.\n"
    )
    assert capsys.readouterr().err == line


def test_packets_that_no_step_sends(sender: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    tx = sender.getDevice("tx")
    tx.send(b"1")
    sender.step(32)
    tx.send(b"2")
    tx.send(b"3")
    sender.close()
    assert "Warning: 2 packets of 'tx' did not leave: packets leave" in capsys.readouterr().err


def test_a_program_that_sends_and_does_not_step(
    sender: Robot, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    tx = sender.getDevice("tx")
    for _ in range(3):
        tx.send(b"with a step")
        sender.step(32)
        now_s[0] += 10.0
    tx.send(b"the first")
    tx.send(b"soon")
    assert capsys.readouterr().err == ""
    for _ in range(2):
        now_s[0] += 1.5
        tx.send(b"late")
    line = "Emitter.send() of 'tx' without a step: packets leave with robot.step()"
    assert capsys.readouterr().err.count(line) == 1
    sender.step(32)


SCENE = """
version: 1
backend: mock
robots:
  rover:
    position: [1, 2, 3]
    rotation: [0, 0, 1, 1.5707963267948966]
    controller: {kind: webots, listen: "tcp://127.0.0.1:1"}
  lost: {controller: {kind: webots, listen: "tcp://127.0.0.1:2"}}
"""
# What the binding of R2025a has, beside what hilgw answers.
NODE = """getDef getId getParentNode isProto getFromProtoDef getType getBaseTypeName remove
exportString getFieldByIndex getNumberOfFields getProtoField getProtoFieldByIndex getPose
enablePoseTracking disablePoseTracking getCenterOfMass getContactPoints enableContactPointTracking
getStaticBalance disableContactPointTracking
getVelocity setVelocity saveState loadState resetPhysics
setJointPosition restartController moveViewpoint setVisibility addForce addForceWithOffset
addTorque"""
FIELD = """getType getTypeName getCount enableSFTracking disableSFTracking getSFBool setSFBool
getSFInt32 setSFInt32 getSFFloat setSFFloat setSFVec3f setSFRotation setSFColor setSFString
importSFNodeFromString importMFNodeFromString removeSF removeMF insertMFVec3f setMFVec3f"""


def node_of(control: str, name: str) -> Node:
    return Node(name, Warnings(), lambda: Gateway(Path(control)))


def test_its_robot_in_the_scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ask(control: str) -> None:
        node = node_of(control, "rover")
        assert node.getPosition() == [1, 2, 3]
        assert node.getOrientation() == pytest.approx([0, -1, 0, 1, 0, 0, 0, 0, 1], abs=1e-9)
        name, translation = node.getField("name"), node.getField("translation")
        assert name is not None and name.getSFString() == node.getName() == "rover"
        assert translation is not None and translation.getSFVec3f() == [1, 2, 3]
        assert capsys.readouterr().err == ""
        assert all(math.isnan(each) for each in node_of(control, "lost").getOrientation())
        assert node.getField("children") is None and node.remove() is None
        assert capsys.readouterr().err.count("without Webots") == 1

    with_gateway(tmp_path, ask, SCENE)


def test_without_a_gateway_the_pose_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = node_of(str(tmp_path / "none"), "rover")
    assert all(math.isnan(each) for _ in range(3) for each in node.getPosition())
    assert capsys.readouterr().err.count("Node.getPosition") == 1


def test_all_functions_and_constants_answer_with_one_notice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made: Any = Supervisor(Session(Simulator()))
    with closing(made) as robot:
        here = robot.getSelf()
        field = here.getField("name")
        for owner, names in ((here, NODE), (field, FIELD)):
            for name in names.split():
                assert getattr(owner, name)(1, 2) is None
        field.value, robot.simulation_mode = "other", Supervisor.SIMULATION_MODE_PAUSE
        assert field.value == "rover" and robot.simulationGetMode() is None
        assert (here.id, here.DEF, field.type, field.count) == (None,) * 4
        assert capsys.readouterr().err.count("\n") == 1
    constants: Any = Node
    assert (constants.NO_NODE, constants.ROBOT, constants.SOLID, constants.RADIO) == (0, 34, 80, 87)
    fields: Any = Field
    assert (fields.SF_BOOL, fields.SF_NODE, fields.MF_BOOL, fields.MF_NODE) == (1, 9, 17, 25)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets of gateways and of Webots: no other program's are in it."""
    with tempfile.TemporaryDirectory(prefix="hw") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        monkeypatch.delenv(CONTROL, raising=False)
        for place in ("protocols.webots.handshake", "engine.control_loop.servers.webots_socket"):
            monkeypatch.setattr(f"hilgw.{place}.INSTANCES", Path(folder) / "webots")
        yield Path(folder)


@pytest.mark.parametrize("way", ["tcp", "ipc"])
@pytest.mark.parametrize("own_runs", [True, False])
def test_only_the_gateway_of_the_session_is_asked(
    way: str, own_runs: bool, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """own_runs: the gateway of the session has a control socket; else another one alone has."""

    async def run() -> tuple[list[float], str]:
        loop, stop, log = asyncio.get_running_loop(), asyncio.Event(), Recorder()
        (short / "hilgw").mkdir(mode=0o700)
        text = "version: 1\nrobots: {rover: {position: [%s, 0, 0], controller: {kind: webots, %s}}}"
        listens = "listen: 'tcp://127.0.0.1:0'" + (", ipc: true" if way == "ipc" else "")
        own = build(load_text(text % (1, listens), "f").config, loop, log)
        other = build(load_text(text % (2, "listen: 'tcp://127.0.0.1:0'"), "f").config, loop, log)
        servers = [ControlServer(other, str(short / "hilgw" / "other.sock"))]
        monkeypatch.setenv(CONTROL, str(servers[0].path))  # that of a shell, or of a parent
        if own_runs:
            servers.append(ControlServer(own, str(short / "hilgw" / "own.sock")))
        tasks = [asyncio.create_task(each.run(stop)) for each in (own, other)]
        for server in servers:
            await server.start()
        try:
            port = own.supervisors["rover.controller"]
            await until(lambda: "listening" in port.reason)
            number = re.findall(r":(\d+)", port.reason)[0]
            return await asyncio.to_thread(ask, f"{way}://{'127.0.0.1:' * (way == 'tcp')}{number}")
        finally:
            stop.set()
            await asyncio.gather(*tasks)
            for server in servers:
                await server.close()
            own.close(), other.close()

    def ask(url: str) -> tuple[list[float], str]:
        variables = {"WEBOTS_CONTROLLER_URL": f"{url}/rover", **os.environ}
        with closing(Supervisor(session := Session(connect(variables)))) as robot:
            position, problem = robot.getSelf().getPosition(), ""
            try:
                mode = session.gateway.mode("rover").mode
            except PeerError as error:
                mode, problem = "", str(error)
            assert (mode == "simulation") is own_runs
            robot.setMode(Robot.MODE_REMOTE_CONTROL)  # refused: of the other gateway, too
            return position, problem

    position, problem = asyncio.run(run())
    if own_runs:
        assert position == [1, 0, 0] and not problem
    else:
        assert all(map(math.isnan, position)) and "no gateway of yours" in problem
