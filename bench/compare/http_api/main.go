// An HTTP client that does nothing but post queries and time the answers, so that the server is what is
// measured. One connection per thread of work, kept alive, one request at a time on each; the request is
// made by hand, the answer is read as Go's own client reads it.
//
//	http_api -address 127.0.0.1:7474 -kind telar -workload point -connections 32 -seconds 5 -persons 100000
//
// Prints one JSON object. Any failure, or an answer with the wrong number of rows, ends it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
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
}

var workloads = map[string]workload{
	"one":        {"RETURN $id AS id", 1},
	"point":      {"MATCH (p:Person {id: $id}) RETURN p.name AS name", 1},
	"neighbours": {"MATCH (p:Person {id: $id})-[:KNOWS]->(f) RETURN f.name AS name", 5},
	"update":     {"MATCH (p:Person {id: $id}) SET p.age = $id % 90 RETURN p.id AS id", 1},
}

// How a server is asked, and how many rows its answer has.
type server struct {
	path string
	body func(query string, id int64) string
	// What stands once in the answer for each row, and what stands in one that failed.
	row, failed []byte
}

var servers = map[string]server{
	// The Query API.
	"telar": {
		path: "/db/telar/query/v2",
		body: func(query string, id int64) string {
			return fmt.Sprintf(`{"statement":"%s","parameters":{"id":%d}}`, query, id)
		},
		row:    []byte("["),
		failed: []byte(`"errors":`),
	},
	// The HTTP API, which Neo4j's Maven artefacts have; each row is an object of row and meta.
	"neo4j": {
		path: "/db/neo4j/tx/commit",
		body: func(query string, id int64) string {
			return fmt.Sprintf(`{"statements":[{"statement":"%s","parameters":{"id":%d}}]}`, query, id)
		},
		row:    []byte(`{"row":`),
		failed: []byte(`"code":`),
	},
}

type connection struct {
	net.Conn
	reader *bufio.Reader
	body   bytes.Buffer
}

func open(address string) (*connection, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: socket, reader: bufio.NewReaderSize(socket, 1<<16)}, nil
}

// rows counts the rows of an answer.
func (s server) rows(kind string, body []byte) int {
	if kind == "neo4j" {
		return bytes.Count(body, s.row)
	}
	// "fields":[...],"values":[[...],[...]]: a bracket for each row behind that of the values.
	values := bytes.Index(body, []byte(`"values":[`))
	if values < 0 {
		return -1
	}
	end := bytes.Index(body[values:], []byte("]]"))
	return bytes.Count(body[values+len(`"values":[`):values+max(end, 0)], s.row)
}

// ask posts the query and checks the number of rows.
func (c *connection) ask(kind, host string, w workload, id int64) error {
	s := servers[kind]
	body := s.body(w.query, id)
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json\r\nContent-Length: %d\r\n\r\n%s", s.path, host, len(body), body)
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	c.body.Reset()
	if _, err = io.Copy(&c.body, answer.Body); err != nil {
		return err
	}
	answer.Body.Close()
	said := c.body.Bytes()
	if answer.StatusCode/100 != 2 || bytes.Contains(said, s.failed) {
		return fmt.Errorf("status %d: %s", answer.StatusCode, said)
	}
	if rows := s.rows(kind, said); rows != w.rows {
		return fmt.Errorf("%d rows of %s for %d, expected %d: %s", rows, w.query, id, w.rows, said)
	}
	return nil
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func main() {
	address := flag.String("address", "127.0.0.1:7474", "host and port of the server")
	kind := flag.String("kind", "telar", "telar or neo4j")
	name := flag.String("workload", "point", "one, point, neighbours or update")
	connections := flag.Int("connections", 1, "connections, each with one request at a time")
	seconds := flag.Float64("seconds", 5, "how long")
	persons := flag.Int64("persons", 100000, "ids are below this")
	flag.Parse()
	w, known := workloads[*name]
	if _, is := servers[*kind]; !known || !is {
		fatal(fmt.Errorf("no workload %s of %s", *name, *kind))
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
				fatal(c.ask(*kind, *address, w, chance.Int63n(*persons)))
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
	var usage syscall.Rusage
	fatal(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	fatal(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"operations": len(sorted), "seconds": took, "per_second": float64(len(sorted)) / took,
		"p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999),
		"client_cpu_seconds": cpu(usage.Utime) + cpu(usage.Stime),
	}))
}
