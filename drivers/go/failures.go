package main

import (
	"strings"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// Errors that a client meets, by the codes it tells them by.

func lost(err error) {
	require(neo4j.IsConnectivityError(fails(err)), "a lost connection: %v", err)
}

func ask(driver neo4j.DriverWithContext, database string) error {
	_, err := neo4j.ExecuteQuery(ctx, driver, "RETURN 1", nil, neo4j.EagerResultTransformer,
		neo4j.ExecuteQueryWithDatabase(database))
	return err
}

var failures = []behaviour{
	{"syntax_errors", inSession(func(session neo4j.SessionWithContext) {
		code := "Neo.ClientError.Statement.SyntaxError"
		for _, query := range []string{"RETRUN 1", "MATCH (n RETURN n", "RETURN", "MATCH (n) RETURN m"} {
			fails(do(auto(session), query, nil), code)
		}
		err := fails(do(auto(session), "RETURN 1 AS x\nRETRUN 2", nil), code)
		require(strings.Contains(err.Error(), "line 2"), "%v", err)
		equal(value(auto(session), "RETURN 1", nil), int64(1))
	})},
	{"constraint_violations", inSession(func(session neo4j.SessionWithContext) {
		constraint, twice := "CREATE CONSTRAINT FOR (n:Unique) REQUIRE n.id IS UNIQUE", "CREATE (:Unique {id: 1})"
		code := "Neo.ClientError.Schema.ConstraintValidationFailed"
		check(do(auto(session), constraint, nil))
		check(do(auto(session), twice, nil))
		fails(do(auto(session), twice, nil), code)
		fails(write(session, func(tx neo4j.ManagedTransaction) error { return do(tx, twice, nil) }), code)
		fails(do(auto(session), "CREATE (n:Node)-[:R]->() DELETE n", nil), code)
		fails(do(auto(session), constraint, nil), "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
			"Neo.ClientError.Schema.ConstraintAlreadyExists")
		equal(value(auto(session), "MATCH (n) RETURN count(n)", nil), int64(1))
	})},
	{"runtime_errors", inSession(func(session neo4j.SessionWithContext) {
		statement := func(kind, query string, parameters anything) {
			fails(do(auto(session), query, parameters), "Neo.ClientError.Statement."+kind)
		}
		statement("TypeError", "CREATE (n {v: $v}) RETURN 1 + n.v", anything{"v": true})
		statement("ParameterMissing", "RETURN $missing", nil)
		statement("ArithmeticError", "RETURN 1 / $x", anything{"x": 0})
		statement("ArgumentError", "RETURN range(1, 2, $x)", anything{"x": 0})
		fails(do(auto(session), "CALL no.such.procedure()", nil), "Neo.ClientError.Procedure.ProcedureNotFound")
		fails(do(auto(session), "CREATE (n {v: $v})", anything{"v": anything{"a": "map"}}))
	})},
	{"unknown_databases", func() {
		plain(func(driver neo4j.DriverWithContext) {
			fails(ask(driver, "nosuch"), "Neo.ClientError.Database.DatabaseNotFound")
			check(ask(driver, "neo4j"))
		})
	}},
	{"lost_connections", func() {
		cut := newProxy()
		withDriver(cut.uri(), none, func(driver neo4j.DriverWithContext) {
			check(driver.VerifyConnectivity(ctx))
			within(driver, neo4j.SessionConfig{FetchSize: 10}, func(session neo4j.SessionWithContext) {
				result := must(session.Run(ctx, "UNWIND range(1, 100000000) AS i RETURN i", nil))
				require(result.Next(ctx), "a row")
				cut.cut()
				for result.Next(ctx) {
				}
				lost(result.Err())
			})
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				equal(value(auto(session), "RETURN 1", nil), int64(1))
				// A transaction that is lost before its commit is not there.
				transaction := must(session.BeginTransaction(ctx))
				check(do(transaction, "CREATE (:Lost)", nil))
				cut.cut()
				lost(transaction.Commit(ctx))
			})
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				// A managed transaction tries again by itself.
				runs := 0
				check(write(session, func(tx neo4j.ManagedTransaction) error {
					if err := do(tx, "CREATE (:Kept)", nil); err != nil {
						return err
					}
					if runs++; runs == 1 {
						cut.cut()
						return do(tx, "RETURN 1", nil) // This driver tries no commit again.
					}
					return nil
				}))
				equal(runs, 2)
				equal(value(auto(session), "MATCH (n) RETURN labels(n)[0]", nil), "Kept")
			})
			cut.close()
		})
		withDriver(cut.uri(), none, func(driver neo4j.DriverWithContext) { lost(driver.VerifyConnectivity(ctx)) })
	}},
	{"bad_credentials", func() {
		code := "Neo.ClientError.Security.Unauthorized"
		bad := neo4j.BasicAuth("neo4j", "wrong", "")
		for _, auth := range []neo4j.AuthToken{bad, neo4j.BasicAuth("nobody", "wrong", ""), none} {
			withDriver("bolt+ssc://"+secureAddress, auth, func(driver neo4j.DriverWithContext) {
				fails(ask(driver, "neo4j"), code)
			})
		}
		secure(func(driver neo4j.DriverWithContext) {
			check(ask(driver, "neo4j"))
			check(driver.VerifyAuthentication(ctx, nil))
			fails(driver.VerifyAuthentication(ctx, &bad))
		})
	}},
}
