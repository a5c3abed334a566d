"""Valid sessions and requests for the fuzz targets `bolt` and `http_request` to begin with.

    python fuzz/seeds.py        # writes fuzz/corpus/bolt and fuzz/corpus/http_request

fuzz/bolt.dict and fuzz/http_request.dict are dictionaries for the same targets (`-dict=`).
"""

import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


class Structure:
    def __init__(self, tag, *fields):
        self.tag, self.fields = tag, fields


def sized(count, small, wide):
    """The head of something with so many parts: in one byte, or with a length of 1, 2 or 4 bytes."""
    if small is not None and count < 16:
        return bytes([small + count])
    for marker, form, most in zip(wide, (">B", ">H", ">I"), (0xFF, 0xFFFF, 0xFFFFFFFF)):
        if marker is not None and count <= most:
            return bytes([marker]) + struct.pack(form, count)
    raise ValueError(count)


def pack(value):
    """A value in PackStream."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int() if -16 <= value < 128:
            return struct.pack(">b", value)
        case int():
            for marker, form in ((0xC8, ">b"), (0xC9, ">h"), (0xCA, ">i"), (0xCB, ">q")):
                try:
                    return bytes([marker]) + struct.pack(form, value)
                except struct.error:
                    pass
            raise ValueError(value)
        case float():
            return b"\xc1" + struct.pack(">d", value)
        case str():
            text = value.encode()
            return sized(len(text), 0x80, (0xD0, 0xD1, 0xD2)) + text
        case bytes():
            return sized(len(value), None, (0xCC, 0xCD, 0xCE)) + value
        case list():
            return sized(len(value), 0x90, (0xD4, 0xD5, 0xD6)) + b"".join(map(pack, value))
        case dict():
            entries = b"".join(pack(key) + pack(v) for key, v in value.items())
            return sized(len(value), 0xA0, (0xD8, 0xD9, 0xDA)) + entries
        case Structure():
            return bytes([0xB0 + len(value.fields), value.tag]) + b"".join(map(pack, value.fields))
    raise TypeError(type(value))


def framed(message):
    """A message in chunks of at most 40 bytes, so that there are several."""
    data = pack(message)
    pieces = [data[at:at + 40] for at in range(0, len(data), 40)]
    return b"".join(struct.pack(">H", len(piece)) + piece for piece in pieces) + b"\0\0"


VALUES = {
    "numbers": [0, -17, 127, 128, -129, 40000, 2**31, -(2**63), 2**63 - 1, 0.0, -1.5, float("nan"), float("inf")],
    "texts": ["", "a", "é" * 20, "x" * 300, b"", b"\0\xff" * 200],
    "nested": {"a": [{"b": [[[None, True]]]}], "k" * 20: {}},
    "date": Structure(ord("D"), 19000),
    "time": Structure(ord("T"), 86399999999999, -64800),
    "localTime": Structure(ord("t"), 0),
    "moment": Structure(ord("I"), 1700000000, 5, 3600),
    "zoned": Structure(ord("i"), -1, 999999999, "Europe/Oslo"),
    "byTheClock": [Structure(ord("F"), 1, 2, 3600), Structure(ord("f"), 1, 2, "Europe/Paris")],
    "local": Structure(ord("d"), -62135596800, 0),
    "duration": Structure(ord("E"), 14, -3, 5, 999999999),
    "points": [Structure(ord("X"), 7203, 1.0, -0.0), Structure(ord("Y"), 4979, 1.0, 2.0, 3.0)],
    "vectors": [Structure(ord("V"), b"\xc6", struct.pack(">2f", 1, -0.5)), Structure(ord("V"), b"\xc8", b"\1\xff")],
    "refused": [Structure(ord("N"), 1, ["A"], {}, "n:1"), Structure(ord("P"), [], [], [])],
}
EXTRA = {"bookmarks": ["telar:telar:5"], "tx_timeout": 1000, "tx_metadata": {"a": 1}, "mode": "r", "db": "telar",
         "imp_user": "ann", "notifications_minimum_severity": "OFF", "notifications_disabled_categories": ["HINT"]}
HELLO = Structure(0x01, {"user_agent": "a/1", "scheme": "basic", "principal": "neo4j", "credentials": "secret",
                         "routing": {"address": "localhost:7687"}, "patch_bolt": ["utc"],
                         "bolt_agent": {"product": "a/1", "platform": "p"}})
LOGON = Structure(0x6A, {"scheme": "none"})
PULL, DISCARD = Structure(0x3F, {"n": 1000, "qid": -1}), Structure(0x2F, {"n": -1})
RESET, GOODBYE, LOGOFF, COMMIT, ROLLBACK = (Structure(tag) for tag in (0x0F, 0x02, 0x6B, 0x12, 0x13))
BEGIN, TELEMETRY = Structure(0x11, EXTRA), Structure(0x54, 1)
ROUTE = Structure(0x66, {"address": "localhost:7687"}, ["telar:telar:5"], {"db": None})


def run(parameters):
    return Structure(0x10, "RETURN $x AS x", parameters, EXTRA)


def bolt():
    """Sessions behind the handshake, handshakes, and bare messages."""
    yield from (pack(run({"x": value})) for value in VALUES.values())
    yield from (pack(message) for message in (HELLO, LOGON, LOGOFF, ROUTE, BEGIN, TELEMETRY, PULL, GOODBYE))
    yield b"".join(map(framed, (HELLO, LOGON, run(VALUES), PULL, RESET, BEGIN, run({}), DISCARD, COMMIT, GOODBYE)))
    yield b"".join(map(framed, (HELLO, ROUTE, TELEMETRY, BEGIN, run({"x": 1}), PULL, ROLLBACK, LOGOFF)))
    yield b"\0\0\0\0" + framed(RESET) + b"\0\0" + framed(PULL)
    magic = b"\x60\x60\xb0\x17"
    yield magic + bytes.fromhex("00000806 00020404 00000304 00000000".replace(" ", ""))
    # The manifest, and the version that is chosen of it, with no capabilities.
    yield magic + bytes.fromhex("000001ff 00080805 00020404 00000000 00000805 00".replace(" ", ""))
    yield magic + bytes.fromhex("000001ff 00000006 00000000 00000000 00000006 8001".replace(" ", ""))


TYPED = {"Integer": "42", "Float": "-1.5e3", "String": "a", "Base64": "AAH/", "Date": "2026-01-31", "Duration": "P1Y2M3DT4H5.6S",
         "LocalTime": "12:34:56.789", "Time": "12:34:56+01:00", "LocalDateTime": "2026-01-31T12:34:56", "Boolean": True,
         "OffsetDateTime": "2026-01-31T12:34:56.5+01:00", "ZonedDateTime": "2026-01-31T12:34:56+01:00[Europe/Oslo]",
         "Point": "SRID=9157;POINT Z (1.0 -2.5 3)", "Null": None,
         "Vector": {"coordinatesType": "FLOAT32", "coordinates": ["1.5", 2]}}


def http_request():
    """Bodies in both notations."""
    typed = {name: {"$type": name, "_value": value} for name, value in TYPED.items()}
    typed |= {"List": {"$type": "List", "_value": list(typed.values())}, "Map": {"$type": "Map", "_value": dict(typed)}}
    plain = {"a": [1, -1.5, 1e300, 2**64, 2**63, "x\u20ac\ud83d\ude00", None, True], "b": {"c": {"d": [[[]]]}}}
    rest = {"includeCounters": True, "accessMode": "READ", "maxExecutionTime": 1.5, "bookmarks": ["telar:telar:5"],
            "impersonatedUser": "ann"}
    for parameters in (plain, typed, {}):
        yield json.dumps({"statement": "RETURN $x", "parameters": parameters, "txMetadata": parameters, **rest}).encode()
    for name, value in typed.items():
        yield json.dumps({"statement": "RETURN 1", "parameters": {name: value}}).encode()
    yield b"{}"
    yield json.dumps({"statement": "", "parameters": {"deep": json.loads("[" * 60 + "]" * 60)}}).encode()


def main():
    for target in (bolt, http_request):
        folder = CORPUS / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(target()):
            (folder / f"seed-{number}").write_bytes(seed)


if __name__ == "__main__":
    main()
