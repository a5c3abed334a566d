// Porcupine checks histories of the cluster's stores: whether all calls on a slot, and on a value with
// versions, can have taken effect one after the other, each between its begin and its end.
//
//	porcupine FILE...
//
// The files are what crates/cluster/tests/conformance/histories.rs writes: a call a line, in JSON. Ends
// with 1 if a history is not linearizable, and shows the calls on the object that it is about.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A call, as a line has it.
type Call struct {
	Object string `json:"object"`
	Begin  int64  `json:"call"`
	// Nil if nobody knows whether it took effect.
	End *int64 `json:"return"`
	Op  string `json:"op"`

	// What was asked.
	Value    string `json:"value"`
	Next     uint64 `json:"next"`
	Before   uint64 `json:"before"`
	Expected uint64 `json:"expected"`

	// What was answered.
	Result    string `json:"result"`
	Found     string `json:"found"`
	FoundNext uint64 `json:"found_next"`
	Version   uint64 `json:"version"`
	Mark      uint64 `json:"mark"`
}

// A slot: nothing, a body, or trimmed.
type slot struct {
	body    string
	next    uint64
	trimmed bool
}

// stepSlot tells whether a call fits a slot, and what the slot is then.
func stepSlot(before slot, call Call) (bool, slot) {
	empty := before.next == 0
	mine := slot{body: call.Value, next: call.Next}
	shown := slot{body: call.Found, next: call.FoundNext}
	trims := !empty && !before.trimmed && before.next <= call.Before
	switch call.Op + " " + call.Result {
	case "put won":
		return empty, mine
	case "put found", "read found":
		return before == shown, before
	case "put trimmed", "read trimmed":
		return before.trimmed, before
	case "put unknown":
		if empty {
			return true, mine
		}
		return true, before
	case "read nothing":
		return empty, before
	case "trim mark":
		if trims {
			before.trimmed = true
		}
		if before.trimmed {
			return call.Mark == before.next, before
		}
		return call.Mark == 1, before
	case "trim unknown":
		before.trimmed = before.trimmed || trims
		return true, before
	}
	panic("unknown call: " + call.Op + " " + call.Result)
}

// A value. Its version is not known if nobody was told it; it is then greater than floor.
type value struct {
	text    string
	version uint64
	unknown bool
	floor   uint64
}

// is tells whether a value is what was shown, and returns it with its version.
func (before value) is(call Call) (bool, value) {
	shown := value{text: call.Found, version: call.Version}
	if before.unknown {
		return before.text == call.Found && call.Version > before.floor, shown
	}
	return before == shown, before
}

// stepValue tells whether a call fits a value, and what the value is then.
func stepValue(before value, call Call) (bool, value) {
	// Who expects a version has been told it, so it is not unknown then.
	expected := !before.unknown && before.version == call.Expected
	switch call.Op + " " + call.Result {
	case "get nothing":
		return before == value{}, before
	case "get found":
		return before.is(call)
	case "put_if won":
		return expected && call.Version > before.version, value{text: call.Value, version: call.Version}
	case "put_if nothing":
		return before == value{} && call.Expected != 0, before
	case "put_if found":
		fits, after := before.is(call)
		return fits && after.version != call.Expected, after
	case "put_if unknown":
		if expected {
			return true, value{text: call.Value, unknown: true, floor: before.version}
		}
		return true, before
	}
	panic("unknown call: " + call.Op + " " + call.Result)
}

func model[T any](step func(T, Call) (bool, T)) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { var nothing T; return nothing },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			return step(state.(T), input.(Call))
		},
		DescribeOperation: func(input, _ interface{}) string { return fmt.Sprintf("%+v", input) },
	}
}

// Check tells what is wrong with the calls on one object, or returns "".
func Check(calls []Call) string {
	models := map[string]porcupine.Model{"slot": model(stepSlot), "value": model(stepValue)}
	kind, _, _ := strings.Cut(calls[0].Object, "/")
	of, known := models[kind]
	if !known {
		return "no such kind of object"
	}
	operations := make([]porcupine.Operation, len(calls))
	for at, call := range calls {
		end := int64(math.MaxInt64)
		if call.End != nil {
			end = *call.End
		}
		operations[at] = porcupine.Operation{ClientId: at, Input: call, Call: call.Begin, Return: end}
	}
	switch porcupine.CheckOperationsTimeout(of, operations, time.Minute) {
	case porcupine.Ok:
		return ""
	case porcupine.Illegal:
		return "not linearizable"
	default:
		return "not decided within a minute"
	}
}

// read returns the calls of a file by their object.
func read(name string) (map[string][]Call, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	objects := map[string][]Call{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		var call Call
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, number, err)
		}
		objects[call.Object] = append(objects[call.Object], call)
	}
	return objects, lines.Err()
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: porcupine FILE...")
		os.Exit(2)
	}
	histories, calls, unknown, bad := 0, 0, 0, 0
	for _, name := range os.Args[1:] {
		objects, err := read(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		for object, of := range objects {
			histories++
			calls += len(of)
			for _, call := range of {
				if call.End == nil {
					unknown++
				}
			}
			if wrong := Check(of); wrong != "" {
				bad++
				fmt.Printf("%s: %s: %s\n", name, object, wrong)
				sort.Slice(of, func(a, b int) bool { return of[a].Begin < of[b].Begin })
				for _, call := range of {
					line, _ := json.Marshal(call)
					fmt.Printf("    %s\n", line)
				}
			}
		}
	}
	fmt.Printf("%d histories of %d calls, %d with an unknown outcome: %d not linearizable\n", histories, calls, unknown, bad)
	if bad > 0 {
		os.Exit(1)
	}
}
