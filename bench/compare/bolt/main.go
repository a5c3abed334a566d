// A Bolt client that does nothing but send queries and time the answers, so that the server is what is
// measured and not a driver. One connection per thread of work, one query at a time on each:
// RUN and PULL leave in one write, as the official drivers do it.
//
//	bolt -address 127.0.0.1:7687 -workload point -connections 32 -seconds 5 -persons 100000
//
//	bolt -address 127.0.0.1:7687 -do reads -folder FOLDER -server PID -seconds 0.3
//
// The second runs the queries that `telar bench snb --export FOLDER` wrote (script.go).
// Prints one JSON object. Any failure, or an answer with the wrong number of rows, ends it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"sync"
	"syscall"
	"time"
)

// A query by the id of a person, and how many rows it has to give.
type workload struct {
	query string
	rows  int
	// Parameters besides the id.
	value bool
	write bool
}

var workloads = map[string]workload{
	"one":        {query: "RETURN $id AS id", rows: 1},
	"point":      {query: "MATCH (p:Person {id: $id}) RETURN p.name AS name", rows: 1},
	"neighbours": {query: "MATCH (p:Person {id: $id})-[:KNOWS]->(f) RETURN f.name AS name", rows: 5},
	"update": {query: "MATCH (p:Person {id: $id}) SET p.age = $value RETURN p.id AS id", rows: 1,
		value: true, write: true},
}

// RUN and PULL of everything.
func request(w workload, id int64) []byte {
	return statement(w.query, w.write, func(p *packer) {
		if w.value {
			p.WriteByte(0xA2)
			p.text("value")
			p.number(id ^ 1)
		} else {
			p.WriteByte(0xA1)
		}
		p.text("id")
		p.number(id)
	})
}

// ask runs the query and checks the number of rows. A conflict that may be tried again is.
func (c *connection) ask(w workload, id int64) error {
	for {
		rows := 0
		err := c.run(request(w, id), func([]byte) { rows++ })
		if err == errConflict {
			continue
		}
		if err == nil && rows != w.rows {
			return fmt.Errorf("%d rows of %s for %d, expected %d", rows, w.query, id, w.rows)
		}
		return err
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bolt:", err)
		os.Exit(1)
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:7687", "host and port of the server")
	name := flag.String("workload", "point", "one, point, neighbours or update")
	connections := flag.Int("connections", 1, "connections, each with one query at a time")
	seconds := flag.Float64("seconds", 5, "how long")
	persons := flag.Int64("persons", 100000, "ids are below this")
	do := flag.String("do", "", "instead of a workload, what telar bench snb wrote: answers, reads or mixed; or one query")
	script := scriptFlags()
	flag.Parse()
	if *do != "" {
		fatal(script.run(*do, *address, *connections, *seconds))
		return
	}
	w, known := workloads[*name]
	if !known {
		fatal(fmt.Errorf("no workload %s", *name))
	}
	all := make([]*connection, *connections)
	for i := range all {
		var err error
		all[i], err = open(*address)
		fatal(err)
	}
	times := make([][]time.Duration, *connections)
	started := time.Now()
	end := started.Add(time.Duration(*seconds * float64(time.Second)))
	var running sync.WaitGroup
	for i, c := range all {
		running.Add(1)
		go func() {
			defer running.Done()
			chance := rand.New(rand.NewSource(int64(i)))
			for before := time.Now(); before.Before(end); {
				fatal(c.ask(w, chance.Int63n(*persons)))
				after := time.Now()
				times[i] = append(times[i], after.Sub(before))
				before = after
			}
		}()
	}
	running.Wait()
	took := time.Since(started).Seconds()
	var sorted []time.Duration
	for _, some := range times {
		sorted = append(sorted, some...)
	}
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	at := func(share float64) float64 {
		return float64(sorted[int(share*float64(len(sorted)-1))].Nanoseconds()) / 1000
	}
	conflicts := 0
	for _, c := range all {
		conflicts += c.conflicts
	}
	var usage syscall.Rusage
	fatal(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	fatal(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"operations": len(sorted), "seconds": took, "per_second": float64(len(sorted)) / took,
		"p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999), "conflicts": conflicts,
		"client_cpu_seconds": cpu(usage.Utime) + cpu(usage.Stime),
	}))
}
