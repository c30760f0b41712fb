"""`hilgw adapters [NAME]`: the kinds of hardware, their limits and their field mapping."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import print_json, table
from hilgw.errors import UsageError

WIDTH = 100  # without a terminal


COMMANDS = {
    "adapters": Command(
        description="Lists the kinds of hardware. With NAME, shows its limits, the mapping of "
        "Webots' fields (exact, approximate, cannot), and its settings.",
        epilog="example: hilgw adapters xbee",
        options=(
            Option("name", metavar="NAME", nargs="?", help="a kind, e.g. xbee"),
            Option("--json", action="store_true", help="print as JSON"),
        ),
    ),
}


def run(args: argparse.Namespace) -> None:
    """Print the kinds.

    Raises:
        UsageError: The name is unknown.
    """
    kinds = _kinds(args.name)
    if args.json:
        print_json([_as_data(adapter) for adapter in kinds])
    elif args.name is None:
        for line in table((each.kind, f"{each.type:<9}  {each.summary}") for each in kinds):
            print(line)
    else:
        for adapter in kinds:
            _show(adapter)


def _kinds(name: str | None) -> list[Any]:
    from hilgw import plugins

    if name is not None:
        known = plugins.find(plugins.ADAPTERS)
        if name not in known:
            error = plugins.unknown("adapter", name, known)
            raise UsageError(error.what, fix=error.fix)
        return [known[name]()]
    parts, broken = plugins.load_all(plugins.ADAPTERS)
    for problem in broken:
        sys.stderr.write(f"hilgw: {problem}\n")
    return list(parts.values())


def _as_data(adapter: Any) -> dict[str, Any]:
    from hilgw.adapters.base import StationSettings
    from hilgw.config.model import PartBackend
    from hilgw.config.schema.describe import rows

    return {
        "kind": adapter.kind,
        "type": adapter.type,
        "summary": adapter.summary,
        "limits": adapter.limits,
        "settings": list(rows(adapter.Settings)),
        "common_settings": [*rows(PartBackend), *rows(StationSettings)],
    }


def _show(adapter: Any) -> None:
    from hilgw.config.schema.describe import rows

    limits = adapter.limits
    print(f"{adapter.kind}: {adapter.summary}\n")
    _table(
        (
            ("type", adapter.type),
            ("payload", f"up to {limits.payload} bytes in a packet"),
            ("window", f"up to {limits.window} unacknowledged packets"),
            ("channels", limits.channels),
            ("rates", ", ".join(str(rate) for rate in limits.rates)),
        )
    )
    print("\nWebots' fields:")
    _table((mapped.field, f"{mapped.maps}: {mapped.how}") for mapped in limits.mapping)
    print("\nsettings, besides the common ones (docs/config.md):")
    _table((row.key, row.in_words) for row in rows(adapter.Settings))


def _table(rows: Iterable[tuple[str, str]]) -> None:
    for line in table(rows, indent="  ", columns=WIDTH):
        print(line)
