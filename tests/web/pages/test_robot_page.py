"""The page Robot in a real browser: it arms and disarms a robot, drives it by keys, chooses between
its bodies, and sends its controller a text."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, patient
from tests.web.pages.browser import Web, client_of, opened, wait_for, wait_until_it_fits

CONFIG = """
version: 1
medium: {step_ms: 32}
robots:
  driven:
    body:
      kind: wc2ec
      connect: "tcp://127.0.0.1:1"
      backend: mock
      mock: {dialect: full}
      limits: {left_wheel: {max_velocity: 10}}
    controller: {kind: python, file: drives.py}
    safety: {armed: false}
  twin:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:2", backend: mock}
    remote: {kind: wc2ec, connect: "tcp://127.0.0.1:3", backend: mock}
    controller: {kind: python, file: prints.py}
  ended:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:4", backend: mock}
    controller: {kind: python, file: ends.py}
    safety: {armed: true}
"""
PROGRAM = """
from controller import Keyboard, Robot

robot = Robot()
keys = Keyboard()
keys.enable(32)
eye = robot.getDevice("ds_left")
eye.enable(32)
wheel = robot.getDevice("left_wheel")
wheel.setPosition(float("inf"))
down = False
while robot.step(32) != -1:
    key = keys.getKey()
    if (key != -1) is not down:
        down = key != -1
        print("<b> key", key, flush=True)
    wheel.setVelocity(3.0 if key == Keyboard.UP else 1.0)
"""
PRINTS = """
from controller import Robot

robot = Robot()
while robot.step(32) != -1:
    while (text := robot.wwiReceiveText()) is not None:
        print("it received", text, flush=True)
"""
ENDS = """
from controller import Robot

robot = Robot()
wheel = robot.getDevice("left_wheel")
wheel.setPosition(float("inf"))
while robot.step(32) != -1 and robot.wwiReceiveText() is None:
    wheel.setVelocity(1.0)
"""
FILE = "driven.yaml"


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[Gateway]:
    (folder / "drives.py").write_text(PROGRAM)
    (folder / "prints.py").write_text(PRINTS)
    (folder / "ends.py").write_text(ENDS)
    (folder / FILE).write_text(CONFIG)
    more = [option for robot in ("driven", "twin", "ended") for option in patient(robot)]
    with Gateway(folder, [FILE, *more]) as started:
        yield started


def url_of(web: Web, gateway: Gateway, robot: str, *, acts: bool = True) -> str:
    """Return the URL of the page of this robot."""
    where = urlencode({"gateway": str(client_of(gateway).path), "robot": robot})
    url, _, token = web.at("robot", acts=acts).partition("?")
    return f"{url}?{where}&{token}"


def test_a_robot_is_armed_driven_and_disarmed(gateway: Gateway, web: Web, chromium: Any) -> None:
    with opened(chromium, web.url) as page:
        page.get_by_role("link", name="driven", exact=True).click()
        wait_for(page.get_by_role("heading", name="driven", exact=True))
        wait_for(page.get_by_role("region", name="Sensors").get_by_text("ds_left"))
        page.get_by_role("button", name="Arm…").click()
        size = "each => getComputedStyle(each).fontSize"
        asked = page.get_by_role("heading", name="Arm driven?").evaluate(size)
        assert asked == page.get_by_role("heading", name="driven", exact=True).evaluate(size)
        page.get_by_role("button", name="Cancel").click()
        wait_for(page.get_by_role("dialog"), "detached")
        assert gateway.report()["control_loops"]["driven"]["armed"] is False
        accepted = page.get_by_label("Motors with a lost zero whose position is right")
        page.get_by_role("button", name="Arm…").click()
        accepted.fill("left_wheel, lamp")
        page.get_by_role("button", name="Arm", exact=True).click()
        wait_for(page.get_by_text("no motor 'lamp'").first)
        page.get_by_role("button", name="Arm…").click()
        accepted.fill("left_wheel, right_wheel")
        page.get_by_role("button", name="Arm", exact=True).click()
        wait_for(page.get_by_text("driven is armed"))
        page.get_by_role("button", name="Arm…").click()
        wait_until(lambda: accepted.input_value() == "", what="a field for one arming only")
        page.get_by_role("button", name="Cancel").click()
        wait_for(page.get_by_role("dialog"), "detached")
        motors = page.get_by_role("region", name="Motors")
        row = motors.get_by_role("row", name=re.compile("^left_wheel "))
        wait_for(row.get_by_role("cell", name="-10 to 10"))
        page.get_by_role("application").focus()

        def is_driven() -> bool:
            page.keyboard.down("ArrowUp")  # again and again, as a keyboard repeats it
            return bool(row.inner_text().count("\t3 rad/s") == 2)

        wait_until(is_driven, what="the speed of the key")
        wait_for(page.get_by_text("<b> key 315").first)
        page.keyboard.up("ArrowUp")
        wait_for(page.get_by_text("<b> key -1").first)
        page.get_by_role("button", name="Disarm").click()
        wait_for(page.get_by_text("driven is disarmed"))
        wait_for(row.get_by_text(re.compile("^standing")))
        assert gateway.report()["control_loops"]["driven"]["armed"] is False
        wait_for(page.get_by_role("region", name="Stop log").get_by_text("disarmed").first)
        wait_until_it_fits(page)


def test_a_robot_with_two_bodies_takes_a_mode_and_its_controller_a_text_that_ends_another(
    gateway: Gateway, web: Web, chromium: Any
) -> None:
    with opened(chromium, url_of(web, gateway, "twin")) as page:
        mode = page.get_by_role("combobox", name="Mode")
        wait_for(page.locator(".q-field", has=mode).get_by_text("simulation"))
        for name in ("remote", "shadow"):
            mode.click()
            page.get_by_role("option", name=name).click()
            wait_for(page.get_by_text(f"twin: {name}"))
            assert client_of(gateway).mode("twin").mode == name
            log = page.get_by_role("region", name="Stop log")
            wait_for(log.get_by_text(f"mode {name}").first)
            wait_for(page.locator(".q-field", has=mode).get_by_text(name))
        page.get_by_label("Text for its controller").fill("<b> go")
        page.keyboard.press("Enter")
        wait_for(page.get_by_text("twin has the text"))
        output = page.get_by_role("region", name="Program output")
        wait_for(output.get_by_text("it received <b> go"))

        # A motor whose controller ended stands, and the page shows both.
        page.goto(url_of(web, gateway, "ended"))
        rows = page.get_by_role("region", name="Motors").get_by_role("row")
        row = rows.filter(has_text="left_wheel")
        wait_for(row.get_by_text("moving"))
        page.get_by_label("Text for its controller").fill("end")
        page.keyboard.press("Enter")
        wait_for(row.get_by_text("standing: disconnected"))
        wait_for(page.get_by_text(re.compile("no controller runs: the program ended")))
    with opened(chromium, url_of(web, gateway, "driven", acts=False)) as page:
        wait_for(page.get_by_role("region", name="Sensors").get_by_text("ds_left"))
        assert page.get_by_role("button", name=re.compile("arm", re.IGNORECASE)).count() == 0
        assert page.get_by_role("application").count() == 0
        assert page.get_by_label("Text for its controller").count() == 0
