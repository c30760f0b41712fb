"""The protocol between Webots and a controller, both directions, on TCP and on a local socket.

    requests.RequestReader().feed(data), .next() -> Request(duration_ms, blocks) | Leave
    codec.Codec("R2025a").decode_commands(block) -> [SetVelocity(tag=3, velocity=1.5), ...]
    answers.encode_answer(0, Codec().encode_messages([Time(0.032), Value(4, 102.0)])) -> bytes

and the opposite: `encode_request`, `Codec.encode_commands`, `AnswerReader`,
`Codec.decode_messages`. `robot_messages` and `device_messages` have the messages, `forms` their
numbers on the wire. `queues` has the rules of libController for what waits, `address` where a
controller finds its simulator. Bytes that are not this protocol raise `ProtocolError`.

Source: the release R2025a of libController; what is on the wire of R2023b to R2025a, and of
R2023a, is the same but for the robot's configuration.
"""
