"""An observer that records all events."""

from hilgw.engine.observer import ControlLoopStatus, Observer, State


class Recorder(Observer):
    """The reports of an engine, each kind in the order in which they came.

    states: station, state, reason. refusals: station, reason, text. stops: reason, text. armings:
    whether armed, text. statuses: of control loops. notices: texts. lines: what programs printed.
    """

    def __init__(self) -> None:
        self.states: list[tuple[str, State, str]] = []
        self.refusals: list[tuple[str, str, str]] = []
        self.stops: list[tuple[str, str]] = []
        self.armings: list[tuple[bool, str]] = []
        self.statuses: list[ControlLoopStatus] = []
        self.notices: list[str] = []
        self.lines: list[str] = []

    def state(self, station: str, state: State, reason: str) -> None:
        self.states.append((station, state, reason))

    def refused(self, station: str, reason: str, text: str) -> None:
        self.refusals.append((station, reason, text))

    def stopped(self, robot: str, reason: str, text: str) -> None:
        self.stops.append((reason, text))

    def armed(self, robot: str, armed: bool, text: str) -> None:
        self.armings.append((armed, text))

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        self.statuses.append(status)

    def notice(self, source: str, text: str) -> None:
        self.notices.append(text)

    def output(self, source: str, line: str) -> None:
        self.lines.append(line)

    @property
    def entered(self) -> list[State]:
        """The states of all stations."""
        return [state for _, state, _ in self.states]

    def saw(self, station: str, state: State) -> int:
        """Count how often the station entered this state."""
        return sum((station, state) == each[:2] for each in self.states)
