"""Whole gateways in the event loop of a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hilgw.assemble.gateway import build
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer


@asynccontextmanager
async def running(config: Any, *observers: Observer, **more: Any) -> AsyncIterator[Gateway]:
    """A gateway that runs; it ends in order behind the block."""
    gateway = build(config, asyncio.get_running_loop(), *observers, **more)
    stop = asyncio.Event()
    task = asyncio.create_task(gateway.run(stop))
    try:
        yield gateway
    finally:
        stop.set()
        await task
        gateway.close()
