//! Functions by example, family by family: expressions and what they yield, most of them from the
//! TCK and the manual of Neo4j.

use super::calculator::{fails, holds};
use crate::error::Detail;

#[test]
fn mathematics() {
    holds(&[
        ("abs(-1)", "1"),
        ("abs(-1.5)", "1.5"),
        ("abs(null)", "null"),
        ("ceil(1.1)", "2.0"),
        ("floor(-1.1)", "-2.0"),
        ("sign(-0.5)", "-1"),
        ("sign(0)", "0"),
        ("sign(NaN)", "0"),
        ("isNaN(NaN)", "true"),
        ("isNaN(1)", "false"),
        ("round(1.5)", "2.0"),
        ("round(-1.5)", "-1.0"),
        ("round(0.49999999999999994)", "0.0"),
        ("round(9007199254740991)", "9007199254740991.0"),
        ("round(3.141592, 3)", "3.142"),
        ("round(-1.55, 1)", "-1.6"),
        ("round(1.249, 1, 'UP')", "1.3"),
        ("round(1.55, 1, 'HALF_EVEN')", "1.6"),
        ("round(1.55, 1, 'half_down')", "1.5"),
        ("round(-1.5, 0, 'HALF_UP')", "-2.0"),
        ("round(1, 9223372036854775807)", "1.0"),
        ("isNaN(round(NaN, 2))", "true"),
        ("round(null, 1)", "null"),
        ("sqrt(256)", "16.0"),
        ("isNaN(sqrt(-1))", "true"),
        ("log(0)", "-1.0 / 0.0"),
        ("log10(1000.0)", "3.0"),
        ("exp(0)", "1.0"),
        ("e()", "exp(1)"),
        ("degrees(pi())", "180.0"),
        ("radians(180)", "pi()"),
        ("sin(0)", "0.0"),
        ("atan2(0, -1)", "pi()"),
        ("haversin(0)", "0.0"),
        ("tanh(0)", "0.0"),
        ("isNaN(coth(0))", "true"),
        ("0 <= rand() AND rand() < 1", "true"),
    ]);
    fails(&[
        ("abs(-9223372036854775807 - 1)", Detail::IntegerOverflow),
        ("abs('1')", Detail::InvalidArgumentType),
        ("round(1.5, -1)", Detail::NegativeIntegerArgument),
        ("round(1.5, 1, 'SIDEWAYS')", Detail::InvalidArgumentValue),
        ("sin(true)", Detail::InvalidArgumentType),
        ("sin()", Detail::InvalidNumberOfArguments),
        ("pi(1)", Detail::InvalidNumberOfArguments),
    ]);
}

#[test]
fn strings() {
    holds(&[
        ("toUpper('straße')", "'STRASSE'"),
        ("toLower('ÅB')", "'åb'"),
        ("upper('a') + lower('B')", "'Ab'"),
        ("left('héllo', 2)", "'hé'"),
        ("left('hello', 9)", "'hello'"),
        ("left(null, null)", "null"),
        ("right('héllo', 4)", "'éllo'"),
        ("right('hello', 0)", "''"),
        ("right('hello', 9223372036854775807)", "'hello'"),
        ("substring('hello', 1, 3)", "'ell'"),
        ("substring('hello', 2)", "'llo'"),
        ("substring('hello', 9)", "''"),
        ("substring('hello', 1, 0)", "''"),
        ("substring(null, 1)", "null"),
        ("replace('hello', 'l', 'w')", "'hewwo'"),
        ("replace('hello', 'x', null)", "null"),
        ("reverse('raksO')", "'Oskar'"),
        ("split('one1two', '1')", "['one', 'two']"),
        ("split('a,b;c', [',', ';'])", "['a', 'b', 'c']"),
        ("split('abc', '')", "['a', 'b', 'c']"),
        ("split(',a,', ',')", "['', 'a', '']"),
        ("split('', ',')", "['']"),
        ("split('a', null)", "null"),
        ("trim('  a \\n')", "'a'"),
        ("trim('BOTH', 'x', 'xxaxx')", "'a'"),
        ("trim('leading', 'x', 'xxaxx')", "'axx'"),
        ("trim('TRAILING', 'x', 'xxaxx')", "'xxa'"),
        ("ltrim(' a ')", "'a '"),
        ("rtrim(' a ')", "' a'"),
        ("btrim('xyax', 'xy')", "'a'"),
        ("lpad('a', 3, 'xy')", "'xya'"),
        ("rpad('a', 4, 'xy')", "'axyx'"),
        ("lpad('abc', 2)", "'ab'"),
        ("lpad('a', 3, '')", "'a'"),
        ("repeat('ab', 3)", "'ababab'"),
        ("repeat('', 9223372036854775807)", "''"),
        ("char_length('héllo')", "5"),
        ("character_length('')", "0"),
        ("size('héllo')", "5"),
        ("normalize('Å') = 'Å'", "true"),
        ("normalize('ﬁ', 'NFKC')", "'fi'"),
        ("[left('a', null), right('a', null), substring('a', null)]", "[null, null, null]"),
        ("substring('a', 0, null)", "null"),
    ]);
    fails(&[
        ("left('a', -1)", Detail::NegativeIntegerArgument),
        ("substring('a', -1)", Detail::NegativeIntegerArgument),
        ("toUpper(1)", Detail::InvalidArgumentType),
        ("trim('BOTH', 'xy', 'a')", Detail::InvalidArgumentValue),
        ("trim('MIDDLE', 'x', 'a')", Detail::InvalidArgumentValue),
        ("repeat('ab', 9223372036854775807)", Detail::ResultTooLarge),
        ("lpad('a', 9223372036854775807)", Detail::ResultTooLarge),
        ("replace(repeat('a', 100000), 'a', repeat('b', 100000))", Detail::ResultTooLarge),
        ("normalize('a', 'NFX')", Detail::InvalidArgumentValue),
    ]);
}

