"""Where a controller connects, and the handshake, on real sockets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.api import connection
from hilgw.api.address import LocalAddress, NotReady, TcpAddress, find
from hilgw.api.connection import RETRIES, connect
from hilgw.errors import PeerError
from hilgw.protocols.webots.answers import encode_answer
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.handshake import MODULE_FOLDER, Forbidden, encode_reason
from hilgw.protocols.webots.robot_messages import RobotConfiguration, Time
from tests.e2e.running import HOST, free_port


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("tcp://10.0.0.1:1235/my%20robot", TcpAddress("10.0.0.1", 1235, "my robot")),
        ("tcp://localhost", TcpAddress("localhost", 1234, None)),
        ("tcp://localhost:1/", TcpAddress("localhost", 1, None)),
        ("tls://lab:7/r", TcpAddress("lab", 7, "r", tls=True)),
        ("tcp://lab:7/r?token=abc_-1", TcpAddress("lab", 7, "r", token="abc_-1")),
        ("tcp://lab:7/a%3Fb?x=1", TcpAddress("lab", 7, "a?b")),
    ],
)
def test_tcp_addresses(url: str, address: TcpAddress) -> None:
    assert find({"WEBOTS_CONTROLLER_URL": url}) == address


@pytest.mark.parametrize(
    "url",
    [
        *("tcp://", "tcp://h:99999/r", "tcp://h:x", "tcp://h:-1", "http://h:1/r", "tcp:///r"),
        *("tcp://[::1/r", "tcp://h..x/r", f"tls://{'h' * 64}/r", "://", "ipc://[::1/r"),
    ],
)
def test_addresses_that_never_work(url: str) -> None:
    with pytest.raises(PeerError) as error:
        find({"WEBOTS_CONTROLLER_URL": url})
    assert error.value.where == url and "tcp://HOST:PORT" in error.value.fix


def test_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.protocols.webots.handshake.INSTANCES", tmp_path)
    user = {"USER": "me"}

    def robots(instance: str, *names: str, age_s: int = 0) -> Path:
        folder = tmp_path / "me" / instance
        for name in names:
            (folder / "ipc" / name).mkdir(parents=True)
            (folder / "ipc" / name / "extern").touch()
        os.utime(folder, (1_000_000 - age_s,) * 2)
        return folder

    with pytest.raises(NotReady, match="no simulator is running"):
        find(user)
    old, new = robots("1234", "a", "b%20c", age_s=50), robots("1235", "only")
    assert find(user) == LocalAddress(new / "ipc/only/extern")
    for name in ("a", "b%20c"):
        url = {"WEBOTS_CONTROLLER_URL": f"ipc://1234/{name}"}
        assert find(user | url) == LocalAddress(old / f"ipc/{name}/extern")
    with pytest.raises(PeerError, match=r"several robots .* a, b c"):
        find(user | {"WEBOTS_CONTROLLER_URL": "ipc://1234"})
    with pytest.raises(NotReady, match="'nix' has no"):
        find(user | {"WEBOTS_CONTROLLER_URL": "nix"})
    (new / "loading").touch()
    with pytest.raises(NotReady, match="loading"):
        find(user)
    inside = {"WEBOTS_INSTANCE_PATH": str(new), "WEBOTS_ROBOT_NAME": "only"}
    assert find(inside) == LocalAddress(new / "ipc/only/intern")


class Server:
    """Accepts one connection after the other; the handler gets each of them."""

    def __init__(self, *handlers: Callable[[socket.socket], None]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(handlers,), daemon=True)
        self._thread.start()

    def _serve(self, handlers: tuple[Callable[[socket.socket], None], ...]) -> None:
        for handle in handlers:
            connection, _ = self._listening.accept()
            with connection:
                handle(connection)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._listening.close()

    def url(self, robot: str = "rover") -> dict[str, str]:
        return {"WEBOTS_CONTROLLER_URL": f"tcp://127.0.0.1:{self.port}/{robot}"}


def answers(word: bytes, seen: list[bytes]) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        seen.append(connection.recv(200))
        connection.sendall(word)

    return handle


def test_a_busy_or_loading_simulator_is_asked_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "RETRIES", 2)  # one that loads its world has all the time
    seen: list[bytes] = []
    pauses: list[float] = []
    words = (*[b"PROCESSING"] * 11, b"FAILED", b"PROCESSING", b"CONNECTED")
    with Server(*(answers(word, seen) for word in words)) as server:
        connect(server.url(), pauses.append).close()
    assert seen == [b"CTR\nRobot-Name: rover"] * 14 and pauses == [0.1] * 10 + [1.0] * 3
    assert "waits for the robot; trying again" in capsys.readouterr().err
    seen.clear()
    with Server(*(answers(word, seen) for word in (b"PROCESSING", b"CONNECTED"))) as server:
        connect(server.url() | {"HILGW_TOKEN": "abc_-1"}, pauses.append).close()
    assert "waits" not in capsys.readouterr().err, "one that is there soon is worth no line"
    with Server(answers(b"CONNECTED", seen)) as server:
        connect(server.url("rover?token=abc_-1")).close()
    assert seen == [b"CTR\nRobot-Name: rover%3Ftoken%3Dabc_-1"] * 3


def test_a_step_may_take_longer_than_the_handshake(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    create = socket.create_connection
    monkeypatch.setattr(
        socket, "create_connection", lambda *to: made.append(create(*to)) or made[-1]
    )
    with Server(answers(b"CONNECTED", [])) as server:
        connected = connect(server.url())
        assert [each.gettimeout() for each in made] == [None]
        connected.close()


def test_a_taken_robot_and_a_foreign_server_are_final() -> None:
    words = {b"FORBIDDEN": "has a controller already", b"HTTP/1.1 4": "not an answer"}
    for word, text in words.items():
        with Server(answers(word, [])) as server, pytest.raises(PeerError, match=text):
            connect(server.url())


def test_no_simulator_is_final_after_50_tries() -> None:
    port = free_port()
    pauses: list[float] = []
    with pytest.raises(PeerError, match="cannot connect"):
        connect({"WEBOTS_CONTROLLER_URL": f"tcp://{HOST}:{port}/r"}, pauses.append)
    assert len(pauses) == RETRIES - 1


class Resolver:
    """The addresses that each name has; connections to them are counted and fail."""

    def __init__(self, **names: str) -> None:
        self._names = names
        self.reached: list[tuple[str, int]] = []

    def getaddrinfo(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        addresses = self._names.get(host.replace(".", "_"), host)
        if addresses == "none":
            raise socket.gaierror("Name or service not known")
        return [(0, 0, 0, "", (each, port)) for each in addresses.split()]

    def create_connection(self, address: tuple[str, int], timeout: float) -> socket.socket:
        self.reached.append(address)
        raise OSError("refused")


def reached(
    monkeypatch: pytest.MonkeyPatch, url: str, token: str | None, **names: str
) -> list[tuple[str, int]]:
    """Where a controller with this URL connects, once. PeerError: it refuses to."""
    resolver = Resolver(**names)
    monkeypatch.setattr(socket, "getaddrinfo", resolver.getaddrinfo)
    monkeypatch.setattr(socket, "create_connection", resolver.create_connection)
    given = {} if token is None else {"HILGW_TOKEN": token}
    monkeypatch.setattr(connection, "RETRIES", 1)
    with pytest.raises(PeerError) as error:
        connect(given | {"WEBOTS_CONTROLLER_URL": url})
    if "HILGW_TOKEN" in error.value.what:
        raise error.value
    return resolver.reached


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("tcp://10.0.0.1:1234/rover", {}),
        ("tcp://[2001:db8::1]:1234/rover", {}),
        ("tcp://0.0.0.0:1234/rover", {}),
        ("tcp://lab:1234/rover", {"lab": "10.0.0.1"}),
        ("tcp://lab:1234/rover", {"lab": "127.0.0.1 10.0.0.1"}),
        ("tcp://lab:1234/rover", {"lab": "::1 fe80::1%eth0"}),
        ("tcp://localhost.lab:1234/rover", {"localhost_lab": "10.0.0.1"}),
        ("tcp://lab/rover?token=", {"lab": "10.0.0.1"}),
    ],
)
def test_the_token_of_the_environment_never_leaves_this_machine_in_clear_text(
    monkeypatch: pytest.MonkeyPatch, url: str, names: dict[str, str]
) -> None:
    with pytest.raises(PeerError, match="HILGW_TOKEN would leave this machine in clear") as error:
        reached(monkeypatch, url, "secret-token", **names)
    assert "write tls://" in error.value.fix and "plaintext: true" in error.value.fix
    assert "secret-token" not in str(error.value)
    assert reached(monkeypatch, url, None, **names) != []  # without a token as ever
    assert reached(monkeypatch, url, "", **names) != []


@pytest.mark.parametrize(
    ("url", "names", "hosts"),
    [
        ("tcp://127.0.0.1:7/rover", {}, ["127.0.0.1"]),
        ("tcp://127.8.8.8:7/rover", {}, ["127.8.8.8"]),
        ("tcp://[::1]:7/rover", {}, ["::1"]),
        ("tcp://localhost:7/rover", {"localhost": "::1 127.0.0.1"}, ["::1", "127.0.0.1"]),
        ("tcp://me:7/rover", {"me": "127.0.1.1"}, ["127.0.1.1"]),
        ("tcp://me:7/rover", {"me": "::ffff:127.0.0.1"}, ["::ffff:127.0.0.1"]),
        ("tcp://10.0.0.1:7/rover?token=abc", {}, ["10.0.0.1"]),
        ("tls://10.0.0.1:7/rover", {}, ["10.0.0.1"]),
        ("tcp://lab/rover", {"lab": "none"}, []),  # it is tried again
    ],
)
def test_on_this_machine_inside_tls_and_from_the_url_a_token_is_sent(
    monkeypatch: pytest.MonkeyPatch, url: str, names: dict[str, str], hosts: list[str]
) -> None:
    """A name is looked up once: another address cannot take its place in between."""
    assert reached(monkeypatch, url, "secret", **names) == [(host, 7) for host in hosts]


def test_a_token_in_clear_text_on_this_machine_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another user's program may listen there."""
    for _ in range(2):
        reached(monkeypatch, "tcp://127.5.5.5:7/rover", "secret")
    reached(monkeypatch, "tcp://127.5.5.6:7/rover", None)
    text = capsys.readouterr().err
    assert text.count("HILGW_TOKEN goes to 127.5.5.5:7, whichever program listens there") == 1
    assert "127.5.5.6" not in text and "secret" not in text


