"""Tokens and roles."""

import resource
import ssl
from pathlib import Path

import pytest
import trustme

from hilgw.errors import ConfigError
from hilgw.protocols.webots.handshake import Forbidden
from hilgw.reasons import RequestRefused
from hilgw.security.access import (
    MAX_ADDRESSES,
    PERIOD_NS,
    ROLES,
    Access,
    Grant,
    TokenCheck,
    read_token,
    server_context,
    write_token,
)

TOKEN = "abcdefghijklmnopqrstuvwxyz012345"


def test_a_role_includes_those_below_it() -> None:
    allowed = {role: [each for each in ROLES if Grant("x", role).allows(each)] for role in ROLES}
    assert allowed == {
        "monitor": ["monitor"],
        "drive": ["monitor", "drive"],
        "admin": ["monitor", "drive", "admin"],
    }


def test_only_a_known_token_has_a_grant() -> None:
    access = Access([("screen", "monitor", TOKEN), ("lab", "drive", TOKEN[::-1])])
    assert access.grant(TOKEN) == Grant("screen", "monitor")
    assert access.grant(TOKEN[::-1]) == Grant("lab", "drive")
    for wrong in (None, "", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "\udcff"):
        assert access.grant(wrong) is None
    assert Access().grant("") is None


class Clock:
    def __init__(self) -> None:
        self.now_ns = 5

    def __call__(self) -> int:
        return self.now_ns


def test_an_address_has_three_wrong_tokens_in_a_second() -> None:
    clock = Clock()
    check = TokenCheck(Access([("lab", "drive", TOKEN)]), "drive", clock)
    for _ in range(100):
        assert check(TOKEN, "10.0.0.1:9") is None  # right ones are not counted
        assert check(None, "10.0.0.1:9") == RequestRefused.NOT_PERMITTED  # nor those of no token
    for port in range(3):
        assert check("wrong" * 5, f"10.0.0.1:{port}") == RequestRefused.NOT_PERMITTED
        clock.now_ns += PERIOD_NS // 4
    assert check(TOKEN, "10.0.0.1:9") == RequestRefused.TOO_MANY_TRIES
    assert check(TOKEN, "10.0.0.2:9") is None
    clock.now_ns = 5 + PERIOD_NS - 1
    assert check(TOKEN, "10.0.0.1:9") == RequestRefused.TOO_MANY_TRIES
    clock.now_ns += 1
    assert check(TOKEN, "10.0.0.1:9") is None
    assert check("wrong" * 5, "10.0.0.1:9") == RequestRefused.NOT_PERMITTED
    assert check(TOKEN, "10.0.0.1:9") == RequestRefused.TOO_MANY_TRIES  # the last three again


def test_a_client_of_ipv6_has_the_tries_of_its_network() -> None:
    check = TokenCheck(Access([("lab", "drive", TOKEN)]), "drive", Clock())
    for number in range(3):
        check("wrong", f"[2001:db8::{number}]:1")
    assert check(TOKEN, "[2001:db8::ffff]:1") == RequestRefused.TOO_MANY_TRIES
    assert check(TOKEN, "[2001:db8:0:1::]:1") is None


def test_the_addresses_that_are_remembered_are_bounded() -> None:
    """The memory of a gateway, and the time to forget, do not grow with the addresses."""
    check = TokenCheck(Access(), "drive", Clock())
    for _ in range(3):
        check("wrong", "10.0.0.1:1")
    for number in range(MAX_ADDRESSES):
        assert check("wrong", f"host{number}:1") == RequestRefused.NOT_PERMITTED
    assert check("wrong", "10.0.0.1:1") == RequestRefused.NOT_PERMITTED  # forgotten


def test_a_role_that_is_too_low_is_not_a_wrong_token() -> None:
    tokens = Access([("screen", "monitor", TOKEN)])
    check = TokenCheck(tokens, "drive", Clock())
    for _ in range(4):
        assert check(TOKEN, "10.0.0.1:1") == RequestRefused.NOT_PERMITTED
    assert TokenCheck(tokens, "monitor", Clock())(TOKEN, "h:1") is None


def test_a_refused_client_learns_what_is_wrong_with_its_token() -> None:
    check = TokenCheck(Access([("screen", "monitor", TOKEN)]), "drive", Clock())
    reasons = {}
    for token in (None, TOKEN, "wrong", "wrong", "wrong", TOKEN):
        reason = check(token, "h:1")
        assert reason is not None
        reasons[token, reason] = check.why(token, reason)
    assert reasons == {
        (None, RequestRefused.NOT_PERMITTED): Forbidden.NO_TOKEN,
        (TOKEN, RequestRefused.NOT_PERMITTED): Forbidden.MONITOR_TOKEN,
        ("wrong", RequestRefused.NOT_PERMITTED): Forbidden.WRONG_TOKEN,
        (TOKEN, RequestRefused.TOO_MANY_TRIES): Forbidden.TOO_MANY_TRIES,
    }


def test_the_tries_at_a_listener_of_this_machine_may_be_unlimited() -> None:
    check = TokenCheck(Access([("child", "drive", TOKEN)]), "drive", Clock(), limited=False)
    for _ in range(10):
        assert check("wrong", "h:1") == RequestRefused.NOT_PERMITTED
    assert check(TOKEN, "h:1") is None


def test_a_client_without_a_token_has_the_role_of_its_listener() -> None:
    check = TokenCheck(Access(), "drive", Clock(), no_token="drive")
    assert check(None, "h:1") is None
    assert check("any", "h:1") == RequestRefused.NOT_PERMITTED


def test_a_new_token_file_is_private_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "drive.token"
    token = write_token(path)
    assert path.stat().st_mode & 0o777 == 0o600 and read_token(path) == token
    assert write_token(tmp_path / "other.token") != token
    with pytest.raises(ConfigError, match="cannot create the token file"):
        write_token(path)
    assert read_token(path) == token


def test_a_token_that_the_disk_does_not_take_leaves_no_file(tmp_path: Path) -> None:
    path, limits = tmp_path / "drive.token", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(ConfigError, match="cannot create the token file: File too large"):
            write_token(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert write_token(path) == read_token(path)


@pytest.mark.parametrize("text", ["", "short", TOKEN + " " + TOKEN, "ü" * 32, "x" * 5000])
def test_a_file_without_a_token_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no token") as error:
        read_token(path)
    assert error.value.fix == f"create one with: hilgw token {path}"


def test_a_file_that_other_users_can_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.token"
    path.write_text(TOKEN)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="other users can read"):
        read_token(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_token(tmp_path / "absent")


def test_contexts_take_pem_files_and_name_what_is_wrong(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    certificate, key, ca = tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "ca.pem"
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(ca)
    key.chmod(0o644)
    with pytest.raises(ConfigError, match="every user can read the private key") as readable:
        server_context(certificate, key)
    assert readable.value.fix == f"chmod 600 {key}"
    key.chmod(0o640)
    assert server_context(certificate, key).minimum_version == ssl.TLSVersion.TLSv1_2
    assert server_context(certificate, key).verify_mode == ssl.CERT_NONE
    assert server_context(certificate, key, ca).verify_mode == ssl.CERT_REQUIRED
    for wrong in (tmp_path / "absent", key):
        with pytest.raises(ConfigError, match="clients' authority cannot be used"):
            server_context(certificate, key, wrong)
    for wrong in (tmp_path / "absent", key):
        with pytest.raises(ConfigError, match="the certificate cannot be used") as error:
            server_context(wrong, None)
        assert error.value.where == str(wrong)
