"""Adapter ir_toy through the installed command, and its mock by itself."""

import re
from pathlib import Path

from tests.e2e.running import in_process, report_of


def test_packets_of_bytes_over_codes(tmp_path: Path) -> None:
    """Two toys in one air: each receives the other's packets as own echoes."""
    (tmp_path / "two.yaml").write_text(
        "version: 1\n"
        "backend: mock\n"
        "robots:\n"
        "  one:\n"
        "    devices:\n"
        "      tx: {node: Emitter, type: infra-red, channel: 9, bufferSize: 64}\n"
        "      rx: {node: Receiver, type: infra-red, channel: 9, sampling_period_ms: 32}\n"
        "    controller: {kind: beacon, emitter: tx, period_ms: 3600000, payload: twelve bytes}\n"
        "adapters:\n" + adapter("ir0") + adapter("ir1")
    )
    simulated = ("--speed", "max", "--duration", "5s")
    report = report_of(tmp_path, "--config", "two.yaml", *simulated)
    stations = report["stations"]
    assert stations["ir0"]["delivered"] == 1
    assert stations["ir1"]["refused"] == {"own_echo": 1}
    assert stations["one.rx"]["delivered"] == 0


def adapter(name: str) -> str:
    return (
        f"  {name}: {{kind: ir_toy, port: /dev/{name}, baudRate: 115200, channel: 9, code: rc6, "
        "framing: cobs-crc16}\n"
    )


def test_errors_are_reported_with_their_position(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "version: 1\n"
        "adapters:\n"
        "  ir0:\n"
        "    kind: ir_toy\n"
        "    port: /dev/ttyACM0\n"
        "    code: rc5\n"
        "    mapping: {by: address, table: {4: {address: 32}}}\n"
    )
    code, _, error = in_process("check", "bad.yaml", cwd=tmp_path)
    assert code == 3
    assert "9600 is slower than the infra-red code" in error
    assert "bad.yaml:7:" in error
    assert "32 is not a valid address of RC5; use 0 to 31" in error


def test_the_mock_lists_its_parameters(tmp_path: Path) -> None:
    code, listed, _ = in_process("mock", "ir_toy", "--list", cwd=tmp_path)
    assert code == 0
    assert re.search(r"^play +keys that a remote control", listed, re.MULTILINE)
    code, _, error = in_process("mock", "ir_toy", "--set", "play=nec:4", cwd=tmp_path)
    assert code == 2
    assert "'nec:4' is not NAME:ADDRESS:COMMAND" in error
