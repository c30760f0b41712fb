"""The Webots mocks: both readings of the protocol against its vectors and each other."""

import math
import random
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import webots_controller, webots_simulator
from firmware_mocks._webots.library import Device, Library
from firmware_mocks._webots.robot import KINDS
from firmware_mocks._webots.wire import AnswerReader, encoded_name
from firmware_mocks.air import Air
from tests.cases import cases
from tests.controllers.sampling_model import ModelReceiver, ModelSensor, ModelWorld

MS = 1_000_000
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
EMPTY = bytes.fromhex("0100 04000000 04000000 00 00000000")
GOODBYE = bytes.fromhex("0f000000 00000000 0000 01000000 26")
STEP = bytes.fromhex("08000000 20000000")
QUIT = bytes.fromhex("0100 07000000 07000000 00 00000000 0000 02")
RADIOS = (
    "tx:Emitter channel=3 bufferSize=32 range=2 maxRange=5 allowedChannels=3+4+-1, "
    "rx:Receiver channel=3 bufferSize=16"
)


def simulator(**parameters: Any) -> webots_simulator.Simulator:
    return webots_simulator.create("simulator", Air(), {"speed": "fast", **parameters})


def controller(script: str, **parameters: Any) -> webots_controller.Controller:
    return webots_controller.create("controller", Air(), {"script": script, **parameters})


def joined(made: webots_simulator.Simulator, now: int = 0) -> webots_simulator.Peer:
    peer = made.accept(now)
    peer.connect(now)
    return peer


def configured(made: webots_simulator.Simulator) -> webots_simulator.Peer:
    peer = joined(made)
    ask(peer, b"CTR")
    ask(peer, FIRST)
    return peer


def ask(peer: webots_simulator.Peer, data: bytes, now: int = 0) -> bytes:
    """What the simulator answers at once."""
    peer.receive(data, now)
    return peer.take(now) + peer.take(now + MS)


class Pair:
    """One simulator and its controllers, on one clock, without time between them."""

    def __init__(self, made: webots_simulator.Simulator, *controllers: Any) -> None:
        self.simulator = made
        self.now = 0
        self.ends = [(each, joined(made)) for each in controllers]
        for peer in controllers:
            peer.connect(0)

    def run(self, until_ms: int = 10_000) -> None:
        mocks = [self.simulator, *(mock for end in self.ends for mock in end)]
        while self.now <= until_ms * MS:
            for mock in mocks:
                mock.advance(self.now)
            moved = [self._pass(*end) for end in self.ends]
            waits = [mock.next_deadline() for mock in mocks]
            due = min((when for when in waits if when is not None), default=None)
            if not any(moved) and (due is None or due > until_ms * MS):
                return
            if not any(moved) and due is not None:
                self.now = max(self.now, due)

    def _pass(self, client: webots_controller.Controller, peer: webots_simulator.Peer) -> bool:
        there, back = client.take(self.now), b""
        if there:
            peer.receive(there, self.now)
        back = peer.take(self.now)
        if back:
            client.receive(back, self.now)
        if peer.closing and client.connected:
            peer.disconnect(self.now)
            client.disconnect(self.now)
        return bool(there or back)


