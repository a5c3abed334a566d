package main

import (
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/notifications"
)

// Results: rows as they come, and what the summary says of them.

func summary(session neo4j.SessionWithContext, query string) neo4j.ResultSummary {
	return must(must(session.Run(ctx, query, nil)).Consume(ctx))
}

func statuses(session neo4j.SessionWithContext, query string) []string {
	var list []string
	for _, status := range summary(session, query).GqlStatusObjects() {
		list = append(list, status.GqlStatus())
	}
	return list
}

func contains(list []string, wanted string) {
	require(strings.Contains(strings.Join(list, " "), wanted), "%s in %v", wanted, list)
}

const (
	million = 1_000_000
	// A row holds 100 characters, so that a result kept in memory as a whole would take some 150 MiB.
	manyRows = "UNWIND range(1, $rows) AS i RETURN i, $text + i AS text"
	unknown  = "MATCH (n:NoSuchLabelAnywhere) RETURN n"
)

func many(count, size int) anything {
	return anything{"rows": count, "text": strings.Repeat("x", size)}
}

func hits(plan neo4j.ProfiledPlan) int64 {
	sum := plan.DbHits()
	for _, child := range plan.Children() {
		sum += hits(child)
	}
	return sum
}

func fetching(rows int, use func(session neo4j.SessionWithContext)) func() {
	return func() {
		plain(func(driver neo4j.DriverWithContext) { within(driver, neo4j.SessionConfig{FetchSize: rows}, use) })
	}
}

