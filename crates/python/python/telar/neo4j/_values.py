"""Values between Telar and the driver's types, where ``neo4j`` is installed."""

# mypy: ignore-errors

import datetime
import re
from collections.abc import Mapping

import telar

from . import _installed

time = _installed.module("time")
spatial = _installed.module("spatial")
# There since version 6 of the driver.
vector = _installed.module("vector")
_COORDINATES = {
    "INTEGER8": "i8",
    "INTEGER16": "i16",
    "INTEGER32": "i32",
    "INTEGER": "i64",
    "FLOAT32": "f32",
    "FLOAT": "f64",
}
_FLAT = {7203: 2, 9157: 3}


def _zone(name):
    try:
        import pytz
    except ImportError:
        import zoneinfo

        return zoneinfo.ZoneInfo(name)
    return pytz.timezone(name)


def _offset(delta):
    try:
        import pytz
    except ImportError:
        return datetime.timezone(delta)
    return pytz.FixedOffset(round(delta.total_seconds() / 60))


def _in_zone(at):
    """A date and time of ``datetime`` with a zone as the driver makes them."""
    name = getattr(at.tzinfo, "key", None)
    return at.astimezone(_zone(name)) if name else at.replace(tzinfo=_offset(at.utcoffset()))


def _of_text(kind, text):
    """A date or time that ``datetime`` cannot hold; as it is, if the driver cannot, either."""
    classes = {"DATE": "Date", "LOCAL TIME": "Time", "ZONED TIME": "Time"}
    text, _, name = text.partition("[")
    try:
        value = getattr(time, classes.get(kind, "DateTime")).from_iso_format(text)
    except ValueError:
        return None
    return value.astimezone(_zone(name[:-1])) if name else value


def to_driver(value):
    """A scalar as the driver gives it."""
    if time is not None:
        if isinstance(value, datetime.datetime):
            return time.DateTime.from_native(value if value.tzinfo is None else _in_zone(value))
        if isinstance(value, datetime.date):
            return time.Date.from_native(value)
        if isinstance(value, datetime.time):
            if value.tzinfo is not None:
                value = value.replace(tzinfo=_offset(value.utcoffset()))
            return time.Time.from_native(value)
        if isinstance(value, telar.Duration):
            parts = {name: getattr(value, name) for name in ("months", "days", "seconds", "nanoseconds")}
            return time.Duration(**parts)
        if isinstance(value, telar.Temporal):
            found = _of_text(value.kind, str(value))
            return value if found is None else found
    if spatial is not None and isinstance(value, telar.Point):
        of = spatial.CartesianPoint if value.srid in _FLAT else spatial.WGS84Point
        return of((value.x, value.y) if value.z is None else (value.x, value.y, value.z))
    if isinstance(value, telar.Vector):
        if vector is None:
            return value.to_list()
        return vector.Vector(value.to_list(), _COORDINATES[value.coordinate_type])
    return value


def _is(value, module, name):
    return module is not None and isinstance(value, getattr(module, name))


def _text_of(at):
    """A date and time of the driver with the name of its zone."""
    text = at.iso_format()
    name = getattr(at.tzinfo, "zone", None) or getattr(at.tzinfo, "key", None)
    return text if name is None or re.fullmatch(r"[+-]\d.*", str(name)) else f"{text}[{name}]"


def to_telar(value):
    """A parameter as Telar takes it."""
    if isinstance(value, Mapping):
        return {key: to_telar(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, telar.Point):
        if _is(value, time, "Duration"):
            return telar.Duration(value.months, value.days, value.seconds, value.nanoseconds)
        if _is(value, spatial, "Point"):
            return telar.Point(*value, srid=value.srid)
        return [to_telar(element) for element in value]
    if _is(value, vector, "Vector"):
        names = {dtype: name for name, dtype in _COORDINATES.items()}
        return telar.Vector(value.to_native(), names[value.dtype])
    if _is(value, time, "Date"):
        return telar.Temporal("DATE", value.iso_format())
    if _is(value, time, "Time"):
        return telar.Temporal("LOCAL TIME" if value.tzinfo is None else "ZONED TIME", value.iso_format())
    if _is(value, time, "DateTime"):
        if value.tzinfo is None:
            return telar.Temporal("LOCAL DATETIME", value.iso_format())
        return telar.Temporal("ZONED DATETIME", _text_of(value))
    return value
