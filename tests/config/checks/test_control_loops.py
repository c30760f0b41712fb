"""Checks of loops: each mistake at its place, and what is legal passes."""

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]

BODY = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015"}'
CONTROLLER = 'controller: {kind: wc2ec, listen: "tcp://127.0.0.1:27016"}'


def robots(*robots: tuple[str, ...], backend: str = "real", webots: str = "R2020a") -> str:
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
        (LISTEN % "[::1]:65536", "the port is out of range; allowed: 0 to 65535"),
        (LISTEN % "192.168.0.1:1", "no authentication"),
        (CONNECT % '1", mock: {dialect: original}', "body.mock.dialect: the mock of the original"),
        ("body: {kind: wc2ec}", "exactly one of connect and port"),
        ("body: {kind: wc2ec, port: /dev/ttyS1, byteSize: 9}", "8, 10, 11"),
        ("safety: {command_timeout_s: -1}", "safety.command_timeout_s: -1 is out of range"),
        ("safety: {latch: maybe}", "safety.latch: must be true or false"),
    ],
)
def test_a_mistake_is_reported_where_it_is(errors: Lines, second: str, expected: str) -> None:
    (found,) = errors(robots((BODY, CONTROLLER), (second,)))
    assert found.startswith("f:9:") and expected in found


WEBOTS_PARTS = (
    'controller: {kind: webots, listen: "tcp://127.0.0.1:1234"}',
    "controller: {kind: webots_proxy}",
    "controller: {kind: webots_plugin}",
    'body: {kind: webots, connect: "tcp://127.0.0.1:1250"}',
)


@pytest.mark.parametrize("part", WEBOTS_PARTS)
@pytest.mark.parametrize("version", ["R2019a", "R2021c", "R2022b-rev1"])
def test_a_version_whose_library_does_not_speak_the_protocol(
    errors: Lines, part: str, version: str
) -> None:
    (found,) = errors(robots((part,), webots=version))
    assert found.startswith("f:3:9: webots: ")
    assert f"is of kind {part.split('kind: ')[1].split('}')[0].split(',')[0]}" in found
    assert len(errors(robots(*((each,) for each in WEBOTS_PARTS), webots=version))) == 1


@pytest.mark.parametrize("part", WEBOTS_PARTS)
def test_versions_whose_libraries_speak_the_protocol(
    errors: Lines, warnings: Lines, part: str
) -> None:
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
        (found,) = errors(text)
        assert found.startswith("f:3:9: webots: 'R2018a' is not a known Webots version")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (BODY.replace("}", ", mock: {sensors: 999}}"), "body.mock.sensors: mock: "),
        (CONTROLLER.replace("}", ", mock: {sensor: x}}"), "did you mean 'sensors'"),
    ],
)
def test_the_stand_in_takes_its_parameters(
    errors: Lines, warnings: Lines, keys: str, expected: str
) -> None:
    (found,) = errors(robots((keys,), backend="mock"))
    assert expected in found
    assert warnings(robots((keys,), backend="real")) == []


def test_devices_that_the_controller_cannot_use(warnings: Lines) -> None:
    devices = "devices: {tx: {node: Emitter}}"
    peer = ("devices: {rx: {node: Receiver}}",)
    (found,) = warnings(robots((devices, BODY, CONTROLLER), peer))
    assert "without extensions: true" in found
    with_packets = CONTROLLER.replace("}", ", extensions: true}")
    assert warnings(robots((devices, BODY, with_packets), peer)) == []
    beacon = "controller: {kind: beacon, emitter: tx}"
    assert warnings(robots((devices, BODY, beacon), peer)) == []
