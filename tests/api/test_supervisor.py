"""`getSelf()` of a supervisor: its robot in the scene of the gateway of its session."""

import asyncio
import math
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hilgw.api import Field, Node, Robot, Supervisor
from hilgw.api.connection import connect
from hilgw.api.session import Session, Warnings
from hilgw.assemble.gateway import build
from hilgw.client import Gateway
from hilgw.config.load import load_text
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.errors import PeerError
from hilgw.protocols.gateway.paths import CONTROL
from hilgw.testing.sim import Recorder, until
from tests.api.simulator import Simulator
from tests.cli.commands.clients.test_clients import with_gateway

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
        for place in ("protocols.webots.address", "engine.control_loop.servers.webots_socket"):
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
