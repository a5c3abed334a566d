package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
)

// Transactions: of all kinds, their ends, their limits, and what others see of them.

// Takes about for ever, without taking memory.
const endless = "UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 9 RETURN count(i)"

var timedOut = []string{"Neo.ClientError.Transaction.TransactionTimedOut",
	"Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"}

func countIn(driver neo4j.DriverWithContext, label string) (found int64) {
	within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) { found = count(auto(session), label) })
	return found
}

// pair calls `use` with two sessions.
func pair(use func(first, second neo4j.SessionWithContext)) func() {
	return func() {
		plain(func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(first neo4j.SessionWithContext) {
				within(driver, neo4j.SessionConfig{}, func(second neo4j.SessionWithContext) { use(first, second) })
			})
		})
	}
}

func write(session neo4j.SessionWithContext, work func(tx neo4j.ManagedTransaction) error) error {
	_, err := session.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) { return nil, work(tx) })
	return err
}

func running(session neo4j.SessionWithContext, text string) []*neo4j.Record {
	query := "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery CONTAINS $text RETURN transactionId"
	return must(rows(auto(session), query, anything{"text": text}))
}

// disturbed starts a query, calls `disturb`, and returns the error that the query ends with.
func disturbed(session, watch neo4j.SessionWithContext, mark string, disturb func()) error {
	failure := make(chan error, 1)
	go func() { failure <- do(auto(session), "/* "+mark+" */ "+endless, nil) }()
	eventually("the query runs", func() bool { return len(running(watch, mark)) > 0 })
	disturb()
	select {
	case err := <-failure:
		eventually("the query ended", func() bool { return len(running(watch, mark)) == 0 })
		return fails(err)
	case <-time.After(20 * time.Second):
		panic(errors.New("the client was not told"))
	}
}

// together runs `work` in several threads and raises the first failure.
func together(threads int, work func(number int) error) {
	var all sync.WaitGroup
	failures := make(chan error, threads)
	for i := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			failures <- work(i)
		}()
	}
	all.Wait()
	close(failures)
	for err := range failures {
		check(err)
	}
}