#[test]
fn lists_and_maps() {
    holds(&[
        ("head([1, 2])", "1"),
        ("head([])", "null"),
        ("last([1, 2])", "2"),
        ("tail([1, 2, 3])", "[2, 3]"),
        ("tail([])", "[]"),
        ("size([1, null])", "2"),
        ("size(null)", "null"),
        ("reverse([1, null, 2])", "[2, null, 1]"),
        ("isEmpty([])", "true"),
        ("isEmpty({})", "true"),
        ("isEmpty('a')", "false"),
        ("keys({b: 1, a: null})", "['a', 'b']"),
        ("coalesce(null, null, 1, 2)", "1"),
        ("coalesce(null)", "null"),
        ("range(0, 3)", "[0, 1, 2, 3]"),
        ("range(10, -10, -3)", "[10, 7, 4, 1, -2, -5, -8]"),
        ("range(0, 1, -1)", "[]"),
        ("range(0, -1)", "[]"),
        (
            "range(9223372036854775806, 9223372036854775807)",
            "[9223372036854775806, 9223372036854775807]",
        ),
        ("size(range(-9223372036854775807, 9223372036854775807, 9223372036854775807))", "3"),
        ("vector.similarity.cosine([1, 0], [1.0, 0.0])", "1.0"),
        ("vector.similarity.cosine([1, 0], [-1, 0])", "0.0"),
        ("vector.similarity.euclidean([1, 0], [0, 0])", "0.5"),
    ]);
    fails(&[
        ("range(0, 9223372036854775807)", Detail::ResultTooLarge),
        ("range(0, 1, 0)", Detail::NumberOutOfRange),
        ("range(0, 1.0)", Detail::InvalidArgumentType),
        ("range(null, 1)", Detail::InvalidArgumentType),
        ("head('a')", Detail::InvalidArgumentType),
        ("size(1)", Detail::InvalidArgumentType),
        ("keys([1])", Detail::InvalidArgumentType),
        ("vector.similarity.cosine([1], [1, 2])", Detail::InvalidArgumentValue),
        ("vector.similarity.cosine([], [])", Detail::InvalidArgumentValue),
        ("vector.similarity.cosine([0, 0], [1, 2])", Detail::InvalidArgumentValue),
        ("vector.similarity.euclidean([0.0 / 0.0], [1.0])", Detail::InvalidArgumentValue),
        ("vector.similarity.euclidean([1e300], [-1e300])", Detail::InvalidArgumentValue),
        ("vector.similarity.euclidean([1, 'a'], [1, 2])", Detail::InvalidArgumentType),
        ("coalesce()", Detail::InvalidNumberOfArguments),
    ]);
}

