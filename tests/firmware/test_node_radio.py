"""Packets of Emitters and Receivers between the C library, as either end, and a gateway."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import free_port
from tests.firmware.node import LIBRARY, main_of

pytestmark = [
    pytest.mark.process,
    pytest.mark.judge("gcc"),
    pytest.mark.wall_clock("firmware that runs on this computer"),
]
LONG_S = 40.0  # for a machine that is busy
CONTROLLER = {
    "DEVICES": '{.name = "tx", .kind = HILGW_EMITTER}, {.name = "rx", .kind = HILGW_RECEIVER}, '
    '{.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR}',
    "INIT": "hilgw_controller_init(&robot, &line, devices, 3)",
    # What an XBee answers sets the wheel.
    "WORK": """
    (void)hilgw_controller_poll(&robot, now_ms);
    static bool is_sent;
    if (!is_sent) is_sent = hilgw_controller_send(&robot, 0, 12, (const uint8_t *)"fast 3", 6);
    if (robot.packet.data && robot.packet.length == 6 && robot.packet.strength > 0)
      (void)hilgw_controller_set(&robot, 2, (float)(robot.packet.data[5] - '0'));
    """,
}
BODY = {
    "DEVICES": '{.name = "left_wheel", .kind = HILGW_ROTATIONAL_MOTOR}, '
    '{.name = "tx", .kind = HILGW_EMITTER}, {.name = "rx", .kind = HILGW_RECEIVER}',
    "INIT": "hilgw_body_init(&robot, &line, devices, 3, hilgw_r2020a, 20)",
    # What it shall send comes back to its Receiver.
    "WORK": """
    (void)hilgw_body_poll(&robot, now_ms);
    hilgw_body_set(&robot, 0, hilgw_body_motor(&robot, 0, now_ms));
    if (robot.packet.data) {
      hilgw_packet echo = robot.packet;
      echo.device = 2;
      echo.strength = 0.5f;
      (void)hilgw_body_receive(&robot, &echo);
    }
    """,
}


def built(folder: Path, name: str, parts: dict[str, str]) -> str:
    source, target = folder / f"{name}.c", folder / f"{name}.elf"
    source.write_text(main_of(parts))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{LIBRARY.parent}"]
    command += [str(source), str(LIBRARY), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return str(target)


ROBOT = """
version: 1
webots: R2020a
robots:
  mouse:
    position: [0, 0, 0]
    devices:
      tx: {node: Emitter, type: radio, channel: 12}
      rx: {node: Receiver, type: radio, channel: 12}
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true, original_peer: true,
           mock: {width: 9.0, depth: 9.0}}
    controller: {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, extensions: true,
                 mock: {program: "PROGRAM"}}
adapters:
  xbee0: {kind: xbee, port: /dev/ttyUSB0, channel: 12, air: lab, position: [1, 0, 0]}
airs:
  lab:
    nodes: {remote: {mock: xbee, channel: 12, position: [3, 0, 0], replies: {fast: pong}}}
"""


def test_a_controller_has_packets_on_the_medium(gateway: Any, tmp_path: Path) -> None:
    running = gateway(ROBOT.replace("PROGRAM", built(tmp_path, "controller", CONTROLLER)))
    running.mock("mouse").wait_for(lambda mock: mock.body.wheels[0] == 3.0, LONG_S)


CART = """
version: 1
webots: R2020a
robots:
  cart:
    body: {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, extensions: true,
           mock: {program: "PROGRAM"}}
    controller:
      {kind: wc2ec, listen: "tcp://127.0.0.1:20002", extensions: true,
       mock: {emitter: tx, receiver: rx, channel: 7, message: "turn {n}", message_ms: 100}}
"""


def test_a_body_sends_and_receives_packets(gateway: Any, tmp_path: Path) -> None:
    text = CART.replace("PROGRAM", built(tmp_path, "body", BODY))
    controller = gateway(text.replace("20002", str(free_port()))).mock("cart")
    controller.wait_for(lambda mock: mock.messenger.received >= 3, LONG_S)
    assert controller.wait_for(lambda mock: mock.messenger.last).startswith(b"turn ")
