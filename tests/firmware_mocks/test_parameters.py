"""Parameters of a mock, declared once: their texts, defaults, checks and changes."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import Adjustable, creator
from firmware_mocks.parameters import OF_AIR, Parameters, in_air, parameter
from hilgw.plugins import MOCKS, load_mock, names, new_air
from hilgw.settings import PROGRAM


@dataclass(frozen=True)
class Settings(Parameters):
    rate: int = parameter("UART rate, bit/s", 9600, values.whole, 50, 115_200, name="baudRate")
    delay_ns: int = parameter(
        "delay (default {default}; of a byte)", 2, values.milliseconds, 0, 10, name="delay_ms"
    )
    answer: str = parameter("answer, as {n} (default: none)", "", values.string)
    position: tuple[float, float, float] = in_air()
    seed: object = parameter(
        "seed (default: that of the air)", OF_AIR, values.unread, is_fixed=True
    )
    place: object = values.unused()


class Pairwise(Adjustable[Settings]):
    """A mock that refuses a rate above its delay, which no single value shows."""

    def receive(self, data: bytes, now: int) -> None: ...

    def reset(self, now: int) -> None: ...

    def _adopt(self, name: str) -> None:
        if self.settings.rate == 50 and self.settings.delay_ns:
            raise ValueError("baudRate: 50 does not fit the delay")


create = creator(Pairwise, Settings)


def made(**given: Any) -> Pairwise:
    return create("m", Air(7), given, position=(1.0, 2.0, 3.0))


def test_each_text_shows_the_default_once() -> None:
    texts = Settings.texts()
    assert list(texts) == ["baudRate", "delay_ms", "answer", "position", "seed", "place"]
    assert texts["baudRate"] == "UART rate, bit/s (default 9600)"
    assert texts["delay_ms"] == "delay (default 2; of a byte)"
    assert texts["answer"] == "answer, as {n} (default: none)"
    assert texts["place"] == "not used"


def test_defaults_are_read_as_a_users_values_are() -> None:
    settings = made().settings
    assert (settings.rate, settings.delay_ns, settings.answer) == (9600, 2_000_000, "")
    assert (settings.position, settings.seed) == ((1.0, 2.0, 3.0), 7)
    settings = made(baudRate="115200", delay_ms="0.5", position="4, 5, 6", seed=3).settings
    assert (settings.rate, settings.delay_ns) == (115_200, 500_000)
    assert (settings.position, settings.seed) == ((4.0, 5.0, 6.0), 3)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("baudRate", 49, "baudRate: 49 is not a number from 50 to 115200"),
        ("delay_ms", "11", "delay_ms: '11' is not a number from 0 to 10"),
        ("baudrate", 9600, "baudrate: no such parameter; did you mean baudRate\\?"),
        ("rate", 9600, "rate: no such parameter; .*"),
    ],
)
def test_a_wrong_value_is_refused_at_the_start_and_later(name: str, value: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        made(**{name: value})
    mock = made()
    before = mock.settings
    with pytest.raises(ValueError, match=f"^{text}$"):
        mock.set(name, value)
    assert mock.settings == before


def test_a_value_that_does_not_fit_the_others_leaves_all_as_they_were() -> None:
    mock = made()
    before = mock.settings
    with pytest.raises(ValueError, match="baudRate: 50 does not fit the delay"):
        mock.set("baudRate", "50")
    assert mock.settings == before
    mock.set("delay_ms", "0")
    mock.set("baudRate", "50")
    assert (mock.settings.rate, mock.settings.position) == (50, (1.0, 2.0, 3.0))


def test_a_seed_is_that_of_the_start() -> None:
    with pytest.raises(ValueError, match="seed: cannot change after the start"):
        made().set("seed", "8")


KINDS = sorted({*names(MOCKS)} - {PROGRAM})


def literal_defaults(kind: str) -> dict[str, str]:
    """Name and value of each default that is one word."""
    texts = load_mock(kind).parameters.items()
    return {
        name: match[1]
        for name, text in texts
        if (match := re.search(r"\(default ([\w.+-]+)\)", text))
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_shown_is_the_one_in_use(kind: str) -> None:
    def state(parameters: dict[str, Any]) -> dict[str, Any]:
        mock = load_mock(kind).create("m", new_air(0, 0.0), parameters, position=(0.0, 0.0, 0.0))
        return {"": mock.describe(), "rate": mock.baud_rate, "byte": mock.bits_per_byte}

    for name, value in literal_defaults(kind).items():
        assert state({name: value}) == state({}), name
