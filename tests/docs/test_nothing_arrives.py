"""docs/nothing-arrives.md: each symptom is provoked, and the terminal shows its words."""

import asyncio
import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.errors import PortError
from hilgw.transports.base import LineSettings
from hilgw.transports.open_errors import port_error
from hilgw.transports.serial.port import open_serial
from tests.golden.running import run_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "nothing-arrives.md").read_text(encoding="utf-8")
TABLES = PAGE.split("## Before the run")[1]
SYMPTOMS = re.findall(r"^\| `([^`]+)`.* \| .+ \| .+ \|$", TABLES, re.M)


def mocked(name: str, *edits: tuple[str, Any], seconds: float = 2.2) -> Callable[[], str]:
    """A shipped configuration with a fault, in virtual time. edits: a path of keys, a value."""

    def shown() -> str:
        content = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text("utf-8"))
        for path, value in edits:
            *parts, last = path.split(".")
            node = content
            for part in parts:
                node = node.setdefault(part, {})
            node[last] = value
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "faulty.yaml"
            file.write_text(yaml.safe_dump(content))
            return run_config(str(file), seconds, terminal=True).split("=== events")[0]

    return shown


TX, RX = "robots.rover.devices.tx", "robots.rover.devices.rx"
NODE = "adapters.uart0.mock"
WALL = {"wall": {"shape": "box", "position": [0.25, 0, 0], "size": [0.02, 2, 2]}}
PROVOKED: dict[str, Callable[[], str]] = {
    "reaches no hardware and no other robot": mocked("xbee", (f"{TX}.channel", 13)),
    "the module does not answer, in API mode or in command mode": mocked(
        "xbee-transparent", ("adapters.stream0.mock", {"baudRate": 57600}), seconds=9
    ),
    "the module sends API frames but does not answer commands": mocked(
        "xbee", ("adapters.xbee0.mock", {"baudRate": 57600}), seconds=5
    ),
    "not received: no listener": mocked("xbee", (f"{TX}.type", "serial")),
    "not received: disabled": mocked(
        "webots-controller",
        ("robots.rover.controller.mock.script", "step 32 x 10; send tx ping 1; step 32 x 30"),
    ),
    "not received: channel": mocked("xbee", (f"{TX}.channel", 13)),
    "not received: range": mocked("xbee", (f"{TX}.range", 0.5)),
    "not received: cone": mocked("irda_sir", ("robots.rover.rotation", [0, 0, 1, 1.57])),
    "not received: obstacle": mocked("irda_sir", ("obstacles", WALL)),
    "refused (overflow)": mocked(
        "uart",
        ("robots.rover.controller.period_ms", 20),
        ("adapters.uart0.baudRate", 1200),
        ("adapters.uart0.bufferSize", 64),
    ),
    "refused (too long)": mocked("xbee", ("robots.rover.controller.payload", "x" * 200)),
    "refused (no ack) not delivered": mocked(
        "xbee", ("adapters.xbee0.destination", "0013A20040A1B2C3")
    ),
    "received 0, delivered 0": mocked("xbee", ("airs.lab.nodes.remote.channel", 13)),
    "not received: air": mocked("xbee", (f"{RX}.channel", 13)),
    "refused (own echo) the local echo of a packet just sent": mocked("irda_sir"),
    "refused (own echo) sent by a module of this gateway": mocked("swarm"),
    "refused (bad crc)": mocked("uart", (NODE, {"mode": "flood", "framing": "cobs-xmodem"})),
    "which has no channel here": mocked(
        "ir_toy", ("adapters.ir0.mapping.table", {4: {"address": 9}}), seconds=4
    ),
    "no frame yet": mocked("uart", (NODE, {"mode": "flood", "framing": "lines"}), seconds=3),
    "refused (no frame) not delivered": mocked(
        "uart", (NODE, {"mode": "flood", "framing": "lines"}), seconds=4
    ),
    "this adapter takes": mocked("ir_toy", ("adapters.ir0.code", "rc5"), seconds=3),
    "the robot is not armed": mocked("create2", ("robots.create.safety", {"armed": False})),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("symptom", PROVOKED)
def test_the_fault_of_a_row_shows_its_words(symptom: str) -> None:
    assert symptom in SYMPTOMS
    assert symptom in " ".join(PROVOKED[symptom]().split())


async def refusal(port: str) -> str:
    """The words with which a real port is not opened."""
    timer = Timer(asyncio.get_running_loop())
    try:
        with pytest.raises(PortError) as caught:
            await open_serial(port, LineSettings(baudRate=9600), timer)
    finally:
        timer.close()
    return caught.value.what


async def test_ports_that_cannot_be_opened(tmp_path: Path) -> None:
    absent, denied, used = SYMPTOMS[1:4]
    assert absent == await refusal(str(tmp_path / "none"))
    assert denied == port_error(PermissionError(errno.EACCES, ""), "/dev/ttyUSB0").what
    master, slave = os.openpty()
    try:
        fcntl.flock(slave, fcntl.LOCK_EX)
        assert (await refusal(os.ttyname(slave))).startswith(used)
    finally:
        os.close(master)
        os.close(slave)
    assert set(SYMPTOMS) == {absent, denied, used, *PROVOKED}
