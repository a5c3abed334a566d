package behaviours;

import static behaviours.Behaviour.ADDRESS;
import static behaviours.Behaviour.IS_TELAR;
import static behaviours.Behaviour.KIND;
import static behaviours.Behaviour.SCHEME;
import static behaviours.Behaviour.behaviour;
import static behaviours.Behaviour.config;
import static behaviours.Behaviour.driver;
import static behaviours.Behaviour.equal;
import static behaviours.Behaviour.fetching;
import static behaviours.Behaviour.inSession;
import static behaviours.Behaviour.require;
import static behaviours.Behaviour.residentMib;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.NotificationConfig;
import org.neo4j.driver.Session;
import org.neo4j.driver.summary.GqlStatusObject;
import org.neo4j.driver.summary.Plan;
import org.neo4j.driver.summary.ProfiledPlan;
import org.neo4j.driver.summary.QueryType;

/** Results: rows as they come, and what the summary says of them. */
final class Results {
    private static final long MILLION = 1_000_000;
    // A row holds 100 characters, so that a result kept in memory as a whole would take some 150 MiB.
    private static final String ROWS = "UNWIND range(1, $rows) AS i RETURN i, $text + i AS text";
    private static final String UNKNOWN = "MATCH (n:NoSuchLabelAnywhere) RETURN n";

    private Results() {}

    private static Map<String, Object> rows(long count, int size) {
        return Map.of("rows", count, "text", "x".repeat(size));
    }

    private static Stream<Plan> operators(Plan plan) {
        return Stream.concat(Stream.of(plan), plan.children().stream().flatMap(Results::operators));
    }

    private static Stream<ProfiledPlan> profiled(ProfiledPlan plan) {
        return Stream.concat(Stream.of(plan), plan.children().stream().flatMap(Results::profiled));
    }

    private static List<String> statuses(Session session, String query) {
        return session.run(query).consume().gqlStatusObjects().stream().map(GqlStatusObject::gqlStatus).toList();
    }

