"""`hilgw explain CONFIG`: what a configuration connects, before anything is opened."""

import argparse
import sys
from typing import TYPE_CHECKING

from hilgw.cli.commands.configurations import loading
from hilgw.cli.declaration import Command, Option
from hilgw.cli.output.text import print_json
from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.config.explain.robots import Facts
    from hilgw.config.model import GatewayConfig

WIDTH = 100  # without a terminal
NARROWEST, WIDEST = 40, 160


COMMANDS = {
    "explain": Command(
        description="Explains a configuration in words and diagrams: what is connected to what, at "
        "which rates, with which limits, and what stops the robots. Opens nothing. Exit code 3 "
        "when the file has errors.",
        epilog="example: hilgw explain epuck --backend real",
        options=(
            Option("file", metavar="CONFIG", help="a file, or a shipped one, as epuck"),
            *loading.OPTIONS,
            Option(
                "--arm",
                action="store_true",
                default=argparse.SUPPRESS,
                help="explain with all robots armed at the start",
            ),
            Option("--json", action="store_true", help="print the facts as JSON"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Return 0, or 3 when the file has errors."""
    from hilgw.config.source.text import ConfigErrors

    try:
        loaded = loading.load(args, args.file)
    except ConfigErrors as errors:
        if args.json:
            print_json({"file": args.file, "ok": False, "errors": errors.diagnostics})
        else:
            loading.print_findings(errors.diagnostics, errors.warnings)
        return ConfigError.exit_code
    from hilgw.config.explain import explain

    facts = explain(loaded)
    if args.json:
        print_json({"file": args.file, "ok": True, "errors": [], **facts})
    else:
        _print(args.file, loaded.config, facts)
    return 0


def _print(file: str, config: "GatewayConfig", facts: "Facts") -> None:
    import shutil

    from hilgw.cli.output.diagram import glyphs_of
    from hilgw.cli.output.explanation import in_words

    width = min(max(shutil.get_terminal_size((WIDTH, 24)).columns, NARROWEST), WIDEST)
    glyphs = glyphs_of(sys.stdout.encoding)
    print("\n".join(in_words(facts, config, file, width, glyphs)))
