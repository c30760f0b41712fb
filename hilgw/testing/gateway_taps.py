"""Where the frames of a gateway under test are logged: at its stations, and at its mocks."""

from __future__ import annotations

from typing import Any

from hilgw.engine.gateway import Gateway
from hilgw.testing.frames import (
    TO_DEVICE,
    FrameLog,
    TappedSession,
    tap,
    words_of_mock,
)
from hilgw.transports.base import DeviceSide


def tap_gateway(gateway: Gateway, name: str, logs: list[FrameLog]) -> list[TappedSession]:
    """Logs every port of a gateway that does not run yet; the stations' sessions, tapped."""
    behind: dict[str, tuple[Any, DeviceSide]] = {}
    for host in gateway.hosts:
        for mock in host.mocks:
            device = host.device_of(mock)
            if device is not None:
                behind[mock.name] = (mock, device)
    tapped = []
    for station in gateway.stations.values():
        place = gateway.supervisors[station.name].place
        words = station.session.describe
        log = FrameLog(f"{name}, {station.name}, {place}", lambda w=words: w)  # type: ignore[misc]
        logs.append(log)
        _, device = behind.pop(station.name, (None, None))
        if device is not None:
            tap(device, log, only_writes=True)
        station.session = session = TappedSession(station.session, log, hears=device is None)
        tapped.append(session)
    for mock, device in behind.values():
        kind = type(mock).__module__.split(".")[1:2]
        log = FrameLog(f"{name}, {mock.name}, {device.path}", _words_of(kind))
        logs.append(log)
        tap(device, log, only_writes=True)
        _tap_input(mock, log)
    return tapped


def _words_of(kind: list[str]) -> Any:
    return lambda: words_of_mock(kind[0], {}) if kind else None


def _tap_input(mock: Any, log: FrameLog) -> None:
    """What a mock gets from its client; its port is open already."""
    receive = mock.receive

    def logged(data: bytes, now: int) -> None:
        log.add(TO_DEVICE, data, whole=False)
        receive(data, now)

    mock.receive = logged
