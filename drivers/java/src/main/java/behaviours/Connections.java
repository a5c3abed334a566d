package behaviours;

import static behaviours.Behaviour.ADDRESS;
import static behaviours.Behaviour.AUTH;
import static behaviours.Behaviour.CERTIFICATE;
import static behaviours.Behaviour.SECURE_ADDRESS;
import static behaviours.Behaviour.behaviour;
import static behaviours.Behaviour.config;
import static behaviours.Behaviour.count;
import static behaviours.Behaviour.driver;
import static behaviours.Behaviour.equal;
import static behaviours.Behaviour.fails;
import static behaviours.Behaviour.inSession;
import static behaviours.Behaviour.require;
import static behaviours.Behaviour.secure;

import java.io.File;
import java.util.List;
import java.util.Map;
import org.neo4j.driver.AuthToken;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Config.TrustStrategy;
import org.neo4j.driver.Driver;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;

/** Connections: addresses, routing, TLS, who one is, what stays the same between them. */
final class Connections {
    private static final SessionConfig SYSTEM = SessionConfig.forDatabase("system");

    private Connections() {}

    private static String user(Driver driver, AuthToken auth) {
        try (var session = auth == null ? driver.session(SYSTEM) : driver.session(Session.class, SYSTEM, auth)) {
            return session.run("SHOW CURRENT USER YIELD user RETURN user").single().get(0).asString();
        }
    }

    static void list() {
        behaviour("connectivity_and_server_info", () -> {
            try (var driver = driver(); var session = driver.session()) {
                driver.verifyConnectivity();
                var server = session.run("RETURN 1").consume().server();
                equal(server.address(), ADDRESS);
                require(server.agent().startsWith("Neo4j/5."), server.agent());
                require(server.protocolVersion().startsWith("5."), server.protocolVersion());
                var row = session.run("CALL dbms.components() YIELD name, versions, edition").list().get(0);
                require(row.get("versions").size() > 0, "versions");
                require(driver.supportsMultiDb(), "several databases");
            }
        });
        behaviour("routing", () -> {
            try (var driver = driver("neo4j://" + ADDRESS, AuthTokens.none(), config());
                    var session = driver.session()) {
                driver.verifyConnectivity();
                session.executeWriteWithoutResult(tx -> tx.run("CREATE (:A)").consume());
                equal(session.executeRead(tx -> count(tx, "A")), 1L);
                fails(() -> session.executeRead(tx -> tx.run("CREATE (:A)").consume()));
                Failures.ask(driver, "neo4j");
                fails(() -> Failures.ask(driver, "nosuch"), "Neo.ClientError.Database.DatabaseNotFound");
            }
        });
        inSession("element_ids_are_stable", session -> {
            var made = session.run("CREATE (a:A)-[r:R]->(b:B) "
                    + "RETURN elementId(a) AS a, elementId(r) AS r, a AS node, r AS rel").single();
            var a = made.get("a").asString();
            var r = made.get("r").asString();
            equal(made.get("node").asNode().elementId(), a);
            equal(made.get("rel").asRelationship().elementId(), r);
            session.run("MATCH (a:A)-[r]->(b) SET a.x = 1, r.x = 1, a:C CREATE (:A), (b)-[:R]->(a)").consume();
            var query = "MATCH (a)-[r]->() WHERE elementId(a) = $a AND elementId(r) = $r RETURN a, r";
            var found = session.run(query, Map.of("a", a, "r", r)).list(
                    row -> List.of(row.get("a").asNode().elementId(), row.get("r").asRelationship().elementId()));
            equal(found, List.of(List.of(a, r)));
            var gone = session.run("MATCH (a) WHERE elementId(a) = $a DETACH DELETE a", Map.of("a", a)).consume();
            equal(gone.counters().nodesDeleted(), 1);
            var none = session.run("MATCH (a) WHERE elementId(a) IN [$a, 'nonsense'] RETURN a", Map.of("a", a));
            equal(none.list(), List.of());
        });
        behaviour("impersonation", () -> {
            // Neo4j community has none; who may impersonate whom is a matter of roles.
            var nobody = SessionConfig.builder().withImpersonatedUser("nobody").build();
            try (var driver = secure("bolt+ssc"); var session = driver.session(nobody)) {
                fails(() -> session.run("RETURN 1").consume());
                Failures.ask(driver, "neo4j");
            }
        });
        behaviour("changing_users", () -> {
            try (var driver = secure("bolt+ssc")) {
                var system = QueryConfig.builder().withDatabase("system").build();
                driver.executableQuery(
                        "CREATE OR REPLACE USER other SET PASSWORD 'other-password' CHANGE NOT REQUIRED")
                        .withConfig(system).execute();
                equal(user(driver, null), "neo4j");
                equal(user(driver, AuthTokens.basic("other", "other-password")), "other");
                fails(() -> user(driver, AuthTokens.basic("neo4j", "wrong")),
                        "Neo.ClientError.Security.Unauthorized");
                equal(user(driver, null), "neo4j");
                driver.executableQuery("DROP USER other").withConfig(system).execute();
            }
        });
        behaviour("encryption", () -> {
            for (var scheme : List.of("bolt+ssc", "neo4j+ssc")) {
                try (var driver = secure(scheme)) {
                    Failures.ask(driver, "neo4j");
                    require(driver.isEncrypted(), scheme);
                }
            }
            var trusted = TrustStrategy.trustCustomCertificateSignedBy(new File(CERTIFICATE));
            for (var scheme : List.of("bolt", "neo4j")) {
                var settings = config().withEncryption().withTrustStrategy(trusted);
                try (var driver = driver(scheme + "://" + SECURE_ADDRESS, AUTH, settings)) {
                    Failures.ask(driver, "neo4j");
                }
            }
        });
        behaviour("untrusted_certificates", () -> {
            for (var uri : List.of("bolt+s://" + SECURE_ADDRESS, "bolt+ssc://" + ADDRESS)) {
                try (var driver = driver(uri, AUTH, config())) {
                    fails(driver::verifyConnectivity);
                }
            }
        });
    }
}
