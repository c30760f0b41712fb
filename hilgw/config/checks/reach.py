"""Warnings about Emitters and Receivers that reach nothing by construction.

No other end has their types or channels.
"""

from hilgw import plugins
from hilgw.config.context import Inspection
from hilgw.config.model import AdapterConfig
from hilgw.config.queries import Radio, meet
from hilgw.config.source.positions import Path
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields
from hilgw.errors import quoted


def check_reach(inspection: Inspection) -> None:
    """Warn about each device that reaches no hardware and no device of another robot."""
    adapters = {str(path[-1]): config for path, config in inspection.made("adapters", None)}
    radios = [
        (path, fields)
        for path, fields in inspection.made("robots", None, "devices", None)
        if isinstance(fields, EmitterFields | ReceiverFields)
    ]
    devices = _Devices(radios)
    hardware: dict[tuple[str, int], bool] = {}
    for path, fields in radios:
        key = (fields.type, fields.channel)
        if key not in hardware:
            hardware[key] = any(meet(fields, adapter) for adapter in adapters.values())
        if not hardware[key] and not devices.meet(fields, str(path[1])):
            inspection.warn(path, *_warning(fields, adapters))


class _Devices:
    def __init__(self, radios: list[tuple[Path, Radio]]) -> None:
        self._robots: dict[tuple[bool, str, int | None], set[str]] = {}  # channel None: all
        for path, fields in radios:
            is_emitter = isinstance(fields, EmitterFields)
            for channel in (fields.channel, None):
                self._robots.setdefault((is_emitter, fields.type, channel), set()).add(str(path[1]))

    def meet(self, fields: Radio, robot: str) -> bool:
        wanted = not isinstance(fields, EmitterFields)
        channels = (None,) if fields.channel == BROADCAST else (fields.channel, BROADCAST)
        groups = (self._robots.get((wanted, fields.type, channel), set()) for channel in channels)
        return any(robots - {robot} for robots in groups)


def _warning(fields: Radio, adapters: dict[str, AdapterConfig]) -> tuple[str, str]:
    problem = f"{fields.type}, channel {fields.channel}: reaches no hardware and no other robot"
    kinds = {name: plugins.load(plugins.ADAPTERS, each.kind) for name, each in adapters.items()}
    hardware: dict[str, str] = {name: kind.type for name, kind in kinds.items()}
    same = [name for name, type_ in hardware.items() if type_ == fields.type]
    if same:
        return problem, f"{_listed(same)} of this type: other channels"
    others = sorted({*hardware.values()} - {fields.type})
    if hardware:
        problem += (
            f"; {', '.join(f'{name} is {type_}' for name, type_ in sorted(hardware.items())[:4])}"
        )
        return problem, f"write type: {others[0]}" if len(others) == 1 else "write another type"
    return problem, "add an adapter, or a robot with a device of this type and channel"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(map(quoted, names[:4])) + more
