"""Who may connect from other hosts: what `check` demands, and where files are."""

from pathlib import Path

import pytest

from hilgw.config.load import load_config, load_text
from hilgw.config.source.positions import ConfigErrors
from tests.config.cases import faults

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
    found = faults(FILE.format(host=host, access=f"access: {{{access}}}" if access else ""))
    assert len(found) == (error is not None)
    assert all(line.startswith("f:4:") and str(error) in line for line in found)


@pytest.mark.parametrize(
    ("host", "name", "kind", "warned"),
    [
        ("0.0.0.0", 47 * "r", "webots", False),
        ("0.0.0.0", 48 * "r", "webots", True),
        ("0.0.0.0", 8 * "\N{LATIN SMALL LETTER E WITH ACUTE}", "webots", True),
        ("127.0.0.1", 48 * "r", "webots", False),
        ("0.0.0.0", 48 * "r", 'webots_proxy, robot: short, connect: "tcp://h:1"', False),
        ("0.0.0.0", "short", f'webots_proxy, robot: {48 * "r"}, connect: "tcp://h:1"', True),
    ],
)
def test_a_name_leaves_no_room_for_a_token(host: str, name: str, kind: str, warned: bool) -> None:
    """libController sends at most 90 characters of the encoded rover?token=...: 11 and 32 are the
    token's."""
    text = FILE.format(host=host, access=f"access: {{plaintext: true, {DRIVE}}}")
    text = text.replace("rover", name).replace("kind: webots", f"kind: {kind}")
    found = [str(each) for each in load_text(text, "hilgw.yaml").warnings]
    assert any("no token fits behind this name" in each for each in found) == warned


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
    assert faults(two.format(kind="webots")) == []
    assert "has this address too" in "".join(faults(two.format(kind="wc2ec")))


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("rover", "devices: {eye: {node: Camera}}", "rover.devices.eye"),
        ("rover", "supervisor: true", "rover.supervisor: supervisor functions are not car"),
        (65 * "r", "", "more than 64 characters; use a shorter one"),
    ],
)
def test_what_no_controller_can_have_is_named(name: str, more: str, message: str) -> None:
    text = FILE.format(host="127.0.0.1", access=f"    {more}").replace("rover", name)
    assert message in "".join(faults(text))


EXPOSED = """\
version: 1
robots:
  rover:
    controller: {{kind: webots, listen: "tcp://{host}:1234"}}
access:
  tokens:
    lab: {{file: lab.token}}
    {tokens}
  tls: {{certificate: gateway.pem{tls}}}
"""


def checked(folder: Path, text: str) -> list[str]:
    """The errors of the file that `hilgw check` and the start of a gateway read."""
    file = folder / "hilgw.yaml"
    file.write_text(text)
    try:
        load_config(str(file))
    except ConfigErrors as errors:
        return [str(each).replace(str(folder), "DIR") for each in errors.diagnostics]
    return []


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o777])
def test_a_token_file_that_others_read_is_an_error(tmp_path: Path, mode: int, host: str) -> None:
    text = EXPOSED.format(host=host, tokens="screen: {file: sub/screen.token}", tls="")
    (tmp_path / "sub").mkdir()
    for name in ("lab.token", "sub/screen.token", "gateway.pem"):
        (tmp_path / name).write_text(32 * "x")
        (tmp_path / name).chmod(0o600)
    assert checked(tmp_path, text) == []
    (tmp_path / "gateway.pem").unlink()  # does not exist yet: reported at the start
    (tmp_path / "sub/screen.token").chmod(mode)
    [error] = checked(tmp_path, text)
    assert error.startswith("DIR/hilgw.yaml:8:20: ")
    assert "other users can read the token file" in error
    assert "chmod 600 DIR/sub/screen.token" in error
    (tmp_path / "lab.token").chmod(mode)
    assert len(checked(tmp_path, text)) == 2  # all errors at once


@pytest.mark.parametrize(
    ("tls", "file", "column"), [("", "gateway.pem", 22), (", key: k.pem", "k.pem", 40)]
)
def test_a_private_key_that_every_user_can_read_is_an_error_at_its_key(
    tmp_path: Path, tls: str, file: str, column: int
) -> None:
    text = EXPOSED.format(host="0.0.0.0", tokens="", tls=tls)
    for name in ("gateway.pem", "k.pem"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o600 if name == file else 0o644)
    assert checked(tmp_path, text) == []
    (tmp_path / file).chmod(0o640)  # of a service
    assert checked(tmp_path, text) == []
    (tmp_path / file).chmod(0o644)
    [error] = checked(tmp_path, text)
    assert error.startswith(f"DIR/hilgw.yaml:9:{column}: ")
    assert "every user can read the private key" in error and f"chmod 600 DIR/{file}" in error


# Where the metrics may be read: by the rules of every listener.
TOKENS = "tokens: {grafana: {role: monitor, file: ./t}}"


@pytest.mark.parametrize(
    ("listen", "access", "wrong"),
    [
        ("127.0.0.1:9464", "{}", ""),
        ("'[::1]:9464'", "{}", ""),
        ("0.0.0.0:9464", "{}", "other hosts reach this address"),
        ("0.0.0.0:9464", f"{{{TOKENS}}}", "other hosts reach this address without TLS"),
        ("0.0.0.0:9464", f"{{{TOKENS}, plaintext: true}}", ""),
        ("127.0.0.1:99464", "{}", "is not HOST:PORT"),
        ("127.0.0.1", "{}", "metrics.listen"),
    ],
)
def test_another_host_needs_a_token_to_read(listen: str, access: str, wrong: str) -> None:
    text = f"version: 1\nmetrics: {{listen: {listen}}}\naccess: {access}\nrobots: {{a: {{}}}}\n"
    found = "".join(faults(text))
    assert wrong in found and bool(wrong) is bool(found)
    assert wrong or load_text(text, "f").config.metrics.listen == listen.strip("'")