def test_the_simulator_follows_the_vectors() -> None:
    made = simulator(robots="rob 1", devices="a:LED, b:LED, ds:DistanceSensor, e:Emitter")
    peer = joined(made)
    assert ask(peer, b"CTR\nRobot-Name: rob%201") == b"CONNECTED"
    configuration = ask(peer, FIRST)
    size = struct.pack("<i", len(configuration) - 11)
    start = b"\x01\0" + size + size + b"\0" + bytes(4) + bytes(3) + b"rob 1\0R2025a\0"
    start += b"\0\x01\x05\0\x22\0" + bytes(8) + b"\x2f\0a\0\0\x2f\0b\0\0\x2a\0ds\0\0\x2b\0e\0\0"
    assert configuration.startswith(start + struct.pack("<d", 32.0))
    enable = bytes.fromhex("11000000 20000000 0300 03000000 01 4000")
    assert ask(peer, enable)[-11:] == b"\0\0\x04" + struct.pack("<d", 0.032)
    time = b"\0\0\x04" + struct.pack("<d", 0.064)
    due = b"\x03\0\x32" + struct.pack("<d", 920.0)  # 1 m to the wall, less the radius
    head = bytes.fromhex("0100 1a000000 1a000000 00 00000000")
    assert ask(peer, STEP) == head + time + due  # the first value, one whole period later
    assert ask(peer, STEP[:4] + bytes(4)) == EMPTY  # immediate: no time passes
    assert ask(peer, GOODBYE) == EMPTY and not peer.closing
    assert ask(peer, bytes(4)) == b"" and peer.closing


def test_the_controller_follows_the_vectors() -> None:
    made = controller("step 32", robot="rob 1")
    made.connect(0)
    assert made.take(0) == b"CTR\nRobot-Name: rob%201"
    made.receive(b"CONNECTED", 0)
    assert made.take(0) == FIRST
    peer = joined(simulator(robots="rob 1"))
    ask(peer, b"CTR")
    for byte in ask(peer, FIRST):
        made.receive(bytes((byte,)), 0)
    assert made.library.name == "rob 1" and len(made.library.devices) == 23
    assert made.take(0) == STEP
    made.receive(bytes.fromhex("0100 04000000 04000000 00 ffffffff"), 0)
    assert made.take(0) == b""  # an immediate answer: the step goes on
    made.receive(EMPTY[:-4] + struct.pack("<i", 17), 0)
    assert list(made.delays_ms) == [17] and made.take(0) == GOODBYE
    made.receive(EMPTY, 0)
    assert made.take(MS) == bytes(4) and made.closing
    made.take(2 * MS)
    assert made.ended == "left"


def test_names_are_encoded() -> None:
    assert encoded_name("e-puck_1~.") == b"e-puck_1~."
    assert encoded_name("é/") == b"%C3%A9%2F"
    assert len(encoded_name("x" * 90)) == 90 and len(encoded_name("x" * 91)) == 40


@pytest.mark.parametrize("version", ["R2025a", "R2023b", "R2023a"])
def test_both_read_each_version_the_same_way(version: str) -> None:
    every = controller("step 32", webots=version)
    Pair(simulator(webots=version), every).run()
    assert every.ended == "left"
    library = every.library
    assert (library.name, library.step_ms, library.simulator) == (
        "robot", 32.0, "" if version == "R2023a" else version,
    )  # fmt: skip
    assert {each.kind for each in library.devices} == set(KINDS)


def test_who_may_connect() -> None:
    made = simulator(robots="a, b", loading_ms=100)
    assert ask(joined(made), b"CTR\nRobot-Name: a") == b"PROCESSING"
    later = 100 * MS
    first = joined(made, later)
    assert ask(first, b"CTR\nRobot-Name: a", later) == b"CONNECTED"
    for hello, answer in (
        (b"CTR\nRobot-Name: a", b"FORBIDDEN"),
        (b"CTR\nRobot-Name: c", b"FAILED"),
        (b"CTR", b"FAILED"),  # not the only robot
    ):
        other = joined(made, later)
        assert ask(other, hello, later) == answer and other.closing
    web = joined(made, later)
    assert ask(web, b"GET / HTTP/1.1", later) == b"" and web.closing
    first.disconnect(later)
    assert ask(joined(made, later), b"CTR\nRobot-Name: a", later) == b"CONNECTED"
    assert ask(joined(simulator(accept="no")), b"CTR") == b"FORBIDDEN"


def test_the_controller_reads_one_answer_of_the_handshake() -> None:
    for answer, ended in (
        (b"PROCESSING", ""),
        (b"FAILED", ""),
        (b"FORBIDDEN", "rejected"),
        (b"CONN", "rejected: b'CONN'"),
        (b"CONNECTED\x01\x00", "rejected: b'CONNECTED\\x01'"),
    ):
        made = controller("step 32")
        made.connect(0)
        made.receive(answer, 0)
        assert (made.closing, made.ended) == (True, ended)


