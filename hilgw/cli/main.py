"""The command line: runs one command, and turns errors into messages and exit codes."""

import errno
import sys
from contextlib import suppress

from hilgw.cli import streams
from hilgw.errors import ConfigError, HilgwError


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code.

    Raises:
        SystemExit: The usage is wrong.
    """
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except SystemExit:  # argparse has printed help or an error
        streams.discard_unwritten()
        raise
    except HilgwError as error:
        from hilgw.cli.output.text import one_line

        # Errors of a file begin with their position, as a compiler's do: editors jump there.
        prefix = "" if isinstance(error, ConfigError) else "hilgw: "
        text = "\n".join(map(one_line, str(error).split("\n")))
        sys.stderr.write(f"{prefix}{text}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        streams.discard_unwritten()  # the reader closed the pipe, as in `hilgw ... | head`
        return 1
    except OSError as error:
        streams.discard_unwritten()
        _report_os_error(error)
        streams.discard_unwritten()
        return 1


def _run(arguments: list[str]) -> int:
    # Two answers that scripts and people want at once: without a parser.
    if arguments == ["--version"]:
        from hilgw.cli.version import print_version

        print_version()
        return 0
    words = {*arguments}
    if words & {"--help", "-h", "help"} and words <= {"--help", "-h", "help", "--all"}:
        from hilgw.cli.help import help_text

        sys.stdout.write(help_text(everything="--all" in words))
        return 0
    from hilgw.cli.parser import parse

    args = parse(arguments)
    code: int | None = args.run(args)
    return code or 0


def _report_os_error(error: OSError) -> None:
    where, fix = error.filename or "cannot write", ""
    if error.errno in (errno.EMFILE, errno.ENFILE):  # which no write meets
        where, fix = error.filename or "cannot open", "; raise ulimit -n"
    with suppress(OSError):  # there is no other place to report that stderr is full or closed
        sys.stderr.write(f"hilgw: {where}: {error.strerror or error}{fix}\n")
        sys.stderr.flush()
