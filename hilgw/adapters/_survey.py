"""Events of a session that is asked about its network: who is there, what they answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Another module of the network. network: its short address, role: its part; "" where there
    is none. rssi_dbm: how loud it was heard, None where that is not said."""

    address: str
    network: str = ""
    name: str = ""
    role: str = ""
    rssi_dbm: int | None = None


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """All nodes that answered in time were named. problem: why not; "" when all is well."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """Another module's answer to a command. problem: "" when it did as told."""

    address: str
    command: str
    value: bytes = b""
    problem: str = ""


Found = Node | SearchEnded | RemoteAnswer
