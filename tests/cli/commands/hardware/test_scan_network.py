"""`hilgw scan --network`: whom it asks, what it shows, and its errors."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hilgw.cli.commands.clients import status
from hilgw.cli.commands.hardware.scan_network import lines
from hilgw.federation import survey
from tests.cli.conftest import Command
from tests.cli.output.test_federation import EVIL, gateway

ENDPOINT = "tcp/127.0.0.1:7447"


def own(name: str, **gateways: Any) -> dict[str, Any]:
    """The status of a gateway of this machine."""
    listeners = {f"{name}.rx": {"type": "radio", "channels": [5]}}
    about = {"network": "lab", "name": name, "id": name * 2, "version": 1}
    federation = {**about, "robots": {name: ["rx"]}, "listeners": listeners, "gateways": gateways}
    return {"version": "0.2.0", "federation": federation}


def test_without_an_endpoint_the_gateways_of_this_machine_are_asked(
    monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    """One that runs here shows itself, with the way that others see; one of another version has
    both numbers."""
    refused = {"state": "failed", "reason": "speaks version 2 of the federation, this gateway 1"}
    new = gateway(version=2, hilgw="", robots={}, listeners={}, id="n", **refused)
    found = [own("a", b=gateway(id="bb"), new=new), own("b"), {"error": "no answer"}]
    monkeypatch.setattr(status, "statuses", lambda args: found)
    assert hilgw("scan", "--network") == (
        0,
        "a in the network lab: hilgw 0.2.0; protocol version 1; up\n"
        "    robots: a (rx)\n"
        "    listeners: a.rx (radio, channel 5)\n"
        "b in the network lab: hilgw 0.2.0; protocol version 1; up; one way p50 0.212 ms, "
        "p99 1.5 ms, round trip 0.4 ms, clock offset -12.500 s, as seen by a\n"
        "    robots: b (rx)\n"
        "    listeners: b.rx (radio, channel 5)\n"
        "new in the network lab: protocol version 2; "
        "failed: speaks version 2 of the federation, this gateway 1; "
        "one way p50 0.212 ms, p99 1.5 ms, round trip 0.4 ms, clock offset -12.500 s, "
        "as seen by a\n"
        "    it speaks version 2 of the federation, this hilgw 1: they refuse each other\n",
        "",
    )
    code, out, _ = hilgw("scan", "--network", "lab", "--json")
    assert [each["name"] for each in json.loads(out)] == ["a", "b", "new"]
    code, _, err = hilgw("scan", "--network", "other")
    assert (code, err) == (5, "hilgw: no gateway of yours is in the network 'other'\n")


def test_no_gateway_of_a_federation(monkeypatch: pytest.MonkeyPatch, hilgw: Command) -> None:
    monkeypatch.setattr(status, "statuses", lambda args: [{"version": "0.2.0"}])
    code, out, err = hilgw("scan", "--network")
    assert (code, out) == (5, "")
    assert "no gateway of yours is in a federation; name an endpoint with --connect" in err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["a*", "--connect", ENDPOINT], "'a*' is not the name of a network"),
        (["--connect", "nonsense"], "'nonsense' is not an endpoint of Zenoh; write PROTOCOL/"),
        (["--config", "uart"], "uart has no federation"),
        (["lab", "/dev/ttyUSB0"], "--network is of gateways, not of ports"),
    ],
)
def test_what_is_wrong_is_named(arguments: list[str], text: str, hilgw: Command) -> None:
    code, out, err = hilgw("scan", "--network", *arguments)
    assert (code, out) == (2, "")
    assert text in err


def test_an_endpoint_without_the_network_is_refused(hilgw: Command) -> None:
    code, _, err = hilgw("scan", "--connect", ENDPOINT)
    assert code == 2 and "hilgw scan --network --connect ENDPOINT" in err


def test_without_zenoh_the_error_has_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, hilgw: Command
) -> None:
    for name in ("hilgw.federation.survey", "hilgw.federation.session"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(sys.modules, "hilgw.federation.settings", raising=False)
    monkeypatch.setitem(sys.modules, "zenoh", None)
    code, _, err = hilgw("scan", "--network", "--connect", ENDPOINT)
    text = "hilgw scan --network: needs Eclipse Zenoh; pip install 'hilgw[zenoh]'\n"
    assert (code, err) == (3, text)


def test_a_file_has_its_endpoints_its_network_and_its_settings_of_zenoh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hilgw: Command
) -> None:
    text = (
        "version: 1\nfederation:\n  name: bench\n  network: hall\n"
        "  listen: [tcp/127.0.0.1:7400]\n  connect: [tcp/127.0.0.1:7447]\n"
        "  zenoh: {transport: {link: {tls: {root_ca_certificate: ca.pem}}}}\n"
    )
    (tmp_path / "bench.yaml").write_text(text)
    asked: list[Any] = []

    def answer(*given: Any) -> Any:
        asked.append(given)
        return [], {"tcp/127.0.0.1:7447": f"{EVIL} is not there"}

    monkeypatch.setattr(survey, "survey", answer)
    code, _, err = hilgw("scan", "--network", "--config", str(tmp_path / "bench.yaml"))
    ((config, endpoints, network),) = asked
    assert (endpoints, network) == (["tcp/127.0.0.1:7400", ENDPOINT], "hall")
    tls = config.zenoh["transport"]["link"]["tls"]
    assert tls == {"root_ca_certificate": str(tmp_path / "ca.pem")}
    assert code == 5
    assert "no gateway found: tcp/127.0.0.1:7447: " in err
    assert err.removesuffix("\n").isprintable()


def test_texts_of_the_network_are_printable() -> None:
    listeners = {EVIL: {"type": EVIL, "air": EVIL}}
    hostile = gateway(robots={EVIL: [EVIL]}, listeners=listeners, hilgw=EVIL, version=7)
    shown = [*lines({**hostile, "name": EVIL, "network": EVIL, "reason": EVIL, "state": "lost"})]
    assert len(shown) == 4
    assert all(line.isprintable() for line in shown)
