"""Checks of control loops, programs that hilgw starts, files and groups: each mistake is placed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hilgw.config.load import load_config, load_text
from hilgw.config.queries import moves_unlatched
from hilgw.federation.settings import check_settings
from tests.config.cases import Lines, faults

BODY = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015"}'
CONTROLLER = 'controller: {kind: wc2ec, listen: "tcp://127.0.0.1:27016"}'


def robots(*robots: tuple[str, ...], backend: str = "real", webots: str = "R2025a") -> str:
    lines = ["version: 1", f"backend: {backend}", f"webots: {webots}", "robots:"]
    for number, keys in enumerate(robots):
        lines += [f"  r{number}:", *(f"    {key}" for key in keys)]
    return "\n".join([*lines, ""])


LISTEN = 'controller: {kind: wc2ec, listen: "tcp://%s"}'
CONNECT = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:%s}'


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (CONTROLLER, "controller.listen: robots.r0.controller has this address too"),
        (LISTEN % "localhost:27016", "controller.listen: robots.r0.controller has this address"),
        (BODY, "body.connect: robots.r0.body has this address too"),
        (CONNECT % '27016"', "body.connect: robots.r0.controller listens here"),
        (CONNECT % '0"', "body.connect: no robot listens on port 0"),
        (CONNECT % '99999"', "the port is out of range; allowed: 0 to 65535"),
        (LISTEN % "192.168.0.1:1", "no authentication"),
        (CONNECT % '1", mock: {dialect: original}', "body.mock.dialect: the mock of the original"),
        ("body: {kind: wc2ec}", "exactly one of connect and port"),
        ("body: {kind: wc2ec, port: /dev/ttyS1, byteSize: 9}", "8, 10, 11"),
        ("safety: {command_timeout_s: -1}", "safety.command_timeout_s: -1 is out of range"),
        ("safety: {latch: maybe}", "safety.latch: must be true or false"),
    ],
)
def test_a_mistake_is_reported_where_it_is(errors: Lines, second: str, expected: str) -> None:
    (error,) = errors(robots((BODY, CONTROLLER), (second,)))
    assert error.startswith("f:9:") and expected in error


WEBOTS_PARTS = (
    'controller: {kind: webots, listen: "tcp://127.0.0.1:1234"}',
    "controller: {kind: webots_proxy}",
    "controller: {kind: webots_plugin}",
    'body: {kind: webots, connect: "tcp://127.0.0.1:1250"}',
)


@pytest.mark.parametrize("part", WEBOTS_PARTS)
@pytest.mark.parametrize("version", ["R2019a", "R2021c", "R2022b-rev1"])
def test_a_version_that_does_not_speak_the_protocol(errors: Lines, part: str, version: str) -> None:
    (error,) = errors(robots((part,), webots=version))
    assert error.startswith("f:3:9: webots: ")
    assert f"is of kind {part.split('kind: ')[1].split('}')[0].split(',')[0]}" in error
    assert len(errors(robots(*((each,) for each in WEBOTS_PARTS), webots=version))) == 1


@pytest.mark.parametrize("part", WEBOTS_PARTS)
def test_versions_that_speak_the_protocol(errors: Lines, warnings: Lines, part: str) -> None:
    for version in ("R2023b", "R2024a", "R2025a"):
        assert [each for each in warnings(robots((part,), webots=version)) if "webots" in each] == [
            each for each in warnings(robots((part,), webots="R2025a")) if "webots" in each
        ]
    older = robots((part,), webots="R2023a")
    if "plugin" in part:  # it reads the layout of R2023b
        assert "R2023b or later" in errors(older)[0]
    else:
        warnings(older)


def test_a_controller_with_a_library_of_its_own(errors: Lines, warnings: Lines) -> None:
    """The body of the robot keeps the node numbers of the file."""
    part = 'controller: {kind: webots, library: %s, listen: "tcp://127.0.0.1:1234"}'
    warnings(robots((BODY, part % "R2025a"), webots="R2020a"))
    assert "R2021a" in errors(robots((BODY, part % "R2021a"), webots="R2025a"))[0]


def test_the_version_of_a_file_without_webots(errors: Lines, warnings: Lines) -> None:
    """wc2ec has the node numbers of any version; a version that does not exist is an error of
    every file."""
    any_port = 'controller: {kind: wc2ec, listen: "tcp://127.0.0.1:0"}'  # is of one robot each
    for backend in ("real", "mock", "loopback"):
        keys = (BODY, CONTROLLER), (any_port,), (any_port,)
        assert warnings(robots(*keys, webots="R2019a", backend=backend)) == []
    for text in (robots((BODY, CONTROLLER), webots="R2018a"), "version: 1\n\nwebots: R2018a\n"):
        (error,) = errors(text)
        assert error.startswith("f:3:9: webots: 'R2018a' is not a known Webots version")


def test_devices_that_the_controller_cannot_use(warnings: Lines) -> None:
    devices = "devices: {tx: {node: Emitter}}"
    peer = ("devices: {rx: {node: Receiver}}",)
    (warning,) = warnings(robots((devices, BODY, CONTROLLER), peer))
    assert "without extensions: true" in warning
    with_packets = CONTROLLER.replace("}", ", extensions: true}")
    assert warnings(robots((devices, BODY, with_packets), peer)) == []
    assert warnings(robots((devices, BODY, BEACON), peer)) == []


RADIOS = "devices: {tx: {node: Emitter}, rx: {node: Receiver}}"
PROXY = "controller: {kind: webots_proxy}"
WC2EC = 'controller: {kind: wc2ec, listen: "tcp://127.0.0.1:1235"}'
BODY_TOO = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:1"}'
BEACON = "controller: {kind: beacon, emitter: tx, payload: hi}"
SIMULATED = BODY.replace("}", ", simulated: true}")
REAL = "remote: {kind: create2, port: /dev/ttyUSB0}"
SAME_ADDRESS = 'remote: {kind: wc2ec, connect: "tcp://localhost:27015"}'
NO_ARM = "remote: {kind: create2, port: a, limits: {arm: {rate: 1}}}"
SECOND = 'remote: {kind: webots, connect: "tcp://127.0.0.1:1", to_medium: {r: tx}}'
EYE = "body: {kind: create2, port: a, sensors: {eye: {packet: light_bump_left}}}"
LIGHT = "remote: {kind: create2, port: b, sensors: {eye: {packet: light_bump_left, node: Light%s}}}"


def proxy(keys: str) -> str:
    return f"controller: {{kind: webots_proxy, {keys}}}"


def body_of(name: str = "gateway", given: str = "to_medium: {ear: tx}", more: str = "") -> str:
    return f'body: {{kind: webots, connect: "tcp://127.0.0.1:1234", robot: {name}, {given}{more}}}'


# The robots, the place and the words of the error; #mock: all are mocks.
ERRORS: list[tuple[tuple[tuple[str, ...], ...], str, str]] = [
    # Controllers behind a proxy, and a second robot.
    (((RADIOS, proxy("only: [txx]")),), "7:", "only[0]: unknown Emitter or Receiver 'txx'; did"),
    (((RADIOS, PROXY, BODY_TOO),), "8:", "body: the robot's body is in Webots"),
    (((RADIOS, proxy('listen: "tcp://192.168.0.1:1235"')),), "7:", "could move the motors"),
    (((RADIOS, proxy('connect: "tcp://127.0.0.1:0"')),), "7:", "does not listen on port 0"),
    (((RADIOS, proxy('connect: "tcp://localhost:1235"')),), "7:", "hilgw itself listens here"),
    (((RADIOS, proxy('connect: "ipc://1234/r"')),), "7:", "write it like tcp://127.0.0.1:1234"),
    (((RADIOS, proxy('robot: ""')),), "7:", "the name is empty"),
    (((RADIOS, proxy("mock: {script: jump}"), "#mock"),), "7:", "mock: 'jump' is not a statement"),
    (((RADIOS, proxy("simulator: {robts: a}"), "#mock"),), "7:", "'webots_simulator' has no"),
    (((RADIOS, PROXY), (RADIOS, proxy("robot: r0"))), "", "robots.r0 is this robot in Webots too"),
    (
        ((RADIOS, PROXY), (RADIOS, proxy('connect: "tcp://127.0.0.1:4321"'))),
        "",
        "address is in another Webots",
    ),
    (((RADIOS, PROXY), (WC2EC,)), "", "has this address too"),
    # What a gateway robot forwards.
    (((RADIOS, body_of(given="to_medium: {ear: rx}")),), "", "body.to_medium.ear"),
    (((RADIOS, body_of(given="to_medium: {ear: tz}")),), "", "unknown device 'tz'"),
    (((RADIOS, body_of(given="from_medium: {mouth: tx}")),), "", "body.from_medium.mouth"),
    (
        ((RADIOS, body_of(more=", channels: {1: 12, 2: 12}")),),
        "",
        "channel 12 belongs to channel 1",
    ),
    (((RADIOS, body_of(more=", channels: {-2: 12}")),), "", "channels"),
    (((RADIOS, body_of(more=", step_ms: 0")),), "", "step_ms: 0 is out of range"),
    (
        ((RADIOS, body_of()), (RADIOS, body_of("second").replace("127.0.0.1", "localhost"))),
        "",
        "robots.r0 forwards the packets of this world too",
    ),
    (((RADIOS, body_of()), (RADIOS, body_of("second"))), "", "forwards the packets of this world"),
    (((RADIOS, body_of()), (RADIOS, body_of(given="step_ms: 32"))), "", "has this address too"),
    (((RADIOS, body_of().replace("tcp:", "ipc:")),), "", "connect"),
    (((RADIOS, body_of(), BEACON),), "", "the controller beacon reads the packets itself"),
    # Robots with two bodies.
    (((REAL,),), "6:13: ", "robots.r0.remote: a remote body is the second one"),
    (((SIMULATED, "mode: remote"),), "7:11: ", "r0.mode: mode remote needs a remote body"),
    ((("mode: shadow",),), "6:11: ", "robots.r0.mode: mode shadow needs a remote body"),
    (((SIMULATED, REAL, "mode: real"),), "8:11: ", "robots.r0.mode"),
    (((SIMULATED, SAME_ADDRESS),), "", "remote.connect: robots.r0.body has this address too"),
    (((REAL.replace("remote", "body"), REAL),), "", "remote.port: robots.r0.body has this port"),
    (((SIMULATED, NO_ARM),), "", "robots.r0.remote.limits.arm: the robot has no such motor"),
    (((SIMULATED, "remote: {kind: creat2, port: a}"),), "", "robots.r0.remote.kind"),
    (((SIMULATED, SECOND, RADIOS),), "", "packets are forwarded for the first body only"),
    (((EYE, LIGHT % "Sensor"),), "", "'eye' is a DistanceSensor and a LightSensor"),
]


@pytest.mark.parametrize(("given", "place", "words"), ERRORS)
def test_each_error_is_where_it_is(
    errors: Lines, given: tuple[tuple[str, ...], ...], place: str, words: str
) -> None:
    lines = errors(robots(*given, backend="mock" if "#mock" in given[0] else "real"))
    assert any(words in line and line.startswith(f"f:{place}") for line in lines), lines
    assert len(lines) == 1 or "ipc:" in given[0][1]


def test_what_a_proxy_cannot_have(errors: Lines, warnings: Lines) -> None:
    (error,) = errors("speed: max\n" + robots((RADIOS, PROXY)))
    assert "a Webots behind hilgw runs in real time" in error
    (doubtful,) = warnings(robots((PROXY,)))
    assert "has no Emitter or Receiver" in doubtful


def test_several_robots_of_one_world_one_of_which_forwards(warnings: Lines) -> None:
    both = "to_medium: {ear: tx, other: tx}, from_medium: {mouth: rx, third: rx}"
    other = (RADIOS, body_of("arm", "step_ms: 32"))
    for backend in ("mock", "real"):
        text = robots((RADIOS, body_of(given=both, more=", channels: {1: 12}")), other)
        assert warnings(text.replace("backend: mock", f"backend: {backend}")) == []


def test_devices_of_one_body_only_are_named(warnings: Lines) -> None:
    remote = "remote: {kind: create2, port: b, sensors: {ear: {packet: light_bump_left}}}"
    names = [line.partition("remote: ")[2] for line in warnings(robots((EYE, remote)))]
    assert names == ["only `body` has: eye", "only `remote` has: ear"]


REPLAY = 'robots: {rover: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: replay, %s}}}'
PROGRAM = 'robots: {rover: {controller: {kind: python, file: "%s"}}}'
IN_WEBOTS = 'robots: {rover: {body: {kind: webots, connect: "tcp://127.0.0.1:1", robot: "%s"}}}'
LINK = "federation: {name: bench, zenoh: {transport: {link: {%s}}}}"


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        (r'record: {folder: "a\0b"}', "record.folder", "no NUL"),
        (r'access: {tokens: {lab: {file: "a\0b"}}}', "access.tokens.lab.file", "no NUL"),
        (REPLAY % r'recording: "a\0b"', "robots.rover.body.recording", "no NUL"),
        (REPLAY % "recording: pipe", "robots.rover.body.recording", "not a file"),
        ("access: {tls: {certificate: pipe}}", "access.tls.certificate", "not a file"),
        ("access: {tls: {certificate: ..}}", "access.tls.certificate", "not a file"),
        ("access: {tokens: {lab: {file: ..}}}", "access.tokens.lab.file", "not a file"),
        ("record: {folder: taken}", "record.folder", "not a folder; name a folder"),
        (LINK % "tls: {listen_certificate: ..}", "federation.zenoh", "not a file"),
        (f"access: {{tls: {{certificate: {'x' * 999}}}}}", "access.tls", "too long"),
        (REPLAY % f"recording: {'x' * 999}", "robots.rover.body.recording", "too long"),
        (PROGRAM % f"{'x' * 999}", "robots.rover.controller.file", "too long"),
        (PROGRAM % r"a\0b", "robots.rover.controller.file", "no NUL"),
        (IN_WEBOTS % r"a\0b", "robots.rover.body.robot", "not valid"),
        (PROGRAM % "pipe", "robots.rover.controller.file", "not a file"),
        (LINK % "tls: {listen_private_key: pipe}", "federation.zenoh", "not a file"),
        (LINK % "tx: {lease: 1e300}", "federation.zenoh.transport.link.tx.lease", ""),
        (LINK % "tx: {lease: 1.0e+300}", "federation.zenoh.transport", "would take 1844"),
        (LINK % "tx: {lease: -1}", "federation.zenoh.transport.link.tx", "would take 0"),
    ],
)
def test_each_is_an_error_with_its_place(tmp_path: Path, line: str, place: str, words: str) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "taken").touch()
    file = str(tmp_path / "f.yaml")
    lines = faults(f"version: 1\n{line}\n", file, more=check_settings)
    (error,) = [each for each in lines if place in each]
    assert words in error and error.startswith(f"{file}:2:")


def test_a_group_of_another_machine_is_a_warning_with_its_place() -> None:
    (warning,) = load_text("version: 1\ncontrol: {group: no such}\n", "f.yaml").warnings
    assert str(warning).startswith("f.yaml:2:18: ") and "no group 'no such' here" in str(warning)


ADAPTER = "adapters: {radio: {kind: uart, port: /dev/ttyS7}}\n"


@pytest.mark.parametrize(
    ("estop", "place", "words"),
    [
        ("{port: /dev/ttyS7, line: cts}", "3:", "estop has this port too"),
        ("{port: /dev/ttyS8, line: ri}", "2:33", "cts, dcd, dsr"),
        ("{port: /dev/ttyS8}", "2:", "line"),
        ("{line: cts}", "2:", "port"),
        ('{port: "loop://", line: cts}', "2:15", "loop:// has no input for a switch"),
        ('{port: "socket://h:1", line: cts}', "2:15", "socket:// has no input for a switch"),
        ('{port: "rfc2217://h:1", line: cts}', "2:15", "network_ports: true"),
        ('{port: "", line: cts}', "2:15", "the port is empty"),
        ("{port: /dev/ttyS8, line: cts, output: dtr}", "2:38", "output"),
        ("7", "2:8", "mapping"),
    ],
)
def test_a_wrong_switch_is_an_error_with_its_place(estop: str, place: str, words: str) -> None:
    shown = "\n".join(faults(f"version: 1\nestop: {estop}\n{ADAPTER}"))
    assert words in shown and f"f:{place}" in shown


REAL_BODY = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: false}'
CREATE = "body: {kind: create2, port: /dev/ttyUSB0}"
REMOTE = "remote: {kind: create2, port: /dev/ttyUSB0}"
UNLATCHED = "safety: {latch: false}"

Robot = Callable[..., tuple[str, str]]


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    """What is wrong with a robot that has a program and these keys, "": nothing; and the file."""

    def check(*keys: str, restart: str = "", backend: str = "real") -> tuple[str, str]:
        (tmp_path / "brain.py").write_text("")
        controller = f"controller: {{kind: python, file: brain.py{restart}}}"
        lines = ["version: 1", f"backend: {backend}", "robots:", "  r0:"]
        text = "\n".join([*lines, *(f"    {key}" for key in (*keys, controller)), ""])
        file = tmp_path / "robot.yaml"
        file.write_text(text)
        return "\n".join(faults(text, str(file))), str(file)

    return check


EXPLICIT = ", restart: with-body"


@pytest.mark.parametrize("keys", [(REAL_BODY,), (CREATE,), (SIMULATED, REMOTE)])
def test_a_program_is_not_requested_to_move_a_real_robot_that_its_loss_does_not_disarm(
    robot: Robot, keys: tuple[str, ...]
) -> None:
    error, file = robot(*keys, UNLATCHED, restart=EXPLICIT)
    assert error.startswith(f"{file}:{len(keys) + 6}:") and "robots.r0.controller.restart" in error
    assert "with `latch: false` the program would move the real robot again" in error
    assert "remove `latch: false` from `safety`, or write `restart: never`" in error


@pytest.mark.parametrize("restart", ["", ", restart: never", ", restart: on-failure"])
def test_what_is_not_written_is_not_wrong_and_follows_no_body(robot: Robot, restart: str) -> None:
    error, file = robot(REAL_BODY, UNLATCHED, restart=restart)
    assert error == "" and moves_unlatched(load_config(file).config, "r0")


@pytest.mark.parametrize(
    ("keys", "backend"),
    [
        ((REAL_BODY,), "real"),
        ((REAL_BODY, "safety: {latch: true}"), "real"),
        ((SIMULATED, UNLATCHED), "real"),
        ((CREATE, UNLATCHED), "mock"),
        ((UNLATCHED,), "real"),
    ],
)
def test_a_program_follows_a_body_that_its_loss_disarms_or_that_is_simulated(
    robot: Robot, keys: tuple[str, ...], backend: str
) -> None:
    error, file = robot(*keys, restart=EXPLICIT, backend=backend)
    assert error == "" and not moves_unlatched(load_config(file).config, "r0")


FILE = """\
version: 1
backend: {backend}
{more}
webots: R2020a
robots:
  cart:
    body: {{kind: wc2ec, port: /dev/ttyS1, baudRate: 57600, mock: {{program: cat}}}}
    controller: {{kind: wc2ec, port: /dev/ttyS2, mock: {{{mock}}}}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12, mock: {{program: [cat, -u]}}}}
