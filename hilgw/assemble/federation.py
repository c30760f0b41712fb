"""The federation of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.config.scene import air_of
from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.assemble.ports import Ports
    from hilgw.config.model import FederationConfig
    from hilgw.medium.airs import Airs


def add_federation(ports: Ports, federation: FederationConfig, airs: Airs) -> None:
    """Add the federation to the ports of the gateway.

    Raises:
      ConfigError: Eclipse Zenoh is missing, or refuses a setting.
    """
    try:
        import zenoh  # noqa: F401 - whether it is installed
    except ModuleNotFoundError:
        fix = "pip install 'hilgw[zenoh]'"
        raise ConfigError("needs Eclipse Zenoh", where="federation", fix=fix) from None
    from hilgw.federation.federation import Federation
    from hilgw.federation.network import NAME
    from hilgw.federation.settings import zenoh_settings
    from hilgw.federation.shared_airs import SharedAirs

    local = [
        name
        for name, adapter in ports.config.adapters.items()
        if not adapter.common.air and air_of(adapter, name) == name
    ]
    shared = SharedAirs(airs, federation.name, local, ports.gateway.real_timer.now)
    made = Federation(federation, zenoh_settings(federation), ports.gateway, shared)
    ports.gateway.join(made)
    name, network = federation.name, federation.network
    ports.describe(NAME, f"{name} in {network}, {federation.mode}: {made.where}")
