"""Parameters with values that do not fit: each mock names the parameter, in words for people."""

import importlib
import re
from typing import Any

import pytest

from firmware_mocks.air import Air
from hilgw import plugins

KINDS = plugins.own(plugins.MOCKS)
WRONG: list[Any] = [
    "foo", "", " ", "nan", "inf", "-1", "1e400", "9" * 40, "1.5", "1,2", "1,2,nan", "ping", ":pong",
    "\\x", "(", "{foo}", "0x", "NaN:1", "äöü", "a=b", None, [], [1, 2], {}, {1: None}, True,
    float("nan"), 10**30, -1, 1.5,
]  # fmt: skip
PYTHON = re.compile(
    r"invalid literal|could not convert|codec|object|NoneType|fromhex|unpack|argument|expected"
)


def module_of(kind: str) -> Any:
    return importlib.import_module(f"firmware_mocks.{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_value_is_reported_with_its_parameter(kind: str) -> None:
    mock = module_of(kind)
    for name in mock.PARAMETERS:
        errors = []
        for value in WRONG:
            try:
                made = mock.create("m", Air(0), {name: value})
                assert made.describe()
            except ValueError as error:
                errors.append(str(error))
        for text in errors:
            assert text.startswith(f"{name}: "), (name, text)
            assert not PYTHON.search(text), (name, text)


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_rejected_where_a_number_is_needed(kind: str) -> None:
    mock = module_of(kind)
    for name in mock.PARAMETERS:
        if not name.endswith(("_ms", "_us", "_m", "_dbm", "_per_s")):
            continue
        for value in ("nan", "inf", "-inf", "foo", None):
            with pytest.raises(ValueError, match=f"^{name}: "):
                mock.create("m", Air(0), {name: value})


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_parameter_is_reported_with_the_known_ones(kind: str) -> None:
    mock = module_of(kind)
    some = next(iter(mock.PARAMETERS))
    with pytest.raises(ValueError, match=rf"^strange: .*\b{some}\b"):
        mock.create("m", Air(0), {"strange": 1})


REFUSED = {
    "hc12": "B=14400 | C=0 | FU=5 | set=up",
    "rylr998": "ADDRESS=70000 | UID=x | replies=3 | position=1,2",
    "text_module": "transmit=( | answers=1 | baudRate=1",
    "ir_toy": "play=nec:1 | play=rc5:32:0 | play=sirc:0:128 | play=raw:1,2 | play=raw:1,0,1 | "
    "every_ms=0 | repeats=1.5 | replies=nec:1:2 | jammer=0:5 | facing=0,0,0 | cone=7 | "
    "stretch_us=2000 | ahead=0 | hardware=3 | firmware=100",
    "uart_node": "mode=ecko | framing=cobs-crc17 | framing=gap:soon | framing=raw-x | byteSize=8 | "
    "rate=-1 | size=0 | buffer=0 | rtscts=maybe | banner=\\xzz",
    "wc2ec_robot": "width=0.1 | lift=maybe | dialect=newest | frame=slip | webots=R2018a | "
    "wc2ec_types=seed | position=9, 9, 0",
    "wc2ec_controller": "sensors=a, b | motors=a, | motor_type=256",
    "wc2ec_node": "watchdog_ms=0 | baudRate=1",
    "xbee": "hardware=xbee9 | channel=27 | api_mode=3 | replies=ping | power=2.5 | SH=1FFFFFFFF | "
    "address=11111111111111111 | ni=longer than 20 letters | pins=D3 | pins=D3:up | pins=D33:1",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_value_that_does_not_fit_is_refused(kind: str) -> None:
    """At the start; and while it runs it changes nothing."""
    for name, _, value in (each.partition("=") for each in REFUSED[kind].split(" | ")):
        with pytest.raises(ValueError, match=f"^{name}"):
            module_of(kind).create("m", Air(0), {name: value})
        mock = module_of(kind).create("m", Air(0), {})
        before = mock.describe()
        with pytest.raises(ValueError, match=f"^{name}"):
            mock.set(name, value)
        assert mock.describe() == before
