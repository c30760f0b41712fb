"""The examples of the C library on emulated boards: as module, as controller and as body."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.firmware.emulated import EMULATED, command
from tests.firmware.motor_node import (
    LATE_S,
    LONG_S,
    STEP_S,
    WATCHDOG_S,
    Board,
    Trial,
    drive,
    killed_gateway,
    powered,
)

pytestmark = [
    pytest.mark.process,
    pytest.mark.emulated,
    pytest.mark.wall_clock("the clock of an emulated board"),
]

MOST = 4  # times as many trials as needed, on a busy machine


PING = """
version: 1
robots:
  rover:
    position: [0, 0, 0]
    devices:
      wire_tx: {node: Emitter, type: serial, channel: 1}
      wire_rx: {node: Receiver, type: serial, channel: 1}
      tx: {node: Emitter, type: radio, channel: 12}
      rx: {node: Receiver, type: radio, channel: 12}
adapters:
  board:
    {kind: uart, port: /dev/ttyACM0, baudRate: 115200, channel: 1, framing: cobs-crc16,
     mock: {program: "PROGRAM"}}
  xbee0: {kind: xbee, port: /dev/ttyUSB0, channel: 12, air: lab, position: [1, 0, 0]}
airs:
  lab:
    nodes: {remote: {mock: xbee, channel: 12, position: [3, 0, 0], replies: {ping: pong}}}
"""
FOLLOWER = """
version: 1
webots: R2020a
robots:
  mouse:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true, original_peer: true,
           mock: {width: 1.0, depth: 1.0}}
    controller: {kind: wc2ec, port: /dev/ttyACM0, baudRate: 115200, mock: {program: "PROGRAM"}}
"""
# --- ping: a module on the medium -----------------------------------------------------------------


@EMULATED
def test_packets_of_a_board_are_answered_through_an_xbee(board: str, gateway: Any) -> None:
    """This test is the controller of the robot, which relays between its wire and its radio."""
    running = gateway(PING.replace("PROGRAM", command("ping", board)))
    for number in (1, 2, 3):
        ping = b"ping %d" % number
        running.wait_for(ping, listener="rover.wire_rx", timeout_s=LONG_S)
        running.send("rover.tx", ping)
        answer = running.wait_for(b"pong %d" % number, listener="rover.rx", timeout_s=LONG_S)
        running.send("rover.wire_tx", answer.data)
    running.wait_for(b"ping 4", listener="rover.wire_rx", timeout_s=LONG_S)
    assert running.report()["ledger"]["adds_up"]


# --- wall follower: a controller ------------------------------------------------------------------


@EMULATED
def test_it_drives_the_robot_and_turns_at_walls(board: str, gateway: Any) -> None:
    running = gateway(FOLLOWER.replace("PROGRAM", command("wall_follower", board)))
    robot = running.mock("mouse")
    straight, turning = (5.0, 5.0), (2.5, -2.5)
    for wheels in (straight, turning, straight):
        robot.wait_for(lambda mock, wheels=wheels: mock.body.wheels == wheels, LONG_S)
    frozen = running.mock("mouse.controller")
    frozen.stall()
    robot.wait_for(lambda mock: mock.body.wheels == (0.0, 0.0), LONG_S)
    frozen.reset()
    frozen.unstall()
    robot.wait_for(lambda mock: mock.body.wheels in (straight, turning), LONG_S)


# --- motor node: a body with a watchdog -----------------------------------------------------------


async def falls_silent(on: Board, velocity: float) -> tuple[float, float]:
    """Drive as a gateway does, then end. Return the seconds from its last byte to velocity 0, on
    the clock of the board and on ours; ours beyond an echo: from a command to its report."""
    echoes = []
    for step in range(3):
        on.values.clear()
        sent = time.monotonic()
        on.write(drive(velocity + step))
        echoes.append(await on.reports(velocity + step) - sent)
    stopped = await on.reports(0.0)
    steps = [value for _, value in on.values].count(velocity + 2)
    return steps * STEP_S, stopped - sent - max(echoes)


@EMULATED
async def test_its_motors_stop_when_the_gateway_is_gone(board: str) -> None:
    """50 times: on boards side by side. An emulated AVR takes a processor for itself: fewer.

    A busy machine slows an emulated board down, clock and all: its own clock counts always,
    real time once."""
    boards, times = (10, 5) if board == "netduinoplus2" else (1, 5)

    async def one(first: float) -> list[tuple[float, float]]:
        async with powered(board) as on:
            await on.reports(0.0)
            return [await falls_silent(on, first + 4 * n) for n in range(times)]

    own: list[float] = []
    ours = [LONG_S]
    while min(ours) > WATCHDOG_S + LATE_S and len(own) < MOST * boards * times:
        rows = await asyncio.gather(*map(one, range(1, boards + 1)))
        own += [took for row in rows for took, _ in row]
        ours += [took for row in rows for _, took in row]
    assert len(own) >= boards * times
    assert max(own) <= WATCHDOG_S + LATE_S, sorted(own)
    assert min(own) >= WATCHDOG_S - LATE_S, "the watchdog, and nothing else, stops them"
    assert min(ours) <= WATCHDOG_S + LATE_S, sorted(ours)


@pytest.mark.judge("qemu-system-arm")
@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_its_motors_stop_after_a_killed_or_frozen_gateway(
    number: signal.Signals, tmp_path: Path
) -> None:
    """On the clock of the board, and once in real time beyond an echo of the same trial: other
    programs take the processor from it. `tools/soak motor` wants real time always."""
    trials: list[Trial] = []
    while len(trials) < 2 or min(each.beyond_echo_s for each in trials) > WATCHDOG_S + LATE_S:
        assert len(trials) < 5 * MOST, trials
        trials.append(await killed_gateway(tmp_path, number))
        assert trials[-1].own_s <= WATCHDOG_S + 2 * LATE_S
