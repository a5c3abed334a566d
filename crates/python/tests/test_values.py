"""Values, to Telar and back."""

import copy
import datetime as dt
import math
import pickle
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import telar
from hypothesis import given, settings, strategies as st

DB = telar.open()


def back(value):
    return DB.query("RETURN $value", value=value).value()


def stored(value):
    return DB.query("CREATE (n {p: $value}) RETURN n.p", value=value).value()


OFFSETS = st.integers(-18 * 60, 18 * 60).map(lambda m: dt.timezone(dt.timedelta(minutes=m)))
ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]).map(ZoneInfo)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.times(),
    st.times(timezones=OFFSETS),
    st.datetimes(),
    st.datetimes(timezones=OFFSETS),
    # Those that clocks skip are other times when they come back: test_regressions.py.
    st.datetimes(
        dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1), timezones=ZONES, allow_imaginary=False
    ),
    st.builds(
        telar.Duration,
        st.integers(-(10**6), 10**6),
        st.integers(-(10**6), 10**6),
        st.integers(-(10**9), 10**9),
        st.integers(-(10**9), 10**9),
    ),
    st.builds(telar.Point, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
    st.builds(telar.Point, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
    st.builds(lambda x, y: telar.Point(x, y, srid=4326), st.floats(-180, 180), st.floats(-90, 90)),
    st.builds(
        telar.Vector,
        st.lists(st.floats(-100, 100), min_size=1, max_size=4),
        st.sampled_from(["FLOAT32", "FLOAT", "INT8", "INTEGER16", "INT32", "INT"]),
    ),
)
VALUES = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def same(one, other):
    assert type(one) is type(other)
    assert one == other
    if isinstance(one, (dt.datetime, dt.time)):
        assert one.utcoffset() == other.utcoffset()


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_values_come_back(value):
    same(back(value), value)


@given(SCALARS)
@settings(max_examples=300, deadline=None)
def test_properties_come_back(value):
    same(stored(value), value)


@given(SCALARS)
@settings(max_examples=100, deadline=None)
def test_what_comes_back_can_be_pickled(value):
    value = back(value)
    same(pickle.loads(pickle.dumps(value)), value)
    same(copy.deepcopy(value), value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 0.0])
def test_odd_floats(value):
    got = back(value)
    assert math.isnan(got) if math.isnan(value) else got == value
    assert math.copysign(1, got) == math.copysign(1, value) or math.isnan(value)


def test_a_moment_in_the_hour_that_comes_twice_keeps_its_offset():
    berlin = ZoneInfo("Europe/Berlin")
    for fold in (0, 1):
        at = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=fold)
        got = back(at)
        assert (got, got.utcoffset(), got.fold) == (at, at.utcoffset(), fold)


def test_what_datetime_cannot_hold_comes_as_it_is():
    texts = {
        "localtime('12:00:00.000000001')": ("LOCAL TIME", "12:00:00.000000001"),
        "date('-0044-03-15')": ("DATE", "-0044-03-15"),
        "localdatetime('+12345-01-01T00:00:00')": ("LOCAL DATETIME", None),
        "time('12:00:00.000000001+01:00')": ("ZONED TIME", "12:00:00.000000001+01:00"),
        "datetime('2024-01-01T00:00:00.000000001Z')": ("ZONED DATETIME", None),
    }
    for expression, (kind, text) in texts.items():
        got = DB.query(f"RETURN {expression}").value()
        assert isinstance(got, telar.Temporal) and got.kind == kind
        assert text is None or str(got) == text
        assert back(got) == got and hash(back(got)) == hash(got)
        assert DB.query(f"RETURN {expression} = $got", got=got).value() is True
        assert pickle.loads(pickle.dumps(got)) == got


