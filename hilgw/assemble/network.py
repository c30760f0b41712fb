"""Network ports: peers, controllers that connect, or mocks instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.assemble.ports import PlaceMock, Ports
from hilgw.config.model import AccessConfig, GatewayConfig
from hilgw.config.queries import REAL_TIME, is_local, is_mocked
from hilgw.engine.lines import Port
from hilgw.engine.listening import Listening
from hilgw.settings import MockSpec
from hilgw.transports.base import Transport
from hilgw.transports.stream import WRITE_LIMIT_BYTES
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.device import Connect, TcpClientDevice, TcpListenerDevice, TcpServerDevice
from hilgw.transports.tcp.listener import Listen, TcpListener
from hilgw.transports.tcp.stream import connect_tcp

if TYPE_CHECKING:
    import ssl

    from hilgw.engine.gateway import Gateway
    from hilgw.security.access import TokenCheck

LOOPBACK = "127.0.0.1"
RETRY_S = 1.0  # of a mock that connects


class NetworkPorts(Ports):
    """The ports of one configuration, those on TCP included."""

    def __init__(self, config: GatewayConfig, gateway: Gateway) -> None:
        super().__init__(config, gateway)
        self._listen: Listen = TcpListener
        self._connect: Connect = connect_tcp
        if config.speed != REAL_TIME:
            from hilgw.transports.tcp.in_process import InProcessNetwork

            network = InProcessNetwork()
            self._listen, self._connect = network.listen, network.connect

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
        """Return the port of a peer that listens on this address.

        With `many` it accepts several connections, as Webots does. `limit` is the number of bytes
        that may wait.
        """
        if not is_mocked(self.config, name):
            host, number = parse_address(url)
            return Port(url, lambda: connect_tcp(host, number, limit=limit), retry_s=retry_s)
        device = (TcpListenerDevice if many else TcpServerDevice)(LOOPBACK, 0, self._listen)
        where = url + (self.replays.place(name) or mock)(device)

        async def open_port() -> Transport:
            return await self._connect(*await device.listen(), limit=limit)

        return Port(where, open_port, retry_s=retry_s)

    # --- connections that hilgw accepts -----------------------------------------------------------

    def listening(
        self,
        url: str,
        aims: Sequence[Callable[[str, int], None]] = (),
        *,
        mocked: bool,
        shared: bool = False,
        tokens: bool = False,
        role: str = "drive",
    ) -> Listening:
        """Return the address on which controllers are accepted.

        The controllers are `mocked`, maybe `shared` with a real controller, whose port it is. With
        `tokens` of `role`, they may connect from other hosts.
        """
        host, number = parse_address(url)
        access, gateway = self.config.access, self.gateway
        remote = tokens and not is_local(url)
        made = Listening(
            host,
            0 if shared else number,
            any_port=mocked,
            check_token=_token_check(access, role, lambda: gateway.real_timer.now())
            if remote
            else None,
            tls=_tls_of(access) if remote else None,
            new_listener=self._listen if mocked else TcpListener,
            aims=aims,
        )
        gateway.listening.append(made)
        return made

    def client(
        self, name: str, spec: MockSpec, connect: Connect | None = None
    ) -> tuple[str, Callable[[str, int], None]]:
        """Run a mock of the controller of this name, which connects with `connect`.

        Returns:
            The description for the user, and a function that passes it the address where hilgw
            listens.
        """
        device = TcpClientDevice(RETRY_S, connect or self._connect)
        replayed = self.replays.place(f"{name}.controller" if "." not in name else name)
        replayed(device) if replayed else self.host(name, spec, device)
        return f" (mock {spec.name})", device.aim


def _token_check(config: AccessConfig, role: str, now: Callable[[], int]) -> TokenCheck:
    """Return the token check of a listener whose clients need this role.

    Without tokens the certificate of a client is enough. `now` is real time. Raises ConfigError.
    """
    from hilgw.security.access import Access, TokenCheck, read_token

    access = Access(
        (name, token.role, read_token(Path(token.file))) for name, token in config.tokens.items()
    )
    certified = config.tls is not None and config.tls.clients is not None
    return TokenCheck(access, role, now, no_token=role if certified and not config.tokens else None)


def _tls_of(config: AccessConfig) -> ssl.SSLContext | None:
    tls = config.tls
    if tls is None:
        return None
    from hilgw.security.access import server_context

    others = (None if name is None else Path(name) for name in (tls.key, tls.clients))
    return server_context(Path(tls.certificate), *others)
