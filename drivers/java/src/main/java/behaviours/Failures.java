package behaviours;

import static behaviours.Behaviour.ADDRESS;
import static behaviours.Behaviour.PASSWORD;
import static behaviours.Behaviour.SECURE_ADDRESS;
import static behaviours.Behaviour.behaviour;
import static behaviours.Behaviour.config;
import static behaviours.Behaviour.driver;
import static behaviours.Behaviour.equal;
import static behaviours.Behaviour.fails;
import static behaviours.Behaviour.fetching;
import static behaviours.Behaviour.inSession;
import static behaviours.Behaviour.require;
import static behaviours.Behaviour.secure;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.exceptions.ServiceUnavailableException;
import org.neo4j.driver.exceptions.SessionExpiredException;

/** Errors that a client meets, by the codes it tells them by. */
final class Failures {
    private Failures() {}

    private static void lost(Behaviour.Check action) {
        var error = fails(action);
        require(error instanceof ServiceUnavailableException || error instanceof SessionExpiredException,
                "a lost connection: " + error);
    }

    static void ask(Driver driver, String database) {
        var config = QueryConfig.builder().withDatabase(database).build();
        equal(driver.executableQuery("RETURN 1").withConfig(config).execute().records().size(), 1);
    }

    static void list() {
        inSession("syntax_errors", session -> {
            var code = "Neo.ClientError.Statement.SyntaxError";
            for (var query : List.of("RETRUN 1", "MATCH (n RETURN n", "RETURN", "MATCH (n) RETURN m")) {
                fails(() -> session.run(query).consume(), code);
            }
            var error = fails(() -> session.run("RETURN 1 AS x\nRETRUN 2").consume(), code);
            require(error.getMessage().contains("line 2"), error.getMessage());
            equal(session.run("RETURN 1").single().get(0).asInt(), 1);
        });
        inSession("constraint_violations", session -> {
            var constraint = "CREATE CONSTRAINT FOR (n:Unique) REQUIRE n.id IS UNIQUE";
            var twice = "CREATE (:Unique {id: 1})";
            var code = "Neo.ClientError.Schema.ConstraintValidationFailed";
            session.run(constraint).consume();
            session.run(twice).consume();
            fails(() -> session.run(twice).consume(), code);
            fails(() -> session.executeWrite(tx -> tx.run(twice).consume()), code);
            fails(() -> session.run("CREATE (n:Node)-[:R]->() DELETE n").consume(), code);
            fails(() -> session.run(constraint).consume(),
                    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
                    "Neo.ClientError.Schema.ConstraintAlreadyExists");
            equal(session.run("MATCH (n) RETURN count(n)").single().get(0).asInt(), 1);
        });
        inSession("runtime_errors", session -> {
            var statement = "Neo.ClientError.Statement.";
            fails(() -> session.run("CREATE (n {v: $v}) RETURN 1 + n.v", Map.of("v", true)).consume(),
                    statement + "TypeError");
            fails(() -> session.run("RETURN $missing").consume(), statement + "ParameterMissing");
            fails(() -> session.run("RETURN 1 / $x", Map.of("x", 0)).consume(), statement + "ArithmeticError");
            fails(() -> session.run("RETURN range(1, 2, $x)", Map.of("x", 0)).consume(), statement + "ArgumentError");
            fails(() -> session.run("CALL no.such.procedure()").consume(),
                    "Neo.ClientError.Procedure.ProcedureNotFound");
            fails(() -> session.run("CREATE (n {v: $v})", Map.of("v", Map.of("a", "map"))).consume());
        });
        behaviour("unknown_databases", () -> {
            try (var driver = driver()) {
                fails(() -> ask(driver, "nosuch"), "Neo.ClientError.Database.DatabaseNotFound");
                ask(driver, "neo4j");
            }
        });
        behaviour("lost_connections", () -> {
            var proxy = new Behaviour.Proxy(ADDRESS);
            try (var driver = driver(proxy.uri, AuthTokens.none(), config())) {
                driver.verifyConnectivity();
                try (var session = driver.session(fetching(10))) {
                    var result = session.run("UNWIND range(1, 100000000) AS i RETURN i");
                    result.next();
                    proxy.cut();
                    lost(result::consume);
                }
                try (var session = driver.session()) {
                    equal(session.run("RETURN 1").single().get(0).asInt(), 1);
                    // A transaction that is lost before its commit is not there.
                    var transaction = session.beginTransaction();
                    transaction.run("CREATE (:Lost)").consume();
                    proxy.cut();
                    lost(transaction::commit);
                }
                try (var session = driver.session()) {
                    // A managed transaction tries again by itself.
                    var runs = new AtomicInteger();
                    session.executeWriteWithoutResult(tx -> {
                        tx.run("CREATE (:Kept)").consume();
                        try {
                            if (runs.incrementAndGet() == 1) proxy.cut();
                        } catch (java.io.IOException error) {
                            throw new java.io.UncheckedIOException(error);
                        }
                    });
                    equal(runs.get(), 2);
                    var labels = session.run("MATCH (n) RETURN labels(n)[0]").list(row -> row.get(0).asString());
                    equal(labels, List.of("Kept"));
                }
                proxy.close();
            }
            try (var driver = driver(proxy.uri, AuthTokens.none(), config())) {
                lost(driver::verifyConnectivity);
            }
        });
        behaviour("bad_credentials", () -> {
            var code = "Neo.ClientError.Security.Unauthorized";
            var uri = "bolt+ssc://" + SECURE_ADDRESS;
            for (var auth : List.of(AuthTokens.basic("neo4j", "wrong"), AuthTokens.basic("nobody", "wrong"),
                    AuthTokens.none())) {
                try (var driver = driver(uri, auth, config())) {
                    fails(() -> ask(driver, "neo4j"), code);
                }
            }
            try (var driver = secure("bolt+ssc")) {
                ask(driver, "neo4j");
                require(driver.verifyAuthentication(AuthTokens.basic("neo4j", PASSWORD)), "the right password");
                require(!driver.verifyAuthentication(AuthTokens.basic("neo4j", "wrong")), "a wrong one");
            }
        });
    }
}