@pytest.mark.parametrize("glued", [True, False])
@pytest.mark.parametrize("reason", Forbidden)
def test_a_token_that_is_refused_gets_its_own_sentence(reason: Forbidden, glued: bool) -> None:
    def handle(connection: socket.socket) -> None:
        connection.recv(200)
        first, second = b"FORBIDDEN", encode_reason(reason)
        for part in (first + second,) if glued else (first, second[:3], second[3:]):
            connection.sendall(part)

    with Server(handle) as server, pytest.raises(PeerError) as error:
        connect(server.url())
    assert error.value.what == reason.text and error.value.fix
    assert "has a controller" not in str(error.value)
    if reason is Forbidden.MOCK:
        assert "robots.rover.controller.backend=real" in error.value.fix
    else:
        assert "may not connect" in reason.text


STUCK = """
import sys
from controller import Robot
robot = Robot()
print("stepping", flush=True)
robot.step(32)
print("not reached", flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_simulator_that_freezes_does_not_keep_a_program_that_is_to_end(
    sent: signal.Signals,
) -> None:
    over = threading.Event()

    def freeze(connection: socket.socket) -> None:
        connection.recv(200)
        connection.sendall(b"CONNECTED")
        connection.recv(200)
        configuration = RobotConfiguration(name="rover", version="R2025a", basicTimeStep=32.0)
        connection.sendall(encode_answer(0, Codec().encode_messages([configuration])))
        over.wait()

    with Server(freeze) as server:
        program = subprocess.Popen(
            [sys.executable, "-c", STUCK],
            env=os.environ | server.url() | {"PYTHONPATH": str(MODULE_FOLDER)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert program.stdout is not None and program.stdout.readline() == "stepping\n"
            program.send_signal(sent)
            output, _ = program.communicate(timeout=60)
        finally:
            over.set()
            program.kill()
    assert (output, program.returncode) == ("", -sent)


SCRIPT = """
from controller import Robot
robot = Robot()
print(robot.getName(), robot.step(32), robot.getTime(), flush=True)
"""


@pytest.mark.process
def test_an_unmodified_script_runs_and_leaves_in_order() -> None:
    """As a program that was written for Webots: `from controller import Robot`."""
    codec, received = Codec(), bytearray()

    def simulate(connection: socket.socket) -> None:
        connection.recv(200)
        connection.sendall(b"CONNECTED")
        configuration = RobotConfiguration(name="rover", version="R2025a", basicTimeStep=32.0)
        for messages in ([configuration], [Time(0.032)], []):
            received.extend(connection.recv(200))
            connection.sendall(encode_answer(0, codec.encode_messages(messages)))
        while data := connection.recv(200):
            received.extend(data)

    with Server(simulate) as server:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | server.url() | {"PYTHONPATH": str(MODULE_FOLDER)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert (done.stdout, done.stderr, done.returncode) == ("rover 0 0.032\n", "", 0)
    assert received.hex() == (
        "110000000000000000000300000023000008000000200000000f000000000000000000010000002600000000"
    )
