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
	"net"
	"net/http"
	"os"

	"telar/bench/compare/timing"
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
	options := timing.Flags("127.0.0.1:7474")
	kind := flag.String("kind", "telar", "telar or neo4j")
	flag.Parse()
	w, known := workloads[options.Workload]
	if _, is := servers[*kind]; !known || !is {
		fatal(fmt.Errorf("no workload %s of %s", options.Workload, *kind))
	}
	found, err := options.Run(func() (timing.Ask, error) {
		c, err := open(options.Address)
		return func(id int64) error { return c.ask(*kind, options.Address, w, id) }, err
	})
	fatal(err)
	fatal(json.NewEncoder(os.Stdout).Encode(found))
}
