"""The counts of all gateways of a network, for `hilgw status --network`."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hilgw.federation import wire
from hilgw.protocols.gateway.messages import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hilgw.federation.member import Member
    from hilgw.federation.session import ZenohSession

LONGEST_S = 2.0


async def counts_of(
    session: ZenohSession, keys: wire.Keys, members: Iterable[Member]
) -> dict[str, Any]:
    """The counts of each of these gateways by name; None: it did not answer."""
    found = [_Counts(each) for each in members]
    for each in found:
        session.get(keys.of("status", each.member.name), None, each.take)
    if found:
        await asyncio.wait([each.ended for each in found], timeout=LONGEST_S)
    return {each.member.name: each.counts for each in found}


class _Counts:
    """Of one gateway. ended: when no more answers come."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.counts: dict[str, Any] | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self, data: bytes | None, asked: int, got: int) -> None:
        if data is None:
            if not self.ended.done():
                self.ended.set_result(None)
            return
        with suppress(wire.Malformed):
            counts = wire.decode_json(wire.NetworkCounts, data)
            if counts.id == wire.id_text(self.member.id):
                self.counts = keys_of(counts)
