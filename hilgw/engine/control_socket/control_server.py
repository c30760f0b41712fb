"""The control socket of a running gateway; `hilgw.client` is its client."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hilgw.control.events import StopReason
from hilgw.control.modes import RobotMode
from hilgw.engine.arming.leases import Lease
from hilgw.engine.control_socket.handover import Handover
from hilgw.engine.control_socket.look_server import LookClient, LookServer, suggestions
from hilgw.engine.gateway import Gateway
from hilgw.engine.reporting.status import status_of, status_steps
from hilgw.errors import HilgwError, PeerError, UsageError, printable, quoted
from hilgw.events.kinds import StatusJson
from hilgw.medium.pose import Pose
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import GATEWAY, keys_of
from hilgw.protocols.gateway.network import added_up
from hilgw.protocols.gateway.requests import Done, robots_in
from hilgw.units import s_to_ns

if TYPE_CHECKING:
    from hilgw.engine.recording.recordings import Recordings

BODY_DOWN = "stop not sent: body down"
NOTE = "note"  # the source of a user's remark
NO_ROTATION = (0.0, 0.0, 1.0, 0.0)
Answer = dict[str, Any] | Done


class ControlServer(LookServer):
    """A control socket that answers all requests, for a gateway."""

    suffix = GATEWAY

    def __init__(
        self,
        gateway: "Gateway",
        path: str | None = None,
        *,
        config: str = "",
        group: str | None = None,
        recordings: "Recordings | None" = None,
    ) -> None:
        super().__init__(gateway, path, config=config, group=group)
        self._gateway, self._recordings = gateway, recordings
        self._loops = gateway.control_loops
        self.handlers |= {
            requests.Send: self._send_packet,
            requests.Place: self._place,
            requests.Set: self._set,
            requests.Pose: self._pose,
            requests.Charge: self._charge,
            requests.Command: self._command,
            requests.Mode: self._mode,
            requests.Key: self._key,
            requests.Say: self._say,
            requests.Arm: self._arm,
            requests.Hold: self._hold,
            requests.Renew: self._renew,
            requests.EndHold: self._end_hold,
            requests.Disarm: self._disarm,
            requests.ReleasePort: self._release_port,
            requests.Note: self._note,
            requests.Network: self._network,
            requests.Status: lambda request, client: {
                "ok": True,
                "status": iter(self.status_parts().items()),
            },
            requests.Report: lambda request, client: {
                "ok": True,
                "report": iter(gateway.report_parts().items()),
            },
        }
        if recordings is not None:
            self.handlers |= {
                requests.Record: lambda request, client: recordings.begin_named(request.name),
                requests.EndRecord: lambda request, client: recordings.end(request.name),
            }

    def status_parts(self) -> dict[str, Any]:
        """Return what is in the answer to `status`, with `Parts`."""
        return status_of(self._gateway, self._config, len(self._clients)) | self._recording()

    def _recording(self) -> dict[str, Any]:
        return {} if self._recordings is None else {"recordings": self._recordings.status()}

    def status_steps(self) -> Iterator[StatusJson | None]:
        self._gateway.scene.move()  # who watches sees moving objects, also without packets
        return status_steps(self._gateway, self._recording())

    def _at_end(self, client: LookClient) -> Any:
        """End the client's lease, and return what its holder reads.

        The motors have been stopped before.
        """
        if client.lease is None:
            return None
        client.lease.end(StopReason.ENDED)
        return self._end_of(client.lease)

    def _left(self, client: LookClient) -> None:
        super()._left(client)
        if client.lease is not None:
            client.lease.end(StopReason.LEASE_ENDED)
        if client.handover is not None:
            client.handover.end()

    async def _unknown(self, kind: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """See LookServer. A robot whose devices are not registered yet may have any."""
        unknown, known = await super()._unknown(kind, names)
        tables = {robot: iter(self._loops[robot].devices()) for robot in self._loops}
        empty = {robot for robot, devices in tables.items() if next(devices, None) is None}
        empty = empty if kind == "part" else set()
        return [name for name in unknown if name.partition(".")[0] not in empty], known

    # --- the scene and its devices ----------------------------------------------------------------

    def _send_packet(self, request: requests.Send, client: LookClient) -> Answer:
        return _done(self._gateway.send(request.station, request.data, request.channel))

    def _place(self, request: requests.Place, client: LookClient) -> Done:
        position, rotation = request.position, request.rotation or NO_ROTATION
        self._gateway.place(
            request.object,
            None if position is None else Pose.from_axis_angle(position, rotation),
        )
        return Done()

    def _pose(self, request: requests.Pose, client: LookClient) -> requests.PoseFound:
        pose = self._gateway.pose_of(request.object)
        if pose is None:
            return requests.PoseFound(None, None)
        return requests.PoseFound(pose.position, pose.rows)

    def _set(self, request: requests.Set, client: LookClient) -> Answer:
        return _done(self._gateway.set(request.device, request.channel, request.range))

    def _note(self, request: requests.Note, client: LookClient) -> Done:
        self._gateway.observer.notice(NOTE, request.text)
        return Done()

    async def _release_port(
        self, request: requests.ReleasePort, client: LookClient
    ) -> requests.PortReleased:
        for holder in self._clients.values():
            other = holder.handover
            if other is not None and (holder is client or other.name == request.port):
                raise HilgwError(f"it is released to {other.to} already", where=other.name)
        to = f"{printable(request.command)} (process {request.pid})"
        client.handover = Handover(self._gateway, request.port, to)
        try:
            return await client.handover.begin()
        except BaseException:
            client.handover.end()
            client.handover = None
            raise

    async def _network(self, request: requests.Network, client: LookClient) -> requests.NetworkMade:
        federation = self._gateway.federation
        if federation is None:
            raise HilgwError(
                "this gateway is in no federation", fix="add `federation:` to its file"
            )
        before = await federation.network()
        return requests.NetworkMade(added_up(before, await federation.network()))

    async def _command(self, request: requests.Command, client: LookClient) -> requests.RemoteValue:
        name = request.name
        answer = await self._gateway.command(request.station, request.address, name, request.value)
        if answer.problem:
            raise PeerError(f"{name}: {answer.problem}", where=request.address.upper())
        return requests.RemoteValue(answer.address, answer.value)

    # --- robots -----------------------------------------------------------------------------------

    def _charge(self, request: requests.Charge, client: LookClient) -> Done:
        self._loops[request.robot].steps.charge(request.energy_j)
        return Done()

    def _key(self, request: requests.Key, client: LookClient) -> Done:
        self._loops[request.robot].steps.press(request.keys, s_to_ns(request.hold_s))
        return Done()

    def _say(self, request: requests.Say, client: LookClient) -> Done:
        self._loops[request.robot].steps.say(request.text)
        return Done()

    def _mode(self, request: requests.Mode, client: LookClient) -> requests.RobotState:
        modes = self._loops[request.robot].modes
        if request.mode is not None:
            modes.switch(RobotMode(request.mode))
        return requests.RobotState(request.robot, modes.mode, modes.states())

    async def _arm(self, request: requests.Arm, client: LookClient) -> requests.MayMove:
        armable = await self._armable(request)
        self._loops.arm(*armable.robots, accepted=request.accept_positions)
        return armable

    async def _hold(self, request: requests.Hold, client: LookClient) -> requests.MayMove:
        armable = await self._armable(request)
        if client.lease is not None:
            raise UsageError("this connection holds robots already")
        client.lease = Lease(
            self._loops,
            self._gateway.real_timer,
            armable.robots,
            request.limit_s,
            request.accept_positions,
        )
        return armable

    async def _armable(self, request: requests.Arm | requests.Hold) -> requests.MayMove:
        """Return the robots to arm, what keeps them from moving, and those whose bodies are down.

        Where all are down, they are to be armed, which refuses it.
        """
        named = robots_in(request)
        robots = named or self._loops.names()
        await self._loops.await_bodies(*robots)
        down = [] if named else [each for each in robots if self._loops[each].away]
        robots = [each for each in robots if each not in down] or robots
        return requests.MayMove(robots, self._loops.notes(*robots), down)

    def _renew(self, request: requests.Renew, client: LookClient) -> requests.LeaseState:
        lease = _lease_of(client)
        return requests.LeaseState() if lease.renew() is None else self._end_of(lease)

    def _end_hold(self, request: requests.EndHold, client: LookClient) -> requests.LeaseState:
        lease = _lease_of(client)
        lease.end(StopReason.LEASE_ENDED)
        return self._end_of(lease)

    def _end_of(self, lease: Lease) -> requests.LeaseState:
        """Return what the holder reads of a lease that has ended: all its robots are disarmed."""
        reason, estop = lease.ended or StopReason.LEASE_ENDED, self._loops.estop
        cause = "" if estop is None or reason is not StopReason.ESTOP else estop.cause
        text = f"{reason.doc}: {cause}" if cause else reason.doc
        return requests.LeaseState(
            reason, text, lease.robots, dict.fromkeys(lease.not_sent, BODY_DOWN)
        )

    async def _disarm(self, request: requests.Disarm, client: LookClient) -> Any:
        """Disarm those of these robots that are here (all: all).

        The answer follows when the stops have left.
        """
        known = dict.fromkeys(self._loops)
        robots = list(known) if request.all else list(dict.fromkeys(request.robots))
        stopped = [robot for robot in robots if robot in known]
        down = self._loops.disarm(*stopped)
        whys = await self._loops.stops_left(*stopped)
        not_sent = {robot: f"stop not confirmed: {why}" for robot, why in whys.items()}
        not_sent |= dict.fromkeys(down, BODY_DOWN)
        unknown = [robot for robot in robots if robot not in known]
        if not unknown:
            return requests.Disarmed(stopped, not_sent)
        text = f"no robot {', '.join(map(quoted, unknown))} with a control loop here"
        answer = requests.Disarmed(stopped, not_sent, unknown, suggestions(unknown, known))
        error = HilgwError(text, fix=answer.fix)
        return {"error": str(error), "exit_code": error.exit_code, **keys_of(answer)}


def _done(refused: str | None) -> Answer:
    return {"refused": refused} if refused else Done()


def _lease_of(client: LookClient) -> Lease:
    if client.lease is None:
        raise UsageError("this connection holds no robot")
    return client.lease