# --- steps ----------------------------------------------------------------------------------------


def test_a_thousand_steps_with_every_device() -> None:
    sensors = (
        "left_sensor ds_front light accelerometer gyro compass gps imu bumper force force3d"
        " camera receiver left_wheel"
    )
    script = "; ".join(f"enable {name} 32" for name in sensors.split())
    script += (
        "; position left_wheel inf; position right_wheel inf; velocity left_wheel 3; velocity"
        " right_wheel 3; position lift 0.1; velocity lift 0.05; led led 7; damping left_brake 0.5;"
        " associated left_wheel PositionSensor; associated left_sensor RotationalMotor;"
        " associated left_brake RotationalMotor; battery 32; data state; urdf p_; step 32 x 1000"
    )
    made, client = simulator(width=100), controller(script)
    Pair(made, client).run()
    library = client.library
    values = {each.name: each.values for each in library.devices}
    assert client.ended == "left" and not library.counts["rejected"]
    assert client.counts["steps"] == 1000 and library.time_s == pytest.approx(32.0)
    turned = 3 * 32.0
    assert values["left_sensor"] == pytest.approx((turned,))
    assert values["gps"] == pytest.approx((50 + turned * 0.025, 0.75, 0, 0.075, 0.075, 0, 0))
    assert values["ds_front"] == (1000.0,) and values["bumper"] == (0.0,)
    assert values["imu"] == (0, 0, 0, 1) and values["accelerometer"][2] == 9.81
    assert {len(values[name]) for name in ("gyro", "compass", "force3d")} == {3}
    tags = {each.name: each.tag for each in library.devices}
    for name, other in (
        ("left_wheel", "left_sensor"), ("left_sensor", "left_wheel"), ("left_brake", "left_wheel"),
    ):  # fmt: skip
        device = library.find(name)
        assert device is not None and device.associated == tags[other]
    image = next(each.image for each in library.devices if each.kind == "Camera")
    assert image[:8] == bytes((1000 & 255, 0, 0, 255, 1000 & 255, 1, 0, 255))
    robot = made.world.robots["robot"].robot
    assert robot.custom_data == "state" and "p_base_link" in library.urdf
    assert library.battery == pytest.approx(1 - 32_000 / 600_000)
    lift = next(each for each in robot.body.motors if each.name == "lift")
    assert lift.position == pytest.approx(0.1) and lift.velocity == 0


def test_a_motor_keeps_its_limits() -> None:
    made = simulator(
        devices="m:LinearMotor minPosition=0 maxPosition=0.5 acceleration=1 maxVelocity=2"
    )
    client = controller("position m inf; velocity m 9; step 32 x 10")
    pair = Pair(made, client)
    pair.run()
    motor = made.world.robots["robot"].robot.body.motors[0]
    assert motor.velocity == pytest.approx(0.32)  # accelerated for 0.32 s
    for _ in range(100):
        motor.move(0.032)
    assert motor.velocity == 2.0 and motor.position == 0.5


def test_names_with_blanks_and_a_plugin() -> None:
    devices = "left wheel motor:RotationalMotor maxVelocity=9, my led:LED"
    script = (
        "position 'left wheel motor' inf; velocity 'left wheel motor' 3; led 'my led' 1; step 32"
    )
    made, client = simulator(devices=devices, plugin="/p/libhilgw.so"), controller(script)
    Pair(made, client).run()
    (robot,) = [each.robot for each in made.world.robots.values()]
    motor, led = robot.devices
    assert (motor.name, motor.velocity, led.value) == ("left wheel motor", 3.0, 1)
    peer = joined(simulator(devices="a:LED", plugin="/p/libhilgw.so"))
    ask(peer, b"CTR")
    assert b"\0/p/libhilgw.so\0<extern>\0" in ask(peer, FIRST)


