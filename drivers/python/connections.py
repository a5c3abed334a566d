"""Connections: addresses, routing, TLS, who one is, what stays the same between them."""

import ssl

import neo4j
from neo4j.exceptions import ClientError, Neo4jError, ServiceUnavailable

from behaviour import behaviour, equal, fails


@behaviour
def connectivity_and_server_info(server):
    with server.driver() as driver:
        driver.verify_connectivity()
        info = driver.get_server_info()
        equal(f"{info.address[0]}:{info.address[1]}", server.address)
        assert info.agent.startswith("Neo4j/5."), info.agent
        assert tuple(info.protocol_version) >= (5, 4), info.protocol_version
        rows = driver.execute_query("CALL dbms.components() YIELD name, versions, edition").records
        assert rows and rows[0]["versions"], rows
        assert driver.supports_multi_db()


@behaviour
def routing(server):
    with server.driver(server.uri("neo4j")) as driver:
        driver.verify_connectivity()
        with driver.session() as session:
            session.execute_write(lambda tx: tx.run("CREATE (:A)").consume())
            query = "MATCH (n:A) RETURN count(n) AS c"
            equal(session.execute_read(lambda tx: tx.run(query).single()["c"]), 1)
            with fails(Neo4jError):
                session.execute_read(lambda tx: tx.run("CREATE (:A)").consume())
        equal(driver.execute_query(query, database_="neo4j", routing_="r").records[0]["c"], 1)
        with fails(ClientError, "Neo.ClientError.Database.DatabaseNotFound"):
            driver.execute_query("RETURN 1", database_="nosuch")


@behaviour
def element_ids_are_stable(server):
    with server.driver() as driver:
        query = "CREATE (a:A)-[r:R]->(b:B) RETURN elementId(a) AS a, elementId(r) AS r, a AS node, r AS rel"
        made = driver.execute_query(query).records[0]
        equal((made["node"].element_id, made["rel"].element_id), (made["a"], made["r"]))
        driver.execute_query("MATCH (a:A)-[r]->(b) SET a.x = 1, r.x = 1, a:C CREATE (:A), (b)-[:R]->(a)")
        query = "MATCH (a)-[r]->() WHERE elementId(a) = $a AND elementId(r) = $r RETURN a, r"
        records = driver.execute_query(query, a=made["a"], r=made["r"]).records
        equal([(row["a"].element_id, row["r"].element_id) for row in records], [(made["a"], made["r"])])
        query = "MATCH (a) WHERE elementId(a) = $a DETACH DELETE a"
        equal(driver.execute_query(query, a=made["a"]).summary.counters.nodes_deleted, 1)
        query = "MATCH (a) WHERE elementId(a) IN [$a, 'nonsense'] RETURN a"
        equal(driver.execute_query(query, a=made["a"]).records, [])


@behaviour
def impersonation(server):
    # Neo4j community has none; who may impersonate whom is a matter of roles.
    auth = ("neo4j", server.password)
    with server.driver(server.secure_uri("bolt+ssc"), auth=auth) as driver:
        with driver.session(impersonated_user="nobody") as session:
            with fails(Neo4jError):
                session.run("RETURN 1").consume()
        with driver.session() as session:
            equal(session.run("RETURN 1 AS x").single()["x"], 1)


@behaviour
def changing_users(server):
    good, bad = ("neo4j", server.password), ("neo4j", "wrong")
    with server.driver(server.secure_uri("bolt+ssc"), auth=good) as driver:
        driver.execute_query("CREATE OR REPLACE USER other SET PASSWORD 'other-password' CHANGE NOT REQUIRED",
                             database_="system")
        query = "SHOW CURRENT USER YIELD user RETURN user"
        with driver.session(database="system") as session:
            equal(session.run(query).single()["user"], "neo4j")
        with driver.session(database="system", auth=("other", "other-password")) as session:
            equal(session.run(query).single()["user"], "other")
        with driver.session(auth=bad) as session:
            with fails(Neo4jError, "Neo.ClientError.Security.Unauthorized"):
                session.run("RETURN 1").consume()
        with driver.session(database="system") as session:
            equal(session.run(query).single()["user"], "neo4j")
        driver.execute_query("DROP USER other", database_="system")


@behaviour
def encryption(server):
    auth = ("neo4j", server.password)
    query = "RETURN 1 AS x"
    for scheme in ("bolt+ssc", "neo4j+ssc"):
        with server.driver(server.secure_uri(scheme), auth=auth) as driver:
            equal(driver.execute_query(query).records[0]["x"], 1, scheme)
            equal(driver.encrypted, True)
    trusted = neo4j.TrustCustomCAs(server.certificate)
    for scheme in ("bolt", "neo4j"):
        uri = server.secure_uri(scheme)
        with server.driver(uri, auth=auth, encrypted=True, trusted_certificates=trusted) as driver:
            equal(driver.execute_query(query).records[0]["x"], 1, "with a certificate that is trusted")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=server.certificate)
        context.minimum_version = context.maximum_version = version
        with server.driver(server.secure_uri("bolt"), auth=auth, ssl_context=context) as driver:
            equal(driver.execute_query(query).records[0]["x"], 1, version.name)


@behaviour
def untrusted_certificates(server):
    with server.driver(server.secure_uri("bolt+s"), auth=("neo4j", server.password)) as driver:
        with fails(ServiceUnavailable):
            driver.verify_connectivity()
    with server.driver(server.uri("bolt+ssc")) as driver:
        with fails(ServiceUnavailable):
            driver.verify_connectivity()  # There is no TLS at that address.
