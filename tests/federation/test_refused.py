"""What TLS refuses between two gateways, in words: Zenoh has none for it."""

import asyncio
import json
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hilgw.federation.federation as module
from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.config.model import FederationConfig
from hilgw.errors import PortError
from hilgw.federation.refused import refusal
from hilgw.testing.sim import Recorder, wait_until
from tests.e2e.running import HOST, Gateway, free_port

pytestmark = [
    pytest.mark.process,
    pytest.mark.judge("openssl"),
    pytest.mark.wall_clock("Zenoh's TLS on real sockets"),
]

HERE = f"subjectAltName=DNS:here,IP:{HOST}"
AUTHORITY = "req -x509 -newkey rsa:2048 -nodes -days 9 -subj /CN={0} -keyout {0}.key -out {0}.pem"
REQUEST = "req -newkey rsa:2048 -nodes -subj /CN={0} -keyout {0}.key -out {0}.csr"
SIGN = "x509 -req -in {0}.csr -CA {1}.pem -CAkey {1}.key -CAcreateserial -days {2} -out {0}.pem"
CERTIFICATES = {  # authority, days, line of -extfile; without one, it is of version 1
    "good": ("lab", 9, HERE),
    "wrong": ("lab", 9, "subjectAltName=DNS:simulator.lab"),
    "expired": ("lab", -1, HERE),
    "foreign": ("other", 9, HERE),
    "old": ("lab", 9, None),
}
REFERS = "or TLS refuses it: its own status has the cause"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(line: str) -> None:
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)

    for name in ("lab", "other"):
        openssl(AUTHORITY.format(name))
    for name, (authority, days, extension) in CERTIFICATES.items():
        openssl(REQUEST.format(name))
        line = SIGN.format(name, authority, days)
        if extension is not None:
            (folder / f"{name}.ext").write_text(extension + "\n")
            line += f" -extfile {name}.ext"
        openssl(line)
    return folder


def newest(log: Recorder) -> tuple[str, str]:
    """Return the newest state of the federation of a gateway, and its reason."""
    states = [(str(state), reason) for name, state, reason in log.states if name == "federation"]
    return states[-1] if states else ("", "")


def settings(folder: Path, end: str, own: str | None, authority: str) -> dict[str, Any]:
    tls = {"root_ca_certificate": str(folder / f"{authority}.pem"), "enable_mtls": True}
    if own is not None:
        tls |= {f"{end}_certificate": str(folder / f"{own}.pem")}
        tls |= {f"{end}_private_key": str(folder / f"{own}.key")}
    return {"transport": {"link": {"tls": tls}}}


def both(
    folder: Path,
    listens: str,
    connects: str | None,
    authority: str = "lab",
    *,
    wanted: str,
    mode: str = "peer",
    **more: object,
) -> list[tuple[str, str]]:
    """Run two gateways until both ends have this in their reasons; return state and reason.

    mode: of the end that connects; more: its settings of TLS.
    """
    endpoint = f"tls/{HOST}:{free_port()}"
    ends = {
        "listen": settings(folder, "listen", listens, "lab"),
        "connect": settings(folder, "connect", connects, authority),
    }
    ends["connect"]["transport"]["link"]["tls"] |= more
    observers = [Recorder(), Recorder()]
    states: list[tuple[str, str]] = []

    async def run() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        gateways = []
        for (end, zenoh), observer in zip(ends.items(), observers, strict=True):
            federation = {"name": end, end: [endpoint], "zenoh": zenoh}
            federation["mode"] = mode if end == "connect" else "peer"
            text = json.dumps({"version": 1, "federation": federation})
            gateway = build(load_text(text, "test").config, loop, observer)
            gateways.append(asyncio.ensure_future(gateway.run(stop)))
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                while not all(wanted in newest(each)[1] for each in observers):
                    done = [each for each in gateways if each.done()]
                    assert not done, await done[0]
                    await asyncio.sleep(0.01)
        states.extend(map(newest, observers))
        stop.set()
        await asyncio.gather(*gateways)

    asyncio.run(run())
    return states


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFUSAL_S", 0.05)


@pytest.mark.parametrize(
    ("mode", "listens", "connects", "authority", "there", "here"),
    [
        ("peer", "wrong", "good", "lab", f"{REFERS}*(simulator.lab)", "not valid for 'HOST'"),
        ("client", "expired", "good", "lab", ", of this gateway, fails: * expired", "has expired"),
        ("peer", "foreign", "good", "lab", "this gateway, fails: * issuer", "issuer certificate"),
        ("client", "good", "good", "other", REFERS, "issuer certificate"),
        ("peer", "good", "old", "lab", REFERS, "refuses the certificate of this gateway"),
        ("client", "good", "expired", "lab", REFERS, "of this gateway: CERTIFICATE_EXPIRED"),
        ("peer", "good", "foreign", "lab", REFERS, "of this gateway: UNKNOWN_CA"),
        ("client", "good", None, "lab", REFERS, "of this gateway: CERTIFICATE_REQUIRED"),
    ],
)
def test_both_ends_name_what_tls_refuses(
    certificates: Path,
    mode: str,
    listens: str,
    connects: str | None,
    authority: str,
    there: str,
    here: str,
) -> None:
    states = both(certificates, listens, connects, authority, wanted="TLS", mode=mode)
    assert [state for state, _ in states] == ["waiting", "waiting"]
    for part in there.split("*"):
        assert part in states[0][1]
    assert states[1][1].startswith(f"TLS with tls/{HOST}:")
    assert here.replace("HOST", HOST) in states[1][1]


def test_certificates_that_both_ends_take_are_no_refusal(certificates: Path) -> None:
    """Also that of a client whose name is another one, which TLS does not check."""
    states = both(certificates, "good", "wrong", wanted="1 other gateway")
    assert states == [("up", "1 other gateway")] * 2


def test_two_runs_of_the_command_find_each_other_inside_tls(
    certificates: Path, tmp_path: Path
) -> None:
    """Their files name the certificates beside them."""
    endpoint = f"tls/{HOST}:{free_port()}"
    with ExitStack() as gateways:
        running = []
        for end in ("listen", "connect"):
            zenoh = settings(Path(), end, "good", "lab")
            federation = {"name": end, end: [endpoint], "zenoh": zenoh}
            file = certificates / f"{end}.yaml"
            file.write_text(json.dumps({"version": 1, "federation": federation}))
            (folder := tmp_path / end).mkdir()
            running.append(gateways.enter_context(Gateway(folder, ["--config", str(file)])))
        for each in running:
            wait_until(lambda each=each: "1 other gateway" in each.text(), what="the other one")


def test_a_listening_end_of_version_1_is_an_error_that_names_certificates(
    certificates: Path,
) -> None:
    with pytest.raises(PortError, match=r"UnsupportedCertVersion.*; check the certificates"):
        both(certificates, "old", "good", wanted="TLS")


def test_an_end_where_nothing_listens_does_not_refuse(certificates: Path) -> None:
    zenoh = settings(certificates, "connect", "good", "lab")
    config = FederationConfig(name="a", connect=("tls/127.0.0.1:1",), zenoh=zenoh)
    assert refusal(config) == ""
    assert REFERS in refusal(replace(config, listen=("tls/127.0.0.1:2",)))


def test_a_name_that_the_connecting_end_does_not_verify_is_not_named(certificates: Path) -> None:
    states = both(certificates, "wrong", "expired", wanted="TLS", verify_name_on_connect=False)
    assert states[1][1].endswith("of this gateway: CERTIFICATE_EXPIRED")