def test_real_time_and_a_robot_that_is_not_waited_for() -> None:
    made = simulator(robots="a, b", speed="real-time", synchronization="no")
    steady = controller("step 32 x 5; wait 100; step 32 x 3", robot="a")
    Pair(made, steady).run(1000)
    # Of the 100 ms pause, three basic steps go by without a request.
    assert list(steady.delays_ms) == [0, 0, 0, 0, 0, 96, 0, 0]
    waited = controller("step 32 x 5; wait 100; step 32 x 3")
    Pair(simulator(speed="real-time"), waited).run(1000)
    assert list(waited.delays_ms) == [0] * 8 and waited.library.time_s == pytest.approx(0.256)


def test_a_reset_ends_controllers_with_quit() -> None:
    made, now = simulator(robots="a, b", reset_ms=64, loading_ms=5), 10 * MS
    waiting, busy = joined(made, now), joined(made, now)
    for peer, name in ((waiting, b"a"), (busy, b"b")):
        ask(peer, b"CTR\nRobot-Name: " + name, now)
        ask(peer, FIRST, now)
    assert ask(waiting, STEP, now) == b""  # b has not asked yet
    assert ask(busy, STEP, now) and waiting.take(now + MS)
    waiting.receive(struct.pack("<II", 8, 64), now)
    assert ask(busy, STEP, now)
    assert waiting.take(now + MS) == QUIT
    assert ask(busy, STEP, now) == QUIT  # at its next request
    assert ask(busy, GOODBYE, now) == EMPTY
    assert ask(joined(made, now), b"CTR\nRobot-Name: a", now) == b"PROCESSING"
    later = now + 5 * MS
    assert ask(joined(made, later), b"CTR\nRobot-Name: a", later) == b"CONNECTED"
    assert made.world.time_ms == 0


def test_a_controller_that_quits_leaves_as_the_library_does() -> None:
    made, client = simulator(reset_ms=96), controller("step 32 x 0")
    Pair(made, client).run()
    assert client.ended == "quit" and client.counts["steps"] == 3
    assert client.library.time_s == pytest.approx(0.096)


# --- packets --------------------------------------------------------------------------------------


def test_packets_between_robots_on_the_sampling_grid() -> None:
    made = simulator(robots="a, b", poses="0.5,0.5,0; 0.5,0.9,0", devices=RADIOS, wait="yes")
    sender = controller(
        "enable rx 32; step 32; send tx one; step 32; "
        "send tx two; channel tx 4; send tx other; step 32;"
        "send tx three; step 32; channel tx 3; range tx 0.3; send tx far; range tx 5; step 32;"
        "send tx five; step 32 x 3", robot="a",
    )  # fmt: skip
    receiver = controller("enable rx 96; step 32 x 3; channel rx 3; step 32 x 3", robot="b")
    pair = Pair(made, sender, receiver)
    pair.run()
    assert sender.ended == receiver.ended == "left"
    rx = receiver.library.find("rx")
    assert rx is not None
    assert [packet.data for packet in rx.packets] == [b"one", b"two", b"five"]
    assert rx.packets[0].direction == pytest.approx((0, -1, 0))
    assert rx.packets[0].strength == pytest.approx(1 / 0.4**2)
    own = sender.library.find("rx")
    assert own is not None and not own.packets
    tx = sender.library.find("tx")
    assert tx is not None and not tx.send(b"")  # E3; the others: test_golden_controllers


class Guest:
    """A controller of the simulator, with the mock of the library."""

    def __init__(self, made: webots_simulator.Simulator, robot: str) -> None:
        self.library = Library("R2025a")
        self._peer = joined(made)
        self._answers = AnswerReader(ipc=False)
        assert ask(self._peer, b"CTR\nRobot-Name: " + robot.encode()) == b"CONNECTED"
        self.library.robot[35] = b"\0\0"
        self.request(0)
        assert self.take()

    def find(self, name: str) -> Device:
        device = self.library.find(name)
        assert device is not None
        return device

    def request(self, step_ms: int) -> None:
        self._peer.receive(self.library.request(step_ms), 0)

    def take(self) -> bool:
        """Whether there is an answer."""
        self._answers.feed(self._peer.take(MS))
        answer = self._answers.next()
        if answer is not None:
            self.library.take(answer)
        return answer is not None


