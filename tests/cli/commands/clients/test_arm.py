"""`hilgw arm` and `hilgw disarm`, and the same as functions, on a gateway's control socket."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.main import main
from hilgw.client import arming, holding
from hilgw.client.gateway import Gateway as Client
from hilgw.config.load import load_text
from hilgw.control.events import SensorValue
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer
from hilgw.errors import HilgwError
from hilgw.protocols.gateway import requests
from tests.e2e.running import in_process

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

SERVO = """
version: 1
backend: mock
robots:
  bus:
    body: {kind: dynamixel, port: /dev/x, motors: {valve: {id: 1, multi_turn: true}}}
"""


def with_gateway(
    path: Path,
    ask: Callable[[str], object],
    text: str = TWO,
    prepare: Callable[[Gateway], None] = lambda gateway: None,
) -> set[str]:
    """Calls `ask` with the path of the control socket, in a thread; the armed robots."""

    async def run() -> set[str]:
        config = load_text(text, "f").config
        gateway = build(config, asyncio.get_running_loop(), Observer())
        prepare(gateway)
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
        ("arm cab", {"cab"}, "cab: armed\n"),
        ("arm bus cab", {"cab", "bus"}, "bus: armed\ncab: armed\n"),
        ("arm --all", {"cab", "bus"}, "cab: armed\nbus: armed\n"),
        ("arm --all; disarm cab", {"bus"}, "cab: armed\nbus: armed\ncab: disarmed\n"),
        ("arm cab bus; disarm --all", set(), "disarmed\n"),
        ("1 arm cab lorry", set(), "no robot 'lorry' with a control loop here"),
        ("2 arm", set(), "no robot given; name robots, or give --all"),
        ("2 disarm cab --all", set(), "robots and --all"),
    ],
)
def test_commands_arm_disarm(tmp_path: Path, commands: str, armed: set[str], printed: str) -> None:
    shown: list[str] = []

    def ask(control: str) -> None:
        for command in commands.split("; "):
            code, *words = command.split() if command[0].isdigit() else ("0", *command.split())
            returned, out, err = in_process(*words, "--control", control, cwd=tmp_path)
            assert returned == int(code)
            shown.append(out + (err if returned else ""))

    assert with_gateway(tmp_path, ask) == armed
    assert printed in "".join(shown)


def test_a_gateway_without_control_loops_has_none_to_arm(tmp_path: Path) -> None:
    def ask(control: str) -> None:
        code, _, err = in_process("arm", "--all", "--control", control, cwd=tmp_path)
        assert code == 1 and "no robot with a control loop here" in err

    with pytest.raises(HilgwError, match="no robot with a control loop here"):
        with_gateway(tmp_path, ask, "version: 1")


def test_what_keeps_an_armed_robot_from_moving_is_shown_beside_the_answer(tmp_path: Path) -> None:
    notes: list[tuple[str, str]] = []
    why = "no controller runs: the configuration has none"

    def ask(control: str) -> None:
        for word, shown in (("arm", f"cab: {why}\n"), ("disarm", "")):
            code, out, err = in_process(word, "cab", "--control", control, cwd=tmp_path)
            assert (code, out, err) == (0, f"cab: {word}ed\n", shown)
        arming.arm("bus", control=control, on_note=lambda *note: notes.append(note))

    assert with_gateway(tmp_path, ask) == {"bus"}
    assert notes == [("bus", why)]


@pytest.mark.parametrize("leases", [False, True])
def test_a_lost_zero_is_named_until_its_position_is_accepted(tmp_path: Path, leases: bool) -> None:
    def prepare(gateway: Gateway) -> None:
        safety = gateway.control_loops["bus"].safety
        for position in (8.5, 2.217):
            safety.positions.begin()
            safety.place([SensorValue(1, position)], 0)
        assert not safety.state.armed

    def ask(control: str, *accepted: str) -> list[str]:
        if not leases:
            return arming.arm("bus", control=control, accept_positions=accepted)
        (held,) = holding.take(["bus"], None, control, None, accept_positions=accepted)
        held.close()
        return held.robots

    def ask_all(control: str) -> None:
        for accepted in ((), ("lamp",)):
            with pytest.raises(HilgwError, match=r"'valve' was 8\.5 rad, is 2\.217: home it"):
                ask(control, *accepted)
        with pytest.raises(HilgwError, match="no motor 'lamp'; known here: valve"):
            ask(control, "valve", "lamp")
        assert ask(control, "valve") == ["bus"]
        assert ask(control) == ["bus"]  # it stays accepted
        with pytest.raises(HilgwError, match="no motor 'valvw'; did you mean 'valve'"):
            ask(control, "valvw")

    with_gateway(tmp_path, ask_all, SERVO, prepare)


def test_the_option_names_the_motors_whose_position_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[requests.Arm] = []
    monkeypatch.setattr(Client, "ask", lambda _, request, *rest: asked.append(request))
    with pytest.raises(AttributeError):  # there is no answer
        main(["arm", "bus", "--accept-positions", "valve", "--control", str(tmp_path)])
    assert asked == [requests.Arm(["bus"], False, ["valve"])]
