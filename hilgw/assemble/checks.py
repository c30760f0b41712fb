"""Checks of a configuration by a room that the configuration does not know."""

from importlib.util import find_spec

from hilgw.config.context import Inspection


def check_zenoh(inspection: Inspection) -> None:
    """Report the settings of a federation that Eclipse Zenoh refuses, where it is installed."""
    if any(made.zenoh for _, made in inspection.made("federation")) and find_spec("zenoh"):
        from hilgw.federation.settings import check_settings

        check_settings(inspection)
