"""Gateways for tests: run in the background, waited for, asked, and stopped behind the test."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hilgw.config.build import build
from hilgw.config.load import load_config, load_text
from hilgw.config.model import AirConfig, GatewayConfig
from hilgw.config.plugins import ADAPTERS, load
from hilgw.config.stand_ins import air_of
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.errors import PeerError, UsageError
from hilgw.testing.frames import TappedSession
from hilgw.testing.gateway_taps import tap_gateway
from hilgw.testing.mocks import AirOfTest, MockHandle
from hilgw.testing.watcher import Passed, Watcher

if TYPE_CHECKING:
    from hilgw.testing.bench import Bench

__tracebackhide__ = True  # a failure is shown in the test

READY_S = 20.0
WAIT_S = 10.0
STOP_S = 5.0
LOOK_S = 0.1  # a condition of the test's own may change without news


class RunningGateway:
    """A gateway under test. Times out with PeerError, which says what came instead."""

    def __init__(self, bench: Bench, name: str, config: GatewayConfig) -> None:
        self._bench = bench
        self.name = name
        self.config = config
        self._watcher = Watcher()
        self._ready = False
        self._stop: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self._last_report: dict[str, Any] = {}
        self._taps: list[TappedSession] = []
        self._gateway: Gateway = bench.thread.run(self._begin())

    async def _begin(self) -> Gateway:
        gateway = build(self.config, asyncio.get_running_loop(), self._watcher)
        self._taps = tap_gateway(gateway, self.name, self._bench.logs)
        self._stop = asyncio.Event()
        gateway.on_ready = self._now_ready
        self._task = asyncio.create_task(self._run(gateway))
        return gateway

    async def _run(self, gateway: Gateway) -> None:
        assert self._stop is not None
        try:
            await gateway.run(self._stop)
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            self._error = error
        finally:
            self._last_report = gateway.report()
            gateway.close()
            self._watcher.wake()

    def _now_ready(self) -> None:
        self._ready = True
        self._watcher.wake()

    # --- for tests --------------------------------------------------------------------------------

    def wait_until_ready(self, timeout_s: float = READY_S) -> None:
        """All ports are up. Raises what ended the gateway, or PeerError."""
        self._wait(lambda: self._ready, timeout_s, "ready", self._ports_in_words)

    def send(self, station: str, data: bytes, channel: int | None = None) -> str | None:
        """A packet out of a robot's Emitter ("rover.tx") or through an adapter ("xbee0"). None:
        it was queued; else the reason why not. HilgwError: there is no such station."""
        return self._bench.thread.call(self._gateway.send, station, bytes(data), channel)

    def wait_for(
        self,
        what: bytes | re.Pattern[bytes] | Callable[[], Any],
        *,
        source: str | None = None,
        listener: str | None = None,
        channel: int | None = None,
        timeout_s: float = WAIT_S,
    ) -> Any:
        """Waits for a packet on the medium: with these bytes, or that the pattern matches; from
        `source`, heard by `listener`, on `channel`, where they are given. Each packet is found
        once. Of a function: until it gives something true, looked at whenever something happens.
        """
        if callable(what):
            return self._wait(what, timeout_s, str(what), self._packets_in_words)

        def fits(passed: Passed) -> bool:
            return (
                _matches(what, passed.data)
                and source in (None, passed.source)
                and (listener is None or listener in passed.listeners)
                and channel in (None, passed.channel)
            )

        names = {"source": source, "listener": listener, "channel": channel}
        more = "".join(f", {key} {value}" for key, value in names.items() if value is not None)
        wanted = f"packet {what!r}{more}"
        take = self._watcher.take
        return self._wait(lambda: take(fits), timeout_s, wanted, self._packets_in_words)

    def report(self) -> dict[str, Any]:
        """As `--report` writes it; of a gateway that has ended, its last one."""
        if self._task is None or self._task.done():
            return self._last_report
        return self._bench.thread.call(self._gateway.report)

    def state(self, station: str) -> str:
        """Of a port: "up", "waiting", "stalled" ..."""
        return str(self._watcher.states.get(station, State.CLOSED))

    def air(self, name: str) -> AirOfTest:
        """The mocked air this adapter or node is in, for `firmware_mock("xbee", air=...)`."""
        return AirOfTest(self._bench, self._host_of(name)[0])

    def mock(self, name: str) -> MockHandle:
        """The mock behind an adapter, or a node: `unplug`, `plug`, `reset`, `stall`, `set`."""
        host, mock = self._host_of(name)
        air = AirOfTest(self._bench, host)
        return MockHandle(self._bench, air, mock, host.device_of(mock))

    def stop(self) -> dict[str, Any]:
        """Ends it; its report."""
        task, stop = self._task, self._stop
        if task is not None and stop is not None and not task.done():

            async def end() -> None:
                stop.set()
                await asyncio.wait([task], timeout=STOP_S)

            self._bench.thread.run(end())
        return self._last_report

    def flush(self) -> None:
        """What was received and made no event yet is logged, too."""
        for tapped in self._taps:
            tapped.flush()

    def transcript(self) -> str:
        """What it said last: states, refusals, notices."""
        return "\n".join(self._watcher.last_said())

    # --- inside -----------------------------------------------------------------------------------

    def _host_of(self, name: str) -> tuple[Any, Any]:
        for host in self._gateway.hosts:
            for mock in host.mocks:
                if mock.name == name:
                    return host, mock
        known = [mock.name for host in self._gateway.hosts for mock in host.mocks]
        raise UsageError(f"no mock {name!r} in this gateway", fix=f"mocks: {', '.join(known)}")

    def _wait(
        self,
        holds: Callable[[], Any],
        timeout_s: float,
        what: str,
        instead: Callable[[], str],
    ) -> Any:
        end = time.monotonic() + timeout_s
        while True:
            seen = self._watcher.count
            if found := holds():
                return found
            if self._error is not None:
                raise self._error
            if self._task is not None and self._task.done():
                raise PeerError(f"the gateway has ended; no {what}", where=self.name)
            left = end - time.monotonic()
            if left <= 0:
                said = f"not within {timeout_s:g} s: {what}; {instead()}"
                raise PeerError(said, where=self.name)
            self._watcher.wait(seen, min(left, LOOK_S))

    def _packets_in_words(self) -> str:
        last = [f"{p.source} {p.data!r:.60}" for p in self._watcher.last_packets(5)]
        return f"the last packets: {', '.join(last) or 'none'}"

    def _ports_in_words(self) -> str:
        states = [f"{name} {state}" for name, state in self._watcher.states.items()]
        return f"ports: {', '.join(states) or 'none'}; last: {self.transcript()[-200:]}"


class Gateways:
    """The fixture `gateway`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.running: list[RunningGateway] = []

    def __call__(
        self,
        config: str | Path | Mapping[str, Any],
        *,
        backend: str | None = "mock",
        seed: int | None = None,
        overrides: Sequence[str] = (),
        ready: bool = True,
        timeout_s: float = READY_S,
    ) -> RunningGateway:
        """A running gateway; all its ports are up when this returns, unless ready is False.

        config: a path, the text of a file (more than one line), or its data. backend: over the
        file's; None: as the file says. seed: of the medium and of all mocked airs. overrides:
        KEY.KEY=VALUE each. Raises what `hilgw check` would say.
        """
        loaded = _load(config, overrides, backend)
        if seed is not None:
            loaded = _seeded(loaded, seed)
        name = f"gateway {len(self.running) + 1}" if self.running else "gateway"
        running = RunningGateway(self._bench, name, loaded)
        self.running.append(running)
        if ready:
            running.wait_until_ready(timeout_s)
        return running


class _NoAliases(yaml.SafeDumper):
    """Writes what occurs twice twice: the configuration knows no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _load(
    config: str | Path | Mapping[str, Any], overrides: Sequence[str], backend: str | None
) -> GatewayConfig:
    if isinstance(config, Mapping):
        text = yaml.dump({"version": 1, **config}, Dumper=_NoAliases, sort_keys=False)
        return load_text(text, "config", overrides, backend).config
    if isinstance(config, str) and "\n" in config:
        return load_text(config, "config", overrides, backend).config
    return load_config(str(config), overrides, backend).config


def _seeded(config: GatewayConfig, seed: int) -> GatewayConfig:
    """The same with all chance drawn from this seed."""
    names = {air_of(each, load(ADAPTERS, each.kind), at) for at, each in config.adapters.items()}
    airs = {name: AirConfig() for name in names} | config.airs
    return replace(
        config,
        medium=replace(config.medium, seed=seed),
        airs={name: replace(air, seed=seed) for name, air in airs.items()},
    )


def _matches(what: bytes | re.Pattern[bytes], data: bytes) -> bool:
    return what == data if isinstance(what, bytes) else what.search(data) is not None
