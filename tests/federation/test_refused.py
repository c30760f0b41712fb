"""What TLS refuses between two gateways, in words: Zenoh has none for it."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from hilgw.config.model import FederationConfig
from hilgw.federation.refused import refusal

REQUEST = "openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout old.key -out old.csr"
SIGN = "openssl x509 -req -in old.csr -signkey old.key -out old.pem -days 2"  # of version 1


@contextmanager
def serving(certificate: Path, key: Path | None = None) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve() -> None:
        with suppress(OSError):
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                context.wrap_socket(connection, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def why(port: int, authority: Path) -> str:
    tls = {"transport": {"link": {"tls": {"root_ca_certificate": str(authority)}}}}
    config = FederationConfig(name="a", connect=(f"tls/127.0.0.1:{port}",), zenoh=tls)
    return refusal(config)


def test_a_wrong_name_and_a_strange_authority_are_named(tmp_path: Path) -> None:
    lab, other = trustme.CA(), trustme.CA()
    for name, authority in (("lab", lab), ("other", other)):
        authority.cert_pem.write_to_path(tmp_path / f"{name}.pem")
    for name, host in (("good", "127.0.0.1"), ("elsewhere", "simulator.lab")):
        made = lab.issue_cert(host)
        made.private_key_and_cert_chain_pem.write_to_path(tmp_path / f"{name}.pem")
    with serving(tmp_path / "good.pem") as port:
        assert why(port, tmp_path / "lab.pem") == ""
    with serving(tmp_path / "elsewhere.pem") as port:
        text = why(port, tmp_path / "lab.pem")
        assert text.startswith(f"TLS with tls/127.0.0.1:{port} fails: ")
        assert "127.0.0.1" in text.partition("fails")[2]  # is not the name of the certificate
    with serving(tmp_path / "good.pem") as port:
        assert "issuer certificate" in why(port, tmp_path / "other.pem")
    assert why(1, tmp_path / "lab.pem") == ""  # nothing is there yet


@pytest.mark.process
@pytest.mark.judge("openssl")
def test_a_certificate_of_version_1_is_named(tmp_path: Path) -> None:
    for command in (REQUEST, SIGN):
        subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    with serving(tmp_path / "old.pem", tmp_path / "old.key") as port:
        assert "fails: " in why(port, tmp_path / "old.pem")
