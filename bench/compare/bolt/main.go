// A Bolt client that does nothing but send queries and time the answers, so that the server is what is
// measured and not a driver. One connection per thread of work, one query at a time on each:
// RUN and PULL leave in one write, as the official drivers do it.
//
//	bolt -address 127.0.0.1:7687 -workload point -connections 32 -seconds 5 -persons 100000
//
// Prints one JSON object. Any failure, or an answer with the wrong number of rows, ends it.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
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

// PackStream, as much of it as requests need.
type packer struct{ bytes.Buffer }

func (p *packer) text(s string) {
	switch {
	case len(s) < 16:
		p.WriteByte(0x80 | byte(len(s)))
	case len(s) < 256:
		p.Write([]byte{0xD0, byte(len(s))})
	default:
		p.WriteByte(0xD1)
		_ = binary.Write(p, binary.BigEndian, uint16(len(s)))
	}
	p.WriteString(s)
}

func (p *packer) number(i int64) {
	p.WriteByte(0xCB)
	_ = binary.Write(p, binary.BigEndian, i)
}

func message(build func(p *packer)) []byte {
	var body packer
	build(&body)
	framed := binary.BigEndian.AppendUint16(nil, uint16(body.Len()))
	return append(append(framed, body.Bytes()...), 0, 0)
}

func hello() []byte {
	return message(func(p *packer) {
		p.Write([]byte{0xB1, 0x01, 0xA2})
		p.text("user_agent")
		p.text("telar-bench/1")
		p.text("bolt_agent")
		p.WriteByte(0xA1)
		p.text("product")
		p.text("telar-bench/1")
	})
}

func logon() []byte {
	return message(func(p *packer) {
		p.Write([]byte{0xB1, 0x6A, 0xA1})
		p.text("scheme")
		p.text("none")
	})
}

// RUN and PULL of everything.
func request(w workload, id int64) []byte {
	run := message(func(p *packer) {
		p.Write([]byte{0xB3, 0x10})
		p.text(w.query)
		if w.value {
			p.WriteByte(0xA2)
			p.text("value")
			p.number(id ^ 1)
		} else {
			p.WriteByte(0xA1)
		}
		p.text("id")
		p.number(id)
		p.WriteByte(0xA1)
		p.text("mode")
		if w.write {
			p.text("w")
		} else {
			p.text("r")
		}
	})
	pull := message(func(p *packer) {
		p.Write([]byte{0xB1, 0x3F, 0xA1})
		p.text("n")
		p.WriteByte(0xFF)
	})
	return append(run, pull...)
}

type connection struct {
	net.Conn
	reader *bufio.Reader
	body   []byte
}

// next returns the kind of the next message.
func (c *connection) next() (byte, error) {
	c.body = c.body[:0]
	for {
		var header [2]byte
		if _, err := io.ReadFull(c.reader, header[:]); err != nil {
			return 0, err
		}
		size := int(binary.BigEndian.Uint16(header[:]))
		if size == 0 {
			if len(c.body) == 0 {
				continue // A sign of life.
			}
			if c.body[1] == 0x7F {
				return 0, fmt.Errorf("failure: %q", c.body)
			}
			return c.body[1], nil
		}
		at := len(c.body)
		c.body = append(c.body, make([]byte, size)...)
		if _, err := io.ReadFull(c.reader, c.body[at:]); err != nil {
			return 0, err
		}
	}
}

func open(address string) (*connection, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: socket, reader: bufio.NewReaderSize(socket, 1<<16)}
	greeting := []byte{0x60, 0x60, 0xB0, 0x17, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if _, err := c.Write(greeting); err != nil {
		return nil, err
	}
	var version [4]byte
	if _, err := io.ReadFull(c.reader, version[:]); err != nil {
		return nil, err
	}
	if version != [4]byte{0, 0, 4, 5} {
		return nil, fmt.Errorf("the server does not speak Bolt 5.4: %v", version)
	}
	for _, step := range [][]byte{hello(), logon()} {
		if _, err := c.Write(step); err != nil {
			return nil, err
		}
		if _, err := c.next(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ask runs the query and checks the number of rows.
func (c *connection) ask(w workload, id int64) error {
	if _, err := c.Write(request(w, id)); err != nil {
		return err
	}
	rows, done := 0, 0
	for done < 2 {
		kind, err := c.next()
		if err != nil {
			return err
		}
		switch kind {
		case 0x70:
			done++
		case 0x71:
			rows++
		default:
			return fmt.Errorf("unexpected message %#x", kind)
		}
	}
	if rows != w.rows {
		return fmt.Errorf("%d rows of %s for %d, expected %d", rows, w.query, id, w.rows)
	}
	return nil
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
	flag.Parse()
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
	var usage syscall.Rusage
	fatal(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	fatal(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"operations": len(sorted), "seconds": took, "per_second": float64(len(sorted)) / took,
		"p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999),
		"client_cpu_seconds": cpu(usage.Utime) + cpu(usage.Stime),
	}))
}