/// TCK TypeConversion1-4.
#[test]
fn conversions() {
    holds(&[
        ("toBoolean('True')", "true"),
        ("toBoolean(' false ')", "false"),
        ("toBoolean('1')", "null"),
        ("toBoolean(0)", "false"),
        ("toInteger('2.9')", "2"),
        ("toInteger('foo')", "null"),
        ("toInteger('')", "null"),
        ("toInteger(-2.9)", "-2"),
        ("toInteger(true)", "1"),
        ("toInteger(NaN)", "0"),
        ("toInteger(1e300)", "9223372036854775807"),
        ("toFloat('1')", "1.0"),
        ("toFloat(3)", "3.0"),
        ("toFloat('foo')", "null"),
        ("toString(42)", "'42'"),
        ("toString(1.0)", "'1.0'"),
        ("toString(1e10)", "'1.0E10'"),
        ("toString(false)", "'false'"),
        ("toString(null)", "null"),
        ("toString(date('2020-01-02'))", "'2020-01-02'"),
        ("toString(point({x: 1, y: 2}))", "'point({x: 1.0, y: 2.0, crs: \\'cartesian\\'})'"),
        ("toIntegerOrNull([])", "null"),
        ("toIntegerOrNull('99999999999999999999')", "null"),
        ("toFloatOrNull(true)", "null"),
        ("toBooleanOrNull(1.0)", "null"),
        ("toStringOrNull({a: 1})", "null"),
        ("toIntegerList(['1', 2.5, null, true, []])", "[1, 2, null, 1, null]"),
        ("toStringList([1, 'a', null, []])", "['1', 'a', null, null]"),
        ("toFloatList(['1.5', 2])", "[1.5, 2.0]"),
        ("toBooleanList(['true', 0, 'x'])", "[true, false, null]"),
        ("toStringList(null)", "null"),
    ]);
    fails(&[
        ("toBoolean(1.0)", Detail::InvalidArgumentValue),
        ("toBoolean([])", Detail::InvalidArgumentValue),
        ("toInteger({})", Detail::InvalidArgumentValue),
        ("toInteger('9223372036854775808')", Detail::IntegerOverflow),
        ("toFloat(true)", Detail::InvalidArgumentValue),
        ("toString([])", Detail::InvalidArgumentValue),
        ("toStringList('a')", Detail::InvalidArgumentType),
    ]);
}

#[test]
fn points() {
    holds(&[
        ("point({x: 1, y: 2}) = point({x: 1.0, y: 2.0, crs: 'cartesian'})", "true"),
        ("point({x: 1, y: 2, z: 3}).srid", "9157"),
        ("point({x: 1, y: 2, crs: 'WGS-84'}).longitude", "1.0"),
        ("point({longitude: 56.7, latitude: 12.78, height: 8}).crs", "'wgs-84-3d'"),
        ("point({x: 3, y: 0, srid: 4326}).crs", "'wgs-84'"),
        ("point({x: null, y: 0})", "null"),
        ("point.distance(point({x: 0, y: 0}), point({x: 3, y: 4}))", "5.0"),
        ("point.distance(point({x: 0, y: 0, z: 0}), point({x: 2, y: 3, z: 6}))", "7.0"),
        ("point.distance(point({x: 0, y: 0}), point({longitude: 0, latitude: 0}))", "null"),
        ("point.distance(point({x: 0, y: 0}), null)", "null"),
        ("[point.distance(1, 2), point.withinBBox(1, 2, 3)]", "[null, null]"),
        (
            "round(point.distance(point({longitude: 12.78, latitude: 56.7}), \
          point({longitude: 12.79, latitude: 56.71})))",
            "1270.0",
        ),
        (
            "point.withinBBox(point({x: 5, y: 5}), point({x: 0, y: 0}), point({x: 10, y: 5}))",
            "true",
        ),
        (
            "point.withinBBox(point({x: 5, y: 5}), point({x: 10, y: 0}), point({x: 0, y: 10}))",
            "false",
        ),
        (
            "point.withinBBox(point({longitude: 179, latitude: 1}), \
          point({longitude: 170, latitude: 0}), point({longitude: -170, latitude: 2}))",
            "true",
        ),
        (
            "point.withinBBox(point({longitude: 0, latitude: 1}), \
          point({longitude: 170, latitude: 0}), point({longitude: -170, latitude: 2}))",
            "false",
        ),
    ]);
    fails(&[
        ("point({x: 1})", Detail::InvalidArgumentValue),
        ("point({x: 1, y: '2'})", Detail::InvalidArgumentType),
        ("point({x: 1, y: 2, crs: 'moon'})", Detail::InvalidArgumentValue),
        ("point({x: 1, y: 2, z: 3, crs: 'cartesian'})", Detail::InvalidArgumentValue),
        ("point({x: 1, y: 2, crs: 'cartesian', srid: 7203})", Detail::InvalidArgumentValue),
        ("point({longitude: 1, latitude: 91})", Detail::InvalidArgumentValue),
        ("point({longitude: 1, latitude: 2, crs: 'cartesian'})", Detail::InvalidArgumentValue),
    ]);
}

#[test]
fn others() {
    holds(&[
        ("nullIf(4, 4.0)", "null"),
        ("nullIf('abc', 'def')", "'abc'"),
        ("nullIf(null, 1)", "null"),
        ("valueType([1, null])", "'LIST<INTEGER> NOT NULL'"),
        ("valueType(null)", "'NULL'"),
        ("timestamp()", "466345874645"),
        (
            "randomUUID() =~ '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'",
            "true",
        ),
    ]);
    fails(&[
        ("length([1])", Detail::InvalidArgumentType),
        ("nodes(1)", Detail::InvalidArgumentType),
    ]);
}
