"""Two gateways behind a slow network: what their status shows of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, free_port, run
from tests.federation.slow_link import slow_link

SIMULATOR = """version: 1
federation: {{name: sim, network: slow, listen: ["tcp/127.0.0.1:{port}"]}}
robots:
  rover:
    devices: {{tx: {{node: Emitter, type: radio, channel: 1, bufferSize: -1}}}}
    controller: {{kind: beacon, emitter: tx, period_ms: 10, payload: "{payload}"}}
"""
BENCH = """version: 1
federation: {{name: bench, network: slow, connect: ["tcp/127.0.0.1:{port}"]}}
robots:
  other:
    devices:
      tx: {{node: Emitter, type: radio, channel: 9}}
      rx: {{node: Receiver, type: radio, channel: 1, bufferSize: -1}}
    controller: {{kind: beacon, emitter: tx, receiver: rx, period_ms: 60000}}
"""


@pytest.mark.process
@pytest.mark.wall_clock("the rate of a network is of real time")
@pytest.mark.parametrize(("rate", "is_full"), [(20_000, True), (0, False)])
def test_the_end_of_a_full_link_names_it_and_its_rate(
    tmp_path: Path, rate: float, is_full: bool
) -> None:
    """100 kB/s are offered to a link of 20 kB/s."""
    pytest.importorskip("zenoh")
    server = free_port()

    def link(bench: Gateway) -> dict[str, Any]:
        gateways = bench.ask("status")["status"]["federation"]["gateways"]
        found: dict[str, Any] = gateways.get("sim", {"state": "", "reason": "", "received": 0})
        return found

    def shown() -> dict[str, Any]:
        done = run("status", "--json", "--config", "bench.yaml", cwd=tmp_path / "bench")
        found: dict[str, Any] = json.loads(done.stdout)[0]["federation"]["gateways"]["sim"]
        return found

    with slow_link(server, 0.02, rate=rate) as port:
        simulator = SIMULATOR.format(port=server, payload=1000 * "x")
        for name, text in (("sim", simulator), ("bench", BENCH.format(port=port))):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"{name}.yaml").write_text(text)
        with (
            Gateway(tmp_path / "sim", ["--config", "sim.yaml", "--quiet"]),
            Gateway(tmp_path / "bench", ["--config", "bench.yaml", "--quiet"]) as bench,
        ):
            if is_full:
                wait_until(lambda: "the link is full, or it hangs" in link(bench)["reason"])
                come = re.search(r"([\d.]+) kB/s come", shown()["reason"])
                assert come is not None and 2 < float(come[1]) < 40
            else:
                wait_until(lambda: link(bench)["received"] > 400)
                assert (shown()["state"], shown()["reason"]) == ("up", "")
