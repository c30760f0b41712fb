"""The gateways that run on this machine, and the selection of one."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from hilgw.client.connection import ask
from hilgw.client.control_paths import live_sockets, none_found
from hilgw.errors import PeerError, UsageError, printable
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import LOOK

ASK_ALL_S = 1.0  # for the answer of each gateway, where all are asked at the same time
T = TypeVar("T")


def find_gateway(
    control: str | None, config: str | None = None, *, look: bool = False, everywhere: bool = False
) -> Path:
    """Return the socket at the path `control`, or that of the selected gateway.

    This is the only running gateway, or the one that runs `config`: a path, or the name of a file
    without its suffix. With `look`, if no gateway runs, a program is selected that is only watched.
    For `everywhere` see `live_sockets`.
    """
    if control is not None:
        return Path(control)
    live = live_sockets(everywhere=everywhere) or (live_sockets(LOOK) if look else [])
    if not live:
        raise none_found(everywhere=everywhere)
    if len(live) == 1 and config is None:
        return live[0]
    configs = dict(zip(live, in_parallel(config_of, live), strict=True))
    matching = [path for path in live if config is None or is_named(configs[path], config)]
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(label(path, configs[path]) for path in matching or live)
    if not matching:
        raise PeerError(
            f"no running gateway has the configuration {next(files_here(config or ''), config)}",
            fix=f"there is {listed}",
        )
    same = len({configs[path] for path in matching}) < len(matching)
    raise UsageError(
        f"several gateways are running: {listed}",
        fix="name one with --control" if same else "name one with --config, or with --control",
    )


def label(path: Path, config: object = None) -> str:
    """Return a gateway in words: its configuration, if it is known, and its socket."""
    known = config if isinstance(config, str) else ""
    return f"{printable(known)} at {path}" if known else str(path)


def config_of(path: Path) -> str:
    """Return the configuration that the gateway at this socket runs; "" if it does not answer."""
    try:
        return str(ask(path, requests.Identify(), ASK_ALL_S).get("config", ""))
    except PeerError:
        return ""


def in_parallel(work: Callable[[Path], T], paths: Sequence[Path]) -> list[T]:
    """Return work(path) of each, run at the same time: one that waits delays no other."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and rarely needed

    if len(paths) < 2:
        return [work(path) for path in paths]
    with ThreadPoolExecutor(len(paths)) as pool:
        return list(pool.map(work, paths))


def is_named(running: str, config: str) -> bool:
    """Return True if `config`, a path or a name without a suffix, names the running file.

    A file of this name here takes precedence over one elsewhere.
    """
    file, here = Path(running), list(files_here(config))
    by_name = not here and config in (file.stem, file.name)
    return bool(running) and (by_name or file in (*here, Path(config).resolve()))


def files_here(config: str) -> Iterator[Path]:
    """Yield the files in the current folder that `config`, a path or a name, names."""
    for suffix in ("", ".yaml", ".yml"):
        if (file := Path(f"{config}{suffix}")).is_file():
            yield file.resolve()
