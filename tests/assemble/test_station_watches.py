"""Packets that no board answers, of the kinds of hardware as they are configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from hilgw.cli.main import main

FILE = """
version: 1
backend: mock
robots:
  rover:
    position: [0, 0, 0]
    devices:
      tx: {{node: Emitter, type: {type}, channel: 12}}
      {receiver}
    controller: {{kind: beacon, emitter: tx, period_ms: 500}}
adapters:
  board: {{kind: {kind}, port: /dev/ttyUSB0, channel: 12, position: [1, 0, 0]{more}}}
"""
RECEIVER = "rx: {{node: Receiver, type: {type}, channel: 12}}"
SILENT = ", framing: slip, mock: {mode: silent}"


def output_of(tmp_path: Path, capsys: pytest.CaptureFixture[str], **words: str) -> str:
    words = {"type": "serial", "kind": "uart", "more": SILENT, "receiver": RECEIVER} | words
    words["receiver"] = words["receiver"].format(type=words["type"])
    file = tmp_path / "silent.yaml"
    file.write_text(FILE.format(**words))
    arguments = ["--speed", "max", "--duration", "9s", "--control", str(tmp_path / "control")]
    assert main(["-c", str(file), *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_board_that_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output_of(tmp_path, capsys)
    line = (
        "board 10 packets out in 5 s, and nothing came back; check the baud rate (9600), the "
        "framing (slip), and that TX goes to RX"
    )
    assert text.count(line) == 1


@pytest.mark.parametrize(
    "receiver", ["", "rx: {{node: Receiver, type: {type}, channel: 3}}"], ids=["none", "other"]
)
def test_where_no_receiver_listens_silence_is_usual(
    receiver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "came back" not in output_of(tmp_path, capsys, receiver=receiver)


def test_a_board_that_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "came back" not in output_of(tmp_path, capsys, more="")


def test_a_radio_that_no_other_answers_and_its_handshake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output_of(tmp_path, capsys, type="radio", kind="xbee", more="")
    assert "nothing came back; check that both modules have one channel (CH), one PAN ID" in text
    assert "waits for board (" in text
