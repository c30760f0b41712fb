"""Clicks on packets, in a real browser, at 2,000 packets/s: none is lost, and none is one on what
came in its place."""

import re
from typing import Any

from tests.e2e.running import Gateway
from tests.web.pages.browser import Web, opened, press, press_enter, release, wait_for

CONFIG = """
version: 1
robots:
  pressed: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: mock}}
"""
SENDER = """
  {}:
    devices: {{tx: {{node: Emitter, type: radio, channel: 1}}}}
    controller: {{kind: beacon, emitter: tx, period_ms: 1}}
"""
CONFIG += "".join(map(SENDER.format, ("first", "second")))  # each sends 1,000 packets/s
FILE = "clicks.yaml"
CLICKS = 2  # the second one is of what came after the first


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
