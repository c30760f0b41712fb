"""Files and groups that cannot be, in `hilgw check`: each an error with its place, at once."""

import os
from pathlib import Path

import pytest

from hilgw.config.load import load_text
from hilgw.federation.settings import check_settings
from tests.config.cases import faults

BODY = 'robots: {rover: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", backend: replay, %s}}}'
PROGRAM = 'robots: {rover: {controller: {kind: python, file: "%s"}}}'
IN_WEBOTS = 'robots: {rover: {body: {kind: webots, connect: "tcp://127.0.0.1:1", robot: "%s"}}}'
LINK = "federation: {name: bench, zenoh: {transport: {link: {%s}}}}"


@pytest.mark.parametrize(
    ("line", "place", "what"),
    [
        (r'record: {folder: "a\0b"}', "record.folder", "no NUL"),
        (r'access: {tokens: {lab: {file: "a\0b"}}}', "access.tokens.lab.file", "no NUL"),
        (BODY % r'recording: "a\0b"', "robots.rover.body.recording", "no NUL"),
        (BODY % "recording: pipe", "robots.rover.body.recording", "not a file"),
        ("access: {tls: {certificate: pipe}}", "access.tls.certificate", "not a file"),
        ("access: {tls: {certificate: ..}}", "access.tls.certificate", "not a file"),
        ("access: {tokens: {lab: {file: ..}}}", "access.tokens.lab.file", "not a file"),
        ("record: {folder: taken}", "record.folder", "not a folder; name a folder"),
        (LINK % "tls: {listen_certificate: ..}", "federation.zenoh", "not a file"),
        (f"access: {{tls: {{certificate: {'x' * 999}}}}}", "access.tls", "too long"),
        (BODY % f"recording: {'x' * 999}", "robots.rover.body.recording", "too long"),
        (PROGRAM % f"{'x' * 999}", "robots.rover.controller.file", "too long"),
        (PROGRAM % r"a\0b", "robots.rover.controller.file", "no NUL"),
        (IN_WEBOTS % r"a\0b", "robots.rover.body.robot", "not valid"),
        (PROGRAM % "pipe", "robots.rover.controller.file", "not a file"),
        (LINK % "tls: {listen_private_key: pipe}", "federation.zenoh", "not a file"),
        (LINK % "tx: {lease: 1e300}", "federation.zenoh.transport.link.tx.lease", ""),
        (LINK % "tx: {lease: 1.0e+300}", "federation.zenoh.transport", "would take 1844"),
        (LINK % "tx: {lease: -1}", "federation.zenoh.transport.link.tx", "would take 0"),
    ],
)
def test_each_is_an_error_with_its_place(tmp_path: Path, line: str, place: str, what: str) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "taken").touch()
    file = str(tmp_path / "f.yaml")
    found = faults(f"version: 1\n{line}\n", file, more=check_settings)
    (error,) = [each for each in found if place in each]
    assert what in error and error.startswith(f"{file}:2:")


def test_a_group_of_another_machine_is_a_warning_with_its_place() -> None:
    (warning,) = load_text("version: 1\ncontrol: {group: no such}\n", "f.yaml").warnings
    assert str(warning).startswith("f.yaml:2:18: ") and "no group 'no such' here" in str(warning)


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
    found = "\n".join(faults(f"version: 1\nestop: {estop}\n{ADAPTER}"))
    assert words in found and f"f:{place}" in found
