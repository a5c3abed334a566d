package behaviours;

import static behaviours.Behaviour.ADDRESS;
import static behaviours.Behaviour.IS_TELAR;
import static behaviours.Behaviour.KIND;
import static behaviours.Behaviour.SCHEME;
import static behaviours.Behaviour.behaviour;
import static behaviours.Behaviour.config;
import static behaviours.Behaviour.count;
import static behaviours.Behaviour.driver;
import static behaviours.Behaviour.equal;
import static behaviours.Behaviour.eventually;
import static behaviours.Behaviour.fails;
import static behaviours.Behaviour.fetching;
import static behaviours.Behaviour.inSession;
import static behaviours.Behaviour.require;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.neo4j.driver.AccessMode;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Bookmark;
import org.neo4j.driver.Driver;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.RoutingControl;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.Transaction;
import org.neo4j.driver.TransactionConfig;
import org.neo4j.driver.exceptions.Neo4jException;
import org.neo4j.driver.exceptions.TransientException;

/** Transactions: of all kinds, their ends, their limits, and what others see of them. */
final class Transactions {
    // Takes about for ever, without taking memory.
    private static final String ENDLESS =
            "UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 9 RETURN count(i)";
    private static final String[] TIMED_OUT = {"Neo.ClientError.Transaction.TransactionTimedOut",
        "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"};

    private Transactions() {}

    private static long countIn(Driver driver, String label) {
        try (var session = driver.session()) {
            return count(session, label);
        }
    }

    /** Runs {@code work} in {@code threads} threads and hands on the first failure. */
    private static void together(int threads, Callable<Void> work) throws Exception {
        var pool = Executors.newFixedThreadPool(threads);
        try {
            for (var done : pool.invokeAll(IntStream.range(0, threads).mapToObj(i -> work).toList())) done.get();
        } finally {
            pool.shutdownNow();
            pool.awaitTermination(10, TimeUnit.SECONDS);
        }
    }

    private static List<String> running(Session session, String text) {
        var query = "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery CONTAINS $text "
                + "RETURN transactionId";
        return session.run(query, Map.of("text", text)).list(row -> row.get(0).asString());
    }

    /** The error of a query that is started and then disturbed by {@code disturb}. */
    private static Exception disturbed(Session session, String mark, Session watch, Behaviour.Check disturb)
            throws Exception {
        var pool = Executors.newSingleThreadExecutor();
        try {
            var failure = pool.submit(() -> fails(() -> session.run("/* " + mark + " */ " + ENDLESS).consume()));
            eventually(() -> !running(watch, mark).isEmpty(), "the query runs");
            disturb.run();
            var error = failure.get(20, TimeUnit.SECONDS);
            eventually(() -> running(watch, mark).isEmpty(), "the query ended on the server");
            return error;
        } finally {
            pool.shutdownNow();
        }
    }

