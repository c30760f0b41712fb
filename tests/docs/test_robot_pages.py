"""The pages of the robots: devices, settings and commands are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.bodies.create2 import BODY as CREATE2
from hilgw.bodies.create2 import Create2Settings
from hilgw.bodies.create2.settings import Create2Sensor
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL
from hilgw.bodies.dynamixel import DynamixelSettings
from hilgw.bodies.epuck import BODY as EPUCK
from hilgw.bodies.epuck import EPuckSettings
from hilgw.config.load import load_text

ROOT = Path(__file__).parents[2]
SESSIONS: dict[str, Any] = {
    "create2": lambda: CREATE2.session(Create2Settings(port="/dev/x"), "R2025a"),
    "dynamixel": lambda: DYNAMIXEL.session(DynamixelSettings(port="/dev/x"), "R2025a"),
    "epuck": lambda: EPUCK.session(EPuckSettings(port="/dev/x"), "R2025a"),
}


def page_of(kind: str) -> str:
    return (ROOT / "docs" / f"{kind}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", SESSIONS)
def test_the_devices_are_those_of_the_body_in_order(kind: str) -> None:
    table = page_of(kind).split("## Devices")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w, ]+) \| (\w+) \|", table, re.M)[1:]
    named = [(name, node) for names, node in rows for name in names.split(", ")]
    devices = [(device.name, device.kind) for device in SESSIONS[kind]().devices]
    assert sorted(named) == sorted(devices) and len(named) > 2


@pytest.mark.parametrize("kind", SESSIONS)
def test_its_command_names_the_shipped_configuration(kind: str) -> None:
    """tests/e2e/test_configs.py runs it."""
    assert f"hilgw --config configs/{kind}.yaml\n" in page_of(kind)
    assert (ROOT / "configs" / f"{kind}.yaml").is_file()


def settings_shown(kind: str) -> Any:
    (block,) = re.findall(r"```yaml\n(.*?)```", page_of(kind), re.S)
    body = {"kind": kind, "port": "/dev/x", **yaml.safe_load(block)}
    text = yaml.safe_dump({"version": 1, "robots": {"r": {"body": body}}})
    loaded = load_text(text, "page").config.robots["r"].body
    assert loaded is not None
    return loaded.settings


def test_the_settings_shown_are_accepted() -> None:
    sensors = settings_shown("create2").sensors
    assert sensors["battery"] == Create2Sensor(packet="battery_charge")
    assert settings_shown("dynamixel").motors["turret"].sensor == "turret angle"
    sensors = settings_shown("epuck").sensors
    assert sensors["gs1"].present and not sensors["mic0"].present
