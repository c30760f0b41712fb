"""The gateways on the network, by the tokens that anyone can declare; in bounded memory.

Of several with one name, such as one that was started anew before its last run is known to be gone,
the first one counts until it is gone, or until it does not report its state.
"""

from collections.abc import Callable

from hilgw.federation import wire
from hilgw.federation.member import Member
from hilgw.federation.wire import MemberKey
from hilgw.units import NS_PER_MS, NS_PER_S

MOST_MEMBERS = 256
MOST_FURTHER = 8  # tokens of one name
ANSWER_NS = NS_PER_S  # within which a gateway reports what it has
MOST_NAMESAKES = 64
MOST_TIES = 5
SLACK_MS = 20  # a third gateway may report how long the other one is there


class Roster:
    """The gateways by their tokens.

    begin: called with each gateway that counts from now on. doubt: with one whose token is gone,
    which anyone can do: it is asked, and if it does not answer, `gone`. end: with one that is gone.
    forget: with one that makes room, as no gateway was behind it. They and `refused` (a name more
    than MOST_MEMBERS) are set after it was made.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self.members: dict[str, Member] = {}
        self.begin: Callable[[MemberKey, Member | None], object]
        self.doubt: Callable[[Member], object]
        self.end: Callable[[Member], object]
        self.forget: Callable[[Member], object]
        self.refused: Callable[[], object]
        self._now = now
        self._further: dict[str, list[MemberKey]] = {}

    def token(self, key: MemberKey, is_there: bool) -> None:
        """Note that a gateway joins or leaves."""
        member = self.members.get(key.name)
        if member is not None and member.key == key and (member.is_live or not is_there):
            member.doubted_ns = None
            if not is_there:
                (self.doubt if member.is_live else self.gone)(member)
        elif member is not None and (member.is_live or not is_there):
            further = self._further.setdefault(key.name, [])
            if key in further:
                further.remove(key)
            if is_there:
                further.append(key)
                del further[:-MOST_FURTHER]
        elif is_there:
            if member is None and len(self.members) >= MOST_MEMBERS and not self._forget_one():
                self.refused()
            else:
                self.begin(key, member)

    def gone(self, member: Member) -> None:
        """End a gateway that does not answer, and whose token is gone."""
        self.end(member)
        if successor := self._next(member.name):
            self.begin(successor, member)

    def other(self, member: Member, id: int) -> None:
        """Replace a gateway by another run, which alone answers for it."""
        run, further = member.key._replace(id=id), self._further.setdefault(member.name, [])
        further[:] = [member.key, *(each for each in further if each != run)][:MOST_FURTHER]
        self.begin(run, member)

    def _next(self, name: str) -> MemberKey | None:
        further = self._further.get(name, [])
        further.sort(key=lambda at: at.version != wire.VERSION)
        return further.pop(0) if further else None

    def has(self, name: str, id: str) -> bool:
        """Return True if a further gateway of this name is there, with this ID."""
        return any(wire.id_text(each.id) == id for each in self._further.get(name, ()))

    def late(self, member: Member) -> bool:
        """Return True if it does not report its state; another one with its name counts then."""
        if member.state is not None or self._now() - member.came_ns < ANSWER_NS:
            return False
        if successor := self._next(member.name):
            self._further[member.name].append(member.key)
            self.begin(successor, member)
        return True

    def _forget_one(self) -> bool:
        now = self._now()
        for name, member in self.members.items():
            is_new = member.is_live and now - member.came_ns < ANSWER_NS
            if member.state is None and not member.neighbour.outlets and not is_new:
                self._further.pop(name, None)
                self.forget(self.members.pop(name))
                return True
        return False


# --- gateways that have the name of this one ------------------------------------------------------


class Namesakes:
    """The other gateways of this name: of two, the one that runs for less long ends.

    id: of this gateway. began_ns: when it joined. ids: the tokens of the others that are there. The
    time at which the other one joined is known to within the time of its answer. If that repeatedly
    does not show which one was first, the one with the smaller ID stays.
    """

    def __init__(self, id: int, began_ns: int) -> None:
        self.ids: set[int] = set()
        self._id = id
        self._began_ns = began_ns
        self._ties = 0

    def token(self, id: int, is_there: bool) -> bool:
        """Note that a gateway of this name joins or leaves; return True if it is one to ask."""
        if not is_there:
            self.ids.discard(id)
            return False
        is_new = id != self._id and id not in self.ids and len(self.ids) < MOST_NAMESAKES
        if is_new:
            self.ids.add(id)
        return is_new

    def answered(self, answer: bytes, asked: int, got: int) -> bool:
        """Return True if the gateway that answered the question for its state was first.

        Raises:
          Malformed, ValueError: the answer is invalid.
        """
        other = wire.decode_json(wire.GatewayState, answer)
        id = int(other.id, 16)
        return id in self.ids and self.is_first(id, other.uptime_ms, asked, got)

    def is_first(self, id: int, uptime_ms: int, asked: int, got: int) -> bool:
        """Return True if a gateway that joined this long before the answer was first."""
        # How much earlier it joined, at least and at most; in ms, as the answer is.
        least = uptime_ms - (got - self._began_ns) // NS_PER_MS - SLACK_MS
        most = uptime_ms - (asked - self._began_ns) // NS_PER_MS + SLACK_MS
        if least <= 0 <= most:
            self._ties += 1
            return id < self._id and self._ties >= MOST_TIES
        return least > 0
