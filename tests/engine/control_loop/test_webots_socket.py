"""Where Webots controllers reach a robot: local sockets, and TLS."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import stat
import struct
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from hilgw.api.connection import connect
from hilgw.config.load import load_config, load_text
from hilgw.engine.observer import State
from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.webots.handshake import INSTANCES, instances_of
from hilgw.protocols.webots.requests import encode_request
from hilgw.security.access import write_token
from hilgw.testing.sim import Recorder, until
from tests.e2e.running import free_port
from tests.engine.control_loop.test_webots_controllers import FIRST, QUIT, STEP, Running
from tests.engine.fakes import running

ALONE = """
version: 1
robots:
  rover: {controller: {kind: webots, ipc: true}}
"""


@pytest.fixture
def instances(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of this user's simulators; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="hw") as folder:
        root = Path(folder) / "webots"
        monkeypatch.setenv("USER", "ann")
        monkeypatch.setattr("hilgw.protocols.webots.handshake.INSTANCES", root)
        monkeypatch.setattr("hilgw.engine.control_loop.servers.webots_socket.INSTANCES", root)
        yield root / "ann"


def started(folder: Path, text: str = ALONE) -> Running:
    return Running(folder, text=text)


def test_there_is_no_handshake_and_answers_have_no_chunks(tmp_path: Path, instances: Path) -> None:
    with started(tmp_path) as gateway:
        path = instances / "1234" / "ipc" / "rover" / "extern"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {stat.S_IMODE(each.stat().st_mode) for each in list(path.parents)[:4]} == {0o700}
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"rover\0" in peer.poll(), "the configuration")
        size, delay, tag = struct.unpack_from("<iiH", peer.received)
        assert (size, delay, tag) == (len(peer.received), 0, 0)
        second = gateway.knock_at(path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        assert second.received == b""
        assert gateway.report()["refused"] == {"second_controller": 1}
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not instances.exists() or not list(instances.iterdir())


def test_a_mock_uses_the_socket_where_there_is_no_address(tmp_path: Path, instances: Path) -> None:
    mock = "ipc: true, mock: {script: send tx over the socket; step 32 x 3}}, "
    text = ALONE.replace("ipc: true}", f"{mock}devices: {{tx: {{node: Emitter}}}}")
    with started(tmp_path, f"{text}backend: mock\n") as gateway:
        mock_controller = gateway.controller
        gateway.until(lambda: mock_controller.ended)
        assert (mock_controller.ended, mock_controller.counts["steps"]) == ("left", 3)
        assert gateway.gateway.report()["emitters"]["rover.tx"]["departed"] == 1
        assert gateway.report()["refused"] == {}


def test_a_controller_waits_for_the_body(tmp_path: Path, instances: Path) -> None:
    text = ALONE.replace("ipc: true}", 'ipc: true}, body: {kind: wc2ec, connect: "tcp://h:1"}')
    with started(tmp_path, text) as gateway:
        peer = gateway.knock_at(instances / "1234" / "ipc" / "rover" / "extern")
        peer.connection.sendall(FIRST)
        gateway.loop.advance(5)
        assert peer.poll() == b""
        assert not peer.ended
        assert not gateway.log.saw("rover.controller", State.UP)


BLIND = """
version: 1
robots:
  rover:
    controller: {kind: webots, ipc: true}
    devices: {"front/eye": {node: Camera, absent: blank, width: 4, height: 2}}
