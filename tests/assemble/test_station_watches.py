"""Packets that no board answers, of the kinds of hardware as they are configured."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.cli.main import main
from hilgw.config.load import load_text
from hilgw.errors import PortError
from hilgw.testing.sim import Clock, Recorder, SimEventLoop

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
  board: {{kind: {kind}, port: /dev/ttyUSB0, channel: 12, position: [1, 0, 0]{more}}}{node}
"""
RECEIVER = "rx: {{node: Receiver, type: {type}, channel: 12}}"
SILENT = ", framing: slip, mock: {mode: silent}"


def output_of(tmp_path: Path, capsys: pytest.CaptureFixture[str], **words: str) -> str:
    words = {
        "type": "serial",
        "kind": "uart",
        "more": SILENT,
        "receiver": RECEIVER,
        "node": "",
    } | words
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


def test_a_radio_whose_packets_no_module_acknowledges_needs_no_receiver(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ', mapping: {by: destination, table: {12: "0013A20041FFFFFF"}}'
    words = {"type": "radio", "kind": "xbee", "receiver": ""}
    text = output_of(tmp_path, capsys, more=more, **words)
    assert text.count("none was acknowledged; check that both modules have one channel (CH)") == 1
    node = "\nairs: {lab: {nodes: {other: {mock: xbee, address: '0013A20041FFFFFF'}}}}"
    assert "none was" not in output_of(
        tmp_path, capsys, more=f"{more}, air: lab", node=node, **words
    )
    words.pop("receiver")
    text = output_of(tmp_path, capsys, more=f"{more}, air: lab", node=node, **words)
    assert "came back" not in text  # each acknowledgement did


def test_packets_for_a_port_that_never_opens() -> None:
    """They wait, are named again and again, and count as neither sent nor delivered."""
    words = {"type": "serial", "kind": "uart", "more": "", "receiver": "", "node": ""}
    config = load_text(FILE.format(**words), "f", (), "loopback").config
    clock, log = Clock(), Recorder()

    def broken(name: str, line: object) -> None:
        raise PortError("no such device", reason=PortError.ABSENT, where=name)

    async def run() -> Any:
        gateway = build(config, asyncio.get_running_loop(), log, timer=clock)
        gateway.lines.wrappings.append(broken)  # type: ignore[arg-type]
        with pytest.raises(PortError, match="no such device"):  # the end of the run
            await gateway.run(asyncio.Event(), 25)
        gateway.close()
        return gateway.report()

    with asyncio.Runner(loop_factory=lambda: SimEventLoop(clock)) as runner:
        report = runner.run(run())
    waits = [text for text in log.notices if "waits for its port" in text]
    assert len(waits) == 3 and all("sent 0: waits for its port (" in text for text in waits)
    assert waits[0].startswith("queued ") and waits[0] < waits[2]
    board = report["stations"]["board"]
    assert (board["delivered"], board["accepted"]) == (0, 51)  # the last at the end
    assert report["ports"]["board"]["opened"] == 0
