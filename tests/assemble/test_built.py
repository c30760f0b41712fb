"""What assembly builds: complete, described, with the watches and imports that it needs."""

import ast
import asyncio
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.bodies.create2 import Create2Body
from hilgw.cli.main import main
from hilgw.config.load import load_text
from hilgw.control.events import MotorCommand, MotorField
from hilgw.control.safety import MotorMode
from hilgw.engine.gateway import Gateway
from hilgw.errors import PortError
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Clock, Recorder, SimEventLoop
from tests.bodies.test_every_body import BodyOfVersion1
from tests.sources import files, nodes, place

LATER = {"robot.on_packet"}  # a robot exists before its control loop
SCENE = """
version: 1
backend: loopback
robots:
  rover: {motion: {kind: circle, center: [0, 0, 0], radius: 2, period_s: 4}}
  buoy: {position: [5, 0, 0], rotation: [0, 0, 1, 1.5707963267948966]}
obstacles:
  wall: {shape: box, size: [1, 1, 1], position: [0, 5, 0]}
  mast: {shape: sphere, radius: 1, attached_to: buoy}
adapters:
  fixed: {kind: xbee, port: "loop://", channel: 12, air: lab, position: [1, 2, 3]}
  riding:
    {kind: xbee, port: "loop://", channel: 12, air: lab, attached_to: buoy, position: [1, 0, 1]}
  moving: {kind: xbee, port: "loop://", channel: 12, air: lab, attached_to: rover}
airs: {lab: {}}
"""
PORTS = """
version: 1
network_ports: true
robots:
  cab:
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
      rx: {node: Receiver, type: serial, channel: 2}
    body: {kind: wc2ec, port: /dev/ttyABSENT1, boot_s: 1.5}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 100, payload: hi}
adapters:
  uno: {kind: uart, port: /dev/ttyABSENT0, channel: 1, boot_s: 2, dtr: false}
  net: {kind: uart, port: "socket://127.0.0.1:9", channel: 2}
"""


@pytest.fixture
def built(runner: asyncio.Runner) -> Iterator[Callable[[str], Gateway]]:
    """built(text): the gateway of a configuration."""
    made: list[Gateway] = []

    def make(text: str) -> Gateway:
        made.append(build(load_text(text, "f").config, runner.get_loop(), Recorder()))
        return made[-1]

    yield make
    for gateway in made:
        gateway.scene.close()
        for host in gateway.hosts:
            host.close()
        gateway.close()


Built = Callable[[str], Gateway]


@pytest.mark.parametrize("file", files("hilgw/assemble"), ids=lambda file: file.stem)
def test_no_attribute_is_set_after_construction(file: Path) -> None:
    assignments = [
        f"{place(file, target)}: {ast.unparse(target)}"
        for node in nodes(file)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and ast.unparse(target) not in LATER
        if ast.unparse(target.value) != "self"
    ]
    assert assignments == []


@pytest.mark.parametrize(("rate", "seconds"), [(115200, 2.0), (9600, 4.27), (300, 136.5)])
def test_a_port_is_stalled_when_the_buffer_of_its_driver_could_have_left(
    rate: int, seconds: float, built: Built
) -> None:
    board = f"board: {{kind: uart, port: /dev/x, baudRate: {rate}}}"
    gateway = built(f"version: 1\nadapters: {{{board}}}")
    stall_s = gateway.supervisors["board"].port.stall_s
    assert stall_s == pytest.approx(seconds, abs=0.1)


@pytest.mark.skipif("sys.platform != 'linux'")
def test_dtr_and_rts_are_reported_at_the_start_for_ports_that_have_them(built: Built) -> None:
    lines = [line for line in built(PORTS).description if "DTR" in line]
    assert lines == [
        "  uno          DTR off after a pulse at opening, RTS on: Linux raises them at opening; "
        "2 s of silence for the board to start",
        "  cab          body: DTR on, RTS on: Linux raises them at opening; "
        "1.5 s of silence for the board to start",
    ]


async def test_a_body_of_version_1_is_asked_by_its_own_methods(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Create2Body, "session", BodyOfVersion1.session)
    create = built(
        "version: 1\nbackend: mock\nrobots: {create: {body: {kind: create2, port: /dev/x}}}"
    )
    refusal = create.control_loops["create"].safety.check(
        MotorCommand(0, MotorField.VELOCITY, 1.0), MotorMode.VELOCITY, 0
    )
    assert refusal is not None and refusal.reason == "no_stop"  # it is not connected


def test_a_mock_has_no_modem_lines(built: Built) -> None:
    gateway = built(PORTS + "backend: loopback\n")
    assert not [line for line in gateway.description if "DTR" in line]


def position(gateway: Gateway, name: str) -> tuple[float, ...]:
    """Where the mock of this adapter is in its air."""
    (mock,) = [mock for host in gateway.hosts for mock in host.mocks if mock.name == name]
    coordinates: tuple[float, ...] = mock.radio.position  # type: ignore[attr-defined]
    return coordinates


