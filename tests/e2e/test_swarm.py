"""configs/swarm.yaml as a newcomer runs it, and objects placed while it runs."""

import re
import socket
from pathlib import Path

from hilgw.medium.mocap import decode
from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, run

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


def test_invalid_commands_are_refused(tmp_path: Path) -> None:
    with Gateway(tmp_path, ["--config", world(tmp_path)]):
        for words, code, reported in (
            (["place", "lump", "1", "2", "3"], 1, "no object 'lump' here; did you mean 'lamp'?"),
            (["place", "lamp", "1", "2"], 2, "give X Y Z in metres"),
            (["place", "lamp", "1", "2", "1e300"], 3, "is not a valid position"),
            (["place", "lamp", "1", "2", "3", "--rotation", "0", "0", "0", "1"], 2, "no axis"),
            (["set", "lamp.ir"], 2, "give --channel N or --range M"),
            (["set", "lamp.ir", "--channel", "-2"], 1, "refused: channel"),
            (["set", "eye.ir", "--range", "2"], 1, "a Receiver has no range"),
            (["set", "lamp.xx", "--range", "2"], 1, "no device 'lamp.xx' here; did you mean"),
        ):
            done = run(*words, cwd=tmp_path)
            assert done.returncode == code and reported in done.stderr, (words, done.stderr)
            assert "Traceback" not in done.stderr


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
