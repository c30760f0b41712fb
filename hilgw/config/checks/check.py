"""All checks that span several parts of a configuration; they run on what passed validation.

Errors are added to the document's problems; legal but doubtful settings get a warning.
"""

from __future__ import annotations

from hilgw.config.checks import control_loops
from hilgw.config.checks.access import check_files
from hilgw.config.checks.backends import check_own_backends, check_real
from hilgw.config.checks.mocks import check_nodes
from hilgw.config.checks.modes import check_modes
from hilgw.config.checks.names import check_names, check_references
from hilgw.config.checks.parts import check_adapters, check_devices, check_parts
from hilgw.config.checks.ports import check_ports
from hilgw.config.checks.programs import check_programs, check_restarts
from hilgw.config.checks.proxies import check_proxies
from hilgw.config.checks.reach import check_reach
from hilgw.config.checks.speed import check_speed
from hilgw.config.context import Context, Inspection
from hilgw.config.scene import check_scene
from hilgw.config.source.document import Document
from hilgw.config.source.positions import Diagnostic


def check(document: Document, context: Context) -> list[Diagnostic]:
    """Adds errors to the document's problems; returns the warnings."""
    inspection = Inspection(document, context)
    check_references(inspection)
    check_real(inspection)
    check_own_backends(inspection)
    check_devices(inspection)
    check_parts(inspection)
    check_adapters(inspection)
    check_ports(inspection)
    check_names(inspection)
    check_nodes(inspection)
    check_scene(inspection)
    check_speed(inspection)
    control_loops.check_listeners(inspection)
    check_programs(inspection)
    check_restarts(inspection)
    check_modes(inspection, control_loops.webots_version(inspection))
    control_loops.check_peers(inspection)
    control_loops.check_addresses(inspection)
    check_proxies(inspection)
    control_loops.check_proxy_mocks(inspection)
    control_loops.check_device_users(inspection)
    control_loops.check_forwarding(inspection)
    check_files(inspection)
    if not document.problems:
        check_reach(inspection)
    return inspection.warnings
