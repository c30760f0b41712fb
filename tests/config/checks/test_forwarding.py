"""Checks of what a gateway robot forwards: each mistake at its place, and what is legal passes."""

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]

DEVICES = "devices: {tx: {node: Emitter}, rx: {node: Receiver}}"


def body(name: str = "gateway", given: str = "to_medium: {ear: tx}", more: str = "") -> str:
    return f'body: {{kind: webots, connect: "tcp://127.0.0.1:1234", robot: {name}, {given}{more}}}'


def robots(*robots: tuple[str, ...], backend: str = "mock") -> str:
    lines = ["version: 1", f"backend: {backend}", "robots:"]
    for number, keys in enumerate(robots):
        lines += [f"  r{number}:", *(f"    {key}" for key in keys)]
    return "\n".join([*lines, ""])


def test_several_robots_of_one_world_one_of_which_forwards(warnings: Lines) -> None:
    both = "to_medium: {ear: tx, other: tx}, from_medium: {mouth: rx, third: rx}"
    other = (DEVICES, body("arm", "step_ms: 32"))
    for backend in ("mock", "real"):
        text = robots((DEVICES, body(given=both, more=", channels: {1: 12}")), other)
        assert warnings(text.replace("backend: mock", f"backend: {backend}")) == []


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (body(given="to_medium: {ear: rx}"), "", "body.to_medium.ear"),
        (body(given="to_medium: {ear: tz}"), "", "unknown device 'tz'"),
        (body(given="from_medium: {mouth: tx}"), "", "body.from_medium.mouth"),
        (body(more=", channels: {1: 12, 2: 12}"), "", "channel 12 belongs to channel 1 of the"),
        (body(more=", channels: {-2: 12}"), "", "channels"),
        (body(more=", step_ms: 0"), "", "step_ms: 0 is out of range"),
        (
            body(),
            body("second").replace("127.0.0.1", "localhost"),
            "robots.r0 forwards the packets of this world too",
        ),
        (body(), body("second"), "robots.r0 forwards the packets of this world too"),
        (body(), body(given="step_ms: 32"), "robots.r0.body has this address too"),
        (body().replace("tcp:", "ipc:"), "", "connect"),
    ],
)
def test_forwarding_that_cannot_be(errors: Lines, first: str, second: str, words: str) -> None:
    given = [(DEVICES, first), *([(DEVICES, second)] if second else [])]
    found = errors(robots(*given))
    assert any(words in line for line in found), found


def test_a_controller_in_the_gateway_would_take_the_packets(errors: Lines) -> None:
    beacon = "controller: {kind: beacon, emitter: tx, payload: hi}"
    (found,) = errors(robots((DEVICES, body(), beacon)))
    assert "the controller beacon reads the packets itself" in found
