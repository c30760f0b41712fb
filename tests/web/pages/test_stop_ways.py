"""STOP ALL of the page where its own port is not reached, its process ends, or nothing answers."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme

from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, Gateway, free_port
from tests.web.pages.browser import Web, client_of, opened, wait_for
from tests.web.stop_servers import runs, stop_servers

ROOT = Path(__file__).parents[3]
BEHIND = (ROOT / "docs" / "web.md").read_text("utf-8").partition("\n## Behind a proxy\n")[2]
CONFIG = """
version: 1
robots:
  rover:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}
    safety: {armed: true}
"""
DEAD = "STOP ALL does not answer"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("stop")
    (folder / "stop.yaml").write_text(CONFIG)
    with Gateway(folder, ["stop.yaml"]) as running:
        yield running


@pytest.fixture
def robot(gateway: Gateway) -> Gateway:
    """The gateway, with its robot armed."""
    client_of(gateway).arm("rover")
    return gateway


@pytest.fixture(scope="module")
def page_here(gateway: Gateway) -> Iterator[tuple[Web, int]]:
    """`hilgw web` on an address of this process alone, and its port; STOP ALL has the next one."""
    port = free_port()
    (name,) = re.findall(r"--name ([\w.]+)", BEHIND)
    web = Web(gateway.cwd, "--host", HOST, "--port", str(port), "--name", name)
    yield web, port
    web.end()


def is_armed(gateway: Gateway) -> bool:
    return gateway.report()["control_loops"]["rover"]["armed"]


def press(page: Any, gateway: Gateway) -> None:
    """The button, and its answer."""
    assert is_armed(gateway)
    page.get_by_role("button", name="STOP ALL").click()
    wait_for(page.locator("#stop-answer").get_by_text("rover is disarmed"))
    assert not is_armed(gateway)


@contextmanager
def listening(port: int, *command: str) -> Iterator[None]:
    """A program that listens at this port of 127.0.0.1."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port), what=command[0])
        yield
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextmanager
def nginx(folder: Path, port: int) -> Iterator[tuple[str, int]]:
    """With the lines of the documentation; its name and port."""
    (block,) = re.findall(r"```nginx\n(.*?)```", BEHIND, re.S)
    own = free_port()  # where Chromium finds *.localhost
    (name,) = re.findall(r"server_name (\S+);", block)
    certificate = trustme.CA().issue_cert(name)
    certificate.private_key_pem.write_to_path(folder / "lab.key")
    certificate.cert_chain_pems[0].write_to_path(folder / "lab.pem")
    text = block.replace("127.0.0.1:8080", f"{HOST}:{port}")
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{own} ssl;")  # files: from its folder
    assert {f"{HOST}:{port}", f"127.0.0.1:{own}"} <= {*re.findall(r"[\d.]+:\d+", text)}
    paths = "".join(
        f"{name}_temp_path {folder}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder}/nginx.pid; daemon off; error_log {folder}/error.log; events {{}}"
        f" http {{ access_log off; {paths} {text} }}"
    )
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") or "nginx"
    log = str(folder / "error.log")
    with listening(own, program, "-e", log, "-c", str(folder / "nginx.conf")):
        yield name, own


@pytest.mark.judge("socat")
def test_behind_ssh_with_the_port_of_the_page_alone(
    robot: Gateway, page_here: tuple[Web, int], chromium: Any
) -> None:
    ((ours, theirs),) = re.findall(r"ssh -L (\d+):127\.0\.0\.1:(\d+) ", BEHIND)
    assert (ours != theirs, theirs) == (True, "8080")
    where = free_port()
    listens = f"TCP-LISTEN:{where},bind=127.0.0.1,fork"  # as that of `ssh -L`
    with listening(where, "socat", listens, f"TCP:{HOST}:{page_here[1]}"):
        with opened(chromium, f"http://127.0.0.1:{where}/") as page:
            wait_for(page.get_by_text("may only look"))
            wait_for(page.locator(".state", has_text="armed").first)  # it is live
            press(page, robot)