    static void list() {
        inSession("keys_and_records", session -> {
            var result = session.run("UNWIND [1, 2] AS x RETURN x, x * 2 AS `two x`, 'c' AS c ORDER BY x");
            equal(result.keys(), List.of("x", "two x", "c"));
            equal(result.list(record -> record.asMap().values().toString()), List.of("[1, 2, c]", "[2, 4, c]"));
            var nothing = session.run("MATCH (n:Nobody) RETURN n.a AS a, n.b");
            equal(nothing.keys(), List.of("a", "n.b"));
            equal(nothing.list(), List.of());
            equal(session.run("CREATE (:A)").keys(), List.of());
        });
        inSession("query_types", session -> {
            equal(session.run("RETURN 1").consume().queryType(), QueryType.READ_ONLY);
            equal(session.run("CREATE (:A)").consume().queryType(), QueryType.WRITE_ONLY);
            equal(session.run("MERGE (a:A) RETURN a").consume().queryType(), QueryType.READ_WRITE);
            equal(session.run("CREATE CONSTRAINT FOR (n:Kind) REQUIRE n.id IS UNIQUE").consume().queryType(),
                    QueryType.SCHEMA_WRITE);
        });
        inSession("counters", session -> {
            var made = session.run("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 1}]->(b:B)").consume().counters();
            equal(List.of(made.nodesCreated(), made.relationshipsCreated(), made.propertiesSet(), made.labelsAdded()),
                    List.of(2, 1, 3, 3));
            require(made.containsUpdates() && !made.containsSystemUpdates(), "updates");
            var changed = session.run("MATCH (a:A) SET a.x = 5, a:C REMOVE a:B REMOVE a.y").consume().counters();
            equal(List.of(changed.propertiesSet(), changed.labelsAdded(), changed.labelsRemoved()), List.of(2, 1, 1));
            var gone = session.run("MATCH (a) DETACH DELETE a").consume().counters();
            equal(List.of(gone.nodesDeleted(), gone.relationshipsDeleted()), List.of(2, 1));
            require(!session.run("MATCH (a) RETURN a").consume().counters().containsUpdates(), "no updates");
            var schema = "CREATE CONSTRAINT counted FOR (n:Counted) REQUIRE n.id IS UNIQUE";
            equal(session.run(schema).consume().counters().constraintsAdded(), 1);
            equal(session.run("DROP CONSTRAINT counted").consume().counters().constraintsRemoved(), 1);
            equal(session.run("CREATE INDEX counted FOR (n:Counted) ON (n.id)").consume().counters().indexesAdded(), 1);
            equal(session.run("DROP INDEX counted").consume().counters().indexesRemoved(), 1);
        });
        inSession("plans_and_profiles", session -> {
            session.run("UNWIND range(1, 10) AS i CREATE (:P {i: i})").consume();
            var query = "MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i";
            var explained = session.run("EXPLAIN " + query);
            equal(explained.list(), List.of());
            var summary = explained.consume();
            require(summary.hasPlan() && !summary.hasProfile(), "a plan and no profile");
            require(operators(summary.plan()).count() >= 2, "operators");
            var result = session.run("PROFILE " + query);
            equal(result.list().size(), 5);
            var profile = result.consume().profile();
            equal(profile.records(), 5L);
            require(profiled(profile).mapToLong(ProfiledPlan::dbHits).sum() > 0, "hits");
            require(!session.run("MATCH (n:P) RETURN n").consume().hasPlan(), "no plan unasked");
        });
        behaviour("notifications", () -> {
            try (var driver = driver(); var session = driver.session()) {
                var notifications = session.run(UNKNOWN).consume().notifications();
                var first = notifications.stream()
                        .filter(n -> n.code().equals("Neo.ClientNotification.Statement.UnknownLabelWarning")).findFirst();
                equal(first.orElseThrow().position().line(), 1);
                require(statuses(session, UNKNOWN).contains("01N50"), "its status");
            }
            var off = config().withNotificationConfig(NotificationConfig.disableAllConfig());
            try (var driver = driver(SCHEME + "://" + ADDRESS, AuthTokens.none(), off); var session = driver.session()) {
                equal(session.run(UNKNOWN).consume().notifications(), List.of());
            }
        });
        inSession("summaries", session -> {
            var summary = session.run("RETURN $x AS x", Map.of("x", 1)).consume();
            equal(summary.database().name(), KIND);
            equal(summary.query().text(), "RETURN $x AS x");
            require(summary.resultAvailableAfter(java.util.concurrent.TimeUnit.MILLISECONDS) >= 0, "a time");
            require(summary.resultConsumedAfter(java.util.concurrent.TimeUnit.MILLISECONDS) >= 0, "a time");
            equal(summary.server().address(), ADDRESS);
            equal(statuses(session, "RETURN 1"), List.of("00000"));
            require(statuses(session, "MATCH (n:P {x: 1}) RETURN n.x").contains("02000"), "no data");
            equal(statuses(session, "CREATE (:P {x: 1})"), List.of("00001"));
        });
        inSession("million_rows_in_constant_memory", session -> {
            session.run(ROWS, rows(1000, 100)).consume();
            var process = System.getenv("DRIVERS_PROCESS");
            var before = residentMib(process);
            var highest = before;
            long count = 0;
            long total = 0;
            // The heap of this program is limited by its caller (-Xmx128m): a result kept would not fit.
            for (var result = session.run(ROWS, rows(MILLION, 100)); result.hasNext(); ) {
                total += result.next().get(0).asLong();
                if (++count % 10000 == 0) highest = Math.max(highest, residentMib(process));
            }
            equal(List.of(count, total), List.of(MILLION, MILLION * (MILLION + 1) / 2));
            require(Runtime.getRuntime().maxMemory() < 160L << 20, "run with -Xmx128m");
            require(highest - before < 64 || !IS_TELAR, "the server grew by " + (highest - before) + " MiB");
        });
        behaviour("slow_reader_holds_no_memory", () -> {
            try (var driver = driver(); var session = driver.session(fetching(10))) {
                session.run("RETURN 1").consume();
                var process = System.getenv("DRIVERS_PROCESS");
                var before = residentMib(process);
                var result = session.run(ROWS, rows(10 * MILLION, 100));
                for (int i = 0; i < 50; i++) {
                    result.next();
                    Thread.sleep(10);
                }
                var grown = residentMib(process) - before;
                require(grown < 64 || !IS_TELAR, "the server grew by " + grown + " MiB");
            }
        });
        behaviour("early_end_of_a_result", () -> {
            try (var driver = driver(); var session = driver.session(fetching(10))) {
                var started = System.nanoTime();
                var result = session.run(ROWS, rows(1000 * MILLION, 0));
                for (long i = 1; i <= 5; i++) equal(result.next().get("i").asLong(), i);
                equal(result.consume().queryType(), QueryType.READ_ONLY);
                equal(session.run("RETURN 1").single().get(0).asInt(), 1);
                require(System.nanoTime() - started < 20e9, "discarding does not compute the rest");
            }
        });
        behaviour("two_open_results", () -> {
            try (var driver = driver(); var session = driver.session(fetching(2));
                    var transaction = session.beginTransaction()) {
                var first = transaction.run("UNWIND range(1, 9) AS i RETURN i");
                var second = transaction.run("UNWIND range(11, 19) AS i RETURN i");
                for (long i = 1; i <= 9; i++) {
                    equal(first.next().get(0).asLong(), i);
                    equal(second.next().get(0).asLong(), i + 10);
                }
                var left = transaction.run("UNWIND range(1, 100) AS i RETURN i");
                equal(left.next().get(0).asLong(), 1L);
                transaction.run("CREATE (:A)").consume();
                equal(left.list().size(), 99);
                transaction.commit();
            }
        });
    }
}
