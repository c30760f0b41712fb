"""The gateway robot over real TCP: hilgw beside a simulator in a process of its own."""

from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, Gateway, free_port

CONFIG = """\
version: 1
robots:
  gateway:
    devices: {{tx: {{node: Emitter, channel: 12}}}}
    body:
      kind: webots
      connect: "tcp://{host}:{port}"
      robot: gateway
      to_medium: {{receiver: tx}}
  ear:
    devices: {{rx: {{node: Receiver, channel: 12, sampling_period_ms: 1}}}}
"""


def simulator(folder: Path, port: int) -> Gateway:
    given = {
        "robots": "gateway,rover",
        "devices": "receiver:Receiver channel=12, emitter:Emitter channel=12",
        "synchronization": "no",
        "scripts": "rover: send emitter ping; step 32 x 3",
    }
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return Gateway(folder, ["mock", "webots-simulator", "--listen", f"{HOST}:{port}", *options])


def test_it_waits_for_webots_and_returns_when_webots_starts_again(tmp_path: Path) -> None:
    port = free_port()
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG.format(host=HOST, port=port))
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with Gateway(tmp_path, ["--config", str(path)], ready=False) as gateway:
        wait_until(lambda: "waiting" in gateway.text(), what="no Webots yet")
        for number, folder in enumerate(folders, 1):
            with simulator(folder, port):
                connected = "up: robot 'gateway' in Webots R2025a"
                wait_until(lambda: gateway.text().count(connected) == number, what="connection")  # noqa: B023
                seen = gateway.text().count('"ping" 4 B  -> ear.rx')
                wait_until(lambda: gateway.text().count('"ping"') > seen, what="a packet")  # noqa: B023
            wait_until(lambda: gateway.text().count("waiting:") > number, what="its end")  # noqa: B023
