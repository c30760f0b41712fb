"""`hilgw set ROBOT --battery J`."""

from pathlib import Path

import pytest

from hilgw.cli.main import main
from tests.cli.commands.clients.test_arm import with_gateway

ROVER = """
version: 1
backend: mock
robots:
  rover: {controller: {kind: webots, listen: "tcp://127.0.0.1:1", battery: [10, 2000, 0]}}
  bare: {controller: {kind: webots, listen: "tcp://127.0.0.1:2"}}
"""


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["rover", "--battery", "1500"], 0, "rover: battery 1500 J"),
        (["rover", "--battery", "2001"], 1, "does not hold 2001 J; write 0 to 2000"),
        (["bare", "--battery", "1"], 1, "cannot be charged: it has none"),
        (["nobody", "--battery", "1"], 1, "nobody"),
        (["rover", "--battery", "1", "--channel", "3"], 2, "--battery is of a robot alone"),
    ],
)
def test_a_battery_is_charged(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    expected: str,
) -> None:
    def ask(control: str) -> None:
        assert main(["set", *words, "--control", control]) == code

    with_gateway(tmp_path, ask, ROVER)
    shown = capsys.readouterr()
    assert expected in shown.out + shown.err
