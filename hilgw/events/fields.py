"""The types of the fields of events, and the additional forms of recordings."""

from typing import Annotated, Any

from hilgw.forms import Must, with_keys

LAST_NS = 1 << 63
"""The year 2262."""
Axis = Annotated[int, Must("0, 1 or 2", range(3).__contains__)]
TimeOfDay = Annotated[int, Must("ns, within 292 years of 1970", lambda ns: abs(ns) < LAST_NS)]
Seconds = Annotated[float, Must("seconds, up to 2262", lambda s: abs(s) < LAST_NS / 1e9)]

Number = float | Annotated[str, Must('"nan", "inf" or "-inf"', {"nan", "inf", "-inf"}.__contains__)]
Numbers = Number | list[Number]
Range = Annotated[list[float], Must("two numbers", lambda ends: len(ends) == 2)]
Position = Annotated[
    list[float],
    Must("three coordinates in m", lambda p: len(p) == 3 and max(map(abs, p)) < 1e12),
]
Rotation = Annotated[
    list[list[float]],
    Must(
        "the three rows of a rotation matrix",
        lambda rows: (
            [len(row) for row in rows] == [3] * 3
            and all(abs(each) < 1.001 for row in rows for each in row)
        ),
    ),
]
LINK_COUNTS = (
    *("sent", "delivered", "lost", "unsettled", "unconfirmed"),
    *("received", "missed", "late", "entered", "dropped"),
)
LinkCounts = Annotated[
    dict[str, int], Must(f"the counts {', '.join(LINK_COUNTS)}", {*LINK_COUNTS}.issubset)
]
Direction = Annotated[str, Must("received or sent", ("received", "sent").__contains__)]
Hex = Annotated[
    str, Must("pairs of hexadecimal digits", lambda text: bytes.fromhex(text) is not None)
]

Since = Annotated[int, Must("a time", lambda ns: abs(ns) < 1 << 63)]

_Loss = Annotated[dict[str, Any], with_keys({"reason": str, "age_s": float})]
_RATES = {
    f"{way}_{what}_per_s": float for way in ("received", "sent") for what in ("bytes", "packets")
}
_Port = Annotated[
    dict[str, Any],
    with_keys(
        {
            "state": str,
            "port": str,
            "since_s": float,
            "last_byte_s": float | None,
            **_RATES,
            "last_loss": _Loss | None,
        }
    ),
]
_Robot = Annotated[
    dict[str, Any],
    with_keys(
        {
            "armed": bool,
            "latched": str | None,
            "mode": str | None,
            "late_steps": Annotated[dict[str, Any], with_keys({"count": int})],
        },
        {"controller": Annotated[dict[str, Any], with_keys({}, {"text": str})]},
    ),
]
_Latency = Annotated[dict[str, Any], with_keys({"count": int, "buckets": list[int]})]
STATUS = with_keys(
    {
        "ports": dict[str, _Port],
        "robots": dict[str, _Robot],
        "latency_bounds_s": Annotated[list[float], Must("a list of numbers", bool)],
        "latency": dict[str, dict[str, _Latency]],
    },
    {
        "losses": dict[str, dict[str, int]],
        "queues": dict[str, int],
        "ranges": dict[str, float],
        "memory_bytes": int | None,
        "mono_ns": int,
        "clocks_s": dict[str, float],
    },
)

_POSE = {"position": Position, "rotation": Rotation}
_LISTENER = {**_POSE, "on": str, "type": str, "aperture": float}  # on: an object
_Pose = Annotated[dict[str, Any], with_keys(_POSE)]
_Listener = Annotated[dict[str, Any], with_keys(_LISTENER)]
_Emitter = Annotated[dict[str, Any], with_keys({**_LISTENER, "range": float})]
_Obstacle = Annotated[
    dict[str, Any], with_keys({**_POSE, "on": str, "shape": str, "half": Position})
]
_RUN = {
    "hilgw": str,
    "python": str,
    "platform": str,
    "config": str,
    "configuration": Annotated[str, Must("a text of at most 1 MiB", lambda t: len(t) <= 1 << 20)],
    "arguments": list[str],
    "webots": str,
    "seed": int,
    "speed": float | str,
    "topology": Annotated[
        dict[str, Any],
        with_keys(
            {},
            {
                "robots": dict[str, list[str]],
                "stations": dict[str, str | None],
                "mocks": list[str],
            },
        ),
    ],
    "scene": Annotated[
        dict[str, Any],
        with_keys(
            {},
            {
                "mono_ns": int,
                "up": Axis,
                "cone": Axis,
                "objects": dict[str, _Pose | None],
                "emitters": dict[str, _Emitter],
                "listeners": dict[str, _Listener],
                "obstacles": dict[str, _Obstacle],
            },
        ),
    ],
}
FORMS = {
    "head": with_keys({"version": int, "epoch_ns": TimeOfDay}, _RUN),
    "clock": with_keys({"mono_ns": int, "wall_s": Seconds}),
}
"""The recorded run, as far as that hilgw had it (`topology` and `scene` as
in an answer to `status`), and the other times of an instant, each second."""
