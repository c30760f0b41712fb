"""Checks that span several parts of a configuration; they run on the parts that passed validation.

Errors are added to the document's problems; legal but doubtful settings get a warning.
"""

from hilgw.config import replays
from hilgw.config.checks import backends, control_loops, names, network, parts
from hilgw.config.context import Context, Inspection
from hilgw.config.scene import check_scene
from hilgw.config.source.document import Document
from hilgw.config.source.text import Diagnostic

# A value with an error gets no second one: that of the first check in this order is reported.
IN_ORDER = (
    names.check_named_files,
    names.check_references,
    backends.check_real,
    backends.check_own_backends,
    replays.check_replays,
    parts.check_devices,
    parts.check_parts,
    parts.check_adapters,
    parts.check_switch,
    parts.check_ports,
    names.check_names,
    parts.check_nodes,
    check_scene,
    backends.check_speed,
    control_loops.check_listeners,
    control_loops.check_programs,
    control_loops.check_restarts,
    control_loops.check_modes,
    control_loops.check_peers,
    control_loops.check_addresses,
    control_loops.check_proxies,
    control_loops.check_proxy_mocks,
    control_loops.check_device_users,
    control_loops.check_forwarding,
    names.check_group,
    network.check_files,
    network.check_metrics,
    network.check_federation,
)


def check(document: Document, context: Context) -> list[Diagnostic]:
    """Add errors to the document's problems; return the warnings."""
    inspection = Inspection(document, context)
    for run_check in IN_ORDER:
        run_check(inspection)
    if not document.problems and inspection.get("federation") is None:  # others may have more
        names.check_reach(inspection)
    return inspection.warnings
