"""The emergency-stop switch of a file: each error has its place."""

import pytest

from hilgw.config.load import load_text
from hilgw.errors import ConfigError

ADAPTER = "adapters: {radio: {kind: uart, port: /dev/ttyS7}}\n"


@pytest.mark.parametrize(
    ("estop", "place", "words"),
    [
        ("{port: /dev/ttyS7, line: cts}", "3:", "estop has this port too"),
        ("{port: /dev/ttyS8, line: ri}", "2:33", "cts, dcd, dsr"),
        ("{port: /dev/ttyS8}", "2:", "line"),
        ("{line: cts}", "2:", "port"),
        ('{port: "loop://", line: cts}', "2:15", "loop:// has no input for a switch"),
        ('{port: "socket://h:1", line: cts}', "2:15", "socket:// has no input for a switch"),
        ('{port: "rfc2217://h:1", line: cts}', "2:15", "network_ports: true"),
        ('{port: "", line: cts}', "2:15", "the port is empty"),
        ("{port: /dev/ttyS8, line: cts, output: dtr}", "2:38", "output"),
        ("7", "2:8", "mapping"),
    ],
)
def test_a_wrong_switch_is_an_error_with_its_place(estop: str, place: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_text(f"version: 1\nestop: {estop}\n{ADAPTER}", "f")
    assert f"f:{place}" in str(caught.value)


def test_a_port_on_the_network_is_allowed_with_network_ports() -> None:
    text = 'version: 1\nnetwork_ports: true\nestop: {port: "rfc2217://h:1", line: dcd}\n'
    estop = load_text(text, "f").config.estop
    assert estop is not None and estop.where == "DCD of rfc2217://h:1"
