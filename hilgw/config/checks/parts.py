"""Checks of each device, controller, body and adapter by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hilgw import plugins
from hilgw.adapters.declaration import line_of, near_rate
from hilgw.config.checks.mocks import check_mock, needs_mock
from hilgw.config.context import Inspection
from hilgw.config.model import AdapterConfig, PartConfig
from hilgw.config.queries import bodies
from hilgw.config.source.positions import Path
from hilgw.devices.fields import normalise
from hilgw.devices.properties import NodeFields
from hilgw.errors import ConfigError
from hilgw.settings import Problem


def check_devices(inspection: Inspection) -> None:
    """The rules that span the fields of one device."""
    for path, fields in inspection.made("robots", None, "devices", None):
        if isinstance(fields, NodeFields):
            continue
        try:
            notes = normalise(fields)[1]
        except ConfigError as error:
            inspection.config_error(path, error)
            continue
        for note in notes:
            key = (*path, note.split()[0])
            inspection.warn(key if key in inspection.document.values else path, note)


def check_parts(inspection: Inspection) -> None:
    """The checks that controllers and bodies bring along."""
    for path, config in inspection.made("robots", None, "controller"):
        _run_own_check(inspection, path, plugins.CONTROLLERS, config, config.settings)
    for path, config in bodies(inspection):
        _run_own_check(inspection, path, plugins.BODIES, config, config.settings)


def check_adapters(inspection: Inspection) -> None:
    """Line settings, the checks that adapters bring along, and their mocks."""
    for path, config in inspection.made("adapters", None):
        try:
            line_of(config.common)
        except ConfigError as error:
            inspection.config_error(path, error)
        _run_own_check(inspection, path, plugins.ADAPTERS, config, config.settings, config.common)
        _question_rate(inspection, path, config)
        if needs_mock(inspection, path):
            try:
                part = plugins.load(plugins.ADAPTERS, config.kind)
                spec = part.mock(config.settings, config.common)
            except ConfigError as error:
                inspection.error(path, error.what, error.fix)
            else:
                check_mock(inspection, path, spec)


def _question_rate(inspection: Inspection, path: Path, config: AdapterConfig) -> None:
    """Warns of a rate that is legal, and probably mistyped."""
    rate = config.common.baudRate
    near = near_rate(rate, plugins.load(plugins.ADAPTERS, config.kind).limits.rates)
    if near is not None and not inspection.document.is_bad((*path, "baudRate")):
        inspection.warn((*path, "baudRate"), f"{rate} is not a usual rate", f"did you mean {near}?")


def _run_own_check(
    inspection: Inspection,
    path: Path,
    group: plugins.Group,
    config: AdapterConfig | PartConfig,
    *settings: Any,
) -> None:
    own: Callable[..., list[Problem]] | None
    own = getattr(plugins.load(group, config.kind), "check", None)
    if own is not None:
        inspection.errors(path, own(*settings))
