package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A script is what `telar bench snb --export` wrote, and how to run it.
type script struct {
	folder string
	server int
	only   string
	limit  int
	text   string
	warm   float64

	Texts map[string]string `json:"texts"`
	Reads []struct {
		Name string `json:"name"`
		Sets []struct {
			Parameters map[string]any `json:"parameters"`
		} `json:"sets"`
	} `json:"reads"`
}

func scriptFlags() *script {
	s := &script{}
	flag.StringVar(&s.folder, "folder", ".", "what telar bench snb --export wrote")
	flag.IntVar(&s.server, "server", 0, "process of the server, for its processor time")
	flag.StringVar(&s.only, "only", "", "reads to run, with commas between them; all, if there are none")
	flag.IntVar(&s.limit, "operations", 0, "the most operations of a mixed run; all, if 0")
	flag.Float64Var(&s.warm, "warm", 0, "seconds of a mixed run that do not count, before those that do")
	flag.StringVar(&s.text, "text", "", "the text of -do query")
	return s
}

// An operation of the mixed run begins when the first `after` of all operations are done.
type operation struct {
	query     string
	statement []byte
	after     int
}

func (s *script) statement(query string, parameters map[string]any) ([]byte, error) {
	text, known := s.Texts[query]
	if !known {
		return nil, fmt.Errorf("no query %s", query)
	}
	var problem error
	packed := statement(text, strings.HasPrefix(query, "update"), func(p *packer) { problem = p.value(parameters) })
	return packed, problem
}

func decode(text []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func (s *script) run(what, address string, connections int, seconds float64) error {
	if what == "query" {
		rows, err := s.query(address)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	text, err := os.ReadFile(filepath.Join(s.folder, "questions.json"))
	if err != nil {
		return err
	}
	if err := decode(text, s); err != nil {
		return err
	}
	var found any
	switch what {
	case "answers":
		found, err = s.answers(address)
	case "reads":
		found, err = s.reads(address, seconds)
	case "mixed":
		found, err = s.mixed(address, connections, seconds)
	default:
		err = fmt.Errorf("there is no -do %s", what)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// rows runs a statement and reads its answer.
func (c *connection) rows(statement []byte) ([]any, error) {
	rows, problem := []any{}, error(nil)
	err := c.run(statement, func(fields []byte) {
		row, _, err := unpack(fields)
		rows, problem = append(rows, row), errors.Join(problem, err)
	})
	return rows, errors.Join(err, problem)
}

// query runs one statement without parameters.
func (s *script) query(address string) ([]any, error) {
	c, err := open(address)
	if err != nil {
		return nil, err
	}
	return c.rows(statement(s.text, true, func(p *packer) { p.WriteByte(0xA0) }))
}

// answers asks every read once with each of its sets of parameters.
func (s *script) answers(address string) (any, error) {
	c, err := open(address)
	if err != nil {
		return nil, err
	}
	answers := map[string][][]any{}
	for _, read := range s.Reads {
		for _, set := range read.Sets {
			packed, err := s.statement(read.Name, set.Parameters)
			if err != nil {
				return nil, err
			}
			rows, err := c.rows(packed)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", read.Name, err)
			}
			answers[read.Name] = append(answers[read.Name], rows)
		}
	}
	return answers, nil
}

// cpu is the processor time so far of a process, in seconds.
func cpu(process int) float64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// at is the value that this share of sorted values do not exceed.
func at(sorted []time.Duration, share float64) float64 {
	return milliseconds(sorted[int(share*float64(len(sorted)-1)+0.5)])
}

// patience is how many times the wanted seconds a read may take before the rest of its sets are left out.
const patience = 20

// reads runs each read alone for some time, with its sets of parameters in turn.
func (s *script) reads(address string, seconds float64) (any, error) {
	c, err := open(address)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]float64{}
	for _, read := range s.Reads {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), read.Name) {
			continue
		}
		var statements [][]byte
		for _, set := range read.Sets {
			packed, err := s.statement(read.Name, set.Parameters)
			if err != nil {
				return nil, err
			}
			statements = append(statements, packed)
		}
		times := make([][]time.Duration, len(statements))
		var all []time.Duration
		begun, server, client := time.Now(), cpu(s.server), cpu(os.Getpid())
		for len(all) == 0 || time.Since(begun).Seconds() < seconds {
			for i, packed := range statements {
				before := time.Now()
				if err := c.run(packed, func([]byte) {}); err != nil {
					return nil, fmt.Errorf("%s: %w", read.Name, err)
				}
				took := time.Since(before)
				times[i], all = append(times[i], took), append(all, took)
				if time.Since(begun).Seconds() > patience*seconds {
					break
				}
			}
		}
		count := float64(len(all))
		server, client = (cpu(s.server)-server)/count*1e3, (cpu(os.Getpid())-client)/count*1e3
		times = slices.DeleteFunc(times, func(some []time.Duration) bool { return len(some) == 0 })
		mean := 0.0
		for _, some := range times {
			slices.Sort(some)
			mean += at(some, 0.5) / float64(len(times))
		}
		slices.Sort(all)
		found[read.Name] = map[string]float64{"ms": mean, "p50_ms": at(all, 0.5), "p99_ms": at(all, 0.99),
			"CPU_ms": server, "client_CPU_ms": client, "runs": count}
	}
	return found, nil
}

