"""Errors that a client meets, by the codes it tells them by."""

from neo4j.exceptions import (AuthError, ClientError, ConstraintError, CypherSyntaxError,
                              CypherTypeError, Neo4jError, ServiceUnavailable, SessionExpired)

from behaviour import Proxy, behaviour, equal, fails


@behaviour
def syntax_errors(server):
    with server.driver() as driver, driver.session() as session:
        for query in ("RETRUN 1", "MATCH (n RETURN n", "RETURN", "MATCH (n) RETURN m"):
            with fails(CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"):
                session.run(query).consume()
        with fails(CypherSyntaxError, contains="line 2"):
            session.run("RETURN 1 AS x\nRETRUN 2").consume()
        equal(session.run("RETURN 1 AS x").single()["x"], 1, "the connection goes on")


@behaviour
def constraint_violations(server):
    with server.driver() as driver, driver.session() as session:
        session.run("CREATE CONSTRAINT FOR (n:Unique) REQUIRE n.id IS UNIQUE").consume()
        session.run("CREATE (:Unique {id: 1})").consume()
        code = "Neo.ClientError.Schema.ConstraintValidationFailed"
        with fails(ConstraintError, code):
            session.run("CREATE (:Unique {id: 1})").consume()
        with fails(ConstraintError, code):
            session.execute_write(lambda tx: tx.run("CREATE (:Unique {id: 1})").consume())
        with fails(ConstraintError, code):
            session.run("CREATE (n:Node)-[:R]->() DELETE n").consume()
        with fails(ClientError, ("Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
                                 "Neo.ClientError.Schema.ConstraintAlreadyExists")):
            session.run("CREATE CONSTRAINT FOR (n:Unique) REQUIRE n.id IS UNIQUE").consume()
        equal(session.run("MATCH (n) RETURN count(n) AS c").single()["c"], 1)


@behaviour
def runtime_errors(server):
    with server.driver() as driver, driver.session() as session:
        with fails(CypherTypeError, "Neo.ClientError.Statement.TypeError"):
            session.run("CREATE (n {v: $v}) RETURN 1 + n.v", v=True).consume()
        with fails(ClientError, "Neo.ClientError.Statement.ParameterMissing"):
            session.run("RETURN $missing").consume()
        with fails(ClientError, "Neo.ClientError.Statement.ArithmeticError"):
            session.run("RETURN 1 / $x", x=0).consume()
        with fails(ClientError, "Neo.ClientError.Statement.ArgumentError"):
            session.run("RETURN range(1, 2, $x)", x=0).consume()
        with fails(ClientError, "Neo.ClientError.Procedure.ProcedureNotFound"):
            session.run("CALL no.such.procedure()").consume()
        with fails(Neo4jError):
            session.run("CREATE (n {v: $v})", v={"a": "map"}).consume()


@behaviour
def unknown_databases(server):
    with server.driver() as driver:
        with fails(ClientError, "Neo.ClientError.Database.DatabaseNotFound"):
            driver.execute_query("RETURN 1", database_="nosuch")
        equal(driver.execute_query("RETURN 1 AS x", database_="neo4j").records[0]["x"], 1)


@behaviour
def lost_connections(server):
    proxy = Proxy(server.address)
    with server.driver(f"bolt://{proxy.address}") as driver:
        driver.verify_connectivity()
        with driver.session(fetch_size=10) as session:
            result = iter(session.run("UNWIND range(1, 100000000) AS i RETURN i"))
            next(result)
            proxy.cut()
            with fails((ServiceUnavailable, SessionExpired)):
                for _ in result:
                    pass
        with driver.session() as session:
            equal(session.run("RETURN 1 AS x").single()["x"], 1, "reconnected")
            # A transaction that is lost before its commit is not there.
            transaction = session.begin_transaction()
            transaction.run("CREATE (:Lost)").consume()
            proxy.cut()
            with fails((ServiceUnavailable, SessionExpired)):
                transaction.commit()
            # A managed transaction tries again by itself.
            runs = []

            def work(tx):
                runs.append(tx.run("CREATE (:Kept)").consume())
                if len(runs) == 1:
                    proxy.cut()

            session.execute_write(work)
            equal(len(runs), 2)
            query = "MATCH (n) RETURN labels(n)[0] AS label, count(*) AS c"
            equal(session.run(query).data(), [{"label": "Kept", "c": 1}])
        proxy.close()
    with server.driver(f"bolt://{proxy.address}") as driver:
        with fails(ServiceUnavailable):
            driver.verify_connectivity()


@behaviour
def bad_credentials(server):
    code = "Neo.ClientError.Security.Unauthorized"
    for auth in (("neo4j", "wrong"), ("nobody", "wrong")):
        with server.driver(server.secure_uri("bolt+ssc"), auth=auth) as driver:
            with fails(AuthError, code):
                driver.verify_connectivity()
    with server.driver(server.secure_uri("bolt+ssc")) as driver:
        with fails(ClientError, code):
            driver.execute_query("RETURN 1")
    with server.driver(server.secure_uri("bolt+ssc"), auth=("neo4j", server.password)) as driver:
        equal(driver.execute_query("RETURN 1 AS x").records[0]["x"], 1)
        equal(driver.verify_authentication(), True)
        equal(driver.verify_authentication(auth=("neo4j", "wrong")), False)