@pytest.mark.exhaustive
@pytest.mark.parametrize("lengths", [[1], [2], [3], [1, 2, 3, 7]], ids=str)
def test_random_schedules_are_those_of_webots(lengths: list[int]) -> None:
    """Robot a sends at each basic step; the steps of robot b are longer."""
    devices = f"left:RotationalMotor, angle:PositionSensor, right:RotationalMotor, {RADIOS}"
    for seed in range(30):
        chance = random.Random(seed)
        made = simulator(robots="a, b", devices=devices, wait="yes")
        sender, guest = Guest(made, "a"), Guest(made, "b")
        angle, rx = ModelSensor(0.0), ModelReceiver(buffer_size=16)
        world = ModelWorld(32, {"angle": angle, "rx": rx})
        guest.find("left").set(1, struct.pack("<d", math.inf))
        guest.find("left").set(2, struct.pack("<d", 3.0))
        for number in range(30):
            step_ms = 32 * chance.choice(lengths) - chance.choice([0, 31])
            periods = [
                (name, chance.choice([0, 0, 1, 32, 33, 64, 96, 100, 160]))
                for name in ("angle", "rx")
                if not number or chance.random() < 0.2
            ]
            for name, period_ms in periods:
                guest.find(name).enable(period_ms)
            guest.find("angle").values = ()
            guest.request(step_ms)
            world.request(step_ms, periods)
            over = False
            while not over:
                assert not guest.take()
                for data in chance.choices([b"one", b"two"], k=chance.choice([0, 1, 2])):
                    sender.find("tx").send(data)
                    world.send("rx", data)
                sender.request(32)
                assert sender.take()
                angle.present += 3.0 * 0.032
                over = world.basic_step()
            assert guest.take()
            values = guest.find("angle").values
            assert bool(values) is ("angle" in world.written), (seed, number)
            assert not values or values == pytest.approx((angle.read,)), (seed, number)
            packets = guest.find("rx").packets
            assert [packet.data for packet in packets] == rx.queue, (seed, number)
            if packets and chance.random() < 0.7:
                packets.popleft()
                rx.queue.pop(0)
        assert guest.find("rx").dropped == rx.dropped


def test_a_waiting_packet_does_not_change_the_channel_back() -> None:
    """RECEIVE carries the channel of the Receiver at the answer; the library takes it over."""
    made = simulator(robots="a, b", devices=RADIOS, wait="yes")
    sender = controller("send tx one; step 32; step 32 x 4", robot="a")
    receiver = controller("enable rx 96; step 32; channel rx 4; step 32 x 3", robot="b")
    Pair(made, sender, receiver).run()
    rx = receiver.library.find("rx")
    assert rx is not None and len(rx.packets) == 1 and rx.channel == 4


def test_an_immediate_request_adds_the_credit_of_the_step_before() -> None:  # B8
    tx = "e:Emitter baudRate=9600 channel=7, m:RotationalMotor, p:PositionSensor"
    client = controller("send e " + "x" * 30 + "; step 16; associated m PositionSensor; step 16")
    Pair(simulator(devices=tx), client).run()
    assert [b"x" * 30 in each for each in client.requests] == [False, False, True, False, False]


