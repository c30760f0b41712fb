"""Checks of access from other hosts and of federations: each error and warning."""

from pathlib import Path

import pytest

from hilgw.config.checks import network
from hilgw.config.load import load_config, load_text
from hilgw.config.source.text import ConfigErrors
from hilgw.federation.settings import check_settings
from tests.config.cases import Lines, faults

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
    lines = faults(FILE.format(host=host, access=f"access: {{{access}}}" if access else ""))
    assert len(lines) == (error is not None)
    assert all(line.startswith("f:4:") and str(error) in line for line in lines)


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
    lines = [str(each) for each in load_text(text, "hilgw.yaml").warnings]
    assert any("no token fits behind this name" in each for each in lines) == warned


def test_files_are_relative_to_the_configuration() -> None:
    access = f"access: {{tls: {{certificate: c.pem, key: k.pem}}, {DRIVE}}}"
    text = FILE.format(host="0.0.0.0", access=access)
    settings = load_text(text, "/lab/hilgw.yaml").config.access
    assert settings.tls is not None
    files = [settings.tokens["lab"].file, settings.tls.certificate, settings.tls.key]
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
    message = "".join(faults(text))
    assert wrong in message and bool(wrong) is bool(message)
    assert wrong or load_text(text, "f").config.metrics.listen == listen.strip("'")


TLS = "zenoh: {transport: {link: {tls: {listen_certificate: a.pem, listen_private_key: a.key%s}}}}"
OPEN = (
    "other hosts reach this endpoint without TLS: who is on the way reads and sends packets; use "
    "tls/HOST:PORT, or write plaintext: true for a network that you trust"
)


def text(*lines: str, before: str = "") -> str:
    more = "".join(f"  {each}\n" for each in lines)
    return f"version: 1\n{before}federation:\n  name: bench\n{more}"


NO_ENDPOINT = [
    f"listen: [\"{end}\"] => 4:12: federation.listen[0]: '{end}' is not an endpoint; "
    for end in ("tcp/127.0.0.1", "tcp/127.0.0.1:x", "tcp/:7447", "tcp/127.0.0.1:70000")
]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        *(each.split(" => ") for each in NO_ENDPOINT),
        ('listen: ["tcp/0.0.0.0:7447"]', f"4:12: federation.listen[0]: {OPEN}"),
        ('connect: ["tcp/simulator.lab:7447"]', f"4:13: federation.connect[0]: {OPEN}"),
        ('connect: ["udp/10.0.0.1:7447"]', f"4:13: federation.connect[0]: {OPEN}"),
        ('connect: ["ws/[fe80::1]:7447"]', f"4:13: federation.connect[0]: {OPEN}"),
        ('listen: ["http/127.0.0.1:80"]', "4:12: federation.listen[0]: 'http/127.0.0.1:80' is not"),
        ("listen: []", "4:11: federation.listen: no other gateway can reach this one; write lis"),
        ("mode: client", "4:9: federation.mode: a client of Zenoh needs a router or a peer; write"),
        ('listen: ["tls/0.0.0.0:7447"]', "4:12: federation.listen[0]: TLS needs listen_certif"),
        (
            'zenoh: {listen: {endpoints: ["tcp/127.0.0.1:1"]}}',
            "4:31: federation.zenoh.listen.endpoints: the endpoints are those of federation.listen",
        ),
        (
            'mode: client\n  listen: ["tcp/127.0.0.1:1"]\n  connect: ["tcp/127.0.0.1:2"]',
            "5:11: federation.listen: a client of Zenoh does not listen; delete it, or write mode",
        ),
    ],
)
def test_each_error_is_where_it_is(errors: Lines, line: str, error: str) -> None:
    (message,) = errors(text(line))
    assert message.startswith(f"f:{error}")


