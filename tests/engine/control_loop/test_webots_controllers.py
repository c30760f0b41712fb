"""Webots controllers of a gateway in simulated time: mocks of controllers, and raw connections."""

from __future__ import annotations

import re
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import State
from hilgw.protocols.gateway.requests import Arm
from hilgw.security.access import write_token
from tests.e2e.running import free_port
from tests.engine.control_loop.running import SimGateway, SimPeer

HELLO = b"CTR\nRobot-Name: "
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
STEP = struct.pack("<iI", 8, 32)
QUIT = b"\x01\x00\x07\x00\x00\x00\x07\x00\x00\x00\x00" + 4 * b"\0" + b"\0\0\x02"
ROVER = """
version: 1
backend: {backend}
medium: {{step_ms: 32}}
robots:
  rover:
    controller: {{kind: webots, listen: "tcp://{host}:0", mock: {{script: "{script}"}}}}
    devices:
      tx: {{node: Emitter, channel: 3, bufferSize: 32, baudRate: 9600}}
      rx: {{node: Receiver, channel: 3, bufferSize: 16}}
    {more}
"""
CAB = (
    'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", original_peer: true, '
    "mock: {webots: R2025a}}"
)
GO = "position left_wheel inf; velocity left_wheel 3; step 32 x 0"


