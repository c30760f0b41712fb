"""The pytest plugin: fixtures for tests of firmware and of robots, without hardware.

virtual_port    a serial port whose other end is the test
firmware_mock   a mock on such a port: firmware_mock("xbee", channel=12).port
firmware        an ELF file on an emulated board: firmware("build/node.elf", machine="uno").port
air             the air that radio mocks share
gateway         a running gateway: gateway("my.yaml").wait_for(b"pong"); gateway.replay(FILE)

The fixtures close everything at the end of the test. The report of a failed test has the last
frames of each port, and the command that shows a recording of it. docs/testing.md has the details;
imports wait until a fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hilgw.testing.fixtures.bench import Bench
    from hilgw.testing.fixtures.firmware import Firmware
    from hilgw.testing.fixtures.gateways import Gateways
    from hilgw.testing.fixtures.ports import AirOfTest, FirmwareMocks, VirtualPorts

_BENCH = pytest.StashKey["Bench"]()


@pytest.fixture
def hilgw_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """Return the base of the other fixtures: one event loop in its own thread."""
    from hilgw.testing.fixtures.bench import Bench

    folder = partial(tmp_path_factory.mktemp, "hilgw")
    bench = Bench(folder, concurrent="PYTEST_XDIST_WORKER" in os.environ)
    request.node.stash[_BENCH] = bench
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def virtual_port(hilgw_bench: Bench) -> VirtualPorts:
    """Create serial ports for the program under test.

    `port = virtual_port(baudRate=9600)`, then `port.path`, `port.read(4)`, `port.write(b"..")`;
    `virtual_port.pair()` creates two connected ports.
    """
    return hilgw_bench.virtual_ports


@pytest.fixture
def firmware_mock(hilgw_bench: Bench) -> FirmwareMocks:
    """Create mocks on virtual ports: `firmware_mock("xbee", channel=12).port`."""
    return hilgw_bench.firmware_mocks


@pytest.fixture
def firmware(hilgw_bench: Bench) -> Firmware:
    """Start firmware on emulated boards: `firmware("build/node.elf", machine="uno").port`."""
    from hilgw.testing.fixtures.firmware import Firmware

    return Firmware(hilgw_bench.firmware_mocks)


@pytest.fixture
def air(hilgw_bench: Bench) -> AirOfTest:
    """Return the default air of radio mocks; `air(seed=3, loss=0.1)` creates another one."""
    return hilgw_bench.air


@pytest.fixture
def gateway(hilgw_bench: Bench) -> Gateways:
    """Start gateways: `gateway("my.yaml")`, ready when the call returns."""
    return hilgw_bench.gateways


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and report.when != "teardown" and _BENCH in item.stash:
        for title, text in item.stash[_BENCH].transcript():
            match report.longrepr:
                case object(addsection=add):  # of the error: --junitxml has them, too
                    add(title, text)
                case _:
                    report.sections.append((title, text))
    return report
