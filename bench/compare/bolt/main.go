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
	"os"

	"telar/bench/compare/timing"
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
	options := timing.Flags("127.0.0.1:7687")
	do := flag.String("do", "", "instead of a workload, what telar bench snb wrote: answers, reads or mixed; or one query")
	script := scriptFlags()
	flag.Parse()
	if *do != "" {
		fatal(script.run(*do, options.Address, options.Connections, options.Seconds))
		return
	}
	w, known := workloads[options.Workload]
	if !known {
		fatal(fmt.Errorf("no workload %s", options.Workload))
	}
	var all []*connection
	found, err := options.Run(func() (timing.Ask, error) {
		c, err := open(options.Address)
		all = append(all, c)
		return func(id int64) error { return c.ask(w, id) }, err
	})
	fatal(err)
	conflicts := 0
	for _, c := range all {
		conflicts += c.conflicts
	}
	found["conflicts"] = conflicts
	fatal(json.NewEncoder(os.Stdout).Encode(found))
}