async def test_mocks_stand_where_the_modules_do_they_stand_in_for(built: Built) -> None:
    gateway = built(SCENE)
    assert list(gateway.scene.objects) == ["rover", "buoy", "wall", "fixed"]
    assert position(gateway, "fixed") == (1, 2, 3)
    assert math.dist(position(gateway, "riding"), (5, 1, 1)) < 1e-9  # the buoy looks along y
    gateway.place("fixed", Pose((7.0, 8.0, 9.0)))
    gateway.place("buoy", Pose((0.0, 0.0, 1.0)))
    assert position(gateway, "fixed") == (7, 8, 9)
    assert position(gateway, "riding") == (1, 0, 2)
    gateway.place("buoy", None)  # its pose is unknown: the mock stays
    assert position(gateway, "riding") == (1, 0, 2)


ROOT = Path(__file__).parents[2]
RUN = """
import runpy, sys
sys.argv = ["hilgw", "--config", "configs/{config}.yaml", "--duration", "0.1s", "--quiet"]
try:
    runpy.run_module("hilgw", run_name="__main__")
finally:
    print(*sys.modules, file=sys.stderr)
"""
# What asyncio imports by itself, as ssl, costs nothing more.
NOT_FOR_STATIONS = re.compile(
    r"webots|proxy|\.tls|security|control_loop\.loop|tcp\.stream|xml|zenoh|federation\."
)
NOT_FOR_BODIES_ON_LINES = re.compile(r"hilgw\..*(webots|proxy)|security|zenoh|federation\.")


@pytest.mark.process
@pytest.mark.parametrize(
    ("config", "unused"), [("uart", NOT_FOR_STATIONS), ("wc2ec-serial", NOT_FOR_BODIES_ON_LINES)]
)
def test_a_start_imports_no_module_of_parts_that_the_configuration_does_not_have(
    config: str, unused: re.Pattern[str]
) -> None:
    command = [sys.executable, "-c", RUN.format(config=config)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    modules = run.stderr.split()
    assert "hilgw.assemble.gateway" in modules
    assert [name for name in modules if unused.search(name)] == []


FILE = """
version: 1
backend: mock
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: {type}, channel: 12}}
      {receiver}
    controller: {{kind: beacon, emitter: tx, period_ms: 500}}
adapters:
  board: {{kind: {kind}, port: /dev/ttyUSB0, channel: 12, position: [1, 0, 0]{more}}}{node}
"""
RECEIVER = "rx: {{node: Receiver, type: {type}, channel: 12}}"
SILENT = ", framing: slip, mock: {mode: silent}"


def output_of(tmp_path: Path, capsys: pytest.CaptureFixture[str], **words: str) -> str:
    words = {
        "type": "serial",
        "kind": "uart",
        "more": SILENT,
        "receiver": RECEIVER,
        "node": "",
    } | words
    words["receiver"] = words["receiver"].format(type=words["type"])
    file = tmp_path / "silent.yaml"
    file.write_text(FILE.format(**words))
    arguments = ["--speed", "max", "--duration", "9s", "--control", str(tmp_path / "control")]
    assert main(["-c", str(file), *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_board_that_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output_of(tmp_path, capsys)
    line = (
        "board 10 packets out in 5 s, and nothing came back; check the baud rate (9600), the "
        "framing (slip), and that TX goes to RX"
    )
    assert text.count(line) == 1


@pytest.mark.parametrize(
    "receiver", ["", "rx: {{node: Receiver, type: {type}, channel: 3}}"], ids=["none", "other"]
)
def test_where_no_receiver_listens_silence_is_usual(
    receiver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "came back" not in output_of(tmp_path, capsys, receiver=receiver)


def test_a_radio_whose_packets_no_module_acknowledges_needs_no_receiver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ', mapping: {by: destination, table: {12: "0013A20041FFFFFF"}}'
    words = {"type": "radio", "kind": "xbee", "receiver": ""}
    text = output_of(tmp_path, capsys, more=more, **words)
    assert text.count("none was acknowledged; check that both modules have one channel (CH)") == 1
    node = "\nairs: {lab: {nodes: {other: {mock: xbee, address: '0013A20041FFFFFF'}}}}"
    assert "none was" not in output_of(
        tmp_path, capsys, more=f"{more}, air: lab", node=node, **words
    )
    words.pop("receiver")
    text = output_of(tmp_path, capsys, more=f"{more}, air: lab", node=node, **words)
    assert "came back" not in text  # each acknowledgement did


def test_packets_for_a_port_that_never_opens() -> None:
    """They wait, are named again and again, and count as neither sent nor delivered."""
    words = {"type": "serial", "kind": "uart", "more": "", "receiver": "", "node": ""}
    config = load_text(FILE.format(**words), "f", (), "loopback").config
    clock, log = Clock(), Recorder()

    def broken(name: str, line: object) -> None:
        raise PortError("no such device", reason=PortError.ABSENT, where=name)

    async def run() -> Any:
        gateway = build(config, asyncio.get_running_loop(), log, timer=clock)
        gateway.lines.wrappings.append(broken)  # type: ignore[arg-type]
        with pytest.raises(PortError, match="no such device"):  # the end of the run
            await gateway.run(asyncio.Event(), 25)
        gateway.close()
        return gateway.report()

    with asyncio.Runner(loop_factory=lambda: SimEventLoop(clock)) as runner:
        report = runner.run(run())
    waits = [text for text in log.notices if "waits for its port" in text]
    assert len(waits) == 3 and all("sent 0: waits for its port (" in text for text in waits)
    assert waits[0].startswith("queued ") and waits[0] < waits[2]
    board = report["stations"]["board"]
    assert (board["delivered"], board["accepted"]) == (0, 51)  # the last at the end
    assert report["ports"]["board"]["opened"] == 0