"""
ENABLE_EYE = struct.pack("<iIHiBH", 17, 32, 1, 3, 1, 32)


def test_the_image_of_a_blank_camera_is_beside_the_socket(tmp_path: Path, instances: Path) -> None:
    """Where libController maps it."""
    with started(tmp_path, BLIND) as gateway:
        path = instances / "1234" / "ipc" / "rover" / "extern"
        image = path.with_name("snap.webots.front%2Feye")
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"front/eye\0" in peer.poll(), "the configuration")
        assert stat.S_IMODE(image.stat().st_mode) == 0o600
        assert image.read_bytes() == bytes.fromhex("000000ff" * 8)
        peer.connection.sendall(ENABLE_EYE)
        gateway.until(lambda: f"{image}\0".encode() in peer.poll(), "the name of the file")
    assert not image.exists() and not image.parent.exists()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "default"),
        ({"USER": "", "USERNAME": ""}, "default"),
        ({"USERNAME": "bob"}, "bob"),
        ({"USER": "ann", "USERNAME": "bob"}, "ann"),
    ],
)
def test_the_folder_is_that_of_libcontroller(environment: dict[str, str], folder: str) -> None:
    """Also of a service or a container, whose environment has no user."""
    assert instances_of(environment) == INSTANCES / folder


def test_a_live_socket_stays_and_a_dead_one_is_replaced(tmp_path: Path, instances: Path) -> None:
    path = instances / "1234" / "ipc" / "rover" / "extern"
    dead = instances / "1234" / "ipc" / "old" / "extern"
    for file in (path, dead):
        file.parent.mkdir(parents=True)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(file))
    with started(tmp_path) as gateway:
        assert not dead.exists()  # or a controller without a name would ask which robot it means
        gateway.knock_at(path)
    with socket.socket(socket.AF_UNIX) as live:
        path.parent.mkdir(parents=True, exist_ok=True)
        live.bind(str(path))
        live.listen()
        with (
            pytest.raises(HilgwError, match="another program has this local socket"),
            started(tmp_path) as gateway,
        ):
            pass
        assert path.exists()


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, instances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instances.mkdir(parents=True)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(HilgwError, match="belongs to another user"), started(tmp_path):
        pass


# --- The socket of the remote-control plug-in, in the folder of the control sockets ---------------


ROVER = """
version: 1
medium: {step_ms: 32}
robots:
  my rover: {controller: {kind: webots_plugin}}
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of the control sockets; its path is short, as that of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="hw") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield Path(runtime) / "hilgw"


def plugin(folder: Path, text: str = ROVER) -> Running:
    return Running(folder, text=text, robot="my rover")


def test_it_is_for_this_user_alone_and_ends_with_the_gateway(tmp_path: Path, folder: Path) -> None:
    with plugin(tmp_path) as gateway:
        path = folder / "my%20rover.plugin"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        peer = gateway.knock_at(path)
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"my rover\0" in peer.poll(), "the configuration")
        second = gateway.knock_at(path)
        second.connection.sendall(FIRST)
        gateway.until(lambda: second.poll() is None or second.ended, "the end")
        peer.received.clear()
        gateway.end()
        assert peer.poll().endswith(QUIT[-3:])
    assert not path.exists()


WITHOUT_BODY = """
version: 1
robots:
  my rover:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:9"}
    controller: {kind: webots_plugin}
"""


def test_a_plugin_that_leaves_while_the_robot_is_down_is_free(tmp_path: Path, folder: Path) -> None:
    """After a set_mode that failed: its connection does not wait for the robot."""
    with plugin(tmp_path, WITHOUT_BODY) as gateway:
        port = gateway.gateway.supervisors["my rover.controller"]
        for _ in range(3):
            peer = gateway.knock_at(folder / "my%20rover.plugin")
            peer.connection.sendall(FIRST)
            gateway.until(lambda: port.line.first is not None, "it waits")
            peer.connection.close()
            gateway.until(lambda: port.line.first is None, "the end")


def test_a_late_request_ends_at_once(tmp_path: Path, folder: Path) -> None:
    """Webots takes its own step between two requests: both take one step of time, not two."""
    with plugin(tmp_path) as gateway:
        peer = gateway.knock_at(folder / "my%20rover.plugin")
        peer.connection.sendall(FIRST)
        gateway.until(lambda: b"my rover\0" in peer.poll(), "the configuration")
        times = []
        for _ in range(10):
            peer.received.clear()
            peer.connection.sendall(STEP)
            gateway.until(lambda: len(peer.poll()) >= 8, "the answer")
            times.append(gateway.loop.time())
            gateway.loop.advance(0.030)  # Webots' own step
        spent = (times[-1] - times[0]) / (len(times) - 1)
        assert spent == pytest.approx(0.032, abs=0.001)
        assert struct.unpack_from("<i", peer.received)[0] == len(peer.received)


