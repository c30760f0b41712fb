"""What the parts of a configuration are connected to: hardware, peers on TCP, or mocks instead."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hilgw.assemble.access import tls_of, token_check
from hilgw.config.model import Backend, GatewayConfig
from hilgw.config.queries import REAL_TIME, backend_of, is_local
from hilgw.discovery.ports import (
    describe_port,
    exists,
    port_identity,
    reset_notice,
    resolve_port,
    usb_ids,
)
from hilgw.engine.lines import Port
from hilgw.engine.listening import Listening
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.plugins import new_air
from hilgw.transports.serial.modem_lines import describe_modem_lines
from hilgw.transports.serial.port import open_serial
from hilgw.transports.serial.urls import kind_of
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.device import Connect, TcpClientDevice, TcpListenerDevice, TcpServerDevice
from hilgw.transports.tcp.in_process import InProcessNetwork
from hilgw.transports.tcp.listener import Listen, TcpListener
from hilgw.transports.tcp.stream import connect_tcp
from hilgw.transports.virtual.pipe import Pipe
from hilgw.transports.virtual.pty import VirtualPort

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.adapters.base import UsbId
    from hilgw.engine.gateway import Gateway
    from hilgw.settings import MockSpec
    from hilgw.transports.base import DeviceSide, LineSettings, Transport

    # Puts the mock of a part behind this device; returns what the user reads about it.
    PlaceMock = Callable[[DeviceSide], str]

LOOPBACK = "127.0.0.1"
RETRY_S = 1.0  # of a mock that connects


class Ports:
    """The ports of one configuration. All that opens or listens for a part is made here, so this
    is the one place that asks what stands behind the name of a part."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        self._config = config
        self._gateway = gateway
        self._listen: Listen = TcpListener
        self._connect: Connect = connect_tcp
        if config.speed != REAL_TIME:
            network = InProcessNetwork()
            self._listen, self._connect = network.listen, network.connect

    def is_mocked(self, name: str) -> bool:
        """name: a station, or ROBOT.controller, .body, .remote, .webots."""
        return backend_of(self._config, name).is_mocked

    # --- lines that hilgw opens -------------------------------------------------------------------

    def serial(
        self, name: str, port: str | UsbId, line: LineSettings, boot_s: float, mock: PlaceMock
    ) -> Port:
        """The serial port of a part."""
        where = describe_port(port)
        if not self.is_mocked(name):
            return self._real(port, where, line, boot_s)
        timer = self._gateway.timer
        in_memory = backend_of(self._config, name) is Backend.LOOPBACK
        if in_memory or self._config.speed != REAL_TIME:
            pipe = Pipe(timer, line, name=f"loopback:{name}")
            where += mock(pipe.device)
            return Port(
                where,
                lambda: pipe.open(line),
                lambda: id(pipe) if pipe.device.plugged else None,
                boot_s,
            )
        pty = VirtualPort(timer, baud_rate=line.baudRate, bits_per_byte=line.byteSize)
        where += mock(pty)
        return Port(
            where,
            lambda: open_serial(pty.path, line, timer, modem_lines=pty.set_modem_line),
            lambda: port_identity(pty.path),
            boot_s,
        )

    def _real(self, port: str | UsbId, where: str, line: LineSettings, boot_s: float) -> Port:
        """Its opening adds what is known about the reset of the board behind it."""
        timer, urls = self._gateway.timer, self._config.network_ports

        async def open_port() -> Transport:
            path = resolve_port(port)
            transport = await open_serial(path, line, timer, allow_urls=urls)
            notice = reset_notice(*usb_ids(path), boot_s=boot_s)
            if notice:
                transport.notices.append(notice)
            return transport

        return Port(where, open_port, lambda: exists(port), boot_s)

    def modem_lines(self, name: str, port: str | UsbId, line: LineSettings, boot_s: float) -> str:
        """What DTR and RTS will be when this port is opened; "" for a port without them."""
        if self.is_mocked(name):
            return ""
        if isinstance(port, str) and (kind_of(port, True) != "device" or _is_pty(port)):
            return ""
        wait = f"; {boot_s:g} s of silence for the board to start" if boot_s else ""
        return describe_modem_lines(line) + wait

    def tcp(
        self,
        name: str,
        url: str,
        mock: PlaceMock,
        *,
        retry_s: float | None = None,
        many: bool = False,
        limit: int = WRITE_LIMIT_BYTES,
    ) -> Port:
        """A peer that listens on this address. many: for several connections, as Webots does.
        limit: bytes that may wait."""
        if not self.is_mocked(name):
            host, number = parse_address(url)
            return Port(url, lambda: connect_tcp(host, number, limit=limit), retry_s=retry_s)
        device = (TcpListenerDevice if many else TcpServerDevice)(LOOPBACK, 0, self._listen)
        where = url + mock(device)

        async def open_port() -> Transport:
            return await self._connect(*await device.listen(), limit=limit)

        return Port(where, open_port, retry_s=retry_s)

    # --- connections that hilgw accepts -----------------------------------------------------------

    def listening(
        self,
        url: str,
        on_listening: Callable[[str, int], None] | None = None,
        *,
        mocked: bool,
        shared: bool = False,
        tokens: bool = False,
    ) -> Listening:
        """Where controllers connect. mocked: they are mocks. shared: maybe with a real controller,
        whose port it is. tokens: with one, controllers connect from other hosts."""
        host, number = parse_address(url)
        access, gateway = self._config.access, self._gateway
        remote = tokens and not is_local(url)
        return Listening(
            host,
            0 if shared else number,
            any_port=mocked,
            check_token=token_check(access, lambda: gateway.real_timer.now()) if remote else None,
            tls=tls_of(access) if remote else None,
            new_listener=self._listen if mocked else TcpListener,
            on_listening=on_listening,
        )

    # --- mocks ------------------------------------------------------------------------------------

    def host(self, name: str, spec: MockSpec, device: DeviceSide) -> str:
        """Runs a mock in an air of its own behind this device; returns a word about it."""
        host = MockHost(self._gateway.timer, new_air())
        self._gateway.hosts.append(host)
        host.add(create_mock(spec.name, name, host.air, spec.parameters), device)
        return f" (mock {spec.name})"

    def client(
        self, name: str, spec: MockSpec, connect: Connect | None = None
    ) -> Callable[[str, int], None]:
        """Runs a mock that connects to the address where hilgw listens. connect: how."""
        device = TcpClientDevice(RETRY_S, connect or self._connect)
        self.host(name, spec, device)
        return device.aim


def _is_pty(path: str) -> bool:
    if os.name != "posix":
        return False
    from hilgw.transports.serial import tty

    return tty.is_pseudo_terminal_path(path)
