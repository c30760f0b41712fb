"""Checks of robots with two bodies."""

import pytest

from tests.config.cases import Lines


def robot(*keys: str, backend: str = "real") -> str:
    head = ["version: 1", f"backend: {backend}", "webots: R2025a", "robots:", "  r0:"]
    return "\n".join([*head, *(f"    {key}" for key in keys), ""])


SIMULATED = 'body: {kind: wc2ec, connect: "tcp://127.0.0.1:27015", simulated: true}'


REAL = "remote: {kind: create2, port: /dev/ttyUSB0}"


@pytest.mark.parametrize("backend", ["real", "mock", "loopback"])
@pytest.mark.parametrize("mode", ["", "mode: simulation", "mode: remote", "mode: shadow"])
def test_two_bodies_and_a_mode(errors: Lines, warnings: Lines, mode: str, backend: str) -> None:
    keys = [SIMULATED, REAL, *([mode] if mode else [])]
    text = robot(*keys, backend=backend)
    assert warnings(text) == warnings(text.replace("webots:", "real: [r0.remote]\nwebots:")) == []
    found = errors(text + "speed: 2\nreal: [r0.remote]\n")
    assert any("robots.r0.remote.port: a body outside" in line for line in found)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ((REAL,), "6:13: robots.r0.remote: a remote body is the second one"),
        ((SIMULATED, "mode: remote"), "7:11: robots.r0.mode: mode remote needs a remote body"),
        (("mode: shadow",), "6:11: robots.r0.mode: mode shadow needs a remote body"),
        ((SIMULATED, REAL, "mode: real"), "8:11: robots.r0.mode"),
        (
            (SIMULATED, 'remote: {kind: wc2ec, connect: "tcp://localhost:27015"}'),
            "robots.r0.remote.connect: robots.r0.body has this address too",
        ),
        (
            ("body: {kind: create2, port: /dev/ttyUSB0}", REAL),
            "robots.r0.remote.port: robots.r0.body has this port too",
        ),
        (
            (SIMULATED, "remote: {kind: create2, port: a, limits: {arm: {rate: 1}}}"),
            "robots.r0.remote.limits.arm: the robot has no such motor",
        ),
        (
            (SIMULATED, "remote: {kind: creat2, port: a}"),
            "robots.r0.remote.kind",
        ),
        (
            (
                SIMULATED,
                'remote: {kind: webots, connect: "tcp://127.0.0.1:1", to_medium: {r: tx}}',
                "devices: {tx: {node: Emitter}}",
            ),
            "robots.r0.remote: packets are forwarded for the first body only",
        ),
        (
            (
                "body: {kind: create2, port: a, sensors: {eye: {packet: light_bump_left}}}",
                "remote: {kind: create2, port: b, sensors: "
                "{eye: {packet: light_bump_left, node: LightSensor}}}",
            ),
            "robots.r0.remote: the bodies differ: 'eye' is a DistanceSensor and a LightSensor",
        ),
    ],
)
def test_each_mistake_at_its_place(errors: Lines, keys: tuple[str, ...], expected: str) -> None:
    found = errors(robot(*keys))
    assert len(found) == 1 and expected in found[0], found