// operations reads those of the mixed run.
func (s *script) operations() ([]operation, error) {
	file, err := os.Open(filepath.Join(s.folder, "operations.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	var all []operation
	for lines.Scan() && (s.limit == 0 || len(all) < s.limit) {
		var fields [3]any
		if err := decode(lines.Bytes(), &fields); err != nil {
			return nil, err
		}
		query, isText := fields[0].(string)
		parameters, isMap := fields[1].(map[string]any)
		after, isNumber := fields[2].(json.Number)
		if !isText || !isMap || !isNumber {
			return nil, fmt.Errorf("not an operation: %s", lines.Text())
		}
		count, err := after.Int64()
		if err != nil {
			return nil, err
		}
		packed, err := s.statement(query, parameters)
		if err != nil {
			return nil, err
		}
		all = append(all, operation{query, packed, int(count)})
	}
	return all, lines.Err()
}

// progress says how many operations from the first on are done.
type progress struct {
	sync.Mutex
	changed sync.Cond
	done    int
	ahead   map[int]bool
}

func (p *progress) wait(count int) {
	p.Lock()
	defer p.Unlock()
	for p.done < count {
		p.changed.Wait()
	}
}

func (p *progress) finish(at int) {
	p.Lock()
	defer p.Unlock()
	p.ahead[at] = true
	for p.ahead[p.done] {
		delete(p.ahead, p.done)
		p.done++
	}
	p.changed.Broadcast()
}

// mixed runs reads and updates together, in order where one needs another.
func (s *script) mixed(address string, connections int, seconds float64) (any, error) {
	all, err := s.operations()
	if err != nil {
		return nil, err
	}
	var clients []*connection
	for range connections {
		c, err := open(address)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
	}
	done := &progress{ahead: map[int]bool{}}
	done.changed.L = done
	times := make([]map[string][]time.Duration, connections)
	var lock sync.Mutex
	next := 0
	take := func() int {
		lock.Lock()
		defer lock.Unlock()
		next++
		return next - 1
	}
	var running sync.WaitGroup
	counts := time.Now().Add(time.Duration(s.warm * float64(time.Second)))
	for i, c := range clients {
		times[i] = map[string][]time.Duration{}
		running.Add(1)
		go func() {
			defer running.Done()
			for time.Since(counts).Seconds() < seconds {
				at := take()
				if at >= len(all) {
					return
				}
				done.wait(all[at].after)
				before := time.Now()
				err := errConflict
				for errors.Is(err, errConflict) {
					err = c.run(all[at].statement, func([]byte) {})
				}
				if err != nil {
					fatal(fmt.Errorf("%s %d: %w", all[at].query, at, err))
				}
				if before.After(counts) {
					times[i][all[at].query] = append(times[i][all[at].query], time.Since(before))
				}
				done.finish(at)
			}
		}()
	}
	time.Sleep(time.Until(counts))
	server, client := cpu(s.server), cpu(os.Getpid())
	running.Wait()
	took := time.Since(counts).Seconds()
	kinds, count, conflicts := map[string][]time.Duration{}, 0.0, 0
	for i, some := range times {
		for query, values := range some {
			kind, _, _ := strings.Cut(query, "-")
			kinds[query] = append(kinds[query], values...)
			kinds[kind] = append(kinds[kind], values...)
			count += float64(len(values))
		}
		conflicts += clients[i].conflicts
	}
	found := map[string]any{"operations": count, "seconds": took, "per_s": count / took, "conflicts": conflicts,
		"CPU_us":        (cpu(s.server) - server) / count * 1e6,
		"client_CPU_us": (cpu(os.Getpid()) - client) / count * 1e6}
	for kind, values := range kinds {
		slices.Sort(values)
		found[kind] = map[string]float64{"count": float64(len(values)), "p50_ms": at(values, 0.5), "p99_ms": at(values, 0.99)}
	}
	return found, nil
}
