"""`hilgw arm` and `hilgw disarm`, and the same as functions, on a gateway's control socket."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.main import main
from hilgw.client import arming, holding
from hilgw.client.gateway import Gateway
from hilgw.config.load import load_text
from hilgw.control.events import SensorValue
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import Observer
from hilgw.errors import HilgwError
from hilgw.protocols.gateway import requests

TWO = """
version: 1
backend: mock
webots: R2020a
robots:
  cab:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:1"}
    safety: {armed: false}
  bus:
    body: {kind: wc2ec, connect: "tcp://127.0.0.1:2"}
    safety: {armed: false}
"""


def with_gateway(path: Path, ask: Callable[[str], object], text: str = TWO) -> set[str]:
    """Calls `ask` with the path of the control socket, in a thread; the armed robots."""

    async def run() -> set[str]:
        config = load_text(text, "f").config
        gateway = build(config, asyncio.get_running_loop(), Observer())
        server = ControlServer(gateway, str(path / "control"))
        await server.start()
        try:
            await asyncio.to_thread(ask, str(path / "control"))
            loops = gateway.control_loops
            return {name for name in loops.names() if loops[name].safety.state.armed}
        finally:
            await server.close()
            gateway.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("commands", "armed", "printed"),
    [
        (["arm cab"], {"cab"}, "cab: armed\n"),
        (["arm bus cab"], {"cab", "bus"}, "bus: armed\ncab: armed\n"),
        (["arm --all"], {"cab", "bus"}, "cab: armed\nbus: armed\n"),
        (["arm --all", "disarm cab"], {"bus"}, "cab: armed\nbus: armed\ncab: disarmed\n"),
        (["arm cab bus", "disarm --all"], set(), None),
    ],
)
def test_the_commands_arm_and_disarm_robots(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    commands: list[str],
    armed: set[str],
    printed: str | None,
) -> None:
    def ask(control: str) -> None:
        for command in commands:
            assert main([*command.split(), "--control", control]) == 0

    assert with_gateway(tmp_path, ask) == armed
    assert printed in (None, capsys.readouterr().out)


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("arm cab lorry", 1, "no robot 'lorry' with a control loop here"),
        ("arm", 2, "no robot given; name robots, or give --all"),
        ("disarm cab --all", 2, "robots and --all"),
    ],
)
def test_what_cannot_be_armed_is_an_error_and_arms_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, code: int, words: str
) -> None:
    def ask(control: str) -> None:
        assert main([*command.split(), "--control", control]) == code

    assert with_gateway(tmp_path, ask) == set()
    assert words in capsys.readouterr().err


def test_a_program_arms_by_functions(tmp_path: Path) -> None:
    def ask(control: str) -> None:
        assert arming.arm("cab", control=control) == ["cab"]
        assert arming.arm(control=control) == ["cab", "bus"]
        assert arming.disarm("cab", control=control) == ["cab"]
        with pytest.raises(HilgwError, match="lorry"):
            arming.arm("lorry", control=control)

    assert with_gateway(tmp_path, ask) == {"bus"}


def test_what_keeps_an_armed_robot_from_moving_is_shown_beside_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes: list[tuple[str, str]] = []

    def ask(control: str) -> None:
        assert main(["arm", "cab", "--control", control]) == 0
        assert main(["disarm", "cab", "--control", control]) == 0
        arming.arm("bus", control=control, on_note=lambda *note: notes.append(note))

    assert with_gateway(tmp_path, ask) == {"bus"}
    why = "no controller runs: the configuration has none"
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("cab: armed\ncab: disarmed\n", f"cab: {why}\n")
    assert notes == [("bus", why)]


def test_a_gateway_without_control_loops_has_none_to_arm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        gateway = build(load_text("version: 1", "f").config, asyncio.get_running_loop(), Observer())
        server = ControlServer(gateway, str(tmp_path / "control"))
        await server.start()
        try:
            command = ["arm", "--all", "--control", str(tmp_path / "control")]
            assert await asyncio.to_thread(main, command) == 1
        finally:
            await server.close()
            gateway.close()

    asyncio.run(run())
    assert "no robot with a control loop here" in capsys.readouterr().err


@pytest.mark.parametrize("leases", [False, True])
def test_a_lost_zero_is_named_until_its_position_is_accepted(tmp_path: Path, leases: bool) -> None:
    control = str(tmp_path / "control")

    def ask(*accepted: str) -> list[str]:
        if not leases:
            return arming.arm("bus", control=control, accept_positions=accepted)
        (held,) = holding.take(["bus"], None, control, None, accept_positions=accepted)
        held.close()
        return held.robots

    async def run() -> None:
        gateway = build(load_text(SERVO, "f").config, asyncio.get_running_loop(), Observer())
        server = ControlServer(gateway, control)
        await server.start()
        safety = gateway.control_loops["bus"].safety
        for position in (8.5, 2.217):
            safety.positions.begin()
            safety.place([SensorValue(1, position)], 0)
        assert not safety.state.armed
        try:
            for accepted in ((), ("lamp",)):
                with pytest.raises(HilgwError, match=r"'valve' was 8\.5 rad, is 2\.217: home it"):
                    await asyncio.to_thread(ask, *accepted)
            assert await asyncio.to_thread(ask, "lamp", "valve") == ["bus"]
            assert await asyncio.to_thread(ask) == ["bus"]  # it stays accepted
        finally:
            await server.close()
            gateway.close()

    asyncio.run(run())


def test_the_option_names_the_motors_whose_position_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[requests.Arm] = []
    monkeypatch.setattr(Gateway, "ask", lambda _, request, *rest: asked.append(request))
    with pytest.raises(AttributeError):  # there is no answer
        main(["arm", "bus", "--accept-positions", "valve", "--control", str(tmp_path)])
    assert asked == [requests.Arm(["bus"], False, ["valve"])]


SERVO = """
version: 1
backend: mock
robots:
  bus:
    body: {kind: dynamixel, port: /dev/x, motors: {valve: {id: 1, multi_turn: true}}}
"""
