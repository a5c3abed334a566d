// Package main runs the behaviours of drivers/README.md with the official Go driver, from the root of the
// repository: behaviours [PART OF A NAME]...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/config"
)

type anything = map[string]any

var (
	ctx           = context.Background()
	address       = os.Getenv("DRIVERS_BOLT")
	secureAddress = os.Getenv("DRIVERS_BOLT_SECURE")
	password      = os.Getenv("DRIVERS_PASSWORD")
	// "bolt", or "neo4j": then the address is one of a cluster's nodes, whose leader is killed meanwhile.
	scheme  = "bolt"
	kind    = "telar"
	isTelar = true
	none    = neo4j.NoAuth()
)

// A behaviour fails by a panic: `check` and `equal` raise it, the runner catches it.
type behaviour struct {
	name  string
	check func()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func require(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Errorf(format, values...))
	}
}

func equal(got, expected any) {
	require(reflect.DeepEqual(got, expected), "got %.300s, expected %.300s",
		fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", expected))
}

// must returns the value of a call that does not fail.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func codeOf(err error) string {
	var known *neo4j.Neo4jError
	if errors.As(err, &known) {
		return known.Code
	}
	return fmt.Sprintf("%T", err)
}

// fails makes sure of an error, with one of the codes if any are given, and returns it.
func fails(err error, codes ...string) error {
	require(err != nil, "no error, expected %v", codes)
	require(len(codes) == 0 || slices.Contains(codes, codeOf(err)), "%s (%v), expected %v", codeOf(err), err, codes)
	return err
}

func eventually(what string, condition func() bool) {
	for end := time.Now().Add(10 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		require(time.Now().Before(end), "not within 10 s: %s", what)
	}
}

// withDriver calls `use` with a driver and closes it.
func withDriver(uri string, auth neo4j.AuthToken, use func(driver neo4j.DriverWithContext), settings ...func(*config.Config)) {
	driver := must(neo4j.NewDriverWithContext(uri, auth, settings...))
	defer driver.Close(ctx)
	use(driver)
}

func plain(use func(driver neo4j.DriverWithContext)) {
	withDriver(scheme+"://"+address, none, use)
}

func secure(use func(driver neo4j.DriverWithContext)) {
	withDriver("bolt+ssc://"+secureAddress, neo4j.BasicAuth("neo4j", password, ""), use)
}

func within(driver neo4j.DriverWithContext, how neo4j.SessionConfig, use func(session neo4j.SessionWithContext)) {
	session := driver.NewSession(ctx, how)
	defer session.Close(ctx)
	use(session)
}

// inSession makes a check of one that needs a session and nothing else.
func inSession(use func(session neo4j.SessionWithContext)) func() {
	return func() {
		plain(func(driver neo4j.DriverWithContext) { within(driver, neo4j.SessionConfig{}, use) })
	}
}

type runner interface {
	Run(ctx context.Context, query string, parameters map[string]any) (neo4j.ResultWithContext, error)
}

// session runs as a transaction does.
type autoCommit struct{ neo4j.SessionWithContext }

func (s autoCommit) Run(ctx context.Context, query string, parameters map[string]any) (neo4j.ResultWithContext, error) {
	return s.SessionWithContext.Run(ctx, query, parameters)
}

func auto(session neo4j.SessionWithContext) runner { return autoCommit{session} }

func rows(r runner, query string, parameters anything) ([]*neo4j.Record, error) {
	result, err := r.Run(ctx, query, parameters)
	if err != nil {
		return nil, err
	}
	return result.Collect(ctx)
}

func one(r runner, query string, parameters anything) *neo4j.Record {
	records := must(rows(r, query, parameters))
	require(len(records) == 1, "%d rows of %s", len(records), query)
	return records[0]
}

func value(r runner, query string, parameters anything) any {
	return one(r, query, parameters).Values[0]
}

// do runs a query for what it changes.
func do(r runner, query string, parameters anything) error {
	_, err := rows(r, query, parameters)
	return err
}

func count(r runner, label string) int64 {
	return value(r, "MATCH (n:"+label+") RETURN count(n)", nil).(int64)
}

func residentMib(process string) float64 {
	pages := strings.Fields(string(must(os.ReadFile("/proc/" + process + "/statm"))))[1]
	return float64(must(strconv.Atoi(pages))) / 256
}

// A proxy in front of a server, to cut connections in the middle of something.
type proxy struct {
	listener net.Listener
	lock     sync.Mutex
	sockets  []net.Conn
}

func newProxy() *proxy {
	p := &proxy{listener: must(net.Listen("tcp", "127.0.0.1:0"))}
	go func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				client.Close()
				continue
			}
			p.lock.Lock()
			p.sockets = append(p.sockets, client, server)
			p.lock.Unlock()
			go func() { _, _ = io.Copy(client, server) }()
			go func() { _, _ = io.Copy(server, client) }()
		}
	}()
	return p
}

func (p *proxy) uri() string { return "bolt://" + p.listener.Addr().String() }

func (p *proxy) cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, socket := range p.sockets {
		socket.Close()
	}
	p.sockets = nil
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
}

func empty(session neo4j.SessionWithContext) {
	for _, row := range must(rows(auto(session), "SHOW CONSTRAINTS YIELD name", nil)) {
		check(do(auto(session), "DROP CONSTRAINT `"+row.Values[0].(string)+"`", nil))
	}
	check(do(auto(session), "MATCH (n) DETACH DELETE n", nil))
}

func passes(b behaviour) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%v", failure)
		}
	}()
	inSession(empty)()
	b.check()
	return nil
}

// Time in which a behaviour has to hold that a failover may break.
const failoverTime = 30 * time.Second

// holds runs a behaviour. One that a failover breaks is run again, with an empty graph; the runner counts them.
func holds(b behaviour) error {
	for started := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		err := passes(b)
		if err == nil || scheme == "bolt" || time.Since(started) >= failoverTime {
			return err
		}
		fmt.Printf("test %s ... again: %.120s\n", b.name, err)
	}
}

func main() {
	if given := os.Getenv("DRIVERS_SCHEME"); given != "" {
		scheme = given
	}
	if given := os.Getenv("DRIVERS_KIND"); given != "" {
		kind = given
		isTelar = kind == "telar"
	}
	list := slices.Concat(values, results, transactions, failures, connections)
	var listed, known []string
	for _, line := range strings.Split(string(must(os.ReadFile("drivers/behaviours.txt"))), "\n") {
		if name, _, found := strings.Cut(line, ":"); found && line[0] != '#' {
			listed = append(listed, name)
		}
	}
	for _, b := range list {
		known = append(known, b.name)
	}
	equal(known, listed)
	passed, failed := 0, 0
	skipped := strings.Fields(os.Getenv("DRIVERS_SKIP"))
	for _, b := range list {
		chosen := func(part string) bool { return strings.Contains(b.name, part) }
		if len(os.Args) > 1 && !slices.ContainsFunc(os.Args[1:], chosen) {
			continue
		}
		if slices.Contains(skipped, b.name) {
			continue
		}
		started := time.Now()
		if err := holds(b); err != nil {
			failed++
			fmt.Printf("test %s ... FAILED\n%v\n", b.name, err)
		} else {
			passed++
			fmt.Printf("test %s ... ok (%.2f s)\n", b.name, time.Since(started).Seconds())
		}
	}
	status := "ok"
	if failed > 0 {
		status = "FAILED"
	}
	fmt.Printf("go, neo4j-go-driver 5.28, %s\ntest result: %s. %d passed; %d failed\n", kind, status, passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
