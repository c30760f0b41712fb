"""The packets of a gateway as topics of ROS 2, for subscribers there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hilgw.engine.observer import Observer
from hilgw.federation.ros2 import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hilgw.config.model import Ros2Config
    from hilgw.federation.session import ZenohSession
    from hilgw.medium.medium import Missed
    from hilgw.medium.packet import Packet
    from hilgw.reasons import NotReceivedReason

MOST_TOPICS = 1024


class Ros2Topics(Observer):
    """Publisher of each packet that this gateway puts on the medium.

    name: of the gateway, which is a node. left_out: packets of topics beyond MOST_TOPICS.
    """

    def __init__(self, config: Ros2Config, name: str, session: ZenohSession) -> None:
        self.left_out = 0
        self._session = session
        self._namespace = f"/{config.namespace}"
        self._node = messages.Node(config.domain, session.id, messages.name(name), self._namespace)
        self._publishers: dict[tuple[str, str, int], tuple[messages.Publisher, int]] = {}
        session.live(self._node.token)

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        if packet.gateway:  # its own gateway publishes it
            return
        key = packet.source, packet.type, packet.channel
        found = self._publishers.get(key)
        if found is None:
            if len(self._publishers) >= MOST_TOPICS:
                self.left_out += 1
                return
            topic = messages.topic(*key, self._namespace)
            made = messages.Publisher(self._node, topic, len(self._publishers) + 1)
            self._session.live(made.token)
            found = made, messages.FIRST_SEQUENCE
        publisher, sequence = found
        self._publishers[key] = publisher, sequence + 1
        attachment = publisher.attachment(sequence, time.time_ns())
        self._session.offer(publisher.key, publisher.payload(packet.data), attachment)
