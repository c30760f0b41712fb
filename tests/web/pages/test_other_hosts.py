"""The pages over TLS, for visitors from other hosts: a token of a file, what its role may do."""

import http.client
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import HOST, Gateway
from tests.web.pages.browser import Web, card, client_of, opened, wait_for

CONFIG = """
version: 1
robots:
  rover:
    position: [0, 0, 0]
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}
    safety: {armed: true}
"""
FILE = "hosts.yaml"
NAME = "lab.localhost"  # Chromium finds it without a server of names
TOKENS = {"monitor": "m" * 32, "drive": "d" * 32}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("tls")
    (folder / FILE).write_text(CONFIG)
    with Gateway(folder, [FILE]) as running:
        yield running


@pytest.fixture(scope="module")
def tls(gateway: Gateway) -> Iterator[Web]:
    """On all addresses. At its end it has printed no token, and nothing else, and waits for no
    visitor that closed a WebSocket and reads no more."""
    certificate = trustme.CA().issue_cert(NAME).private_key_and_cert_chain_pem.bytes()
    private_file(gateway.cwd / "lab.pem", certificate)
    for role, token in TOKENS.items():
        private_file(gateway.cwd / role, token.encode())
    roles = [f"--token={role}:{role}" for role in TOKENS]
    web = Web(gateway.cwd, "--host=0.0.0.0", f"--name={NAME}", "--certificate=lab.pem", *roles)
    yield web
    with closed_websocket(web.url):
        assert web.end() == (130, "")


def websocket(url: str) -> ssl.SSLSocket:
    host = url.split("/")[2]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    port = int(host.partition(":")[2])
    connection = http.client.HTTPSConnection(HOST, port, timeout=DEADLINE_S, context=context)
    connection.connect()
    line = connection.sock
    assert isinstance(line, ssl.SSLSocket)
    line.sendall(
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
        f"Host: {host}\r\nOrigin: https://{host}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {'A' * 22}==\r\n\r\n".encode()
    )
    assert line.recv(4096).startswith(b"HTTP/1.1 101 ")
    return line


def closed_websocket(url: str) -> ssl.SSLSocket:
    """Over TLS; both sides have sent their close frames, and this one does not close TLS."""
    line = websocket(url)
    line.sendall(bytes.fromhex("88 82 00000000 03e8"))
    while not (got := line.recv(4096)).endswith(bytes.fromhex("88 02 03e8")):
        assert got
    return line


def private_file(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)


def test_a_message_above_a_mebibyte_ends_its_websocket(tls: Web) -> None:
    with websocket(tls.url) as line:
        line.sendall(bytes.fromhex("82 ff") + ((1 << 20) + 1).to_bytes(8, "big") + bytes(4))
        got = b""
        while b"\x03\xf1" not in got:  # 1009: it is too big
            got = line.recv(4096)
            assert got


def test_the_token_is_asked_for_and_a_monitor_looks_and_stops(tls: Web, chromium: Any) -> None:
    assert tls.url.startswith(f"https://{NAME}:")
    assert "token" not in tls.url
    with opened(chromium, tls.url, ignore_https_errors=True) as page:
        wait_for(page.get_by_text("This page needs a token"))
        for token in ("w" * 32, TOKENS["monitor"]):
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Open the page").click()
            if token != TOKENS["monitor"]:
                wait_for(page.get_by_text("is not valid"))
        wait_for(page.get_by_text("may only look"))
        assert page.url == tls.url
        assert page.context.cookies() == []  # they would go to every port of this machine
        page.get_by_role("link", name="Scene").click()
        wait_for(card(page, FILE).locator("[data-object=rover]"))
        assert page.get_by_role("button", name="Place").count() == 0
        page.get_by_role("button", name="STOP ALL").click()
        answer = page.locator("#stop-answer")
        wait_for(answer.get_by_text("rover is disarmed"))

        # The button alone, at its own port and below the page, needs the token of its URL, which
        # its form sends again.
        (port,) = re.findall(r"hostname}:(\d+)/", page.content())
        for url, token, stopped in (
            (f"https://{NAME}:{port}/", TOKENS["monitor"], "rover is disarmed"),
            (f"{tls.url}stop/", TOKENS["monitor"], "rover is disarmed"),
            (f"{tls.url}stop/", "w" * 32, "NOT stopped"),
        ):
            page.goto(f"{url}?token={token}")
            for _ in range(2):
                page.get_by_role("button", name="STOP ALL").click()
                wait_for(page.get_by_text(stopped))


def test_a_visitor_of_the_role_drive_acts(gateway: Gateway, tls: Web, chromium: Any) -> None:
    url = f"{tls.url}scene?token={TOKENS['drive']}"
    with opened(chromium, url, ignore_https_errors=True) as page:
        wait_for(page.get_by_text("may command"))
        assert "token" not in page.url
        own = card(page, FILE)
        own.get_by_role("combobox", name="Object").click()
        page.get_by_role("option", name="rover").click()
        own.get_by_label("x in m").fill("2")
        own.get_by_role("button", name="Place").click()
        wait_for(own.get_by_text("rover is at 2,"))
        pose = client_of(gateway).pose("rover")
        assert pose is not None
        assert pose[0][0] == 2