class Running(SimGateway):
    """`with Running(tmp_path, script=...) as running:` a gateway, and its robot.

    backend loopback: the controllers are mocks; real: none, for connections of the test. text:
    the whole file instead.
    """

    def __init__(
        self,
        folder: Path,
        *,
        script: str = "",
        more: str = "",
        backend: str = "loopback",
        host: str = "127.0.0.1",
        text: str | None = None,
        robot: str = "rover",
    ) -> None:
        super().__init__()
        self._robot = robot
        if text is None:
            text = ROVER.format(script=script, more=more, backend=backend, host=host)
        self.load(folder, text)

    def started(self) -> None:
        listening = f"{self._robot}.controller", State.WAITING
        self.until(lambda: self._running.done() or self.log.saw(*listening))
        if self._running.done():
            self._running.result()

    def mock(self, name: str) -> Any:
        mocks = [mock for host in self.gateway.hosts for mock in host.mocks]
        return next(mock for mock in mocks if mock.name == name)

    @property
    def controller(self) -> Any:
        return self.mock("rover.controller")

    def report(self, robot: str = "rover") -> dict[str, Any]:
        report: dict[str, Any] = self.gateway.report()["control_loops"][robot]
        return report

    # --- connections of the test --------------------------------------------------------------

    def knock(self) -> SimPeer:
        listening = [text for name, _, text in self.log.states if name == "rover.controller"]
        port = int(re.findall(r"listening on \S+:(\d+)", " ".join(listening))[0])
        return self.peer(socket.create_connection(("127.0.0.1", port)))

    def knock_at(self, path: Path) -> SimPeer:
        """A connection to a local socket."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        return self.peer(connection)

    def ask(self, line: bytes) -> tuple[bytes, SimPeer]:
        """The answer to the first line of a connection."""
        peer = self.knock()
        peer.connection.sendall(line)
        self.until(lambda: peer.poll() or peer.ended, "an answer")
        word = bytes(peer.received)
        peer.received.clear()
        return word, peer

    def connected(self, name: bytes = b"rover") -> SimPeer:
        """A controller that has its configuration."""
        word, peer = self.ask(HELLO + name)
        assert word == b"CONNECTED"
        peer.connection.sendall(FIRST)
        self.until(lambda: len(peer.poll()) > 20, "the configuration")
        peer.received.clear()
        return peer


def test_packets_that_wait_for_a_controller_that_ends_are_counted(tmp_path: Path) -> None:
    more = (
        "\n  other: {controller: {kind: webots, listen: 'tcp://127.0.0.1:0', "
        'mock: {script: "enable rx 3200; step 32 x 5; die"}}, '
        "devices: {rx: {node: Receiver, channel: 3}}}"
    )
    with Running(tmp_path, script="step 32; send tx hello; step 32 x 0", more=more) as running:
        running.until(lambda: running.mock("other.controller").ended)
        running.until(lambda: running.report("other")["refused"], "the packet")
        assert running.report("other")["refused"] == {"down": 1}


@pytest.mark.parametrize(
    ("fault", "stop"),
    [("die", "disconnected"), ("freeze", "command_timeout"), ("garbage", "protocol")],
)
def test_a_failed_controller_stops_and_harms_none(tmp_path: Path, fault: str, stop: str) -> None:
    script = f"position left_wheel inf; velocity left_wheel 3; step 32 x 5; {fault}; step 32 x 0"
    other = (
        f"{CAB}\n  other: {{controller: {{kind: webots, listen: 'tcp://127.0.0.1:0', "
        'mock: {script: "step 32 x 0"}}}'
    )
    with Running(tmp_path, script=script, more=other) as running:
        wheels = running.mock("rover").body
        running.until(lambda: wheels.moving, "the motors")
        running.until(lambda: running.report()["stops"], "a stop")
        assert running.report()["stops"] == {stop: 1}
        running.until(lambda: not wheels.moving, "the stop on the wire")
        steps = running.mock("other.controller").counts["steps"]
        running.loop.advance(1)
        assert running.mock("other.controller").counts["steps"] >= steps + 30
        assert running.report("other")["late_steps"] == 0


@pytest.mark.parametrize(
    ("synchronization", "delays", "late_ms"),
    [("true", [0, 0, 0, 0], 96), ("false", [0, 0, 96, 0], 64)],
)
def test_a_step_that_ends_too_late_is_counted_and_shown(
    tmp_path: Path, synchronization: str, delays: list[int], late_ms: int
) -> None:
    """The controller computes for 100 ms after its second step."""
    script = "step 32 x 2; wait 100; step 32 x 2"
    text = ROVER.format(script=script, more="", backend="loopback", host="127.0.0.1")
    text = text.replace("kind: webots,", f"kind: webots, synchronization: {synchronization},")
    with Running(tmp_path, text=text) as running:
        running.until(lambda: running.controller.ended)
        assert list(running.controller.delays_ms) == delays
        assert running.report()["late_steps"] == 1
        late_steps = running.gateway.control_loops["rover"].state()["late_steps"]
        assert (late_steps["count"], late_steps["max_ms"]) == (1, late_ms)
        late = [text for text in running.log.notices if "too late for its next step" in text]
        assert len(late) == 1


def test_a_long_step_is_not_taken_for_a_frozen_controller(tmp_path: Path) -> None:
    script = "position left_wheel inf; velocity left_wheel 3; step 8000 x 2; step 32 x 0"
    with Running(tmp_path, script=script, more=CAB) as running:
        running.until(lambda: running.mock("rover").body.moving, "the motors")
        running.loop.advance(17)
        assert running.controller.counts["steps"] > 2
        assert running.report()["stops"] == {}


@pytest.mark.parametrize(("again", "is_named"), [("", True), ("; velocity left_wheel 3", False)])
def test_arm_names_a_controller_that_commands_nothing_since_the_disarm(
    tmp_path: Path, again: str, is_named: bool
) -> None:
    """Most controllers command a velocity once; the stop has made it void."""
    script = f"position left_wheel inf; velocity left_wheel 3; step 32 x 30{again}; step 32 x 0"
    with Running(tmp_path, script=script, more=CAB) as running:
        loops, wheels = running.gateway.control_loops, running.mock("rover").body
        arm: Any = ControlServer(running.gateway, str(tmp_path / "control")).handlers[Arm]
        running.until(lambda: wheels.moving, "the motors")
        assert running.loop.run_until_complete(arm(Arm(["rover"]), None)).notes == {}
        loops.disarm("rover")
        steps = running.controller.counts["steps"]
        running.until(lambda: running.controller.counts["steps"] > steps + 40, "steps")
        notes = running.loop.run_until_complete(arm(Arm(["rover"]), None)).notes
        assert ("has commanded no motor since" in notes.get("rover", "")) is is_named
        running.loop.advance(1)
        assert not wheels.moving


def test_a_body_that_is_lost_ends_its_controller_with_quit(tmp_path: Path) -> None:
    with Running(tmp_path, script=GO, more=CAB) as running:
        body = running.mock("rover")
        running.until(lambda: body.body.moving, "the motors")
        host = next(host for host in running.gateway.hosts if body in host.mocks)
        host.unplug(body)
        running.until(lambda: running.controller.ended)
        assert running.controller.ended == "quit"
        assert running.report()["stops"] == {"body": 1}


def test_a_real_controller_has_the_address_that_it_shares_with_mocks(tmp_path: Path) -> None:
    """With backend mock all would be mocks; `real:` takes one of them out."""
    address = f"tcp://127.0.0.1:{free_port()}"
    controller = f'controller: {{kind: webots, listen: "{address}", mock: {{script: step 32 x 0}}}}'
    text = "version: 1\nbackend: loopback\nreal: [rover.controller]\nrobots:\n"
    text += "".join(f"  {name}: {{{controller}}}\n" for name in ("a", "rover", "z"))
    with Running(tmp_path, text=text) as running:
        running.until(lambda: all(running.mock(f"{n}.controller").counts["steps"] for n in "az"))
        assert f"listening on {address.removeprefix('tcp://')}" in str(running.log.states)
        running.connected()
        assert running.log.saw("rover.controller", State.UP)


# --- the handshake --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["", "R2023b"])
def test_the_handshake_is_one_word_and_the_version_of_the_file(
    tmp_path: Path, version: str
) -> None:
    """The library complains of another one than its own."""
    more = f"\nwebots: {version}" if version else ""
    with Running(tmp_path, more=more, backend="real") as running:
        word, peer = running.ask(HELLO + b"rover")
        running.loop.advance(1)
        assert (word, bytes(peer.poll()), peer.ended) == (b"CONNECTED", b"", False)
        peer.connection.sendall(FIRST)
        running.until(lambda: f"rover\0{version}\0".encode() in peer.poll(), "the configuration")


@pytest.mark.parametrize(
    ("line", "word", "reason"),
    [(b"CTR", b"CONNECTED", None), (b"GET / HTTP/1.1\r\n\r\n", b"", "not_a_controller")],
)
def test_a_connection_is_answered_and_counted(
    tmp_path: Path, line: bytes, word: bytes, reason: str | None
) -> None:
    with Running(tmp_path, backend="real") as running:
        assert running.ask(line)[0] == word
        assert running.report()["refused"] == ({} if reason is None else {reason: 1})


def test_a_name_of_no_robot_is_counted_at_the_address_and_at_no_robot(tmp_path: Path) -> None:
    more = "\n  second: {controller: {kind: webots, listen: 'tcp://127.0.0.1:0'}}"
    with Running(tmp_path, more=more, backend="real") as running:
        for line in (HELLO + b"nobody", HELLO + b"a%00%3Ftoken%3D%00"):
            assert running.ask(line)[0] == b"FAILED"
        report = running.gateway.report()
        (where,) = {each.where for each in running.gateway.listening}
        assert report[where] == {"refused": {"unknown_robot": 2}}
        loops = report["control_loops"]
        assert (loops["rover"]["refused"], loops["second"]["refused"]) == ({}, {})


def test_a_name_may_come_byte_by_byte_though_another_robot_has_its_start(tmp_path: Path) -> None:
    more = "\n  rover2: {controller: {kind: webots, listen: 'tcp://127.0.0.1:0'}}"
    with Running(tmp_path, more=more, backend="real") as running:
        peer = running.knock()
        for byte in HELLO + b"rover2":
            peer.connection.sendall(bytes([byte]))
            running.loop.advance(0.001)
        running.until(lambda: peer.poll(), "an answer")
        assert peer.received == b"CONNECTED"
        peer.connection.sendall(FIRST)
        running.until(lambda: running.log.saw("rover2.controller", State.UP), "the controller")
        assert running.ask(b"CTR")[0] == b"FAILED"  # which of the two?


def test_a_second_controller_is_forbidden_and_a_silent_connection_is_closed(tmp_path: Path) -> None:
    with Running(tmp_path, backend="real") as running:
        first = running.connected()
        assert running.ask(HELLO + b"rover")[0] == b"FORBIDDEN"
        silent = running.knock()
        running.until(lambda: silent.poll() is None or silent.ended, "the end")
        assert not first.ended
        assert running.report()["refused"] == {"second_controller": 1}
        first.connection.close()
        running.until(lambda: running.log.states[-1][1] is State.WAITING)
        assert running.ask(HELLO + b"rover")[0] == b"CONNECTED"


@pytest.mark.parametrize(
    ("role", "word"), [("drive", b"CONNECTED"), ("admin", b"CONNECTED"), ("monitor", b"FORBIDDEN")]
)
def test_other_hosts_need_a_token_in_the_name(tmp_path: Path, role: str, word: bytes) -> None:
    """libController encodes the name, and with it the token of .../rover?token=..."""
    token = write_token(tmp_path / "lab.token").encode()
    access = f"access: {{plaintext: true, tokens: {{lab: {{role: {role}, file: lab.token}}, "
    access += "other: {file: other.token}}}"
    write_token(tmp_path / "other.token")
    with Running(tmp_path, backend="real", host="0.0.0.0", more=f"\n{access}") as running:
        for line in (b"CTR", HELLO + b"rover", HELLO + b"rover%3Ftoken%3D" + token[:-1]):
            assert running.ask(line)[0] == b"FORBIDDEN"
        assert running.report()["refused"] == {"not_permitted": 3}
        first, peer = running.ask(HELLO + b"rover%3Ftoken%3D" + token)
        assert first == word
        if word == b"CONNECTED":
            peer.connection.sendall(FIRST)
            running.until(lambda: running.log.saw("rover.controller", State.UP), "the controller")
        wrong = HELLO + b"rover%3Ftoken%3D" + token[::-1]
        assert {running.ask(wrong)[0] for _ in range(2)} == {b"FORBIDDEN"}  # and token[:-1] before
        assert running.ask(HELLO + b"rover%3Ftoken%3D" + token)[0] == b"FORBIDDEN"
        assert running.report()["refused"]["too_many_tries"] == 1
        running.loop.advance(1)
        again = running.ask(HELLO + b"rover%3Ftoken%3D" + token)[0]
        assert again == b"FORBIDDEN"  # it has a controller, or the role is too low
        report = running.report()["refused"]
        assert report["too_many_tries"] == 1
        assert report.get("second_controller", 0) == (role != "monitor")
        assert token.decode() not in str(running.log.refusals + running.log.notices)
