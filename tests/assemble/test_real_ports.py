"""What the head of a run reports about real serial ports."""

import asyncio

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.engine.observer import Observer

CONFIG = """
version: 1
network_ports: true
robots:
  cab:
    devices:
      tx: {node: Emitter, type: serial, channel: 1}
      rx: {node: Receiver, type: serial, channel: 2}
    body: {kind: wc2ec, port: /dev/ttyABSENT1, boot_s: 1.5}
    controller: {kind: beacon, emitter: tx, receiver: rx, period_ms: 100, payload: hi}
adapters:
  uno: {kind: uart, port: /dev/ttyABSENT0, channel: 1, boot_s: 2, dtr: false}
  net: {kind: uart, port: "socket://127.0.0.1:9", channel: 2}
"""


def head(config: str) -> list[str]:
    async def main() -> list[str]:
        gateway = build(load_text(config, "f").config, asyncio.get_running_loop(), Observer())
        lines = list(gateway.description)
        gateway.close()
        return lines

    return asyncio.run(main())


@pytest.mark.skipif("sys.platform != 'linux'")
def test_dtr_and_rts_are_reported_at_the_start_for_ports_that_have_them() -> None:
    lines = [line for line in head(CONFIG) if "DTR" in line]
    assert lines == [
        "  uno          DTR off after a pulse at opening, RTS on: Linux raises them at opening; "
        "2 s of silence for the board to start",
        "  cab          body: DTR on, RTS on: Linux raises them at opening; "
        "1.5 s of silence for the board to start",
    ]


def test_a_mock_has_no_modem_lines() -> None:
    assert not [line for line in head(CONFIG + "backend: loopback\n") if "DTR" in line]
