"""What keeps `hilgw web` from its start: one error, with what to do."""

import socket
import sys
from pathlib import Path

import pytest

from tests.e2e.running import HOST, in_process


def error(*arguments: str) -> str:
    code, out, err = in_process("web", *arguments, cwd=Path())
    assert code != 0
    assert out == ""
    return err


def test_without_its_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    assert error() == "hilgw: hilgw web needs a package; pip install 'hilgw[web]'\n"


@pytest.mark.parametrize("more", [[], ["--token", "t"], ["--certificate", "c"]])
def test_an_address_of_other_hosts_needs_tokens_and_tls(more: list[str]) -> None:
    text = error("--host", "0.0.0.0", *more)
    assert "other hosts reach this address, so it needs tokens and TLS" in text
    assert "ssh -L" in text


def test_a_file_that_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pcapng").write_bytes(b"none")
    assert error(str(tmp_path / "x.pcapng")).startswith(f"hilgw: {tmp_path}/x.pcapng: ")
    assert "No such file" in error(str(tmp_path / "absent.pcapng"))


def test_a_token_of_other_users_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "lab.token"
    file.write_text("t" * 32)
    file.chmod(0o644)
    text = error("--host", "0.0.0.0", "--token", f"drive:{file}", "--certificate", "c")
    assert str(file) in text


def test_a_role_that_is_none_an_unknown_address_and_a_port_in_use() -> None:
    assert "'boss' is not a role" in error("--token", "boss:t")
    assert "--host nowhere.invalid: unknown address" in error("--host", "nowhere.invalid")
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        text = error("--host", HOST, "--port", str(port))
    assert f"{HOST}:{port}" in text
    assert "choose another --port" in text
