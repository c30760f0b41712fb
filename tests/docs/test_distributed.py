"""docs/distributed.md: both gateways as shipped, its keys, and its program without hilgw."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hilgw.federation import wire
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, ROOT, Gateway, free_port, start

PAGE = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
KEYS = (ROOT / "docs" / "zenoh.md").read_text(encoding="utf-8")
SCRIPT = str(ROOT / "docs" / "examples" / "zenoh_packets.py")

Lab = tuple[Gateway, Gateway, str]


def link(gateway: Gateway, other: str) -> dict[str, Any]:
    return gateway.report()["federation"]["gateways"].get(other, {})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    endpoint = f"tcp/{HOST}:{free_port()}"
    folders = [tmp_path_factory.mktemp(name) for name in ("simulator", "bench")]
    arguments = [
        ["--config", f"lab-{folder.name[:-1]}", f"--set=federation.{key}=[{endpoint}]"]
        for folder, key in zip(folders, ("listen", "connect"), strict=True)
    ]
    arguments[0].append("--set=federation.ros2={}")
    with Gateway(folders[0], arguments[0]) as simulator, Gateway(folders[1], arguments[1]) as bench:
        yield simulator, bench, endpoint
    assert "the ledger adds up" in simulator.text(), simulator.text()
    assert "the ledger adds up" in bench.text(), bench.text()


@pytest.mark.process
def test_both_run_as_shipped(lab: Lab) -> None:
    """The rover's packets leave through its module on the bench, and the answers come back."""
    simulator, bench, _ = lab

    def is_answered() -> bool:
        return bool(simulator.report()["stations"]["rover.rx"]["delivered"] >= 2)

    wait_until(is_answered, what="answers of the remote module")
    wait_until(lambda: link(simulator, "bench")["delivered"] >= 2, what="confirmed packets")
    received = simulator.report()["received_by"]
    assert received["rover.tx"].keys() == {"radio@bench"}
    assert received["xbee0@bench"].keys() == {"rover.rx"}
    assert link(simulator, "bench")["lost"] == link(bench, "simulator")["missed"] == 0
    assert bench.report()["stations"]["xbee0"]["delivered"] >= 2


@pytest.mark.process
def test_another_program_listens_and_sends(lab: Lab, tmp_path: Path) -> None:
    simulator, _, endpoint = lab
    command = [sys.executable, SCRIPT, endpoint, "lab", "radio", "12", "by hand"]
    output = tmp_path / "output.txt"
    with output.open("w") as stream:
        script = start(tmp_path, *command, stdout=stream, stderr=stream)
        try:
            wait_until(lambda: "rover.tx of simulator b'ping" in output.read_text())
            wait_until(
                lambda: (
                    simulator.report()["received_by"].get("hand@zenoh") == {"rover.rx": 1}
                    or simulator.report()["federation"]["outside"]["entered"] > 0
                ),
                what="a packet of the program",
            )
        finally:
            script.send_signal(signal.SIGINT)
            script.wait()


def test_the_keys_and_heads_of_the_page_are_those_of_the_code() -> None:
    keys = set(re.findall(r"^\| `([a-z]+)/", KEYS, re.MULTILINE))
    assert keys == set(re.findall(r"^    ([a-z]+)/", str(wire.__doc__), re.MULTILINE))
    table = KEYS.partition("| key | meaning |")[2].partition("Behind it")[0]
    named = {
        name
        for row in table.split("\n")
        for name in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named == set(wire.Head.__dataclass_fields__)
    assert json.loads(wire.encode_json(wire.Head("tx"))) == {"source": "tx"}


@pytest.mark.process
@pytest.mark.judge("openssl")
def test_the_lines_of_openssl_make_certificates_that_zenoh_takes(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```sh\n(\s+openssl .*?)```", PAGE, re.S)
    subprocess.run(["sh", "-ec", lines], cwd=tmp_path, check=True, capture_output=True)
    for name in ("simulator", "bench"):
        check = ["openssl", "verify", "-CAfile", "lab.pem", "-verify_hostname", f"{name}.lab"]
        subprocess.run([*check, f"{name}.pem"], cwd=tmp_path, check=True, capture_output=True)
        show = ["openssl", "x509", "-noout", "-text", "-in", f"{name}.pem"]
        shown = subprocess.run(show, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert "Version: 3" in shown.stdout