@pytest.mark.parametrize("line", ["  name: %s", "  name: bench\n  network: %s"])
@pytest.mark.parametrize("value", ["a/b", "'*'", "$*", "b ench", "x" * 65])
def test_names_are_parts_of_keys(errors: Lines, line: str, value: str) -> None:
    (error,) = errors(f"version: 1\nfederation:\n{line % value}\n")
    last = line.splitlines()[-1]
    assert error.startswith(f"f:{2 + len(line.splitlines())}:")
    assert f"federation.{last.split(':')[0].strip()}: " in error


@pytest.mark.parametrize("speed", ["0.5", "2", "max"])
def test_gateways_run_in_real_time(errors: Lines, speed: str) -> None:
    assert errors(text(before=f"speed: {speed}\n")) == [
        "f:2:8: speed: the other gateways run in real time, and share the packets of each instant; "
        "leave speed out, or federation"
    ]
    assert load_text(text(before="speed: 1\n"), "f").config.federation is not None


def test_the_extra_is_needed(errors: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    assert errors(text()) == ["f:3:3: federation: needs Eclipse Zenoh; pip install 'hilgw[zenoh]'"]


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ('listen: ["tcp/127.0.0.1:7447", "tcp/[::1]:7447", "tcp/localhost:1"]',),
        ('listen: ["tcp/0.0.0.0:7447"]', "plaintext: true"),
        ('connect: ["tls/simulator.lab:7447#root_ca_certificate=lab.pem"]',),
        ('listen: ["tls/0.0.0.0:7447"]', TLS % ", enable_mtls: true"),
        ('listen: ["unixsock-stream/bench.sock"]',),
        ('listen: ["serial//dev/ttyUSB0#baudrate=112500"]',),
        ("mode: client", 'connect: ["tcp/127.0.0.1:7447"]'),
        ("mode: router",),
        ("zenoh: {transport: {link: {tx: {lease: 2000}}}, connect: {timeout_ms: 5}}",),
    ],
)
def test_what_is_fine(lines: tuple[str, ...]) -> None:
    loaded = load_text(text(*lines), "f", more=check_settings)
    assert loaded.config.federation is not None
    assert loaded.warnings == []


def test_a_certificate_alone_lets_anyone_in(warnings: Lines) -> None:
    given = text('listen: ["tls/0.0.0.0:7447"]', TLS % "")
    assert warnings(given) == [
        "f:4:12: warning: federation.listen[0]: any host that trusts this certificate can send "
        "packets; write enable_mtls: true, or access_control, in zenoh"
    ]


@pytest.mark.parametrize(
    ("line", "place", "key", "why"),
    [
        ("nonsense: 1", "5:15", "nonsense", "unknown key"),
        ("transport: {link: {tx: {leas: 1}}}", "5:35", "transport.link.tx.leas", "unknown key"),
        ("transport/link/tx/lease: x", "5:30", None, "error parsing number"),
        ("mode: 5", "5:11", "mode", "invalid type"),
        ("queries_default_timeout: [1]", "5:30", "queries_default_timeout", ""),
    ],
)
def test_settings_that_zenoh_refuses(line: str, place: str, key: str | None, why: str) -> None:
    (error,) = faults(text("zenoh:", f"  {line}"), more=check_settings)
    assert error.startswith(f"f:{place}: federation.zenoh.{key or ''}")
    assert why in error
    assert error.endswith("see Zenoh's DEFAULT_CONFIG.json5 for its settings")
    assert "/root" not in error


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("{scouting: {multicast: {enabled: true}}}", "scouting/multicast/enabled"),
        ('{"scouting/gossip": {enabled: true}}', "scouting/gossip/enabled"),
        ('{"listen/endpoints": ["tcp/0.0.0.0:7447"]}', "listen/endpoints"),
        ('{"connect/endpoints": ["tcp/10.0.0.1:7447"]}', "connect/endpoints"),
    ],
)
def test_ways_through_zenohs_own_settings_need_tls_or_the_waiver(given: str, key: str) -> None:
    (error,) = faults(text(f"zenoh: {given}"), more=check_settings)
    assert f"federation.zenoh: others reach this gateway by {key} of zenoh" in error
    assert "plaintext: true" in error
    assert faults(text(f"zenoh: {given}", "plaintext: true"), more=check_settings) == []
