"""Programs beside a running gateway: `Gateway` is what scripts and notebooks use."""

from hilgw.client.gateway import Gateway, Values

__all__ = ["Gateway", "Values"]