def test_that_of_another_gateway_is_not_taken(tmp_path: Path, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    path = folder / "my%20rover.plugin"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with plugin(tmp_path) as gateway:
        gateway.knock_at(path)
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()
        with pytest.raises(HilgwError, match="another program has this socket of the plug-in"):
            plugin(tmp_path).__enter__()
        assert path.exists()


KINDS = {
    "webots": '{kind: webots, listen: "tcp://0.0.0.0:0"}',
    "webots_proxy": '{kind: webots_proxy, listen: "tcp://0.0.0.0:0", connect: "tcp://127.0.0.1:1"}',
}
ROBOT = """
version: 1
robots:
  rover: {{controller: {controller}, devices: {{tx: {{node: Emitter}}}}}}
access: {access}
"""
TOKENS = "tokens: {lab: {file: lab.token}}"
TLS = "tls: {certificate: gateway.pem, clients: clients.pem}"
# Webots behind the proxy is not there.
WORDS = {"webots": b"CONNECTED", "webots_proxy": b"FAILED"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a gateway, of a client, and of a stranger; and a token."""
    keys = tmp_path_factory.mktemp("access")
    lab, clients, strangers = trustme.CA(), trustme.CA(), trustme.CA()
    lab.cert_pem.write_to_path(keys / "lab.pem")
    clients.cert_pem.write_to_path(keys / "clients.pem")
    for name, authority in (("gateway", lab), ("client", clients), ("stranger", strangers)):
        made = authority.issue_cert("127.0.0.1", "localhost")
        made.private_key_and_cert_chain_pem.write_to_path(keys / f"{name}.pem")
        (keys / f"{name}.pem").chmod(0o600)
    write_token(keys / "lab.token")
    return keys


@asynccontextmanager
async def listening(keys: Path, kind: str, access: str) -> AsyncIterator[tuple[int, Recorder]]:
    """A gateway of one robot; the port of its controllers. kind: of KINDS, or the controller."""
    file, log = keys / "lab.yaml", Recorder()
    controller = KINDS.get(kind, kind)
    file.write_text(ROBOT.format(controller=controller, access="{" + access + "}"))

    def ports() -> list[str]:
        return re.findall(r"listening on \S+:(\d+)", str(log.states))

    async with running(load_config(str(file)).config, log):
        await until(ports)
        yield int(ports()[0]), log


def context(keys: Path, certificate: str | None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=keys / "lab.pem")
    if certificate is not None:
        made.load_cert_chain(keys / f"{certificate}.pem")
    return made


async def ask(port: int, tls: ssl.SSLContext | None, token: str) -> bytes:
    """What the gateway answers to the line of a controller; b"": it closes the connection."""
    writer = None
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        writer.write(
            b"CTR\nRobot-Name: rover" + (b"%3Ftoken%3D" + token.encode() if token else b"")
        )
        return await asyncio.wait_for(reader.read(10), 30)
    except OSError:  # ssl.SSLError is one
        return b""
    finally:
        if writer is not None:
            writer.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_controller_needs_a_certificate_and_a_token(keys: Path, kind: str) -> None:
    """As the configuration demands them; without TLS it gets no word at all."""
    token, word = (keys / "lab.token").read_text().strip(), WORDS[kind]
    good, none = context(keys, "client"), context(keys, None)

    async def answers(access: str, *tries: tuple[ssl.SSLContext | None, str]) -> list[bytes]:
        async with listening(keys, kind, access) as (port, _):
            return [await ask(port, *each) for each in tries]

    strangers = ((none, token), (context(keys, "stranger"), token), (None, token))
    tries = ((good, token), (good, ""), (good, token[::-1]), *strangers)
    replies = await answers(f"{TLS}, {TOKENS}", *tries)
    assert replies == [word, b"FORBIDDEN", b"FORBIDDEN", b"", b"", b""]
    assert await answers(TLS, (good, ""), (none, "")) == [word, b""]
    alone = "tls: {certificate: gateway.pem}, " + TOKENS
    replies = await answers(alone, (none, token), (none, ""), (None, token))
    assert replies == [word, b"FORBIDDEN", b""]


async def test_the_token_of_a_controller_does_not_reach_webots(keys: Path) -> None:
    token = (keys / "lab.token").read_text().strip()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def webots(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.put_nowait(await reader.read(100))
        writer.write(b"FORBIDDEN")
        writer.close()

    async with await asyncio.start_server(webots, "127.0.0.1", 0) as server:
        there = server.sockets[0].getsockname()[1]
        kind = KINDS["webots_proxy"].replace("127.0.0.1:1", f"127.0.0.1:{there}")
        async with listening(keys, kind, f"plaintext: true, {TOKENS}") as (port, _):
            assert await ask(port, None, token) == b"FORBIDDEN"
        assert await lines.get() == b"CTR\nRobot-Name: rover"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_api_names_what_is_wrong_with_a_token(keys: Path, kind: str) -> None:
    """A robot that is taken is another matter. The gateway shows the same sentence."""
    path = keys / "screen.token"
    screen = path.read_text().strip() if path.exists() else write_token(path)
    tokens = "tokens: {lab: {file: lab.token}, screen: {file: screen.token, role: monitor}}"
    cases = {"": "it sent no token", "wrong": "its token is wrong", screen: "is for monitors"}
    async with listening(keys, kind, f"plaintext: true, {tokens}") as (port, log):
        for token, message in cases.items():
            url = f"tcp://127.0.0.1:{port}/rover"
            given = {"WEBOTS_CONTROLLER_URL": f"{url}?token={token}" if token else url}
            with pytest.raises(PeerError, match=message) as error:
                await asyncio.to_thread(connect, given)
            assert "has a controller" not in str(error.value)
        shown = str(log.refusals + log.notices)
        for message in cases.values():
            assert message in shown
        assert screen not in shown


async def test_the_api_connects_with_a_certificate_and_names_what_it_lacks(
    keys: Path,
) -> None:
    """An address tls://, HILGW_CA, HILGW_CERTIFICATE and HILGW_TOKEN."""
    async with listening(keys, "webots", f"{TLS}, {TOKENS}") as (port, log):
        given = {
            "WEBOTS_CONTROLLER_URL": f"tls://127.0.0.1:{port}/rover",
            "HILGW_CA": str(keys / "lab.pem"),
            "HILGW_CERTIFICATE": str(keys / "client.pem"),
            "HILGW_TOKEN": (keys / "lab.token").read_text().strip(),
        }
        for wrong, message in (
            ({"HILGW_CA": str(keys / "clients.pem")}, "no TLS with this gateway"),
            ({"HILGW_CERTIFICATE": str(keys / "stranger.pem")}, "no TLS with this gateway"),
            ({"HILGW_CERTIFICATE": str(keys / "absent.pem")}, "cannot be used"),
            ({"HILGW_TOKEN": "wrong"}, "may not connect"),
        ):
            with pytest.raises(PeerError, match=message):
                await asyncio.to_thread(connect, given | wrong)
        await until(lambda: "not_secured" in str(log.refusals))
        assert "TLS: " in str(log.refusals) and "too_many" not in str(log.refusals)
        connection = await asyncio.to_thread(connect, given)
        connection.send(encode_request(0))
        await until(lambda: "127.0.0.1" in str(log.states))
        connection.leave()


async def test_an_address_without_a_name_lists_the_robots() -> None:
    """At once, and not again and again; libController has ended when the names come."""
    log, port = Recorder(), free_port()
    robot = f'{{controller: {{kind: webots, listen: "tcp://127.0.0.1:{port}"}}}}'
    text = f"version: 1\nrobots: {{cab: {robot}, rover: {robot}}}\n"
    async with running(load_text(text, "f").config, log):
        await until(lambda: len(re.findall("listening on", str(log.states))) == 2)
        url = {"WEBOTS_CONTROLLER_URL": f"tcp://127.0.0.1:{port}"}
        with pytest.raises(PeerError) as error:
            await asyncio.to_thread(connect, url, lambda _: pytest.fail("it tries again"))
    assert "the address names no robot; the gateway has cab, rover" in str(error.value)
    assert "tcp://HOST:PORT/ROBOT" in str(error.value)
