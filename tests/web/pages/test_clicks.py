"""Clicks on what changes, in a real browser, at 2,000 packets/s: none is lost, and none is one on
what came in its place."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Gateway
from tests.web.pages.browser import Web, opened, press_enter, wait_for

CONFIG = """
version: 1
record: {at_start: false, folder: clicks}
robots:
  pressed: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}}
"""
SENDER = """
  {}:
    devices: {{tx: {{node: Emitter, type: radio, channel: 1}}}}
    controller: {{kind: beacon, emitter: tx, period_ms: 1}}
"""
NAME, SENDERS = "clicks", ("first", "second")  # each sends 1,000 packets/s
CLICKS = 2  # the second one is of what came after the first
# The HTML that `hilgw web` last sent for the table of what is pressed, if it is new.
SENT = """([before]) => { const pressed = [...document.querySelectorAll(":active")].at(-1);
    const sent = getElement(Number(pressed.closest(".scrolls").id.slice(1))).innerHTML;
    return sent !== before && sent; }"""


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[Gateway]:
    (folder / f"{NAME}.yaml").write_text(CONFIG + "".join(map(SENDER.format, SENDERS)))
    with Gateway(folder, [f"{NAME}.yaml"]) as running:
        yield running


def press(page: Any, what: Any) -> None:
    wait_for(what)
    what.hover()
    page.mouse.down()


def release(page: Any) -> None:
    """After `hilgw web` has sent a new table, in place of that with what is pressed."""
    page.wait_for_function(SENT, arg=[page.evaluate(f"({SENT})([])")])
    page.mouse.up()


def test_a_packet_is_the_one_that_was_pressed(web: Web, chromium: Any, gateway: Gateway) -> None:
    with opened(chromium, web.at("traffic")) as page:
        page.get_by_label("Name").fill("first.tx")
        packets = page.get_by_role("region", name="Packets")
        details = packets.get_by_role("button", name=re.compile("^Details of first.tx"))
        wait_for(details.nth(99))
        for _ in range(CLICKS):
            press(page, details.nth(2))
            active = "document.querySelector('button:active')"
            name, key = page.evaluate(f"[{active}.ariaLabel, {active}.dataset.key]")
            release(page)
            wait_for(page.get_by_role("heading", name=name.removeprefix("Details of ")))
            wait_for(packets.locator(f"[data-key='{key}'][aria-pressed=true]"))
            page.get_by_role("checkbox", name="Pause", checked=True).click()
            wait_for(packets.locator(f"[data-key='{key}']"), "detached")
        press_enter(details.nth(2), packets.get_by_role("button", pressed=True))


def test_a_file_is_the_one_that_was_pressed_and_what_came_meanwhile_follows(
    web: Web, chromium: Any, gateway: Gateway, folder: Path
) -> None:
    with opened(chromium, web.at("recordings")) as page:
        kept = folder / "clicks"
        kept.mkdir()
        (kept / "0.pcapng").touch()
        card = page.get_by_role("region", name="Files")
        for count in range(CLICKS):
            press(page, card.get_by_role("link", name=f"{count}.pcapng"))
            (kept / f"{count + 1}.pcapng").touch()  # it is newer: the first of the table
            with page.expect_download() as download:
                release(page)
            assert download.value.suggested_filename == f"{count}.pcapng"
            wait_for(card.get_by_role("link", name=f"{count + 1}.pcapng"))
