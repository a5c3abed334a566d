package behaviours;

import static behaviours.Behaviour.IS_TELAR;
import static behaviours.Behaviour.behaviour;
import static behaviours.Behaviour.driver;
import static behaviours.Behaviour.equal;
import static behaviours.Behaviour.inSession;
import static behaviours.Behaviour.require;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.StreamSupport;
import org.neo4j.driver.Session;
import org.neo4j.driver.Value;
import org.neo4j.driver.types.Path;

/** Every type there is, as parameter and as result. */
final class Values {
    private Values() {}

    private static Value value(Object value) {
        return org.neo4j.driver.Values.value(value);
    }

    /** Each of {@code values} comes back as it was sent: alone, in a list, in a map. */
    private static void roundTrip(Session session, Object... values) {
        for (var each : values) {
            var sent = value(each);
            var record = session.run("RETURN $v AS alone, [$v] AS list, {key: $v} AS map", Map.of("v", sent)).single();
            equal(record.get("alone"), sent);
            equal(record.get("list").get(0), sent);
            equal(record.get("map").get("key"), sent);
        }
    }

    /** Each of {@code values} is a legal property and comes back from the graph. */
    private static void stored(Session session, Object... values) {
        for (var each : values) {
            session.run("MERGE (n:Store) SET n.v = $v", Map.of("v", value(each))).consume();
            equal(session.run("MATCH (n:Store) RETURN n.v").single().get(0), value(each));
        }
    }

    /** Cypher expressions give what the driver's own type says. */
    private static void made(Session session, String expression, Object expected) {
        equal(session.run("RETURN " + expression).single().get(0), value(expected));
    }

    private static List<Integer> places(Path path) {
        return StreamSupport.stream(path.nodes().spliterator(), false).map(node -> node.get("i").asInt()).toList();
    }

