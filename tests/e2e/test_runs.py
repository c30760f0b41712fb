"""Shipped configurations as a newcomer runs them, with faults, another speed, moved objects."""

import re
import signal
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hilgw.medium.mocap import decode
from hilgw.testing.sim import wait_until
from tests.e2e.running import DEADLINE_S, ROOT, Gateway, patient, report_in, run
from tests.e2e.test_exit_codes import config_for

QUIET_ROBOT = "robots.rover.controller.period_ms=3600000"
UART = str(ROOT / "configs" / "uart.yaml")
FROM_UART = re.compile(r'^ +[\d.]+  uart0 +ch 5 +"(.*)" \d+ B', re.MULTILINE)


def simulated(
    tmp_path: Path, mock: str, *settings: str, duration: str = "4s"
) -> tuple[str, dict[str, Any]]:
    """What the terminal shows of that much simulated time, and the report."""
    overrides = [part for value in settings for part in ("--set", value)]
    lasting = ("--speed", "max", "--duration", duration, "--report", "out.json")
    mocked = f"adapters.uart0.mock={{{mock}}}"
    done = run("--config", UART, "--set", mocked, *overrides, *lasting, cwd=tmp_path)
    return done.stdout, report_in(tmp_path)


def packets(text: str) -> list[str]:
    return FROM_UART.findall(text)


def test_the_wrong_rate_gives_no_packet_but_counts_and_a_hint(tmp_path: Path) -> None:
    wrong = "adapters.uart0.baudRate=9600"
    # The bytes fill the line: they may be a frame of the largest size until that is over.
    text, report = simulated(tmp_path, "mode: noise, baudRate: 57600", wrong, duration="10s")
    assert text.count("no frame yet; begins") == 1
    assert packets(text) == []
    uart = report["stations"]["uart0"]
    assert uart["inbound"] == sum(uart["dropped"].values()) >= 8
    assert set(uart["dropped"]) <= {"bad_code", "bad_crc", "too_short", "too_long", "truncated"}
    trouble = re.findall(r"^ +([\d.]+) .*(?:refused|nothing but|more refusals)", text, re.MULTILINE)
    stamps = [float(stamp) for stamp in trouble]
    for stamp in stamps:
        assert sum(stamp <= other < stamp + 1 for other in stamps) < 10


def test_flow_control_bears_a_pause_of_the_firmware(tmp_path: Path) -> None:
    """It reads nothing for a second after ping 5. Its 64 bytes of buffer hold two thirds of what
    comes meanwhile; the rest waits."""
    pause = "mode: echo, stall_on: ping 5, stall_ms: 1000, buffer: 64"
    settings = ("robots.rover.controller.period_ms=100", "adapters.uart0.rtscts=true")
    text, report = simulated(tmp_path, pause, *settings)
    # It did pause: the first echo after ping 5 came when ping 15 had been sent.
    assert re.search(r'"ping 5"(?:(?! uart0 ).)*?"ping 15".*? uart0 ', text, re.DOTALL), text
    echoes, uart = [int(packet[5:]) for packet in packets(text)], report["stations"]["uart0"]
    assert echoes == [*range(1, 5), *range(6, 41)]  # ping 5 is the one that stops it
    assert (uart["dropped"], uart["refused"]) == ({}, {})


def test_reboots_in_mid_stream_cost_no_good_frame(tmp_path: Path) -> None:
    reboots = "mode: flood, rate: 25, reboot_every_ms: 700, boot_ms: 60"
    text, report = simulated(tmp_path, reboots, QUIET_ROBOT)
    numbers = [int(packet[:6]) for packet in packets(text)]
    for last, number in pairwise(numbers):
        assert number in (last + 1, 1), numbers  # each in its order, or the first after a reboot
    reboots_seen = numbers.count(1) - (numbers[0] == 1)
    assert reboots_seen >= 3
    # The half frame and the banner are one bad frame, ended by what the firmware sends at first.
    dropped = report["stations"]["uart0"]["dropped"]
    assert reboots_seen <= sum(dropped.values()) <= reboots_seen + 2
    assert report["ports"]["uart0"]["opened"] == 1  # the port never went away


def mock(tmp_path: Path, name: str, *more: str) -> Gateway:
    folder = tmp_path / name
    folder.mkdir()
    return Gateway(folder, ["mock", "xbee", "--link", str(tmp_path / "xb"), *more])


