"""`hilgw explain CONFIG`: what a configuration connects, before anything is opened."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.config.load import Loaded

WIDTH = 100  # without a terminal
NARROWEST, WIDEST = 40, 160


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "explain",
        description="Explains a configuration in words and diagrams: what is connected to what, at "
        "which rates, with which limits, and what stops the robots. Opens nothing. Exit code 3 "
        "when the file has errors.",
        epilog="example: hilgw explain epuck --backend real",
    )
    parser.add_argument("file", metavar="CONFIG", help="a file, or a shipped one, as epuck")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=argparse.SUPPRESS,  # they may precede the command
        help="explain with this value, e.g. adapters.xbee0.channel=13",
    )
    parser.add_argument(
        "--backend",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="explain with this back end",
    )
    parser.add_argument(
        "--speed",
        metavar="N",
        default=argparse.SUPPRESS,
        help="explain with this speed: a number, or max",
    )
    parser.add_argument(
        "--arm",
        action="store_true",
        default=argparse.SUPPRESS,
        help="explain with all robots armed at the start",
    )
    parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Returns 0, or 3 when the file has errors."""
    from hilgw.config.source.positions import ConfigErrors

    try:
        loaded = _load(args)
    except ConfigErrors as errors:
        if args.json:
            _print_json({"file": args.file, "ok": False, "errors": errors.diagnostics})
        else:
            for warning in errors.warnings:
                sys.stderr.write(f"{warning}\n")
            sys.stderr.write(f"{errors}\n")
        return ConfigError.exit_code
    if args.json:
        from hilgw.config.explain import explain

        _print_json({"file": args.file, "ok": True, "errors": [], **_plain(explain(loaded))})
    else:
        _print(args.file, loaded)
    return 0


def _load(args: argparse.Namespace) -> Loaded:
    """The configuration with the options of the command. Raises ConfigErrors."""
    import dataclasses

    from hilgw.config.load import load_config
    from hilgw.config.model import armed
    from hilgw.config.shipped import found

    loaded = load_config(
        found(args.file),
        getattr(args, "overrides", []),
        getattr(args, "backend", None),
        getattr(args, "speed", None),
    )
    if not getattr(args, "arm", False):
        return loaded
    return dataclasses.replace(loaded, config=armed(loaded.config))


def _print(file: str, loaded: Loaded) -> None:
    import shutil

    from hilgw.cli.output.diagram import glyphs_of
    from hilgw.cli.output.explanation import in_words
    from hilgw.config.explain import explain

    columns = shutil.get_terminal_size((WIDTH, 24)).columns
    width = min(max(columns, NARROWEST), WIDEST)
    glyphs = glyphs_of(sys.stdout.encoding)
    print("\n".join(in_words(explain(loaded), file, width, glyphs)))


def _plain(facts: Any) -> dict[str, Any]:
    import dataclasses

    return dataclasses.asdict(facts)


def _print_json(found: dict[str, Any]) -> None:
    import dataclasses
    import json

    print(json.dumps(found, indent=2, default=dataclasses.asdict))
