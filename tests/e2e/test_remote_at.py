"""`hilgw set STATION --at REMOTE COMMAND [VALUE]`, through a running gateway and the XBee mock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.running import XBEE, Gateway, run

REMOTE = "0013A2004AB67FB2"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("at")
    with Gateway(folder, ["--config", XBEE, "--backend", "loopback"]):
        yield folder


def at(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = run("set", "xbee0", "--at", *arguments, cwd=folder)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_a_register_is_written_and_read_back(running: Path) -> None:
    assert at(running, REMOTE, "NI", "far end") == (0, f"{REMOTE}: NI = far end", "")
    assert at(running, REMOTE, "NI") == (0, "far end", "")
    assert at(running, REMOTE.lower(), "rr", "3")[0] == 0
    assert at(running, REMOTE, "RR") == (0, "03", "")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((REMOTE, "RR", "77"), 5, f"{REMOTE}: RR: "),
        (("0013A20000000001", "NI"), 5, "0013A20000000001: NI: "),
        ((REMOTE, "RR", "fast"), 2, "'fast' is not a value of RR; write hexadecimal digits"),
        (("0013A2", "NI"), 2, "address must be an address of 16 or 4 hexadecimal digits"),
        ((REMOTE, "NIX"), 2, "name must be an AT command of two characters"),
        ((REMOTE,), 2, "--at takes REMOTE COMMAND [VALUE]"),
    ],
)
def test_what_does_not_work_is_an_error(
    running: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    returned, _, error = at(running, *arguments)
    assert (returned, text in error) == (code, True), error


def test_only_hardware_with_a_network_has_remote_commands(running: Path) -> None:
    done = run("set", "nothing", "--at", REMOTE, "NI", cwd=running)
    assert done.returncode == 1
    assert "no station 'nothing' with hardware here; known here: xbee0" in done.stderr