def test_relatives_of_values_are_taken():
    assert back(dt.timedelta(days=1, seconds=2, microseconds=3)) == telar.Duration(0, 1, 2, 3000)
    assert back(dt.timedelta(microseconds=-1)) == telar.Duration(
        days=-1, seconds=86399, nanoseconds=999_999_000
    )
    assert back(bytearray(b"\0a")) == b"\0a"
    assert back((1, (2,))) == [1, [2]]
    assert back(range(3)) == [0, 1, 2]
    assert back(MappingProxyType({"a": 1})) == {"a": 1}
    assert back(np.int32(7)) == 7 and type(back(np.int32(7))) is int
    assert back(np.float32(0.5)) == 0.5
    assert back(np.bool_(True)) is True
    assert back(np.arange(6).reshape(2, 3)) == [[0, 1, 2], [3, 4, 5]]
    assert back(np.array([], dtype=float)) == []

    class Text(str):
        pass

    class Number(int):
        pass

    assert back(Text("a")) == "a" and back(Number(3)) == 3


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value, error, words",
    [
        (2**63, OverflowError, "value is 9223372036854775808, and integers have 64 bits"),
        (object(), TypeError, "value is a object"),
        ({1, 2}, TypeError, "value is a set"),
        (1j, TypeError, "complex"),
        ({1: 2}, TypeError, "keys of value are strings"),
        (nested(5000), RecursionError, "within each other"),
        (dt.time(1, tzinfo=ZoneInfo("Europe/Berlin")), ValueError, "depends on the date"),
        ("\ud800", UnicodeEncodeError, "surrogates"),
    ],
)
def test_what_is_no_value_is_refused(value, error, words):
    with pytest.raises(error, match=words):
        back(value)
    assert back(1) == 1


def test_a_list_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(RecursionError):
        back(value)


def test_parameters():
    assert DB.query("RETURN $a, $b", {"a": 1, "b": 2}).tuples() == [(1, 2)]
    assert DB.query("RETURN $a, $b", {"a": 1, "b": 2}, b=3).tuples() == [(1, 3)]
    assert DB.query("RETURN $text, $parameters", text="x", parameters=1).tuples() == [("x", 1)]
    with pytest.raises(telar.StatementError, match="a"):
        DB.query("RETURN $a")
    with pytest.raises(TypeError, match="parameters are a dict"):
        DB.query("RETURN $a", [1])


def test_durations_and_points_are_checked():
    with pytest.raises(ValueError, match="no reference system"):
        telar.Point(1, 2, srid=1)
    with pytest.raises(ValueError):
        telar.Point(1, 2, 3, srid=7203)
    with pytest.raises(ValueError):
        telar.Temporal("DATE", "yesterday")
    assert telar.Duration(months=1) != telar.Duration(days=30)
    assert {telar.Duration(1), telar.Duration(1)} == {telar.Duration(1)}
    assert telar.Point(0.0, 1) == telar.Point(-0.0, 1)
    assert hash(telar.Point(0.0, 1)) == hash(telar.Point(-0.0, 1))


def test_vectors():
    made = DB.query("RETURN vector([1, -2], 2, INT8)").value()
    assert made == telar.Vector([1, -2], "INTEGER8") != telar.Vector([1, -2])
    assert (made.coordinate_type, len(made), made.to_list(), list(made)) == ("INTEGER8", 2, [1, -2], [1, -2])
    assert repr(telar.Vector([0.5, 1])) == "Vector([0.5, 1.0], 'FLOAT32')"
    assert {telar.Vector([0.0]), telar.Vector([-0.0])} == {telar.Vector([0.0])}
    assert telar.Vector(made, "FLOAT").to_list() == [1.0, -2.0]
    assert pickle.loads(pickle.dumps(made)) == made
    assert made[1] == -2
    with pytest.raises(IndexError):
        made[2]
    for wrong, ty in [([], "INT"), ([300], "INT8"), ([float("nan")], "FLOAT"), (["a"], "INT"), ([1], "FLOAT16"), ("1", "INT")]:
        with pytest.raises(ValueError):
            telar.Vector(wrong, ty)
    assert DB.query("RETURN $v IS :: VECTOR<FLOAT32>(2)", v=telar.Vector([1, 2])).value() is True
    assert DB.query("RETURN vector_distance($v, $v, DOT)", v=telar.Vector([1, 2])).value() == -5.0
    numpy = pytest.importorskip("numpy")
    assert telar.Vector([0.5, 2]).to_numpy().dtype == numpy.float32
    assert telar.Vector(numpy.array([1.5, 2.5])).to_numpy().tolist() == [1.5, 2.5]


def test_nodes_are_no_parameters():
    node = DB.query("CREATE (n) RETURN n").value()
    with pytest.raises(TypeError, match="element_id"):
        back(node)
    assert DB.query("MATCH (n) WHERE elementId(n) = $id RETURN n", id=node.element_id).value() == node
