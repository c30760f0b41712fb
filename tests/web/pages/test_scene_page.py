"""The page Scene in a real browser: an object is dragged, placed by the form, and seen in 3-D."""

import re
from pathlib import Path
from typing import Any

import pytest

from hilgw import client
from tests.e2e.running import Gateway
from tests.web.pages.browser import (
    Web,
    beside,
    card,
    client_of,
    opened,
    wait_for,
    wait_until_it_fits,
)

CONFIG = """
version: 1
robots:
  rover:
    position: [0, 0, 0.5]
    rotation: [0, 0, 1, 1.5]
    devices: {tx: {node: Emitter, type: infra-red, channel: 1, range: 3, aperture: 1}}
    controller: {kind: beacon, emitter: tx, period_ms: 100, payload: "{n}"}
  other:
    position: [4, 1, 0]
    devices: {rx: {node: Receiver, type: infra-red, channel: 1}}
  lost: {devices: {rx: {node: Receiver, type: radio}}}
obstacles: {wall: {shape: box, size: [0.2, 1, 1], position: [2, 0, 0]}}
"""
LONE = "version: 1\nrobots: {lone: {devices: {rx: {node: Receiver, type: radio}}}}\n"
FILE = "scene <b>.yaml"
# Where the 3-D view has the label of an object.
IN_3D = """([name, ...at]) => { const id = document.querySelector(".nicegui-scene").id, found = [];
    window[`scene_${id}`].traverse((each) => {
        if (each.element?.textContent === name)
            found.push(each.getWorldPosition(each.position.clone())); });
    return found.length === 1 && found[0].distanceTo({x: at[0], y: at[1], z: at[2]}) < 0.01; }"""


def own(page: Any) -> Any:
    own_card = card(page, FILE)
    wait_for(own_card.locator(".object").first)
    return own_card


def drag(page: Any, name: str, right: float, down: float) -> None:
    """By so many pixels."""
    arrow = own(page).locator(f"[data-object={name}] i")
    arrow.scroll_into_view_if_needed()
    box = arrow.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=3)
    page.mouse.up()


def pose_of(gateway: Gateway, name: str) -> Any:
    """Position and rotation, as the gateway has it."""
    return client_of(gateway).pose(name)


def test_an_object_is_dragged_and_placed_by_the_form_and_in_3d_it_is_there_too(
    gateway: Gateway, folder: Path, web: Web, chromium: Any
) -> None:
    with opened(chromium, web.at("scene")) as page:
        own_card, answer = own(page), own(page).get_by_role("status")
        own_card.get_by_role("button", name="Place").click()
        wait_for(answer.get_by_text("choose an object"))
        wait_until_it_fits(page)  # the plan follows the screen
        own_card.get_by_role("button", name="Plan").focus()
        names = []
        for _ in range(6):
            page.keyboard.press("Tab")
            active = "document.activeElement"
            names.append(page.evaluate(f"{active}.ariaLabel || {active}.innerText"))
        assert names == ["3-D", "Name", "Object", "x in m", "y in m", "Place"]
        wait_for(own_card.get_by_text("hilgw place lost 0 0 0"))
        _, turn = pose_of(gateway, "rover")
        drag(page, "rover", 60, -40)
        wait_for(answer.get_by_text(re.compile("^rover is at 0.*, 0.* m$")))
        (x, y, z), turned = pose_of(gateway, "rover")
        assert min(x, y) > 0.1
        assert z == 0.5
        assert turned[0] == pytest.approx(turn[0])
        own_card.get_by_label("Object", exact=True).focus()
        page.keyboard.press("Enter")
        page.get_by_role("option", name="lost").click()
        own_card.get_by_label("x in m").fill("3")
        page.keyboard.press("Tab")
        own_card.get_by_label("y in m").fill("-1")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        wait_for(answer.get_by_text("lost is at 3, -1, 0 m"))
        assert pose_of(gateway, "lost")[0] == (3, -1, 0)
        wait_for(own_card.locator("[data-object=lost]"))
        own_card.get_by_label("x in m").fill("2e9")
        own_card.get_by_role("button", name="Place").click()
        wait_for(answer.get_by_text("is not a valid position"))
        check_3d(page, gateway, folder)


def check_3d(page: Any, gateway: Gateway, folder: Path) -> None:
    """An object is where it was dragged, and a lost packet shows why there, too."""
    own_card, first = own(page), client_of(gateway).path
    wait_for(own_card.locator(".plan .why").get_by_text("range"))
    wait_for(own_card.get_by_role("row", name=re.compile("rover.tx other.rx .* out of range")))
    own_card.get_by_label("Name").fill("nobody")
    wait_for(own_card.locator(".plan .why"), "detached")
    wait_for(own_card.locator("[data-object=other]"))
    own_card.get_by_label("Name").fill("OTHER")
    wait_for(own_card.locator(".plan .why").get_by_text("range"))
    drag(page, "rover", 30, -50)
    wait_for(own_card.get_by_role("status").get_by_text("rover is at"))
    own_card.get_by_role("button", name="3-D").click()
    wait_for(own_card.locator("canvas"))
    for name in ("rover", "other"):
        page.wait_for_function(IN_3D, arg=[name, *pose_of(gateway, name)[0]])
    wait_for(own_card.locator(".nicegui-scene").get_by_text("range"))
    own_card.get_by_role("button", name="Plan").click()
    wait_for(own_card.locator("canvas"), "detached")
    file = beside(folder, "poses") / "poses.yaml"
    file.write_text(LONE)
    with Gateway(file.parent, [file.name]):  # the view is there once an object has a pose
        own_card = card(page, file.name)
        wait_for(own_card.get_by_text("No object has a pose"))
        own_card.get_by_role("button", name="3-D").click()
        wait_for(own_card.get_by_role("button", name="3-D", pressed=True))
        (other,) = {*(folder / "run").rglob("*.sock")} - {first}
        client.Gateway(other).place("lone", (1, 2, 0))
        wait_for(own_card.locator("canvas"))
        page.wait_for_function(IN_3D, arg=["lone", 1, 2, 0])


def test_without_a_token_nothing_is_placed_and_without_webgl_the_page_shows_it(
    gateway: Gateway, web: Web, chromium: Any
) -> None:
    def without_webgl(page: Any) -> None:
        page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")

    with opened(chromium, web.at("scene", acts=False), without_webgl) as page:
        own_card, before = own(page), pose_of(gateway, "rover")
        assert page.get_by_role("button", name="Place").count() == 0
        drag(page, "rover", 60, -40)
        own_card.get_by_role("button", name="3-D").click()
        wait_for(own_card.get_by_text("This browser has no WebGL"))
        assert pose_of(gateway, "rover") == before
