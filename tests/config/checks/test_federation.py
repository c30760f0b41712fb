"""Federations that cannot be, or that others reach without TLS: each error and warning."""

import pytest

from hilgw.config.checks import federation
from hilgw.config.load import load_text
from hilgw.federation.settings import check_settings
from tests.config.cases import Lines, faults

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
    (found,) = errors(text(line))
    assert found.startswith(f"f:{error}")


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
    monkeypatch.setattr(federation, "find_spec", lambda name: None)
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
