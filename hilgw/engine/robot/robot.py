"""A simulated robot: its Emitters and Receivers, and the controller that uses them."""

from collections.abc import Callable

from hilgw.controllers.base import Action, ControllerSession, Notice, Send
from hilgw.engine.observer import Observer
from hilgw.engine.robot.ports import EmitterPort, ReceiverPort
from hilgw.medium.packet import Copy
from hilgw.transports.base import Scheduler
from hilgw.transports.wakeup import Wakeup


class Robot:
    """The devices of one robot and the controller that uses them.

    A session reads its Receivers itself. For a peer, on_packet (the control loop) gets all packets
    at each sample. Where nothing controls the robot, the gateway reads them.
    """

    def __init__(
        self, name: str, session: ControllerSession | None, scheduler: Scheduler, observer: Observer
    ) -> None:
        self.name = name
        self.session = session
        self.emitters: dict[str, EmitterPort] = {}
        self.receivers: dict[str, ReceiverPort] = {}
        self.on_packet: Callable[[str, Copy], None] | None = None
        self._scheduler = scheduler
        self._observer = observer
        self._wakeup = Wakeup(scheduler, self._wake)

    def devices(self) -> list[str]:
        """Return the names of the robot's Emitters and Receivers."""
        return [*self.emitters, *self.receivers]

    def device(self, name: str) -> EmitterPort | ReceiverPort | None:
        """Return the Emitter or Receiver of this name."""
        return self.emitters.get(name) or self.receivers.get(name)

    def start(self) -> None:
        if self.session is not None:
            self._act(self.session.start(self._scheduler.now(), self.receivers))

    def readable(self, receiver: ReceiverPort) -> None:
        """Pass the packets of this Receiver on, which have become readable."""
        if self.session is not None:
            self._act(self.session.readable(receiver.device, self._scheduler.now()))
            return
        while (copy := receiver.next_packet()) is not None:
            if self.on_packet is not None:
                self.on_packet(receiver.device, copy)

    def summary(self) -> str:
        return self.session.summary() if self.session is not None else ""

    def close(self) -> None:
        self._wakeup.set(None)
        for emitter in self.emitters.values():
            emitter.close()
        for receiver in self.receivers.values():
            receiver.close()

    def _act(self, actions: list[Action]) -> None:
        session = self.session
        assert session is not None
        for action in actions:
            match action:
                case Send(device, data):
                    reason = self.emitters[device].send(data)
                    session.sent(reason is None)
                    if reason is not None:
                        self._observer.refused(f"{self.name}.{device}", reason, "not queued")
                case Notice(text):
                    self._observer.notice(self.name, text)
        self._wakeup.set(session.next_deadline())

    def _wake(self, due: int) -> None:
        assert self.session is not None
        self._act(self.session.expire(self._scheduler.now()))