    static void list() {
        inSession("null_and_booleans", session -> {
            var nothing = new LinkedHashMap<String, Object>();
            nothing.put("v", null);
            var record = session.run("RETURN $v AS v, [$v] AS l", nothing).single();
            require(record.get("v").isNull() && record.get("l").get(0).isNull(), "null");
            roundTrip(session, true, false);
            stored(session, true, false);
        });
        inSession("integers", session -> {
            var edges = LongStream.of(0, 1, -1, -16, -17, 127, 128, -128, -129, 32767, 32768, -32768, -32769,
                    (1L << 31) - 1, 1L << 31, -(1L << 31), -(1L << 31) - 1, Long.MAX_VALUE, Long.MIN_VALUE)
                    .boxed().toArray();
            roundTrip(session, edges);
            stored(session, edges);
            made(session, "9223372036854775807", Long.MAX_VALUE);
            made(session, "-9223372036854775808", Long.MIN_VALUE);
        });
        inSession("floats", session -> {
            Object[] edges = {0.0, 1.5, -2.25, 0.1, Double.MAX_VALUE, Double.MIN_VALUE, Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY, Double.NaN, -0.0};
            for (var edge : edges) {
                var back = session.run("RETURN $v", Map.of("v", edge)).single().get(0).asDouble();
                equal(Double.doubleToRawLongBits(back), Double.doubleToRawLongBits((Double) edge));
            }
            made(session, "1.0 / 4", 0.25);
            made(session, "toFloat(3)", 3.0);
        });
        inSession("strings", session -> {
            var texts = new ArrayList<Object>(List.of("", "a", "ä", "日本語", "👩‍👩‍👧 e\u0301", "a\0b", "'\"\\\n`$",
                    "\uDBFF\uDFFF"));
            for (var size : new int[] {15, 16, 255, 256, 65535, 65536}) texts.add("x".repeat(size));
            roundTrip(session, texts.toArray());
            stored(session, texts.toArray());
            made(session, "'\\u00e4' + \"ö\"", "äö");
        });
        inSession("bytes_values", session -> {
            for (var size : new int[] {0, 1, 255, 256, 70000}) {
                var bytes = new byte[size];
                for (int i = 0; i < size; i++) bytes[i] = (byte) i;
                roundTrip(session, bytes);
                stored(session, bytes);
            }
        });
        inSession("lists_and_maps", session -> {
            var withNull = new ArrayList<Object>(List.of(1, "two", 3.5));
            withNull.add(null);
            withNull.add(List.of(true, Map.of("b", List.of())));
            var numbers = IntStream.range(0, 300).boxed().toList();
            var map = new LinkedHashMap<String, Object>();
            numbers.forEach(number -> map.put(number.toString(), number));
            roundTrip(session, List.of(), Map.of(), List.of(List.of()), numbers, map,
                    Map.of("a", withNull, "", Map.of(), "ключ`", Map.of("c", Map.of("d", List.of(List.of())))));
            var many = IntStream.range(0, 70000).boxed().toList();
            stored(session, List.of(1, 2, 3), List.of("a", ""), List.of(1.5), List.of(true, false), many);
            made(session, "range(1, 3)", List.of(1, 2, 3));
        });
        inSession("nodes", session -> {
            var node = session.run("CREATE (n:A:`B c` {name: 'x', list: [1, 2]}) RETURN n").single().get(0).asNode();
            require(node.hasLabel("A") && node.hasLabel("B c"), "labels");
            equal(node.asMap(), Map.of("name", "x", "list", List.of(1L, 2L)));
            require(!node.elementId().isEmpty(), "an element id");
            var again = session.run("MATCH (n:A) RETURN n, [n] AS l, {m: n} AS m").single();
            equal(again.get("n").asNode().elementId(), node.elementId());
            equal(again.get("l").get(0).asNode().elementId(), node.elementId());
            equal(again.get("m").get("m").asNode().elementId(), node.elementId());
            var bare = session.run("CREATE (n) RETURN n").single().get(0).asNode();
            require(!bare.labels().iterator().hasNext() && bare.size() == 0, "a bare node");
        });
        inSession("relationships", session -> {
            var record = session.run("CREATE (a:A)-[r:`KNOWS of` {since: 1999}]->(b:B) RETURN a, r, b").single();
            var relationship = record.get("r").asRelationship();
            equal(relationship.type(), "KNOWS of");
            equal(relationship.asMap(), Map.of("since", 1999L));
            equal(relationship.startNodeElementId(), record.get("a").asNode().elementId());
            equal(relationship.endNodeElementId(), record.get("b").asNode().elementId());
            var loop = session.run("CREATE (a)-[r:LOOP]->(a) RETURN r").single().get(0).asRelationship();
            equal(loop.startNodeElementId(), loop.endNodeElementId());
            var two = session.run("MATCH (a:A), (b:B) CREATE (a)-[r:P]->(b), (a)-[s:P]->(b) RETURN r, s").single();
            require(!two.get("r").asRelationship().elementId().equals(two.get("s").asRelationship().elementId()), "two");
        });
        inSession("paths", session -> {
            session.run("CREATE (:P {i: 0})-[:X {w: 1}]->(:P {i: 1})<-[:Y]-(:P {i: 2})").consume();
            var path = session.run("MATCH p = (:P {i: 0})-->()<--() RETURN p").single().get(0).asPath();
            equal(places(path), List.of(0, 1, 2));
            var steps = StreamSupport.stream(path.relationships().spliterator(), false).toList();
            equal(steps.stream().map(step -> step.type()).toList(), List.of("X", "Y"));
            equal(steps.get(1).startNodeElementId(), path.end().elementId());
            equal(path.length(), 2);
            equal(places(session.run("MATCH p = (:P {i: 2})-->()<--() RETURN p").single().get(0).asPath()),
                    List.of(2, 1, 0));
            equal(places(session.run("MATCH p = (:P {i: 1}) RETURN p").single().get(0).asPath()), List.of(1));
            session.run("CREATE (a:C {i: 0})-[:X]->(b:C {i: 1})-[:X]->(a)").consume();
            equal(places(session.run("MATCH p = (:C {i: 0})-[:X*2]->() RETURN p").single().get(0).asPath()),
                    List.of(0, 1, 0));
        });
        inSession("dates_and_times", session -> {
            var clock = LocalTime.of(12, 34, 56, 123456789);
            var east = ZoneOffset.ofHoursMinutes(5, 45);
            var zone = ZoneId.of("Europe/Stockholm");
            var values = new LinkedHashMap<String, Object>();
            values.put("date('2024-02-29')", LocalDate.of(2024, 2, 29));
            values.put("date('-0044-03-15')", LocalDate.of(-44, 3, 15));
            values.put("localtime('12:34:56.123456789')", clock);
            values.put("time('12:34:56.123456789+05:45')", OffsetTime.of(clock, east));
            values.put("localdatetime('1969-12-31T12:34:56.123456789')",
                    LocalDateTime.of(LocalDate.of(1969, 12, 31), clock));
            values.put("datetime('2024-07-01T12:34:56.123456789+05:45')",
                    ZonedDateTime.of(LocalDate.of(2024, 7, 1), clock, east));
            values.put("datetime('1955-01-01T12:34:56.123456789Z')",
                    ZonedDateTime.of(LocalDate.of(1955, 1, 1), clock, ZoneOffset.UTC));
            for (var month : new int[] {1, 7}) {
                values.put("datetime('2024-0" + month + "-01T12:34:56.123456789[Europe/Stockholm]')",
                        ZonedDateTime.of(LocalDate.of(2024, month, 1), clock, zone));
            }
            values.forEach((text, value) -> {
                var query = "MERGE (n:T) SET n.v = $v RETURN $v AS back, " + text + " AS made, $v = " + text
                        + " AS equal, n.v AS v";
                var record = session.run(query, Map.of("v", value)).single();
                require(record.get("equal").asBoolean(), text + " is not the parameter " + value);
                for (var key : List.of("back", "made", "v")) equal(record.get(key).asObject(), value);
            });
        });
        inSession("durations", session -> {
            Object[] values = {duration(0, 0, 0, 0), duration(14, 3, 5, 7), duration(-1, 40, -61, 0),
                duration(0, 0, -1, 999999999)};
            roundTrip(session, values);
            stored(session, values);
            made(session, "duration('P1Y2M3DT4H5M6.000000007S')", duration(14, 3, 14706, 7));
            made(session, "duration({days: -1, seconds: 90000})", duration(0, -1, 90000, 0));
        });
        inSession("points", session -> {
            Object[] values = {point(7203, 1.5, -2), org.neo4j.driver.Values.point(9157, 1, 2, 3.5),
                point(4326, 12.5, 56.25), org.neo4j.driver.Values.point(4979, -12.5, -56.25, 100)};
            roundTrip(session, values);
            stored(session, values);
            made(session, "point({x: 1, y: 2})", point(7203, 1, 2));
            made(session, "point({x: 1, y: 2, z: 3})", org.neo4j.driver.Values.point(9157, 1, 2, 3));
            made(session, "point({longitude: 1, latitude: 2})", point(4326, 1, 2));
            made(session, "point({longitude: 1, latitude: 2, height: 3})", org.neo4j.driver.Values.point(4979, 1, 2, 3));
        });
        inSession("vectors", session -> {
            if (!IS_TELAR) return; // The vectors of Neo4j are those of its block format.
            made(session, "vector([1, -2], 2, INT8)", List.of(1, -2));
            made(session, "vector([1, 0.5], 2, FLOAT32)", List.of(1.0, 0.5));
        });
        inSession("thousand_parameters", session -> {
            var parameters = new LinkedHashMap<String, Object>();
            for (int i = 0; i < 1000; i++) parameters.put("p" + i, i);
            var query = "RETURN [$" + String.join(", $", parameters.keySet()) + "]";
            equal(session.run(query, parameters).single().get(0), value(IntStream.range(0, 1000).boxed().toList()));
        });
        inSession("large_strings", session -> {
            var text = "0123456789abcdeä".repeat(10 * (1 << 20) / 17);
            var query = "CREATE (n:Big {v: $v}) RETURN n.v AS v, size($v) AS size";
            var record = session.run(query, Map.of("v", text)).single();
            equal(record.get("size").asInt(), text.length());
            require(record.get("v").asString().equals(text), "the text comes back");
            require(session.run("MATCH (n:Big) RETURN n.v").single().get(0).asString().equals(text), "from the graph");
        });
        behaviour("deep_lists", () -> {
            try (var driver = driver(); var session = driver.session()) {
                Object deep = 0;
                for (int i = 0; i < 60; i++) deep = List.of(deep);
                roundTrip(session, deep);
                Object made = List.of();
                for (int i = 0; i < 49; i++) made = List.of(made);
                made(session, "[".repeat(50) + "]".repeat(50), made);
            }
        });
    }

    private static Value duration(long months, long days, long seconds, int nanoseconds) {
        return org.neo4j.driver.Values.isoDuration(months, days, seconds, nanoseconds);
    }

    private static Value point(int system, double x, double y) {
        return org.neo4j.driver.Values.point(system, x, y);
    }
}
