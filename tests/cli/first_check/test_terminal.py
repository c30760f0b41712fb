"""The keys of the person, and the terminal as it was before."""

import os
import termios
from collections.abc import Iterator

import pytest

from hilgw.cli.first_check.terminal import Person
from hilgw.errors import HilgwError
from hilgw.testing.sim import wait_until


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    outside, inside = os.openpty()
    yield outside, inside
    os.close(inside)
    os.close(outside)


class Typed(Person):
    """What is typed while the question is shown."""

    keys = b""
    outside = -1

    def attend(self) -> None:
        super().attend()
        os.write(self.outside, self.keys)


def test_a_question_takes_its_keys(
    ends: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    outside, inside = ends
    person = Typed(inside)
    person.outside, person.keys = outside, b"x?Y"
    with person.at_the_keys():
        os.write(outside, b"n")  # before the question: it does not count
        wait_until(person.pressed)
        assert person.ask("seen\x1b[2J?", "yns") == "y"
        person.keys = b"\r"
        assert person.ask("go?", "\ns") == "\n"  # ENTER
    assert capsys.readouterr().out == "seen?[2J?\ngo?\n"


def test_any_key_is_seen_ctrl_z_too(ends: tuple[int, int]) -> None:
    outside, inside = ends
    person = Person(inside)
    for key in (b" ", b"\x1a", b"\x1c", b"\x1b[A"):
        with person.at_the_keys():
            assert not person.pressed()
            os.write(outside, key)
            wait_until(person.pressed)
            person.attend()
            assert not person.pressed()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_the_terminal_is_as_before(ends: tuple[int, int], error: type[BaseException]) -> None:
    _, inside = ends
    before = termios.tcgetattr(inside)
    with pytest.raises(error), Person(inside).at_the_keys():
        local = termios.tcgetattr(inside)[3]
        assert not local & termios.ICANON and not local & termios.ECHO
        assert local & termios.ISIG
        raise error
    assert termios.tcgetattr(inside) == before


def test_a_terminal_that_is_closed_ends_the_question() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    person = Person(reader)
    person.attend = lambda: None  # type: ignore[method-assign]
    with pytest.raises(HilgwError, match="the terminal was closed"):
        person.ask("seen?", "yn")
    os.close(reader)
