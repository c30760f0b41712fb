"""A program in the place of a mock: what `hilgw check` reports at its entry."""

from pathlib import Path

import pytest

from hilgw.config.load import load_config
from tests.config.cases import Lines

FILE = """\
version: 1
backend: {backend}
{more}
webots: R2020a
robots:
  cart:
    body: {{kind: wc2ec, port: /dev/ttyS1, baudRate: 57600, mock: {{program: cat}}}}
    controller: {{kind: wc2ec, port: /dev/ttyS2, mock: {{{mock}}}}}
adapters:
  x0: {{kind: xbee, port: /dev/ttyS8, channel: 12, mock: {{program: [cat, -u]}}}}
"""


def text(mock: str = "program: cat", backend: str = "mock", more: str = "") -> str:
    return FILE.format(mock=mock, backend=backend, more=more)


@pytest.mark.parametrize(
    ("mock", "problem"),
    [
        ("program: cat, lin: stdio", "a program has no such parameter; did you mean 'line'?"),
        ("program: cat, emitter: tx", "a program has no such parameter"),
        ('program: "\'"', 'mock: "\'" is not a command'),
        ("program: cat, restart: with-body", "mock: 'with-body' is neither never nor on-failure"),
        ('program: cat, line: "tcp://x"', "mock: "),
    ],
)
def test_parameters_that_it_refuses(errors: Lines, mock: str, problem: str) -> None:
    (error,) = errors(text(mock))
    assert problem in error
    assert "robots.cart.controller.mock" in error


def test_it_runs_in_real_time_only(errors: Lines) -> None:
    found = errors(text(more="speed: max"))
    assert len(found) == 3
    assert all("a program runs in real time, not at speed max" in each for each in found)
    assert errors(text(more="speed: max", backend="real")), "that has other reasons"
    assert not any("a program" in each for each in errors(text(more="speed: max", backend="real")))


def test_it_runs_in_the_folder_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text(text("program: ./node, folder: build"))
    config = load_config(str(file)).config
    controller, body = config.robots["cart"].controller, config.robots["cart"].body
    assert controller is not None and body is not None
    assert controller.settings.mock["folder"] == str(tmp_path / "build")
    assert body.settings.mock["folder"] == str(tmp_path)
    assert config.adapters["x0"].settings.mock["folder"] == str(tmp_path)
