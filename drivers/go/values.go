package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// Every type there is, as parameter and as result.

// roundTrip sends each value alone, in a list and in a map.
func roundTrip(session neo4j.SessionWithContext, sent ...any) {
	for _, v := range sent {
		record := one(auto(session), "RETURN $v AS alone, [$v] AS list, {key: $v} AS map", anything{"v": v})
		equal(record.Values[0], v)
		equal(record.Values[1], []any{v})
		equal(record.Values[2], anything{"key": v})
	}
}

// stored makes each value a property and reads it back.
func stored(session neo4j.SessionWithContext, sent ...any) {
	for _, v := range sent {
		check(do(auto(session), "MERGE (n:Store) SET n.v = $v", anything{"v": v}))
		equal(value(auto(session), "MATCH (n:Store) RETURN n.v", nil), v)
	}
}

// made compares what an expression gives with the driver's own type.
func made(session neo4j.SessionWithContext, expression string, expected any) {
	equal(value(auto(session), "RETURN "+expression, nil), expected)
}

func numbers(count int) []any {
	list := make([]any, count)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

func places(path any) []any {
	var list []any
	for _, node := range path.(neo4j.Path).Nodes {
		list = append(list, node.Props["i"])
	}
	return list
}

var values = []behaviour{
	{"null_and_booleans", inSession(func(session neo4j.SessionWithContext) {
		roundTrip(session, nil, true, false)
		stored(session, true, false)
	})},
	{"integers", inSession(func(session neo4j.SessionWithContext) {
		for _, edge := range []int64{0, 1, -1, -16, -17, 127, 128, -128, -129, 32767, 32768, -32768, -32769,
			1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, math.MaxInt64, math.MinInt64} {
			roundTrip(session, edge)
			stored(session, edge)
		}
		made(session, "9223372036854775807", int64(math.MaxInt64))
		made(session, "-9223372036854775808", int64(math.MinInt64))
	})},
	{"floats", inSession(func(session neo4j.SessionWithContext) {
		edges := []any{0.0, 1.5, -2.25, 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1)}
		roundTrip(session, edges...)
		stored(session, edges...)
		record := one(auto(session), "RETURN $nan, $zero", anything{"nan": math.NaN(), "zero": math.Copysign(0, -1)})
		require(math.IsNaN(record.Values[0].(float64)), "not a number")
		require(math.Signbit(record.Values[1].(float64)), "minus zero")
		made(session, "1.0 / 4", 0.25)
		made(session, "toFloat(3)", 3.0)
	})},
	{"strings", inSession(func(session neo4j.SessionWithContext) {
		texts := []any{"", "a", "ä", "日本語", "👩‍👩‍👧 e\u0301", "a\x00b", "'\"\\\n`$", "\U0010ffff"}
		for _, size := range []int{15, 16, 255, 256, 65535, 65536} {
			texts = append(texts, strings.Repeat("x", size))
		}
		roundTrip(session, texts...)
		stored(session, texts...)
		made(session, "'\\u00e4' + \"ö\"", "äö")
	})},
	{"bytes_values", inSession(func(session neo4j.SessionWithContext) {
		for _, size := range []int{0, 1, 255, 256, 70000} {
			bytes := make([]byte, size)
			for i := range bytes {
				bytes[i] = byte(i)
			}
			roundTrip(session, bytes)
			stored(session, bytes)
		}
	})},
	{"lists_and_maps", inSession(func(session neo4j.SessionWithContext) {
		nested := anything{"a": []any{int64(1), "two", 3.5, nil, []any{true, anything{"b": []any{}}}}, "": anything{},
			"ключ`": anything{"c": anything{"d": []any{[]any{}}}}}
		wide := anything{}
		for i := range 300 {
			wide[fmt.Sprint(i)] = int64(i)
		}
		roundTrip(session, []any{}, anything{}, []any{[]any{}}, nested, numbers(300), wide)
		stored(session, numbers(3), []any{"a", ""}, []any{1.5}, []any{true, false}, numbers(70000))
		made(session, "{a: 1, b: [null]}", anything{"a": int64(1), "b": []any{nil}})
	})},
	{"nodes", inSession(func(session neo4j.SessionWithContext) {
		node := value(auto(session), "CREATE (n:A:`B c` {name: 'x', list: [1, 2]}) RETURN n", nil).(neo4j.Node)
		require(len(node.Labels) == 2 && node.ElementId != "", "labels %v", node.Labels)
		equal(node.Props, anything{"name": "x", "list": []any{int64(1), int64(2)}})
		again := one(auto(session), "MATCH (n:A) RETURN n, [n] AS l, {m: n} AS m", nil)
		equal(again.Values[0].(neo4j.Node).ElementId, node.ElementId)
		equal(again.Values[1].([]any)[0].(neo4j.Node).ElementId, node.ElementId)
		equal(again.Values[2].(anything)["m"].(neo4j.Node).ElementId, node.ElementId)
		bare := value(auto(session), "CREATE (n) RETURN n", nil).(neo4j.Node)
		require(len(bare.Labels) == 0 && len(bare.Props) == 0, "a bare node")
	})},
	{"relationships", inSession(func(session neo4j.SessionWithContext) {
		record := one(auto(session), "CREATE (a:A)-[r:`KNOWS of` {since: 1999}]->(b:B) RETURN a, r, b", nil)
		relationship := record.Values[1].(neo4j.Relationship)
		equal(relationship.Type, "KNOWS of")
		equal(relationship.Props, anything{"since": int64(1999)})
		equal(relationship.StartElementId, record.Values[0].(neo4j.Node).ElementId)
		equal(relationship.EndElementId, record.Values[2].(neo4j.Node).ElementId)
		loop := value(auto(session), "CREATE (a)-[r:LOOP]->(a) RETURN r", nil).(neo4j.Relationship)
		equal(loop.StartElementId, loop.EndElementId)
		two := one(auto(session), "MATCH (a:A), (b:B) CREATE (a)-[r:P]->(b), (a)-[s:P]->(b) RETURN r, s", nil)
		first, second := two.Values[0].(neo4j.Relationship), two.Values[1].(neo4j.Relationship)
		require(first.ElementId != second.ElementId, "parallel relationships are two")
	})},
	{"paths", inSession(func(session neo4j.SessionWithContext) {
		check(do(auto(session), "CREATE (:P {i: 0})-[:X {w: 1}]->(:P {i: 1})<-[:Y]-(:P {i: 2})", nil))
		there := value(auto(session), "MATCH p = (:P {i: 0})-->()<--() RETURN p", nil).(neo4j.Path)
		equal(places(there), numbers(3))
		equal([]string{there.Relationships[0].Type, there.Relationships[1].Type}, []string{"X", "Y"})
		equal(there.Relationships[1].StartElementId, there.Nodes[2].ElementId)
		back := value(auto(session), "MATCH p = (:P {i: 2})-->()<--() RETURN p", nil)
		equal(places(back), []any{int64(2), int64(1), int64(0)})
		equal(places(value(auto(session), "MATCH p = (:P {i: 1}) RETURN p", nil)), []any{int64(1)})
		check(do(auto(session), "CREATE (a:C {i: 0})-[:X]->(b:C {i: 1})-[:X]->(a)", nil))
		// This driver lists each node of a path once, so that a circle shows in its relationships.
		circle := value(auto(session), "MATCH p = (:C {i: 0})-[:X*2]->() RETURN p", nil).(neo4j.Path)
		equal(len(circle.Relationships), 2)
		equal(circle.Relationships[1].EndElementId, circle.Nodes[0].ElementId)
	})},
	{"dates_and_times", inSession(func(session neo4j.SessionWithContext) {
		at := func(year int, month time.Month, day int, zone *time.Location) time.Time {
			return time.Date(year, month, day, 12, 34, 56, 123456789, zone)
		}
		east, local := time.FixedZone("Offset", 5*3600+45*60), time.UTC
		city := must(time.LoadLocation("Europe/Stockholm"))
		sent := map[string]any{
			"date('2024-02-29')":                                          neo4j.DateOf(at(2024, 2, 29, local)),
			"localtime('12:34:56.123456789')":                             neo4j.LocalTimeOf(at(2024, 1, 1, local)),
			"time('12:34:56.123456789+05:45')":                            neo4j.OffsetTimeOf(at(2024, 1, 1, east)),
			"localdatetime('1969-12-31T12:34:56.123456789')":              neo4j.LocalDateTimeOf(at(1969, 12, 31, local)),
			"datetime('2024-07-01T12:34:56.123456789+05:45')":             at(2024, 7, 1, east),
			"datetime('1955-01-01T12:34:56.123456789Z')":                  at(1955, 1, 1, time.FixedZone("Offset", 0)),
			"datetime('2024-01-01T12:34:56.123456789[Europe/Stockholm]')": at(2024, 1, 1, city),
			"datetime('2024-07-01T12:34:56.123456789[Europe/Stockholm]')": at(2024, 7, 1, city),
		}
		for text, v := range sent {
			query := fmt.Sprintf("MERGE (n:T) SET n.v = $v RETURN $v = %s, $v, %s, n.v", text, text)
			record := one(auto(session), query, anything{"v": v})
			require(record.Values[0].(bool), "%s is not the parameter %v", text, v)
			for _, got := range record.Values[1:] {
				if instant, zoned := v.(time.Time); zoned {
					require(instant.Equal(got.(time.Time)), "%s: got %v", text, got)
					equal(got.(time.Time).Format(time.RFC3339Nano), instant.Format(time.RFC3339Nano))
					if instant.Location() == city {
						equal(got.(time.Time).Location().String(), city.String())
					}
				} else {
					equal(fmt.Sprintf("%T %v", got, got), fmt.Sprintf("%T %v", v, v))
				}
			}
		}
	})},
	{"durations", inSession(func(session neo4j.SessionWithContext) {
		sent := []any{neo4j.DurationOf(0, 0, 0, 0), neo4j.DurationOf(14, 3, 5, 7), neo4j.DurationOf(-1, 40, -61, 0),
			neo4j.DurationOf(0, 0, -1, 999999999)}
		roundTrip(session, sent...)
		stored(session, sent...)
		made(session, "duration('P1Y2M3DT4H5M6.000000007S')", neo4j.DurationOf(14, 3, 14706, 7))
		made(session, "duration({days: -1, seconds: 90000})", neo4j.DurationOf(0, -1, 90000, 0))
	})},
	{"points", inSession(func(session neo4j.SessionWithContext) {
		plane := func(x, y float64) neo4j.Point2D { return neo4j.Point2D{X: x, Y: y, SpatialRefId: 7203} }
		globe := func(x, y float64) neo4j.Point2D { return neo4j.Point2D{X: x, Y: y, SpatialRefId: 4326} }
		solid := func(system uint32, x, y, z float64) neo4j.Point3D {
			return neo4j.Point3D{X: x, Y: y, Z: z, SpatialRefId: system}
		}
		sent := []any{plane(1.5, -2), solid(9157, 1, 2, 3.5), globe(12.5, 56.25), solid(4979, -12.5, -56.25, 100)}
		roundTrip(session, sent...)
		stored(session, sent...)
		made(session, "point({x: 1, y: 2})", plane(1, 2))
		made(session, "point({x: 1, y: 2, z: 3})", solid(9157, 1, 2, 3))
		made(session, "point({longitude: 1, latitude: 2})", globe(1, 2))
		made(session, "point({longitude: 1, latitude: 2, height: 3})", solid(4979, 1, 2, 3))
	})},
	{"vectors", inSession(func(session neo4j.SessionWithContext) {
		if !isTelar {
			return // The vectors of Neo4j are those of its block format.
		}
		made(session, "vector([1, -2], 2, INT8)", []any{int64(1), int64(-2)})
		made(session, "vector([1, 0.5], 2, FLOAT32)", []any{1.0, 0.5})
	})},
	{"thousand_parameters", inSession(func(session neo4j.SessionWithContext) {
		parameters, names := anything{}, []string{}
		for i := range 1000 {
			names = append(names, fmt.Sprintf("$p%d", i))
			parameters[fmt.Sprintf("p%d", i)] = i
		}
		equal(value(auto(session), "RETURN ["+strings.Join(names, ", ")+"]", parameters), numbers(1000))
	})},
	{"large_strings", inSession(func(session neo4j.SessionWithContext) {
		text := strings.Repeat("0123456789abcdeä", 10*1<<20/17)
		record := one(auto(session), "CREATE (n:Big {v: $v}) RETURN n.v, size($v)", anything{"v": text})
		equal(record.Values[1], int64(16*(10*1<<20/17)))
		require(record.Values[0] == text, "the text comes back")
		require(value(auto(session), "MATCH (n:Big) RETURN n.v", nil) == text, "and from the graph")
	})},
	{"deep_lists", inSession(func(session neo4j.SessionWithContext) {
		var deep any = int64(0)
		for range 60 {
			deep = []any{deep}
		}
		roundTrip(session, deep)
		var nested any = []any{}
		for range 49 {
			nested = []any{nested}
		}
		made(session, strings.Repeat("[", 50)+strings.Repeat("]", 50), nested)
	})},
}