"""


def text(mock: str = "program: cat", backend: str = "mock", more: str = "") -> str:
    return FILE.format(mock=mock, backend=backend, more=more)


@pytest.mark.parametrize(
    ("mock", "problem"),
    [
        ("program: cat, lin: stdio", "a program has no such parameter; did you mean 'line'?"),
        ("program: cat, emitter: tx", "a program has no such parameter"),
        ('program: "\'"', 'mock: "\'" is not a command'),
        ("program: cat, restart: with-body", "mock: 'with-body' is neither never nor on-failure"),
        ('program: cat, line: "tcp://x"', "mock: "),
    ],
)
def test_parameters_that_it_refuses(errors: Lines, mock: str, problem: str) -> None:
    (error,) = errors(text(mock))
    assert problem in error
    assert "robots.cart.controller.mock" in error


def test_it_runs_in_real_time_only(errors: Lines) -> None:
    lines = errors(text(more="speed: max"))
    assert len(lines) == 3
    assert all("a program runs in real time, not at speed max" in each for each in lines)
    assert errors(text(more="speed: max", backend="real")), "that has other reasons"
    assert not any("a program" in each for each in errors(text(more="speed: max", backend="real")))


def test_it_runs_in_the_folder_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text(text("program: ./node, folder: build"))
    config = load_config(str(file)).config
    controller, body = config.robots["cart"].controller, config.robots["cart"].body
    assert controller is not None and body is not None
    assert controller.settings.mock["folder"] == str(tmp_path / "build")
    assert body.settings.mock["folder"] == str(tmp_path)
    assert config.adapters["x0"].settings.mock["folder"] == str(tmp_path)
