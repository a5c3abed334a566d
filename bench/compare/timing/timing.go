// Package timing asks a server the same kind of question on many connections for some time, and says how
// long the answers took: one question at a time on each connection, about persons by chance.
package timing

import (
	"errors"
	"flag"
	"math/rand"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Options say who is asked what, and for how long.
type Options struct {
	Address, Workload string
	Connections       int
	Seconds           float64
	Persons           int64
}

// Flags makes them flags of the program.
func Flags(address string) *Options {
	o := &Options{}
	flag.StringVar(&o.Address, "address", address, "host and port of the server")
	flag.StringVar(&o.Workload, "workload", "point", "one, point, neighbours or update")
	flag.IntVar(&o.Connections, "connections", 1, "connections, each with one query at a time")
	flag.Float64Var(&o.Seconds, "seconds", 5, "how long")
	flag.Int64Var(&o.Persons, "persons", 100000, "ids are below this")
	return o
}

// Ask puts the question about one person and checks the answer.
type Ask func(id int64) error

// Run opens the connections, asks on all of them until the time is over, and returns the figures. A
// connection whose question failed asks nothing more, and then there are no figures.
func (o *Options) Run(open func() (Ask, error)) (map[string]any, error) {
	asks := make([]Ask, o.Connections)
	for i := range asks {
		var err error
		if asks[i], err = open(); err != nil {
			return nil, err
		}
	}
	times, failures := make([][]time.Duration, o.Connections), make([]error, o.Connections)
	started := time.Now()
	end := started.Add(time.Duration(o.Seconds * float64(time.Second)))
	var running sync.WaitGroup
	for i, ask := range asks {
		running.Add(1)
		go func() {
			defer running.Done()
			chance := rand.New(rand.NewSource(int64(i)))
			for before := time.Now(); before.Before(end); {
				if failures[i] = ask(chance.Int63n(o.Persons)); failures[i] != nil {
					return
				}
				after := time.Now()
				times[i] = append(times[i], after.Sub(before))
				before = after
			}
		}()
	}
	running.Wait()
	took := time.Since(started).Seconds()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	sorted := slices.Concat(times...)
	slices.Sort(sorted)
	at := func(share float64) float64 {
		return float64(sorted[int(share*float64(len(sorted)-1))].Nanoseconds()) / 1000
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return nil, err
	}
	cpu := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return map[string]any{
		"operations": len(sorted), "seconds": took, "per_second": float64(len(sorted)) / took,
		"p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999),
		"client_cpu_seconds": cpu(usage.Utime) + cpu(usage.Stime),
	}, nil
}
