package behaviours;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.neo4j.driver.AuthToken;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Config;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.Logging;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.Session;
import org.neo4j.driver.SimpleQueryRunner;
import org.neo4j.driver.exceptions.Neo4jException;

/** What every behaviour stands on: the servers under test, the list, and the runner. */
final class Behaviour {
    interface Check {
        void run() throws Exception;
    }

    interface Use {
        void with(Session session) throws Exception;
    }

    static final Map<String, Check> LIST = new LinkedHashMap<>();

    static final String ADDRESS = System.getenv("DRIVERS_BOLT");
    /** "bolt", or "neo4j": then the address is one of a cluster's nodes, whose leader is killed meanwhile. */
    static final String SCHEME = Objects.requireNonNullElse(System.getenv("DRIVERS_SCHEME"), "bolt");
    static final String SECURE_ADDRESS = System.getenv("DRIVERS_BOLT_SECURE");
    static final String PASSWORD = System.getenv("DRIVERS_PASSWORD");
    static final String CERTIFICATE = System.getenv("DRIVERS_CERTIFICATE");
    static final String KIND = Objects.requireNonNullElse(System.getenv("DRIVERS_KIND"), "telar");
    static final boolean IS_TELAR = KIND.equals("telar");
    static final AuthToken AUTH = AuthTokens.basic("neo4j", PASSWORD);

    private Behaviour() {}

    static void behaviour(String name, Check check) {
        require(LIST.put(name, check) == null, "two behaviours named " + name);
    }

    /** A behaviour that needs one session and nothing else. */
    static void inSession(String name, Use use) {
        behaviour(name, () -> {
            try (var driver = driver(); var session = driver.session()) {
                use.with(session);
            }
        });
    }

    static Config.ConfigBuilder config() {
        return Config.builder().withLogging(Logging.none());
    }

    static Driver driver() {
        return driver(SCHEME + "://" + ADDRESS, AuthTokens.none(), config());
    }

    static Driver driver(String uri, AuthToken auth, Config.ConfigBuilder config) {
        return GraphDatabase.driver(uri, auth, config.build());
    }

    static Driver secure(String scheme) {
        return driver(scheme + "://" + SECURE_ADDRESS, AUTH, config());
    }

    static SessionConfig fetching(long rows) {
        return SessionConfig.builder().withFetchSize(rows).build();
    }

    static void require(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static void equal(Object got, Object expected) {
        if (!Objects.deepEquals(got, expected)) {
            throw new AssertionError("got " + cut(got) + ", expected " + cut(expected));
        }
    }

    private static String cut(Object value) {
        var text = String.valueOf(value);
        return text.length() > 300 ? text.substring(0, 300) : text;
    }

    /** The error of {@code action}, which has one of {@code codes}, if any are given. */
    static Exception fails(Check action, String... codes) {
        try {
            action.run();
        } catch (Exception error) {
            if (codes.length > 0) {
                var code = error instanceof Neo4jException known ? known.code() : error.getClass().getSimpleName();
                require(List.of(codes).contains(code), code + " (" + error + "), expected " + Arrays.toString(codes));
            }
            return error;
        }
        throw new AssertionError("no error, expected " + Arrays.toString(codes));
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void eventually(Condition condition, String what) throws Exception {
        var end = System.nanoTime() + 10_000_000_000L;
        while (!condition.holds()) {
            require(System.nanoTime() < end, "not within 10 s: " + what);
            Thread.sleep(20);
        }
    }

    static long count(SimpleQueryRunner runner, String label) {
        return runner.run("MATCH (n:" + label + ") RETURN count(n)").single().get(0).asLong();
    }

    static double residentMib(String process) throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/" + process + "/statm")).split(" ")[1]) / 256.0;
    }

    /** A TCP proxy in front of a server, to cut connections in the middle of something. */
    static final class Proxy implements AutoCloseable {
        private final ServerSocket listener = new ServerSocket(0, 50, java.net.InetAddress.getLoopbackAddress());
        private final List<Socket> sockets = new CopyOnWriteArrayList<>();
        final String uri = "bolt://127.0.0.1:" + listener.getLocalPort();

        Proxy(String address) throws IOException {
            var parts = address.split(":");
            daemon(() -> {
                while (true) {
                    var client = listener.accept();
                    var server = new Socket(parts[0], Integer.parseInt(parts[1]));
                    sockets.addAll(List.of(client, server));
                    daemon(() -> client.getInputStream().transferTo(server.getOutputStream()));
                    daemon(() -> server.getInputStream().transferTo(client.getOutputStream()));
                }
            });
        }

        private static void daemon(Check work) {
            var thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Exception cut) {
                    // A connection that was cut: what the proxy is for.
                }
            });
            thread.setDaemon(true);
            thread.start();
        }

        void cut() throws IOException {
            for (var socket : sockets) socket.close();
            sockets.clear();
        }

        @Override
        public void close() throws IOException {
            listener.close();
            cut();
        }
    }

    private static void empty() {
        try (var driver = driver(); var session = driver.session()) {
            for (var row : session.run("SHOW CONSTRAINTS YIELD name").list()) {
                session.run("DROP CONSTRAINT `" + row.get(0).asString() + "`").consume();
            }
            session.run("MATCH (n) DETACH DELETE n").consume();
        }
    }

    /** Seconds in which a behaviour has to hold that a failover may break. */
    private static final int FAILOVER_SECONDS = 30;

    /** Runs a behaviour. One that a failover breaks is run again, with an empty graph; the runner counts them. */
    private static void holds(String name, Check check) throws Exception {
        var end = System.nanoTime() + (SCHEME.equals("bolt") ? 0 : FAILOVER_SECONDS * 1_000_000_000L);
        while (true) {
            try {
                empty();
                check.run();
                return;
            } catch (Exception | AssertionError error) {
                if (System.nanoTime() >= end) throw error;
                System.out.printf("test %s ... again: %s%n", name, cut(error));
                Thread.sleep(200);
            }
        }
    }

    /** Runs all behaviours, or those whose name holds one of {@code selected}; the exit status. */
    static int run(String[] selected) throws IOException {
        var listed = Files.readAllLines(Path.of("drivers/behaviours.txt")).stream()
                .filter(line -> !line.isEmpty() && !line.startsWith("#")).map(line -> line.split(":")[0]).toList();
        equal(List.copyOf(LIST.keySet()), listed);
        int passed = 0;
        int failed = 0;
        var skipped = List.of(Objects.requireNonNullElse(System.getenv("DRIVERS_SKIP"), "").split(" "));
        for (var entry : LIST.entrySet()) {
            var name = entry.getKey();
            if (selected.length > 0 && Arrays.stream(selected).noneMatch(name::contains)) continue;
            if (skipped.contains(name)) continue;
            var started = System.nanoTime();
            try {
                holds(name, entry.getValue());
                passed++;
                System.out.printf("test %s ... ok (%.2f s)%n", name, (System.nanoTime() - started) / 1e9);
            } catch (Exception | AssertionError error) {
                failed++;
                System.out.printf("test %s ... FAILED%n", name);
                error.printStackTrace(System.out);
            }
        }
        System.out.printf("java, neo4j-java-driver 5.28, %s%n", KIND);
        System.out.printf("test result: %s. %d passed; %d failed%n", failed > 0 ? "FAILED" : "ok", passed, failed);
        return failed > 0 ? 1 : 0;
    }
}
