"""Connections that use all descriptors of an ordinary program keep no other client waiting."""

from pathlib import Path
from urllib.request import urlopen

import pytest

from hilgw.testing.sim import DEADLINE_S
from tests.e2e.running import HOST, XBEE, Gateway, free_port
from tests.e2e.slow_clients import MANY, limit_descriptors, slow_clients


@pytest.mark.process
def test_the_metrics_are_there_whatever_slow_clients_do(tmp_path: Path) -> None:
    port = free_port()
    options = ["--config", XBEE, "--backend", "mock", "--metrics", f"{HOST}:{port}"]
    with Gateway(tmp_path, options) as gateway:
        limit_descriptors(gateway.process.pid)
        with slow_clients(port, MANY, HOST):
            with urlopen(f"http://{HOST}:{port}/metrics", timeout=DEADLINE_S) as answer:
                assert b"hilgw_info" in answer.read()