def test_a_local_socket_has_no_handshake_and_no_chunks() -> None:
    made = simulator(framing="ipc", devices="ds:DistanceSensor")
    client = controller("enable ds 32; step 32 x 3", framing="ipc")
    pair = Pair(made, client)
    peer = pair.ends[0][1]
    assert client.take(0) == FIRST
    configuration = ask(peer, FIRST)
    assert configuration.startswith(struct.pack("<iiHB", len(configuration), 0, 0, 0) + b"robot\0")
    client.receive(configuration, 0)
    assert client.take(0)[4:] == bytes.fromhex("20000000 0100 03000000 01 2000")
    pair.ends[0][1].receive(STEP, 0)
    client.receive(peer.take(MS), MS)
    pair.run()
    assert client.ended == "left" and client.library.time_s == pytest.approx(0.096)


@given(data=st.binary(max_size=200), tail=st.binary(max_size=60))
@cases(4)
def test_hostile_bytes_close_the_connection(data: bytes, tail: bytes) -> None:
    made = simulator()
    peer = configured(made)
    ask(peer, struct.pack("<iI", 8 + len(data), 32) + data)
    ask(peer, tail)
    assert all(
        math.isfinite(each.position) for each in made.world.robots["robot"].robot.body.motors
    )
    client = controller("step 32 x 0")
    client.connect(0)
    client.receive(b"CONNECTED", 0)
    client.receive(struct.pack("<HiiB", 1, len(data), len(data), 0) + data, 0)
    client.receive(tail, 0)
    assert not client.ended or client.closing


def test_the_simulator_takes_commands_of_mouse_and_joystick() -> None:
    """The bytes of libController's enable3dPosition, setConstantForce and so on."""
    made = simulator(devices="led:LED")
    peer = configured(made)
    commands = "24 2000 27 01 29 fbff 2a 000000000000f83f 2b 000000000000e03f 2c 000000000000d03f"
    block = bytes.fromhex(f"{commands} 2d 01000000 23 2000")
    answer = ask(peer, struct.pack("<iIHi", 14 + len(block), 0, 0, len(block)) + block)
    assert answer and not peer.closing
    assert ask(peer, struct.pack("<iIHi", 17, 0, 0, 3) + b"\x2d\1\0") == b"" and peer.closing


def test_faults_of_a_controller() -> None:
    for fault, ended in (
        ("freeze", ""),
        ("die", "died"),
        ("garbage", "disconnected by the simulator"),
    ):
        client = controller(f"step 32; {fault}")
        Pair(simulator(), client).run(200)
        assert client.ended == ended and client.counts["steps"] == 1


def test_the_simulator_runs_controllers_of_its_own_and_starts_them_again() -> None:
    script = "enable rx 32; step 32 x 2; send tx hello; step 32 x 0"
    made = simulator(robots="a,b", devices=RADIOS, scripts={"b": script}, wait="yes")
    peer = joined(made)
    made.advance(0)
    assert ask(peer, b"CTR\nRobot-Name: a") == b"CONNECTED"
    ask(peer, FIRST)
    enable, now = struct.pack("<iIHiBH", 17, 32, 2, 3, 1, 32), 0
    received = b""
    for _ in range(8):
        peer.receive(enable, now)
        enable = STEP
        made.advance(now)
        now += 32 * MS
        made.advance(now)
        received += peer.take(now)
    assert received.count(b"hello") == 1 and len(made.inside["b"].library.devices) == 2
    made.reset(now)
    made.advance(now)
    assert made.world.robots["b"].answer is None
    made.advance(now + 100 * MS)
    made.advance(now + 101 * MS)
    assert made.world.robots["b"].answer is not None
    for wrong in ({"c": "step 32"}, {"b": "dance"}, 5):
        with pytest.raises(ValueError, match="script"):
            simulator(robots="a,b", scripts=wrong)


def test_what_names_no_device_is_counted_or_closes_the_connection() -> None:
    client = controller("led nothing 1; step 32")
    Pair(simulator(), client).run()
    assert client.ended == "left" and client.library.counts["unknown device"] == 1
    client.connect(0)
    assert client.closing  # it has left for good
    peer = configured(simulator(devices="a:LED"))
    assert ask(peer, struct.pack("<iIHi", 15, 0, 99, 1) + b"\1") == b"" and peer.closing
