"""Parts that stay real beside mocks."""

import pytest

from hilgw.config.load import load_text
from hilgw.config.queries import has_nodes, is_mocked
from tests.config.cases import Lines

FILE = """\
version: 1
backend: {backend}
real: {real}
robots:
  rover:
    body: {{kind: wc2ec, connect: "tcp://127.0.0.1:27015"}}
    controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}
  other:
    devices: {{tx: {{node: Emitter}}}}
    controller: {{kind: webots_proxy}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12}}
"""
PARTS = ["rover.body", "rover.controller", "other.controller", "other.webots", "x0"]


def text(real: str, backend: str = "mock") -> str:
    return FILE.format(real=real, backend=backend)


def with_adapter(adapter: str) -> str:
    return text("[x0]").split("  x0:")[0] + f"  {adapter}\n"


def with_robot(controller: str) -> str:
    devices = "devices: {tx: {node: Emitter}}"
    return f"version: 1\nbackend: mock\nrobots:\n  r: {{{devices}, {controller}}}\n"


@pytest.mark.parametrize("backend", ["mock", "loopback", "real"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_listed_is_real(part: str, backend: str) -> None:
    config = load_text(text(f"[{part}]", backend), "f").config
    mocked = [] if backend == "real" else [each for each in PARTS if each != part]
    assert [each for each in PARTS if is_mocked(config, each)] == mocked


X0 = "x0: {kind: xbee, port: /dev/ttyS8, channel: 12, backend: %s}"
X1 = X0.replace("x0", "x1")
BEACON = "controller: {kind: beacon, emitter: tx, backend: real}"
BOGUS = "controller: {kind: webots_proxy, simulator: {bogus: 1}, backend: real}"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (text("[rover.controler]"), "f:3:8: real[0]: there is no part 'rover.controler'; did you"),
        (text("[x0, rover.webots]"), "f:3:12: real[1]: there is no part 'rover.webots'"),
        (text("[tx]"), "f:3:8: real[0]: there is no part 'tx'"),
        (text("x0"), "f:3:7: real: must be a list"),
        (text("[1]"), "f:3:8: real[0]: must be text"),
        (with_adapter(X0 % "mock"), "f:12:60: adapters.x0.backend: `real:` lists 'x0', too; del"),
        (with_adapter(X1 % "moc"), "f:12:60: adapters.x1.backend: 'moc' is not one of the choices"),
        (with_robot(BEACON), "runs in the gateway"),
        (with_adapter(X1 % "real") + "speed: max\n", "x1.port: a real port runs in real time"),
        (with_robot("controller: {kind: python, file: a.py, backend: mock}"), "starts the program"),
        (with_robot(BOGUS), "bogus: simulator: 'webots_simulator' has no such"),
    ],
)
def test_a_wrong_name_or_back_end_is_at_its_place(errors: Lines, file: str, message: str) -> None:
    assert any(message in each for each in errors(file))


@pytest.mark.parametrize(
    ("written", "mock"),
    [("uart", "uart_node"), ("text", "text_module"), ("uart-node", "uart_node"), ("xbee", "xbee")],
)
def test_a_node_of_an_air_takes_its_mock_by_the_name_of_an_adapter(written: str, mock: str) -> None:
    file = f"version: 1\nairs: {{lab: {{nodes: {{n: {{mock: {written}, baudRate: 19200}}}}}}}}\n"
    node = load_text(file, "f").config.airs["lab"].nodes["n"]
    assert (node.mock, node.parameters) == (mock, {"baudRate": 19200})


def test_the_mocks_of_an_air_exist_beside_one_mocked_module() -> None:
    file = """\
version: 1
adapters:
  a: {kind: xbee, port: /dev/ttyS8, channel: 12, air: lab, backend: mock}
  b: {kind: hc12, port: /dev/ttyS9, channel: 12}
airs:
  lab: {nodes: {other: {mock: xbee}}}
  field: {nodes: {another: {mock: hc12}}}
"""
    config = load_text(file, "f").config
    assert [has_nodes(config, air) for air in ("lab", "field")] == [True, False]
    config = load_text(file, "f", (), "mock").config
    assert [has_nodes(config, air) for air in ("lab", "field")] == [True, True]
