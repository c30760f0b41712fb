"""Client programs of a running gateway: `Gateway` is for scripts and notebooks."""

from hilgw.client.gateway import Gateway, Values

__all__ = ["Gateway", "Values"]