    static void list() {
        behaviour("auto_commit", () -> {
            try (var driver = driver()) {
                try (var one = driver.session(); var other = driver.session()) {
                    one.run("CREATE (:A)").consume();
                    equal(count(other, "A"), 1L);
                    one.run("CREATE (:A)"); // Without reading the result: closing the session sees to it.
                }
                equal(countIn(driver, "A"), 2L);
            }
        });
        behaviour("execute_query", () -> {
            try (var driver = driver()) {
                var made = driver.executableQuery("CREATE (n:A {x: $x}) RETURN n.x AS x")
                        .withParameters(Map.of("x", 3)).execute();
                equal(made.records().get(0).get("x").asInt(), 3);
                equal(made.keys(), List.of("x"));
                equal(made.summary().counters().nodesCreated(), 1);
                var read = QueryConfig.builder().withRouting(RoutingControl.READ).withDatabase("neo4j").build();
                equal(driver.executableQuery("MATCH (n:A) RETURN n.x").withConfig(read).execute().records().size(), 1);
            }
        });
        inSession("managed_transactions", session -> {
            equal(session.executeWrite(tx -> tx.run("CREATE (n:A) RETURN 1").single().get(0).asInt()), 1);
            equal(session.executeRead(tx -> count(tx, "A")), 1L);
            var error = fails(() -> session.executeWriteWithoutResult(tx -> {
                tx.run("CREATE (:A)").consume();
                throw new IllegalStateException("mine");
            }));
            equal(error.getMessage(), "mine");
            equal(session.executeRead(tx -> count(tx, "A")), 1L);
        });
        behaviour("conflicts_are_retried", () -> {
            var patient = config().withMaxTransactionRetryTime(60, TimeUnit.SECONDS);
            try (var driver = driver(SCHEME + "://" + ADDRESS, AuthTokens.none(), patient)) {
                driver.executableQuery("CREATE (:Counter {value: 0})").execute();
                together(8, () -> {
                    try (var session = driver.session()) {
                        for (int i = 0; i < 25; i++) {
                            session.executeWriteWithoutResult(tx -> {
                                var query = "MATCH (n:Counter) SET n.lock = 1 RETURN n.value";
                                var value = tx.run(query).single().get(0).asLong();
                                tx.run("MATCH (n:Counter) SET n.value = $v", Map.of("v", value + 1)).consume();
                            });
                        }
                    }
                    return null;
                });
                var total = driver.executableQuery("MATCH (n:Counter) RETURN n.value").execute().records().get(0);
                equal(total.get(0).asInt(), 200);
            }
        });
        behaviour("conflicts_are_marked_retryable", () -> {
            if (!IS_TELAR) return; // Neo4j locks: the second writer waits for the first.
            try (var driver = driver(); var one = driver.session(); var two = driver.session()) {
                one.run("CREATE (:A {x: 0})").consume();
                var first = one.beginTransaction();
                var second = two.beginTransaction();
                first.run("MATCH (n:A) SET n.x = 1").consume();
                var error = fails(() -> {
                    second.run("MATCH (n:A) SET n.x = 2").consume();
                    first.commit();
                    second.commit();
                });
                require(error instanceof TransientException, "marked retryable: " + error);
                if (first.isOpen()) first.commit();
                second.close();
                equal(two.run("MATCH (n:A) RETURN n.x").single().get(0).asInt(), 1);
            }
        });
        behaviour("explicit_commit_and_rollback", () -> {
            try (var driver = driver(); var session = driver.session()) {
                var transaction = session.beginTransaction();
                transaction.run("CREATE (:A)").consume();
                equal(List.of(count(transaction, "A"), countIn(driver, "A")), List.of(1L, 0L));
                transaction.commit();
                equal(countIn(driver, "A"), 1L);
                var undone = session.beginTransaction();
                undone.run("CREATE (:A)").consume();
                undone.rollback();
                equal(countIn(driver, "A"), 1L);
                fails(() -> undone.run("RETURN 1"));
            }
        });
        behaviour("closing_rolls_back", () -> {
            try (var driver = driver()) {
                try (var session = driver.session(); var transaction = session.beginTransaction()) {
                    transaction.run("CREATE (:A)").consume();
                }
                try (var session = driver.session()) {
                    session.beginTransaction().run("CREATE (:A)").consume();
                }
                try (var lost = driver()) {
                    lost.session().beginTransaction().run("CREATE (:A)").consume();
                }
                equal(countIn(driver, "A"), 0L);
            }
        });
        inSession("failed_transactions", session -> {
            var transaction = session.beginTransaction();
            transaction.run("CREATE (:A)").consume();
            fails(() -> transaction.run("NONSENSE").consume(), "Neo.ClientError.Statement.SyntaxError");
            fails(() -> transaction.run("RETURN 1").consume());
            fails(transaction::commit);
            transaction.close();
            equal(count(session, "A"), 0L);
            // An error after the first rows undoes the auto-commit transaction.
            fails(() -> session.run("UNWIND [1, 0] AS x CREATE (:A) RETURN 1 / x").consume(),
                    "Neo.ClientError.Statement.ArithmeticError");
            equal(count(session, "A"), 0L);
        });
        behaviour("bookmarks", () -> {
            try (var driver = driver()) {
                Set<Bookmark> first;
                Set<Bookmark> second;
                try (var session = driver.session()) {
                    session.run("CREATE (:A)").consume();
                    first = session.lastBookmarks();
                    session.run("CREATE (:A)").consume();
                    second = session.lastBookmarks();
                }
                require(!first.isEmpty() && !second.isEmpty() && !first.equals(second), "bookmarks");
                for (var seen : List.of(first, second)) {
                    var after = SessionConfig.builder().withBookmarks(seen).build();
                    try (var session = driver.session(after)) {
                        equal(count(session, "A"), 2L);
                    }
                }
                for (long i = 1; i <= 50; i++) {
                    Set<Bookmark> written;
                    try (var session = driver.session()) {
                        session.executeWriteWithoutResult(tx -> tx.run("CREATE (:A)").consume());
                        written = session.lastBookmarks();
                    }
                    try (var session = driver.session(SessionConfig.builder().withBookmarks(written).build())) {
                        equal(count(session, "A"), 2 + i);
                    }
                }
                var nonsense = SessionConfig.builder().withBookmarks(Bookmark.from("nonsense")).build();
                try (var session = driver.session(nonsense)) {
                    fails(() -> session.run("RETURN 1").consume(), "Neo.ClientError.Transaction.InvalidBookmark",
                            "Neo.ClientError.Transaction.InvalidBookmarkMixture");
                }
            }
        });
        inSession("timeouts", session -> {
            var brief = TransactionConfig.builder().withTimeout(Duration.ofMillis(300)).build();
            var started = System.nanoTime();
            fails(() -> session.run(ENDLESS, brief).consume(), TIMED_OUT);
            require(System.nanoTime() - started < 10e9, "it ended about when it had to");
            try (var transaction = session.beginTransaction(brief)) {
                transaction.run("CREATE (:A)").consume();
                fails(() -> transaction.run(ENDLESS).consume(), TIMED_OUT);
            }
            equal(count(session, "A"), 0L);
        });
        inSession("cancellation", watch -> {
            // Losing the connection in the middle of a query ends the query.
            try (var proxy = new Behaviour.Proxy(ADDRESS);
                    var driver = driver(proxy.uri, AuthTokens.none(), config()); var session = driver.session()) {
                disturbed(session, "lost in the middle", watch, proxy::close);
            }
            // Leaving a result half read frees what it held.
            try (var driver = driver(); var session = driver.session(fetching(1))) {
                session.run("UNWIND range(1, 100000000) AS i RETURN i // half read").next();
            }
            eventually(() -> running(watch, "half read").isEmpty(), "the query of the closed session ended");
        });
        behaviour("terminated_transactions", () -> {
            try (var driver = driver(); var session = driver.session(); var other = driver.session()) {
                var mark = "terminated by another";
                var error = disturbed(other, mark, session, () -> {
                    var id = running(session, mark).get(0);
                    var row = session.run("TERMINATE TRANSACTIONS $id", Map.of("id", id)).single();
                    equal(row.get("message").asString(), "Transaction terminated.");
                });
                require(((Neo4jException) error).code().contains("Terminated"), error.toString());
            }
        });
        behaviour("transaction_metadata", () -> {
            try (var driver = driver(); var session = driver.session(); var other = driver.session()) {
                var sent = Map.<String, Object>of("app", "drivers", "n", 7L);
                var with = TransactionConfig.builder().withMetadata(sent).build();
                try (Transaction transaction = session.beginTransaction(with)) {
                    transaction.run("RETURN 1").consume();
                    var row = other.run("SHOW TRANSACTIONS YIELD metaData, database WHERE metaData.app = 'drivers' "
                            + "RETURN metaData, database").single();
                    equal(row.get("metaData").asMap(), sent);
                    equal(row.get("database").asString(), KIND);
                }
                var auto = TransactionConfig.builder().withMetadata(Map.of("auto", true)).build();
                var rows = session.run("SHOW TRANSACTIONS YIELD metaData RETURN metaData.auto AS auto", auto).list();
                require(rows.stream().anyMatch(row -> row.get("auto").asBoolean(false)), "its own metadata");
            }
        });
        behaviour("read_mode_refuses_writes", () -> {
            var code = "Neo.ClientError.Statement.AccessMode";
            var reading = SessionConfig.builder().withDefaultAccessMode(AccessMode.READ).build();
            try (var driver = driver(); var session = driver.session(reading)) {
                fails(() -> session.run("CREATE (:A)").consume(), code);
                fails(() -> session.executeRead(tx -> tx.run("CREATE (:A)").consume()), code);
                equal(count(session, "A"), 0L);
            }
        });
        behaviour("concurrent_sessions", () -> {
            var narrow = config().withMaxConnectionPoolSize(10);
            try (var driver = driver(SCHEME + "://" + ADDRESS, AuthTokens.none(), narrow)) {
                var numbers = new java.util.concurrent.atomic.AtomicInteger();
                together(50, () -> {
                    var by = numbers.getAndIncrement();
                    for (int i = 0; i < 10; i++) {
                        try (var session = driver.session()) {
                            session.run("CREATE (:S {by: $by, i: $i})", Map.of("by", by, "i", i)).consume();
                            var query = "MATCH (n:S {by: $by}) RETURN count(n)";
                            equal(session.run(query, Map.of("by", by)).single().get(0).asInt(), i + 1);
                        }
                    }
                    return null;
                });
                equal(countIn(driver, "S"), 500L);
            }
        });
    }
}