var results = []behaviour{
	{"keys_and_records", inSession(func(session neo4j.SessionWithContext) {
		result := must(session.Run(ctx, "UNWIND [1, 2] AS x RETURN x, x * 2 AS `two x`, 'c' AS c ORDER BY x", nil))
		equal(must(result.Keys()), []string{"x", "two x", "c"})
		records := must(result.Collect(ctx))
		equal(records[0].Values, []any{int64(1), int64(2), "c"})
		equal(records[1].Values, []any{int64(2), int64(4), "c"})
		nothing := must(session.Run(ctx, "MATCH (n:Nobody) RETURN n.a AS a, n.b", nil))
		equal(must(nothing.Keys()), []string{"a", "n.b"})
		equal(len(must(nothing.Collect(ctx))), 0)
	})},
	{"query_types", inSession(func(session neo4j.SessionWithContext) {
		equal(summary(session, "RETURN 1").StatementType(), neo4j.StatementTypeReadOnly)
		equal(summary(session, "CREATE (:A)").StatementType(), neo4j.StatementTypeWriteOnly)
		equal(summary(session, "MERGE (a:A) RETURN a").StatementType(), neo4j.StatementTypeReadWrite)
		schema := "CREATE CONSTRAINT FOR (n:Kind) REQUIRE n.id IS UNIQUE"
		equal(summary(session, schema).StatementType(), neo4j.StatementTypeSchemaWrite)
	})},
	{"counters", inSession(func(session neo4j.SessionWithContext) {
		counters := func(query string) neo4j.Counters { return summary(session, query).Counters() }
		c := counters("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 1}]->(b:B)")
		equal([]int{c.NodesCreated(), c.RelationshipsCreated(), c.PropertiesSet(), c.LabelsAdded()}, []int{2, 1, 3, 3})
		require(c.ContainsUpdates() && !c.ContainsSystemUpdates(), "updates")
		c = counters("MATCH (a:A) SET a.x = 5, a:C REMOVE a:B REMOVE a.y")
		equal([]int{c.PropertiesSet(), c.LabelsAdded(), c.LabelsRemoved()}, []int{2, 1, 1})
		c = counters("MATCH (a) DETACH DELETE a")
		equal([]int{c.NodesDeleted(), c.RelationshipsDeleted()}, []int{2, 1})
		require(!counters("MATCH (a) RETURN a").ContainsUpdates(), "no updates")
		equal(counters("CREATE CONSTRAINT counted FOR (n:Counted) REQUIRE n.id IS UNIQUE").ConstraintsAdded(), 1)
		equal(counters("DROP CONSTRAINT counted").ConstraintsRemoved(), 1)
		equal(counters("CREATE INDEX counted FOR (n:Counted) ON (n.id)").IndexesAdded(), 1)
		equal(counters("DROP INDEX counted").IndexesRemoved(), 1)
	})},
	{"plans_and_profiles", inSession(func(session neo4j.SessionWithContext) {
		check(do(auto(session), "UNWIND range(1, 10) AS i CREATE (:P {i: i})", nil))
		query := "MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i"
		explained := summary(session, "EXPLAIN "+query)
		require(explained.Plan() != nil && explained.Profile() == nil, "a plan and no profile")
		require(explained.Plan().Operator() != "" && len(explained.Plan().Children()) > 0, "operators")
		equal(len(must(rows(auto(session), "EXPLAIN "+query, nil))), 0)
		profiled := must(session.Run(ctx, "PROFILE "+query, nil))
		equal(len(must(profiled.Collect(ctx))), 5)
		profile := must(profiled.Consume(ctx)).Profile()
		equal(profile.Records(), int64(5))
		require(hits(profile) > 0, "hits")
		require(summary(session, "MATCH (n:P) RETURN n").Plan() == nil, "no plan unasked")
	})},
	{"notifications", func() {
		inSession(func(session neo4j.SessionWithContext) {
			var codes []string
			for _, notification := range summary(session, unknown).Notifications() {
				codes = append(codes, notification.Code())
				equal(notification.Position().Line(), 1)
			}
			contains(codes, "Neo.ClientNotification.Statement.UnknownLabelWarning")
			contains(statuses(session, unknown), "01N50")
		})()
		withDriver(scheme+"://"+address, none, func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				equal(len(summary(session, unknown).Notifications()), 0)
			})
		}, func(settings *config.Config) { settings.NotificationsMinSeverity = notifications.DisabledLevel })
	}},
	{"summaries", inSession(func(session neo4j.SessionWithContext) {
		s := must(must(session.Run(ctx, "RETURN $x AS x", anything{"x": 1})).Consume(ctx))
		equal(s.Database().Name(), kind)
		equal(s.Query().Text(), "RETURN $x AS x")
		require(s.ResultAvailableAfter() >= 0 && s.ResultConsumedAfter() >= 0, "times")
		equal(s.Server().Address(), address)
		equal(statuses(session, "RETURN 1"), []string{"00000"})
		contains(statuses(session, "MATCH (n:P {x: 1}) RETURN n.x"), "02000")
		equal(statuses(session, "CREATE (:P {x: 1})"), []string{"00001"})
	})},
	{"million_rows_in_constant_memory", inSession(func(session neo4j.SessionWithContext) {
		check(do(auto(session), manyRows, many(1000, 100)))
		server, client := os.Getenv("DRIVERS_PROCESS"), "self"
		before := []float64{residentMib(server), residentMib(client)}
		highest := []float64{0, 0}
		result := must(session.Run(ctx, manyRows, many(million, 100)))
		var read, total int64
		for result.Next(ctx) {
			read++
			total += result.Record().Values[0].(int64)
			if read%10000 == 0 {
				highest[0] = max(highest[0], residentMib(server))
				highest[1] = max(highest[1], residentMib(client))
			}
		}
		check(result.Err())
		equal([]int64{read, total}, []int64{million, million * (million + 1) / 2})
		require(highest[0]-before[0] < 64 || !isTelar, "the server grew by %.0f MiB", highest[0]-before[0])
		require(highest[1]-before[1] < 64, "the client grew by %.0f MiB", highest[1]-before[1])
	})},
	{"slow_reader_holds_no_memory", fetching(10, func(session neo4j.SessionWithContext) {
		check(do(auto(session), "RETURN 1", nil))
		before := residentMib(os.Getenv("DRIVERS_PROCESS"))
		result := must(session.Run(ctx, manyRows, many(10*million, 100)))
		for range 50 {
			require(result.Next(ctx), "a row")
			time.Sleep(10 * time.Millisecond)
		}
		grown := residentMib(os.Getenv("DRIVERS_PROCESS")) - before
		require(grown < 64 || !isTelar, "the server grew by %.0f MiB", grown)
	})},
	{"early_end_of_a_result", fetching(10, func(session neo4j.SessionWithContext) {
		started := time.Now()
		result := must(session.Run(ctx, manyRows, many(1000*million, 0)))
		for i := int64(1); i <= 5; i++ {
			require(result.Next(ctx), "a row")
			equal(result.Record().Values[0], i)
		}
		equal(must(result.Consume(ctx)).StatementType(), neo4j.StatementTypeReadOnly)
		equal(value(auto(session), "RETURN 1", nil), int64(1))
		require(time.Since(started) < 20*time.Second, "discarding does not compute the rest")
	})},
	{"two_open_results", fetching(2, func(session neo4j.SessionWithContext) {
		transaction := must(session.BeginTransaction(ctx))
		first := must(transaction.Run(ctx, "UNWIND range(1, 9) AS i RETURN i", nil))
		second := must(transaction.Run(ctx, "UNWIND range(11, 19) AS i RETURN i", nil))
		for i := int64(1); i <= 9; i++ {
			require(first.Next(ctx) && second.Next(ctx), "rows of both")
			equal([]any{first.Record().Values[0], second.Record().Values[0]}, []any{i, i + 10})
		}
		left := must(transaction.Run(ctx, "UNWIND range(1, 100) AS i RETURN i", nil))
		require(left.Next(ctx) && reflect.DeepEqual(left.Record().Values[0], int64(1)), "the first row")
		check(do(transaction, "CREATE (:A)", nil))
		equal(len(must(left.Collect(ctx))), 99)
		check(transaction.Commit(ctx))
	})},
}