@pytest.mark.judge("nginx")
def test_behind_nginx_with_the_lines_of_the_documentation(
    robot: Gateway, page_here: tuple[Web, int], chromium: Any
) -> None:
    web, port = page_here
    with nginx(robot.cwd, port) as (name, own):
        token = web.url.partition("?")[2]
        with opened(chromium, f"https://{name}:{own}/?{token}", ignore_https_errors=True) as page:
            wait_for(page.get_by_text("may command"))
            wait_for(page.locator(".state", has_text="armed").first)
            press(page, robot)


def test_a_process_that_is_frozen_is_started_again_and_the_page_stops_meanwhile_or_shows_it(
    robot: Gateway, page_here: tuple[Web, int], chromium: Any
) -> None:
    web, port = page_here
    with opened(chromium, f"http://{HOST}:{port}/") as page:
        wait_for(page.get_by_text("may only look"))
        (first,) = stop_servers(web.process.pid)
        os.kill(first, signal.SIGSTOP)  # its port is open
        press(page, robot)
        wait_until(
            lambda: stop_servers(web.process.pid) not in ([], [first]), what="another process"
        )
        assert page.get_by_text(DEAD).is_hidden()
        assert page.get_by_role("button", name="STOP ALL").is_visible()
        with opened(chromium, f"http://{HOST}:{port + 1}/") as alone:
            alone.get_by_role("button", name="STOP ALL").click()
            wait_for(alone.get_by_text("rover is disarmed"))

        # Without any answer, the page shows that in place of the button.
        stop = page.get_by_role("button", name="STOP ALL")
        (process,) = stop_servers(web.process.pid)
        os.kill(web.process.pid, signal.SIGSTOP)
        os.kill(process, signal.SIGSTOP)
        wait_for(page.get_by_text(DEAD))
        assert stop.is_hidden()
        assert page.get_by_text("hilgw disarm --all").first.is_visible()
        for pid in (process, web.process.pid):
            os.kill(pid, signal.SIGCONT)
        wait_for(stop)
        assert page.get_by_text(DEAD).is_hidden()
        client_of(robot).arm("rover")
        press(page, robot)


def test_the_page_with_the_button_alone_fills_a_phone_and_is_green_after_the_stop(
    robot: Gateway, page_here: tuple[Web, int], chromium: Any
) -> None:
    """It ends the gateway of these tests."""
    phone = {"viewport": {"width": 390, "height": 844}}
    with chromium.new_context(**phone) as context:
        page = context.new_page()
        page.goto(f"http://{HOST}:{page_here[1] + 1}/")
        button = page.get_by_role("button", name="STOP ALL")
        box = button.bounding_box()
        assert box["width"] * box["height"] > 0.8 * 390 * 844
        assert page.evaluate("document.documentElement.scrollHeight") <= 844
        assert not is_green(page)
        button.click()
        wait_for(page.get_by_text("rover is disarmed"))
        assert is_green(page)
        robot.stop()
        page.get_by_role("button", name="STOP ALL").click()
        wait_for(page.get_by_text("no gateway of yours is running"))
        assert not is_green(page)


def test_its_process_ends_with_a_page_that_is_killed(page_here: tuple[Web, int]) -> None:
    """Last: it ends the page of these tests."""
    web, _ = page_here
    (pid,) = stop_servers(web.process.pid)
    web.process.kill()
    web.process.wait()
    wait_until(lambda: not runs(pid), what="the end of the process of STOP ALL")


def is_green(page: Any) -> bool:
    """Whether any large part of it is."""
    color = "each => getComputedStyle(each).backgroundColor"
    colors = [each.evaluate(color) for each in page.locator("body, button").all()]
    parts = [tuple(map(int, re.findall(r"\d+", each)[:3])) for each in colors]
    return any(green > max(red, blue) for red, green, blue in parts)
