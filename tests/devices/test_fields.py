"""Webots' fields: defaults, limits, and what is normalised with a warning."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hilgw.devices.fields import EmitterFields, ReceiverFields, line_difference, normalise
from hilgw.errors import ConfigError


def test_defaults_are_webots() -> None:
    emitter, receiver = EmitterFields(), ReceiverFields()
    assert (emitter.type, emitter.range, emitter.maxRange, emitter.aperture) == (
        "radio",
        -1,
        -1,
        -1,
    )
    assert (emitter.channel, emitter.baudRate, emitter.byteSize) == (0, -1, 8)
    assert (emitter.bufferSize, emitter.allowedChannels) == (-1, ())
    assert (receiver.type, receiver.aperture, receiver.channel) == ("radio", -1, 0)
    assert (receiver.baudRate, receiver.byteSize, receiver.bufferSize) == (-1, 8, -1)
    assert (receiver.signalStrengthNoise, receiver.directionNoise) == (0, 0)
    assert receiver.allowedChannels == ()
    assert normalise(emitter) == (emitter, [])
    assert normalise(receiver) == (receiver, [])


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"type": "infrared"}, "type"),
        ({"range": -0.5}, "range"),
        ({"range": math.inf}, "range"),
        ({"range": math.nan}, "range"),
        ({"maxRange": -2.0}, "maxRange"),
        ({"aperture": 6.3}, "aperture"),
        ({"aperture": -0.1}, "aperture"),
        ({"channel": -2}, "channel"),
        ({"baudRate": -2}, "baudRate"),
        ({"byteSize": 7}, "byteSize"),
        ({"bufferSize": -2}, "bufferSize"),
        ({"allowedChannels": (0, -2)}, "allowedChannels"),
        ({"rotation": (0.0, 0.0, 0.0, 1.0)}, "rotation"),
        ({"translation": (0.0, math.nan, 0.0)}, "translation"),
        ({"channel": 2, "allowedChannels": (0, 1)}, "channel"),
        ({"channel": -1, "allowedChannels": (0, 1)}, "channel"),
    ],
)
def test_what_webots_forbids_an_emitter(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        normalise(EmitterFields(**fields))
    assert caught.value.where == where
    assert caught.value.fix


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"type": "IR"}, "type"),
        ({"aperture": 7.0}, "aperture"),
        ({"channel": -2}, "channel"),
        ({"signalStrengthNoise": -0.1}, "signalStrengthNoise"),
        ({"directionNoise": -1.0}, "directionNoise"),
        ({"directionNoise": math.inf}, "directionNoise"),
        ({"sampling_period_ms": -1}, "sampling_period_ms"),
        ({"channel": 2**31}, "channel"),
        ({"allowedChannels": (0, 2**31)}, "allowedChannels"),
        ({"channel": 1, "allowedChannels": (2,)}, "channel"),
    ],
)
def test_what_webots_forbids_a_receiver(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        normalise(ReceiverFields(**fields))
    assert caught.value.where == where


@pytest.mark.parametrize(
    "fields",
    [
        {"range": 0.0, "aperture": 0.0, "bufferSize": 0, "baudRate": 0},
        {"range": 5.0, "maxRange": 5.0, "aperture": 2 * math.pi},
        {"range": 5.0},
        {"channel": 2**31 - 1, "allowedChannels": (2**31 - 1, -1)},
    ],
)
def test_the_limits_themselves_are_allowed(fields: dict[str, Any]) -> None:
    assert normalise(EmitterFields(**fields)) == (EmitterFields(**fields), [])


@pytest.mark.parametrize("range", [-1.0, 5.5])
def test_range_beyond_max_range_holds_with_a_warning(range: float) -> None:
    fields, warnings = normalise(EmitterFields(range=range, maxRange=5.0))
    assert fields.range == range
    assert len(warnings) == 1
    assert "maxRange" in warnings[0]


def test_what_webots_resets_to_minus_1() -> None:
    emitter, warnings = normalise(EmitterFields(range=3.0, maxRange=0.0))
    assert (emitter.range, emitter.maxRange, len(warnings)) == (3.0, -1, 1)
    receiver, warnings = normalise(ReceiverFields(bufferSize=0, baudRate=0))
    assert (receiver.bufferSize, receiver.baudRate, len(warnings)) == (-1, -1, 2)


def test_a_broadcasting_emitter_is_accepted_with_a_notice() -> None:
    fields, warnings = normalise(EmitterFields(channel=-1))
    assert fields.channel == -1
    assert len(warnings) == 1
    assert normalise(ReceiverFields(channel=-1))[1] == []


def test_ends_that_differ_are_reported() -> None:
    def differ(emitter: dict[str, Any], receiver: dict[str, Any]) -> str:
        return line_difference(EmitterFields(**emitter), ReceiverFields(**receiver))

    assert differ({"baudRate": 9600}, {"baudRate": 9600}) == ""
    assert differ({"baudRate": 9600}, {}) == ""
    assert "baudRate 9600" in differ({"baudRate": 9600}, {"baudRate": 19200})
    assert "byteSize 8" in differ({}, {"byteSize": 10})
