"""TLS of the listeners for controllers: clients with a certificate and a token, and without."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from hilgw.api.connection import connect
from hilgw.config.load import load_config, load_text
from hilgw.errors import PeerError
from hilgw.protocols.webots.requests import encode_request
from hilgw.security.access import write_token
from hilgw.testing.sim import Recorder, until
from tests.e2e.running import free_port
from tests.engine.gateways import running

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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a gateway, of a client, and of a stranger; and a token."""
    folder = tmp_path_factory.mktemp("access")
    lab, clients, strangers = trustme.CA(), trustme.CA(), trustme.CA()
    lab.cert_pem.write_to_path(folder / "lab.pem")
    clients.cert_pem.write_to_path(folder / "clients.pem")
    for name, authority in (("gateway", lab), ("client", clients), ("stranger", strangers)):
        made = authority.issue_cert("127.0.0.1", "localhost")
        made.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
        (folder / f"{name}.pem").chmod(0o600)
    write_token(folder / "lab.token")
    return folder


@asynccontextmanager
async def listening(folder: Path, kind: str, access: str) -> AsyncIterator[tuple[int, Recorder]]:
    """A gateway of one robot; the port of its controllers. kind: of KINDS, or the controller."""
    file, log = folder / "lab.yaml", Recorder()
    controller = KINDS.get(kind, kind)
    file.write_text(ROBOT.format(controller=controller, access="{" + access + "}"))

    def ports() -> list[str]:
        return re.findall(r"listening on \S+:(\d+)", str(log.states))

    async with running(load_config(str(file)).config, log):
        await until(ports)
        yield int(ports()[0]), log


def context(folder: Path, certificate: str | None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=folder / "lab.pem")
    if certificate is not None:
        made.load_cert_chain(folder / f"{certificate}.pem")
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
async def test_a_controller_needs_a_certificate_and_a_token(folder: Path, kind: str) -> None:
    """As the configuration demands them; without TLS it gets no word at all."""
    token, word = (folder / "lab.token").read_text().strip(), WORDS[kind]
    good, none = context(folder, "client"), context(folder, None)

    async def answers(access: str, *tries: tuple[ssl.SSLContext | None, str]) -> list[bytes]:
        async with listening(folder, kind, access) as (port, _):
            return [await ask(port, *each) for each in tries]

    strangers = ((none, token), (context(folder, "stranger"), token), (None, token))
    tries = ((good, token), (good, ""), (good, token[::-1]), *strangers)
    found = await answers(f"{TLS}, {TOKENS}", *tries)
    assert found == [word, b"FORBIDDEN", b"FORBIDDEN", b"", b"", b""]
    assert await answers(TLS, (good, ""), (none, "")) == [word, b""]
    alone = "tls: {certificate: gateway.pem}, " + TOKENS
    found = await answers(alone, (none, token), (none, ""), (None, token))
    assert found == [word, b"FORBIDDEN", b""]


async def test_the_token_of_a_controller_does_not_reach_webots(folder: Path) -> None:
    token = (folder / "lab.token").read_text().strip()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def webots(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.put_nowait(await reader.read(100))
        writer.write(b"FORBIDDEN")
        writer.close()

    async with await asyncio.start_server(webots, "127.0.0.1", 0) as server:
        there = server.sockets[0].getsockname()[1]
        kind = KINDS["webots_proxy"].replace("127.0.0.1:1", f"127.0.0.1:{there}")
        async with listening(folder, kind, f"plaintext: true, {TOKENS}") as (port, _):
            assert await ask(port, None, token) == b"FORBIDDEN"
        assert await lines.get() == b"CTR\nRobot-Name: rover"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_api_names_what_is_wrong_with_a_token(folder: Path, kind: str) -> None:
    """A robot that is taken is another matter. The gateway shows the same sentence."""
    path = folder / "screen.token"
    screen = path.read_text().strip() if path.exists() else write_token(path)
    tokens = "tokens: {lab: {file: lab.token}, screen: {file: screen.token, role: monitor}}"
    cases = {"": "it sent no token", "wrong": "its token is wrong", screen: "is for monitors"}
    async with listening(folder, kind, f"plaintext: true, {tokens}") as (port, log):
        for token, what in cases.items():
            url = f"tcp://127.0.0.1:{port}/rover"
            given = {"WEBOTS_CONTROLLER_URL": f"{url}?token={token}" if token else url}
            with pytest.raises(PeerError, match=what) as error:
                await asyncio.to_thread(connect, given)
            assert "has a controller" not in str(error.value)
        shown = str(log.refusals + log.notices)
        for what in cases.values():
            assert what in shown
        assert screen not in shown


async def test_the_api_connects_with_a_certificate_and_names_what_it_lacks(folder: Path) -> None:
    """An address tls://, HILGW_CA, HILGW_CERTIFICATE and HILGW_TOKEN."""
    async with listening(folder, "webots", f"{TLS}, {TOKENS}") as (port, log):
        given = {
            "WEBOTS_CONTROLLER_URL": f"tls://127.0.0.1:{port}/rover",
            "HILGW_CA": str(folder / "lab.pem"),
            "HILGW_CERTIFICATE": str(folder / "client.pem"),
            "HILGW_TOKEN": (folder / "lab.token").read_text().strip(),
        }
        for wrong, what in (
            ({"HILGW_CA": str(folder / "clients.pem")}, "no TLS with this gateway"),
            ({"HILGW_CERTIFICATE": str(folder / "stranger.pem")}, "no TLS with this gateway"),
            ({"HILGW_CERTIFICATE": str(folder / "absent.pem")}, "cannot be used"),
            ({"HILGW_TOKEN": "wrong"}, "may not connect"),
        ):
            with pytest.raises(PeerError, match=what):
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
