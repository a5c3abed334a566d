package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
)

// Connections: addresses, routing, TLS, who one is, what stays the same between them.

var connections = []behaviour{
	{"connectivity_and_server_info", func() {
		plain(func(driver neo4j.DriverWithContext) {
			check(driver.VerifyConnectivity(ctx))
			info := must(driver.GetServerInfo(ctx))
			equal(info.Address(), address)
			require(strings.HasPrefix(info.Agent(), "Neo4j/5."), "agent %s", info.Agent())
			require(info.ProtocolVersion().Major >= 5, "protocol %v", info.ProtocolVersion())
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				components := must(rows(auto(session), "CALL dbms.components() YIELD name, versions, edition", nil))
				require(len(components[0].Values[1].([]any)) > 0, "versions")
			})
		})
	}},
	{"routing", func() {
		withDriver("neo4j://"+address, none, func(driver neo4j.DriverWithContext) {
			check(driver.VerifyConnectivity(ctx))
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				check(write(session, func(tx neo4j.ManagedTransaction) error { return do(tx, "CREATE (:A)", nil) }))
				read := func(query string) error {
					_, err := session.ExecuteRead(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
						return nil, do(tx, query, nil)
					})
					return err
				}
				check(read("MATCH (n:A) RETURN n"))
				fails(read("CREATE (:A)"))
			})
			check(ask(driver, "neo4j"))
			fails(ask(driver, "nosuch"), "Neo.ClientError.Database.DatabaseNotFound")
		})
	}},
	{"element_ids_are_stable", inSession(func(session neo4j.SessionWithContext) {
		made := one(auto(session), "CREATE (a:A)-[r:R]->(b:B) RETURN elementId(a), elementId(r), a, r", nil)
		a, r := made.Values[0], made.Values[1]
		equal(made.Values[2].(neo4j.Node).ElementId, a)
		equal(made.Values[3].(neo4j.Relationship).ElementId, r)
		check(do(auto(session), "MATCH (a:A)-[r]->(b) SET a.x = 1, r.x = 1, a:C CREATE (:A), (b)-[:R]->(a)", nil))
		query := "MATCH (a)-[r]->() WHERE elementId(a) = $a AND elementId(r) = $r RETURN a, r"
		found := one(auto(session), query, anything{"a": a, "r": r})
		equal(found.Values[0].(neo4j.Node).ElementId, a)
		equal(found.Values[1].(neo4j.Relationship).ElementId, r)
		gone := must(session.Run(ctx, "MATCH (a) WHERE elementId(a) = $a DETACH DELETE a", anything{"a": a}))
		equal(must(gone.Consume(ctx)).Counters().NodesDeleted(), 1)
		none := "MATCH (a) WHERE elementId(a) IN [$a, 'nonsense'] RETURN count(a)"
		equal(value(auto(session), none, anything{"a": a}), int64(0))
	})},
	{"impersonation", func() {
		// Neo4j community has none; who may impersonate whom is a matter of roles.
		secure(func(driver neo4j.DriverWithContext) {
			nobody := neo4j.SessionConfig{ImpersonatedUser: "nobody"}
			within(driver, nobody, func(session neo4j.SessionWithContext) {
				fails(do(auto(session), "RETURN 1", nil))
			})
			check(ask(driver, "neo4j"))
		})
	}},
	{"changing_users", func() {
		secure(func(driver neo4j.DriverWithContext) {
			user := func(auth *neo4j.AuthToken) (records []*neo4j.Record, err error) {
				system := neo4j.SessionConfig{DatabaseName: "system", Auth: auth}
				within(driver, system, func(session neo4j.SessionWithContext) {
					records, err = rows(auto(session), "SHOW CURRENT USER YIELD user RETURN user", nil)
				})
				return records, err
			}
			execute := func(query string) {
				must(neo4j.ExecuteQuery(ctx, driver, query, nil, neo4j.EagerResultTransformer,
					neo4j.ExecuteQueryWithDatabase("system")))
			}
			execute("CREATE OR REPLACE USER other SET PASSWORD 'other-password' CHANGE NOT REQUIRED")
			equal(must(user(nil))[0].Values[0], "neo4j")
			other, bad := neo4j.BasicAuth("other", "other-password", ""), neo4j.BasicAuth("neo4j", "wrong", "")
			equal(must(user(&other))[0].Values[0], "other")
			_, err := user(&bad)
			fails(err, "Neo.ClientError.Security.Unauthorized")
			equal(must(user(nil))[0].Values[0], "neo4j")
			execute("DROP USER other")
		})
	}},
	{"encryption", func() {
		auth := neo4j.BasicAuth("neo4j", password, "")
		works := func(driver neo4j.DriverWithContext) { check(ask(driver, "neo4j")) }
		for _, scheme := range []string{"bolt+ssc", "neo4j+ssc"} {
			withDriver(scheme+"://"+secureAddress, auth, works)
		}
		trusted := x509.NewCertPool()
		require(trusted.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("TELAR_CERTIFICATE")))), "a certificate")
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			for _, scheme := range []string{"bolt+s", "neo4j+s"} {
				withDriver(scheme+"://"+secureAddress, auth, works, func(settings *config.Config) {
					settings.TlsConfig = &tls.Config{RootCAs: trusted, MinVersion: version, MaxVersion: version}
				})
			}
		}
	}},
	{"untrusted_certificates", func() {
		for _, uri := range []string{"bolt+s://" + secureAddress, "bolt+ssc://" + address} {
			withDriver(uri, neo4j.BasicAuth("neo4j", password, ""), func(driver neo4j.DriverWithContext) {
				fails(driver.VerifyConnectivity(ctx))
			})
		}
	}},
}
