"""The bytes of a connection between Webots and a controller as text."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.protocols.webots.answers import AnswerReader
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.errors import ProtocolError
from hilgw.protocols.webots.requests import Leave, RequestReader

_LONGEST = 400


def in_words(data: bytes, codec: Codec, *, received: bool, local: bool) -> str:
    """Complete requests (received) or answers, in words; never raises."""
    reader = RequestReader() if received else AnswerReader(local=local)
    copy = Codec(codec.version)
    copy.kinds = codec.kinds.copy()
    parts = []
    try:
        reader.feed(data)
        parts += list(_requests(reader, copy) if received else _answers(reader, copy))
    except ProtocolError as error:
        parts.append(f"not decodable: {error.what}")
    if reader.pending:
        parts.append(f"{reader.pending} bytes of an incomplete message")
    return "; ".join(parts)


def _requests(reader: object, codec: Codec) -> Iterator[str]:
    assert isinstance(reader, RequestReader)
    while (request := reader.next()) is not None:
        if isinstance(request, Leave):
            yield "leaves"
            continue
        yield f"step {request.duration_ms} ms" if request.duration_ms else "immediate"
        for block in request.blocks:
            for command in codec.decode_commands(block):
                yield f"{command!r:.{_LONGEST}}"


def _answers(reader: object, codec: Codec) -> Iterator[str]:
    assert isinstance(reader, AnswerReader)
    while (answer := reader.next()) is not None:
        yield f"delay {answer.delay} ms"
        for message in codec.decode_messages(answer.messages):
            yield f"{message!r:.{_LONGEST}}"
