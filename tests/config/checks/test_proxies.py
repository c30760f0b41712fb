"""Checks of robots whose controllers are behind a proxy."""

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]

RADIOS = "devices: {tx: {node: Emitter}, rx: {node: Receiver}}"
PROXY = "controller: {kind: webots_proxy}"


def proxy(keys: str) -> str:
    return f"controller: {{kind: webots_proxy, {keys}}}"


def robots(*robots: tuple[str, ...], backend: str = "real") -> str:
    lines = ["version: 1", f"backend: {backend}", "robots:"]
    for number, keys in enumerate(robots):
        lines += [f"  r{number}:", *(f"    {key}" for key in keys)]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("backend", ["real", "mock"])
def test_robots_of_one_webots_may_share_an_address(warnings: Lines, backend: str) -> None:
    text = robots((RADIOS, PROXY), (RADIOS, proxy("robot: other, only: [tx, rx]")), backend=backend)
    assert warnings(text) == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            (RADIOS, proxy("only: [txx]")),
            "only[0]: unknown Emitter or Receiver 'txx'; did you mean",
        ),
        (
            (RADIOS, PROXY, 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:1"}'),
            "body: the robot's body is in Webots",
        ),
        ((RADIOS, proxy('listen: "tcp://192.168.0.1:1235"')), "could move the motors"),
        ((RADIOS, proxy('listen: "tcp://127.0.0.1:99999"')), "listen: the port is out of range"),
        ((RADIOS, proxy('connect: "tcp://127.0.0.1:0"')), "does not listen on port 0"),
        ((RADIOS, proxy('connect: "tcp://localhost:1235"')), "hilgw itself listens here"),
        ((RADIOS, proxy('connect: "ipc://1234/r"')), "write it like tcp://127.0.0.1:1234"),
        ((RADIOS, proxy('listen: "ipc://1234/r"')), "write it like tcp://127.0.0.1:1235"),
        ((RADIOS, proxy('robot: ""')), "the name is empty"),
        ((RADIOS, proxy("mock: {script: jump}"), "#mock"), "mock: 'jump' is not a statement"),
        ((RADIOS, proxy("simulator: {robts: a}"), "#mock"), "simulator: 'webots_simulator' has no"),
    ],
)
def test_each_error_is_reported_where_it_is(
    errors: Lines, keys: tuple[str, ...], expected: str
) -> None:
    found = errors(robots(keys, backend="mock" if "#mock" in keys else "real"))
    assert len(found) == 1
    assert expected in found[0] and found[0].startswith(("f:5:", "f:6:", "f:7:"))


WC2EC = 'controller: {kind: wc2ec, listen: "tcp://127.0.0.1:1235"}'


@pytest.mark.parametrize(
    ("keys", "before", "error"),
    [
        ((RADIOS, proxy("robot: r0")), "", "robot: robots.r0 is this robot in Webots too"),
        ((RADIOS, proxy('connect: "tcp://127.0.0.1:4321"')), "", "address is in another Webots"),
        ((WC2EC,), "", "has this address too"),
        ((), "speed: max\n", "a Webots behind hilgw runs in real time"),
    ],
)
def test_a_second_robot(
    errors: Lines, warnings: Lines, keys: tuple[str, ...], before: str, error: str
) -> None:
    (found,) = errors(before + robots((RADIOS, PROXY), *([keys] if keys else [])))
    assert error in found
    (doubtful,) = warnings(robots((PROXY,)))
    assert "has no Emitter or Receiver" in doubtful
