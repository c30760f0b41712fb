"""Notices of line rates that differ between the ends of a link, which is legal."""

from collections.abc import Iterator

from hilgw.adapters.declaration import line_of
from hilgw.config.model import AdapterConfig, GatewayConfig
from hilgw.config.queries import meet, same_channel
from hilgw.devices.fields import EmitterFields, ReceiverFields, line_difference

UNLIMITED = -1


def notices(config: GatewayConfig) -> Iterator[str]:
    """Yield a notice for each link whose ends have different line rates.

    An Emitter may be faster than the line of its adapter; a Receiver may expect another rate than
    that of its line or Emitter.
    """
    for robot, robot_config in config.robots.items():
        for device, fields in robot_config.radios.items():
            name = f"{robot}.{device}"
            for adapter, adapter_config in config.adapters.items():
                if not meet(fields, adapter_config):
                    continue
                if isinstance(fields, EmitterFields):
                    yield from _faster(name, fields, adapter, adapter_config)
                elif fields.baudRate not in (UNLIMITED, adapter_config.common.baudRate):
                    yield (
                        f"{name} expects {fields.baudRate} bit/s, {adapter} runs at "
                        f"{adapter_config.common.baudRate}; the line rate applies"
                    )
            if isinstance(fields, ReceiverFields):
                yield from _differing_emitters(config, robot, name, fields)


def _faster(name: str, fields: EmitterFields, adapter: str, config: AdapterConfig) -> Iterator[str]:
    line, _ = line_of(config.common)
    carried = line.baudRate / line.byteSize
    offered = fields.baudRate / fields.byteSize
    if fields.baudRate == UNLIMITED or offered > carried:
        rate = "an unlimited rate" if fields.baudRate == UNLIMITED else f"{fields.baudRate} bit/s"
        per_byte = "" if fields.baudRate == UNLIMITED else f" ({fields.byteSize} bit a byte)"
        yield (
            f"{name} sends at {rate}{per_byte}, {adapter} carries {line.baudRate} bit/s "
            f"({line.byteSize} bit a byte): packets wait in {adapter}'s buffer"
        )


def _differing_emitters(
    config: GatewayConfig, robot: str, name: str, receiver: ReceiverFields
) -> Iterator[str]:
    for other, other_config in config.robots.items():
        if other == robot:
            continue  # a robot never receives its own packets
        for device, emitter in other_config.radios.items():
            if (
                isinstance(emitter, EmitterFields)
                and emitter.type == receiver.type
                and same_channel(emitter.channel, receiver.channel)
                and (difference := line_difference(emitter, receiver))
            ):
                yield f"{other}.{device} to {name}: {difference}; the Emitter's settings apply"