def test_a_module_that_freezes_or_vanishes_is_waited_for_and_used_again(tmp_path: Path) -> None:
    first = mock(tmp_path, "first")
    config = config_for(str(tmp_path / "xb"), tmp_path, "status_timeout_s: 0.3")
    gateway = Gateway(tmp_path, ["--config", config, "--report", "out.json"])
    try:
        first.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: "stalled:" in gateway.text(), what="the stall to be seen")
        first.process.send_signal(signal.SIGCONT)
        wait_until(lambda: gateway.text().count("up: XBee") == 2, what="the module again")
        first.process.kill()
        first.process.wait()
        wait_until(lambda: "waiting:" in gateway.text(), what="the loss to be seen")
        (tmp_path / "xb").unlink(missing_ok=True)
        with mock(tmp_path, "second"):
            wait_until(lambda: gateway.text().count("up: XBee") == 3, what="another module")
            gone = gateway.text().count("rover.tx")
            wait_until(lambda: gateway.text().count("rover.tx") > gone + 1)
            assert gateway.stop(signal.SIGINT) == 130
    finally:
        gateway.stop()
        first.stop(signal.SIGKILL)
    report = report_in(tmp_path)
    assert report["ports"]["xbee0"]["ups"] == 3
    assert report["stations"]["xbee0"]["delivered"] > 0
    assert report["stations"]["xbee0"]["refused"]["no_status"] >= 3


SWARM = str(ROOT / "configs" / "swarm.yaml")


