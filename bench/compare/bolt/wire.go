// Bolt 5.4, as much of it as a client needs that measures.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
)

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

// value packs what JSON can hold; numbers without a fraction are integers.
func (p *packer) value(v any) error {
	switch v := v.(type) {
	case nil:
		p.WriteByte(0xC0)
	case bool:
		if v {
			p.WriteByte(0xC3)
		} else {
			p.WriteByte(0xC2)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			p.number(i)
			return nil
		}
		f, err := v.Float64()
		if err != nil {
			return err
		}
		p.WriteByte(0xC1)
		_ = binary.Write(p, binary.BigEndian, f)
	case string:
		if len(v) >= 1<<16 {
			return fmt.Errorf("a text of %d bytes", len(v))
		}
		p.text(v)
	case []any:
		p.WriteByte(0xD5)
		_ = binary.Write(p, binary.BigEndian, uint16(len(v)))
		for _, element := range v {
			if err := p.value(element); err != nil {
				return err
			}
		}
	case map[string]any:
		p.Write([]byte{0xD8, byte(len(v))})
		for key, element := range v {
			p.text(key)
			if err := p.value(element); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("no parameter is %T", v)
	}
	return nil
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

// statement is RUN and PULL of everything.
func statement(query string, write bool, parameters func(p *packer)) []byte {
	run := message(func(p *packer) {
		p.Write([]byte{0xB3, 0x10})
		p.text(query)
		parameters(p)
		p.WriteByte(0xA1)
		p.text("mode")
		if write {
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
	reader    *bufio.Reader
	body      []byte
	conflicts int
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
			if c.body[1] == 0x7F && !bytes.Contains(c.body, []byte("Neo.TransientError")) {
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

// errConflict is a failure that may be tried again.
var errConflict = errors.New("conflict")

// run sends a statement and hands each record of its answer on. After a conflict the connection is ready.
func (c *connection) run(statement []byte, record func(fields []byte)) error {
	if _, err := c.Write(statement); err != nil {
		return err
	}
	for done := 0; done < 2; {
		kind, err := c.next()
		if err != nil {
			return err
		}
		switch kind {
		case 0x70:
			done++
		case 0x71:
			record(c.body[2:])
		case 0x7F:
			c.conflicts++
			return c.reset(2 - done)
		default:
			return fmt.Errorf("unexpected message %#x", kind)
		}
	}
	return nil
}

// reset makes the connection ready after a failure of RUN, which has PULL ignored, or of PULL.
func (c *connection) reset(answers int) error {
	if _, err := c.Write(message(func(p *packer) { p.Write([]byte{0xB0, 0x0F}) })); err != nil {
		return err
	}
	for ; answers > 0; answers-- {
		if _, err := c.next(); err != nil {
			return err
		}
	}
	return errConflict
}

// unpack reads one value of a record, and returns what is left. Nodes and the like are not needed here.
func unpack(b []byte) (any, []byte, error) {
	if len(b) == 0 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	marker, b := b[0], b[1:]
	size := func(bytes int) (int, error) {
		if len(b) < bytes {
			return 0, io.ErrUnexpectedEOF
		}
		n := 0
		for _, digit := range b[:bytes] {
			n = n<<8 | int(digit)
		}
		b = b[bytes:]
		return n, nil
	}
	text := func(n int, err error) (any, []byte, error) {
		if err != nil || len(b) < n {
			return nil, nil, io.ErrUnexpectedEOF
		}
		return string(b[:n]), b[n:], nil
	}
	integer := func(bytes int) (any, []byte, error) {
		n, err := size(bytes)
		shift := 64 - 8*bytes
		return int64(n) << shift >> shift, b, err
	}
	list := func(n int, err error) (any, []byte, error) {
		elements := []any{}
		for ; n > 0 && err == nil; n-- {
			var element any
			element, b, err = unpack(b)
			elements = append(elements, element)
		}
		return elements, b, err
	}
	entries := func(n int, err error) (any, []byte, error) {
		found := map[string]any{}
		for ; n > 0 && err == nil; n-- {
			var key, element any
			if key, b, err = unpack(b); err == nil {
				element, b, err = unpack(b)
				name, _ := key.(string)
				found[name] = element
			}
		}
		return found, b, err
	}
	switch {
	case marker < 0x80 || marker >= 0xF0:
		return int64(int8(marker)), b, nil
	case marker < 0x90:
		return text(int(marker&15), nil)
	case marker < 0xA0 && marker >= 0x90:
		return list(int(marker&15), nil)
	case marker < 0xB0:
		return entries(int(marker&15), nil)
	}
	switch marker {
	case 0xC0:
		return nil, b, nil
	case 0xC1:
		n, err := size(8)
		return math.Float64frombits(uint64(n)), b, err
	case 0xC2, 0xC3:
		return marker == 0xC3, b, nil
	case 0xC8, 0xC9, 0xCA, 0xCB:
		return integer(1 << (marker - 0xC8))
	case 0xD0, 0xD1, 0xD2:
		return text(size(1 << (marker - 0xD0)))
	case 0xD4, 0xD5, 0xD6:
		return list(size(1 << (marker - 0xD4)))
	case 0xD8, 0xD9, 0xDA:
		return entries(size(1 << (marker - 0xD8)))
	}
	return nil, nil, fmt.Errorf("no value begins with %#x", marker)
}
