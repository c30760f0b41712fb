"""One part is mocked by its own back end beside a part with a real port."""

import os
import tty
from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway

FILE = """\
version: 1
robots:
  rover:
    devices: {{tx: {{node: Emitter, type: serial, channel: 5}}}}
    controller: {{kind: beacon, emitter: tx, period_ms: 100}}
adapters:
  wire: {{kind: uart, port: {port}, channel: 5, framing: lines}}
  radio: {{kind: hc12, port: /dev/serial/by-id/not-here, channel: 12, backend: mock}}
"""


def test_a_mocked_module_beside_a_real_port(tmp_path: Path) -> None:
    near, far = os.openpty()
    try:
        tty.setraw(far)
        port = os.ttyname(far)
        file = tmp_path / "lab.yaml"
        file.write_text(FILE.format(port=port))
        with Gateway(tmp_path, ["--config", str(file)]) as gateway:
            wait_until(lambda: "up: HC-12" in gateway.text(), what="the mocked module")
            assert f"wire         uart: {port}, 9600 baud" in gateway.text()
            assert "radio        hc12: /dev/serial/by-id/not-here (mock hc12)" in gateway.text()
            assert os.read(near, 7) == b"ping 1\n"
    finally:
        os.close(near)
        os.close(far)