def test_commands_reach_a_gateway_that_races(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", SWARM, "--backend", "mock", "--speed", "max"]) as gateway:
        wait_until(lambda: "up:" in gateway.text())
        assert run("send", "bee1.tx", "by hand", cwd=tmp_path).returncode == 0
        assert run("place", "ant1", "0", "0", "0", cwd=tmp_path).returncode == 0
        assert gateway.stop() == 130
        assert "the ledger adds up" in gateway.text()


CONFIG = str(ROOT / "configs" / "epuck.yaml")
PROGRAM = ROOT / "configs" / "epuck_avoid.py"
PATIENT = patient("e-puck", "body.silence_s")


@pytest.fixture
def robot(firmware_mock: Any) -> Any:
    return firmware_mock("epuck", width=0.25, depth=0.25)


def on(port: str, answer_ms: int = 5000) -> list[str]:
    """The shipped file with this port. A busy machine is not a fault of the robot."""
    changes = {"body.port": port, "body.answer_ms": answer_ms}
    given = [f"--set=robots.e-puck.{path}={value}" for path, value in changes.items()]
    return ["--config", CONFIG, "--backend", "real", *given, *PATIENT]


def test_the_shipped_program_drives_the_robot_at_its_port(robot: Any, tmp_path: Path) -> None:
    with Gateway(tmp_path, on(str(robot.port))) as gateway:
        assert run("arm", "e-puck", cwd=tmp_path).returncode == 0
        wait_until(lambda: robot.mock.speeds == (636, 636), what="4 rad/s")
        wait_until(lambda: robot.mock.speeds in ((318, -318), (-318, 318)), what="a turn")
        wait_until(lambda: robot.mock.leds[8] == 1, what="the light of its body")
        wait_until(lambda: abs(robot.mock.arena.heading) > 0.3, what="another heading")
        for number in (signal.SIGTERM, signal.SIGHUP):  # the second ends the process at once
            gateway.process.send_signal(number)
        gateway.process.wait(DEADLINE_S)
        text = gateway.text()
    assert "up: e-puck: Version 1.5.3 November 2016 (Webots), HW version FFFF, selector 3" in text
    wait_until(lambda: robot.mock.speeds == (0, 0), what="the stop")


WORLD = """
version: 1
medium: {mocap: {listen: "127.0.0.1:0"}}
robots:
  lamp:
    motion: {kind: circle, center: [0, 0, 0], radius: 1, period_s: 60}
    devices: {ir: {node: Emitter, type: infra-red, range: 5}}
    controller: {kind: beacon, emitter: ir, period_ms: 20}
  eye:
    position: [4, 0, 0]
    devices: {ir: {node: Receiver, type: infra-red, channel: 0}}
obstacles:
  wall: {shape: box, size: [0.1, 1, 1], position: [20, 0, 0]}
"""


def world(tmp_path: Path) -> str:
    (tmp_path / "world.yaml").write_text(WORLD)
    return str(tmp_path / "world.yaml")


def shows(gateway: Gateway, words: str) -> None:
    """The last line of the sender does."""
    lines = re.compile(r"lamp\.ir.*")
    wait_until(lambda: words in ["", *lines.findall(gateway.text())][-1], what=words)


def test_objects_are_placed_by_commands(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", world(tmp_path)]) as gateway:
        shows(gateway, "-> eye.ir")
        assert run("place", "wall", "2", "0", "0", cwd=tmp_path).returncode == 0
        shows(gateway, "not eye.ir (obstacle)")
        assert run("place", "eye", "-9", "0", "0", cwd=tmp_path).returncode == 0
        shows(gateway, "not eye.ir (range ")
        done = run(
            *["place", "eye", "-4", "0.5", "-0.5", "--rotation", "0", "0", "1", "-1"], cwd=tmp_path
        )
        assert done.stdout == "eye: -4, 0.5, -0.5 m\n", done.stderr
        shows(gateway, "-> eye.ir")
        done = run("set", "lamp.ir", "--range", "2", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "lamp.ir: range 2 m\n")
        shows(gateway, "not eye.ir (range ")
        assert run("place", "eye", "--unknown", cwd=tmp_path).returncode == 0
        shows(gateway, "-> eye.ir")
        wait_until(lambda: gateway.text().count("eye.ir: position unknown") == 1)
        done = run("set", "eye.ir", "--channel", "7", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "eye.ir: channel 7\n")
        shows(gateway, "not received: channel")
        assert run("set", "lamp.ir", "--channel", "7", cwd=tmp_path).returncode == 0
        shows(gateway, "-> eye.ir")
        assert run("place", "lamp", "1", "1", "1", cwd=tmp_path).returncode == 0
        wait_until(lambda: "its pose is set from now on; its motion ends" in gateway.text())


def test_objects_are_placed_by_motion_capture(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, ["--config", world(tmp_path), "--report", "report.json"])
    with gateway:
        listening = re.search(r"mocap +listening on (127\.0\.0\.1:\d+)", gateway.text())
        assert listening
        address = listening[1]
        shows(gateway, "-> eye.ir")
        poses = tmp_path / "poses.csv"
        poses.write_text("0,eye,4,0,0,0,0,0,1\n0,ghost,0,0,0,0,0,0,1\n0.2,eye,40,0,0,0,0,0,1\n")
        words = ("--file", str(poses), "--rate", "100")
        done = run("mocap-send", address, *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "21 datagrams of 2 objects\n"
        shows(gateway, "not eye.ir (range ")
        assert run("mocap-send", address, "--lost", "eye", cwd=tmp_path).returncode == 0
        shows(gateway, "-> eye.ir")
        circle = ["--circle", "eye", "--center", "9", "9", "0", "--duration", "0.1"]
        assert run("mocap-send", address, *circle, cwd=tmp_path).returncode == 0
        shows(gateway, "not eye.ir (range ")
        assert "no object 'ghost' here, ignored" in gateway.text()
    assert gateway.stop() == 130
    assert re.search(r"mocap +\d+ datagrams, \d+ poses accepted, 21 unknown", gateway.text())


def test_the_sender_reports_errors(tmp_path: Path) -> None:
    for words, reported in (
        ("127.0.0.1 --circle a", "is not a HOST:PORT address"),
        ("127.0.0.1:9 --file none.csv", "cannot read none.csv"),
        ("127.0.0.1:9 --circle a --rate 0", "--rate 0 is out of range"),
        ("127.0.0.1:9 --circle a --period inf", "period_s: inf is out of range"),
        ("127.0.0.1:9 --circle a --duration nan", "--duration nan is not a time"),
    ):
        done = run("mocap-send", *words.split(), cwd=tmp_path)
        assert done.returncode in (2, 3)
        assert reported in done.stderr
        assert "Traceback" not in done.stderr


def test_more_objects_than_a_datagram_holds_use_several(tmp_path: Path) -> None:
    many = {f"body{n}" for n in range(1500)}
    poses = tmp_path / "poses.csv"
    poses.write_text("".join(f"0,{name},{1 / 3},{1 / 3},{1 / 3},0,0,0,1\n" for name in many))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(30)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        done = run("mocap-send", address, "--file", str(poses), cwd=tmp_path)
        assert done.stdout == "2 datagrams of 1500 objects\n", done.stderr
        received = decode(listening.recv(65535)) | decode(listening.recv(65535))
    assert received.keys() == many