var transactions = []behaviour{
	{"auto_commit", func() {
		plain(func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				check(do(auto(session), "CREATE (:A)", nil))
				equal(countIn(driver, "A"), int64(1))
				// Without reading the result: closing the session sees to it.
				must(session.Run(ctx, "CREATE (:A)", nil))
			})
			equal(countIn(driver, "A"), int64(2))
		})
	}},
	{"execute_query", func() {
		plain(func(driver neo4j.DriverWithContext) {
			made := must(neo4j.ExecuteQuery(ctx, driver, "CREATE (n:A {x: $x}) RETURN n.x AS x", anything{"x": 3},
				neo4j.EagerResultTransformer))
			equal(made.Records[0].Values, []any{int64(3)})
			equal(made.Keys, []string{"x"})
			equal(made.Summary.Counters().NodesCreated(), 1)
			read := must(neo4j.ExecuteQuery(ctx, driver, "MATCH (n:A) RETURN n.x", nil, neo4j.EagerResultTransformer,
				neo4j.ExecuteQueryWithReadersRouting(), neo4j.ExecuteQueryWithDatabase("neo4j")))
			equal(read.Records[0].Values, []any{int64(3)})
		})
	}},
	{"managed_transactions", inSession(func(session neo4j.SessionWithContext) {
		made := must(session.ExecuteWrite(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
			return value(tx, "CREATE (n:A) RETURN 1", nil), nil
		}))
		equal(made, int64(1))
		mine := errors.New("mine")
		equal(write(session, func(tx neo4j.ManagedTransaction) error {
			check(do(tx, "CREATE (:A)", nil))
			return mine
		}), mine)
		read := must(session.ExecuteRead(ctx, func(tx neo4j.ManagedTransaction) (any, error) { return count(tx, "A"), nil }))
		equal(read, int64(1))
	})},
	{"conflicts_are_retried", func() {
		patient := func(settings *config.Config) { settings.MaxTransactionRetryTime = time.Minute }
		withDriver(scheme+"://"+address, none, func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				check(do(auto(session), "CREATE (:Counter {value: 0})", nil))
			})
			together(8, func(int) (err error) {
				within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
					for round := 0; round < 25 && err == nil; round++ {
						err = write(session, func(tx neo4j.ManagedTransaction) error {
							found, err := rows(tx, "MATCH (n:Counter) SET n.lock = 1 RETURN n.value", nil)
							if err != nil {
								return err
							}
							v := found[0].Values[0].(int64) + 1
							return do(tx, "MATCH (n:Counter) SET n.value = $v", anything{"v": v})
						})
					}
				})
				return err
			})
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				equal(value(auto(session), "MATCH (n:Counter) RETURN n.value", nil), int64(200))
			})
		}, patient)
	}},
	{"conflicts_are_marked_retryable", pair(func(one, two neo4j.SessionWithContext) {
		if !isTelar {
			return // Neo4j locks: the second writer waits for the first.
		}
		check(do(auto(one), "CREATE (:A {x: 0})", nil))
		first, second := must(one.BeginTransaction(ctx)), must(two.BeginTransaction(ctx))
		check(do(first, "MATCH (n:A) SET n.x = 1", nil))
		err := do(second, "MATCH (n:A) SET n.x = 2", nil)
		check(first.Commit(ctx))
		if err == nil {
			err = second.Commit(ctx)
		}
		require(neo4j.IsRetryable(fails(err)), "marked retryable: %v", err)
		check(second.Close(ctx))
		equal(value(auto(two), "MATCH (n:A) RETURN n.x", nil), int64(1))
	})},
	{"explicit_commit_and_rollback", pair(func(session, other neo4j.SessionWithContext) {
		transaction := must(session.BeginTransaction(ctx))
		check(do(transaction, "CREATE (:A)", nil))
		equal([]int64{count(transaction, "A"), count(auto(other), "A")}, []int64{1, 0})
		check(transaction.Commit(ctx))
		equal(count(auto(other), "A"), int64(1))
		undone := must(session.BeginTransaction(ctx))
		check(do(undone, "CREATE (:A)", nil))
		check(undone.Rollback(ctx))
		equal(count(auto(other), "A"), int64(1))
		fails(do(undone, "RETURN 1", nil))
	})},
	{"closing_rolls_back", func() {
		begin := func(session neo4j.SessionWithContext) neo4j.ExplicitTransaction {
			transaction := must(session.BeginTransaction(ctx))
			check(do(transaction, "CREATE (:A)", nil))
			return transaction
		}
		plain(func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(s neo4j.SessionWithContext) { check(begin(s).Close(ctx)) })
			within(driver, neo4j.SessionConfig{}, func(s neo4j.SessionWithContext) { begin(s) })
			plain(func(lost neo4j.DriverWithContext) { begin(lost.NewSession(ctx, neo4j.SessionConfig{})) })
			equal(countIn(driver, "A"), int64(0))
		})
	}},
	{"failed_transactions", inSession(func(session neo4j.SessionWithContext) {
		transaction := must(session.BeginTransaction(ctx))
		check(do(transaction, "CREATE (:A)", nil))
		fails(do(transaction, "NONSENSE", nil), "Neo.ClientError.Statement.SyntaxError")
		fails(do(transaction, "RETURN 1", nil))
		fails(transaction.Commit(ctx))
		_ = transaction.Close(ctx)
		equal(count(auto(session), "A"), int64(0))
		// An error after the first rows undoes the auto-commit transaction.
		fails(do(auto(session), "UNWIND [1, 0] AS x CREATE (:A) RETURN 1 / x", nil),
			"Neo.ClientError.Statement.ArithmeticError")
		equal(count(auto(session), "A"), int64(0))
	})},
	{"bookmarks", func() {
		plain(func(driver neo4j.DriverWithContext) {
			var first, second neo4j.Bookmarks
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				check(do(auto(session), "CREATE (:A)", nil))
				first = session.LastBookmarks()
				check(do(auto(session), "CREATE (:A)", nil))
				second = session.LastBookmarks()
			})
			require(len(first) > 0 && len(second) > 0 && first[0] != second[0], "bookmarks")
			after := func(seen neo4j.Bookmarks, expected int64) {
				within(driver, neo4j.SessionConfig{Bookmarks: seen}, func(session neo4j.SessionWithContext) {
					equal(count(auto(session), "A"), expected)
				})
			}
			after(first, 2)
			after(neo4j.CombineBookmarks(first, second), 2)
			for i := int64(1); i <= 50; i++ {
				var written neo4j.Bookmarks
				within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
					check(write(session, func(tx neo4j.ManagedTransaction) error { return do(tx, "CREATE (:A)", nil) }))
					written = session.LastBookmarks()
				})
				after(written, 2+i)
			}
			nonsense := neo4j.SessionConfig{Bookmarks: neo4j.BookmarksFromRawValues("nonsense")}
			within(driver, nonsense, func(session neo4j.SessionWithContext) {
				fails(do(auto(session), "RETURN 1", nil), "Neo.ClientError.Transaction.InvalidBookmark",
					"Neo.ClientError.Transaction.InvalidBookmarkMixture")
			})
		})
	}},
	{"timeouts", inSession(func(session neo4j.SessionWithContext) {
		brief := neo4j.WithTxTimeout(300 * time.Millisecond)
		started := time.Now()
		result, err := session.Run(ctx, endless, nil, brief)
		if err == nil {
			_, err = result.Consume(ctx)
		}
		fails(err, timedOut...)
		require(time.Since(started) < 10*time.Second, "it ended about when it had to")
		transaction := must(session.BeginTransaction(ctx, brief))
		check(do(transaction, "CREATE (:A)", nil))
		fails(do(transaction, endless, nil), timedOut...)
		_ = transaction.Close(ctx)
		equal(count(auto(session), "A"), int64(0))
	})},
	{"cancellation", inSession(func(watch neo4j.SessionWithContext) {
		// Losing the connection in the middle of a query ends the query.
		cut := newProxy()
		withDriver(cut.uri(), none, func(driver neo4j.DriverWithContext) {
			within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
				disturbed(session, watch, "lost in the middle", cut.close)
			})
		})
		// Leaving a result half read frees what it held.
		fetching(1, func(session neo4j.SessionWithContext) {
			result := must(session.Run(ctx, "UNWIND range(1, 100000000) AS i RETURN i // half read", nil))
			require(result.Next(ctx), "a row")
		})()
		eventually("the query ended", func() bool { return len(running(watch, "half read")) == 0 })
	})},
	{"terminated_transactions", pair(func(session, other neo4j.SessionWithContext) {
		mark := "terminated by another"
		err := disturbed(other, session, mark, func() {
			id := running(session, mark)[0].Values[0]
			record := one(auto(session), "TERMINATE TRANSACTIONS $id", anything{"id": id})
			message, _ := record.Get("message")
			equal(message, "Transaction terminated.")
		})
		require(strings.Contains(codeOf(err), "Terminated"), "%v", err)
	})},
	{"transaction_metadata", pair(func(session, other neo4j.SessionWithContext) {
		sent := anything{"app": "drivers", "n": int64(7)}
		transaction := must(session.BeginTransaction(ctx, neo4j.WithTxMetadata(sent)))
		check(do(transaction, "RETURN 1", nil))
		query := "SHOW TRANSACTIONS YIELD metaData, database WHERE metaData.app = 'drivers' RETURN metaData, database"
		equal(one(auto(other), query, nil).Values, []any{sent, kind})
		check(transaction.Rollback(ctx))
		own := must(session.Run(ctx, "SHOW TRANSACTIONS YIELD metaData RETURN metaData.auto AS auto", nil,
			neo4j.WithTxMetadata(anything{"auto": true})))
		shown := fmt.Sprint()
		for _, record := range must(own.Collect(ctx)) {
			shown += fmt.Sprint(record.Values[0])
		}
		require(strings.Contains(shown, "true"), "its own metadata: %s", shown)
	})},
	{"read_mode_refuses_writes", func() {
		code := "Neo.ClientError.Statement.AccessMode"
		plain(func(driver neo4j.DriverWithContext) {
			reading := neo4j.SessionConfig{AccessMode: neo4j.AccessModeRead}
			within(driver, reading, func(session neo4j.SessionWithContext) {
				fails(do(auto(session), "CREATE (:A)", nil), code)
				_, err := session.ExecuteRead(ctx, func(tx neo4j.ManagedTransaction) (any, error) {
					return nil, do(tx, "CREATE (:A)", nil)
				})
				fails(err, code)
				equal(count(auto(session), "A"), int64(0))
			})
		})
	}},
	{"concurrent_sessions", func() {
		narrow := func(settings *config.Config) { settings.MaxConnectionPoolSize = 10 }
		withDriver(scheme+"://"+address, none, func(driver neo4j.DriverWithContext) {
			together(50, func(by int) (err error) {
				for i := 0; i < 10 && err == nil; i++ {
					within(driver, neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) {
						if err = do(auto(session), "CREATE (:S {by: $by, i: $i})", anything{"by": by, "i": i}); err != nil {
							return
						}
						var found []*neo4j.Record
						found, err = rows(auto(session), "MATCH (n:S {by: $by}) RETURN count(n)", anything{"by": by})
						if err == nil && found[0].Values[0] != int64(i+1) {
							err = fmt.Errorf("%v of %d", found[0].Values[0], i+1)
						}
					})
				}
				return err
			})
			equal(countIn(driver, "S"), int64(500))
		}, narrow)
	}},
}
