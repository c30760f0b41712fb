"""Who may connect from other hosts: what `check` demands, and where files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors

FILE = """\
version: 1
robots:
  rover:
    controller: {{kind: webots, listen: "tcp://{host}:1234"}}
{access}
"""
DRIVE = "tokens: {lab: {file: lab.token}}"
NO_TOKEN = "other hosts reach this address, and could move the motors"
NO_TLS = "other hosts reach this address without TLS"


@pytest.mark.parametrize(
    ("host", "access", "error"),
    [
        ("127.0.0.1", "", None),
        ("[::1]", "", None),
        ("localhost", "", None),
        ("0.0.0.0", "", NO_TOKEN),
        ("lab.example", "", NO_TOKEN),
        ("[::]", "plaintext: true", NO_TOKEN),
        ("0.0.0.0", "plaintext: true, tokens: {m: {role: monitor, file: m.token}}", NO_TOKEN),
        ("0.0.0.0", DRIVE, NO_TLS),
        ("0.0.0.0", f"plaintext: true, {DRIVE}", None),
        ("0.0.0.0", f"tls: {{certificate: lab.pem}}, {DRIVE}", None),
    ],
)
def test_another_address_needs_a_token_and_tls(host: str, access: str, error: str | None) -> None:
    text = FILE.format(host=host, access=f"access: {{{access}}}" if access else "")
    if error is None:
        load_text(text, "hilgw.yaml")
        return
    with pytest.raises(ConfigErrors) as raised:
        load_text(text, "hilgw.yaml")
    [found] = raised.value.diagnostics
    assert found.line == 4
    assert error in str(found)


def test_files_are_relative_to_the_configuration() -> None:
    access = f"access: {{tls: {{certificate: c.pem, key: k.pem}}, {DRIVE}}}"
    text = FILE.format(host="0.0.0.0", access=access)
    found = load_text(text, "/lab/hilgw.yaml").config.access
    assert found.tls is not None
    files = [found.tokens["lab"].file, found.tls.certificate, found.tls.key]
    assert files == [str(Path("/lab") / name) for name in ("lab.token", "c.pem", "k.pem")]


def test_robots_share_an_address_only_where_their_controllers_name_them() -> None:
    two = """\
version: 1
robots:
  one: {{controller: {{kind: webots, listen: "tcp://127.0.0.1:1234"}}}}
  two: {{controller: {{kind: {kind}, listen: "tcp://127.0.0.1:1234"}}}}
"""
    load_text(two.format(kind="webots"), "hilgw.yaml")
    with pytest.raises(ConfigErrors, match="has this address too"):
        load_text(two.format(kind="wc2ec"), "hilgw.yaml")


def test_a_device_that_no_control_loop_carries_is_named() -> None:
    text = FILE.format(host="127.0.0.1", access="    devices: {eye: {node: Camera}}")
    with pytest.raises(ConfigErrors, match=r"rover\.devices\.eye"):
        load_text(text, "hilgw.yaml")
