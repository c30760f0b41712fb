"""The one tree of errors. Each has a problem, a position and a fix.

Every class has the exit code of the command when the error reaches the user; `hilgw --help` and
docs/commands.md list them.
"""

import itertools
from collections.abc import Iterable

from hilgw.reasons import Reason

_SHOWN = 40  # characters of a quoted text
_COMPARED = 500  # names; more would make a hostile file slow to reject


class HilgwError(Exception):
    """Base of every error this package raises on purpose.

    what: one clause, lower case, without a full stop.
    where: file:line:column, a port, a station; empty if there is none.
    fix: the user's next step; empty if there is nothing to suggest.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}; {self.fix}" if self.fix else head


class UsageError(HilgwError):
    """The command line is not valid."""

    exit_code = 2


class ConfigError(HilgwError):
    """The configuration is not valid."""

    exit_code = 3


class PortReason(Reason):
    """A port cannot be opened or used."""

    ABSENT = "absent", "there is no such port, or no connection to its peer"
    BUSY = "busy", "another program uses it, or a limit of the system is reached"
    DENIED = "denied", "this user has no permission"
    LOST = "lost", "it was open, and disappeared or failed"
    UNSUPPORTED = "unsupported", "it cannot do this, or it is not a serial port"
    FULL = "full", "its write buffer has no room"


class PortError(HilgwError):
    """A port cannot be opened, was lost, or takes no more bytes."""

    exit_code = 4

    ABSENT = PortReason.ABSENT
    BUSY = PortReason.BUSY
    DENIED = PortReason.DENIED
    LOST = PortReason.LOST
    UNSUPPORTED = PortReason.UNSUPPORTED
    FULL = PortReason.FULL

    def __init__(self, what: str, *, reason: PortReason, where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        PortReason.check(reason)
        self.reason = reason


class PeerError(HilgwError):
    """The peer (module, controller, robot) does not answer, or its answer is not valid."""

    exit_code = 5


class MismatchError(HilgwError):
    """The peer is not the one the configuration names."""

    exit_code = 6


class SafetyError(HilgwError):
    """A safety stop was latched when the gateway ended."""

    exit_code = 7


class DepartureError(HilgwError):
    """Hilgw departed from the recording that replaces a part."""

    exit_code = 8


class AdapterError(HilgwError):
    """The code of an adapter raised an unexpected exception."""


class FrameError(HilgwError):
    """Bytes that are not a valid frame, or a payload that a frame cannot carry."""


def printable(text: str) -> str:
    """Return a file name or an option, safe to print."""
    return text if text.isprintable() and len(text) <= 4096 else repr(text[:4096])


def quoted(text: str) -> str:
    """Return text from a file, safe to print: in quotes, escaped, shortened."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`; None if none is similar."""
    import difflib  # slow to import, and used for errors only

    names = dict.fromkeys(str(item)[:80] for item in itertools.islice(known, _COMPARED))
    folded = {item.lower().replace("_", "").replace("-", ""): item for item in reversed(names)}
    plain = str(name)[:80].lower().replace("_", "").replace("-", "")
    near = difflib.get_close_matches(plain, folded, n=1, cutoff=0.6 if len(plain) > 3 else 0.5)
    return folded[near[0]] if near else None


def suggest(name: object, known: Iterable[str]) -> str:
    """Return the fix for an unknown name: the most similar one, or all known ones."""
    names = list(dict.fromkeys(str(item)[:80] for item in itertools.islice(known, _COMPARED)))
    near = nearest(name, names)
    return f"did you mean {quoted(near)}?" if near is not None else known_here(names)


def known_here(known: Iterable[str]) -> str:
    """Return the fix for an unknown name: all known ones, as far as they fit.

    This is far cheaper than `suggest`, which compares each with the name.
    """
    names = list(dict.fromkeys(str(item)[:80] for item in itertools.islice(known, _COMPARED)))
    if not names:
        return "none are known here"
    listed = ", ".join(quoted(item)[1:-1] for item in sorted(names)[:24])
    return f"known here: {listed}" + (", ..." if len(names) > 24 else "")
