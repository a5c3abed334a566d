package main

import "testing"

// A call from begin to end; without an end if that is negative.
func call(begin, end int64, of Call) Call {
	of.Begin = begin
	if end >= 0 {
		of.End = &end
	}
	return of
}

func put(value, result string) Call {
	return Call{Object: "slot/1", Op: "put", Value: value, Next: 2, Result: result}
}

func read1(found string) Call {
	if found == "" {
		return Call{Object: "slot/1", Op: "read", Result: "nothing"}
	}
	return Call{Object: "slot/1", Op: "read", Result: "found", Found: found, FoundNext: 2}
}

func lost(value, found string) Call {
	return Call{Object: "slot/1", Op: "put", Value: value, Next: 2, Result: "found", Found: found, FoundNext: 2}
}

func trim(before, mark uint64) Call {
	return Call{Object: "slot/1", Op: "trim", Before: before, Result: "mark", Mark: mark}
}

func set(expected uint64, value string, version uint64) Call {
	return Call{Object: "value/1", Op: "put_if", Expected: expected, Value: value, Result: "won", Version: version}
}

func setUnknown(expected uint64, value string) Call {
	return Call{Object: "value/1", Op: "put_if", Expected: expected, Value: value, Result: "unknown"}
}

func setLost(expected uint64, found string, version uint64) Call {
	return Call{Object: "value/1", Op: "put_if", Expected: expected, Result: "found", Found: found, Version: version}
}

func get(found string, version uint64) Call {
	if version == 0 {
		return Call{Object: "value/1", Op: "get", Result: "nothing"}
	}
	return Call{Object: "value/1", Op: "get", Result: "found", Found: found, Version: version}
}

func readTrimmed() Call {
	return Call{Object: "slot/1", Op: "read", Result: "trimmed"}
}

func TestHistories(t *testing.T) {
	cases := []struct {
		name  string
		good  bool
		calls []Call
	}{
		{"one wins, the other is shown it", true, []Call{call(0, 9, put("a", "won")), call(1, 5, lost("b", "a")), call(10, 11, read1("a"))}},
		{"two win", false, []Call{call(0, 9, put("a", "won")), call(1, 5, put("b", "won"))}},
		{"a slot changes", false, []Call{call(0, 1, put("a", "won")), call(2, 3, read1("a")), call(4, 5, read1("b"))}},
		{"a stale read", false, []Call{call(0, 1, put("a", "won")), call(2, 3, read1(""))}},
		{"a read at the same time", true, []Call{call(0, 9, put("a", "won")), call(2, 3, read1(""))}},
		{"a read goes back", false, []Call{call(0, 9, put("a", "won")), call(1, 2, read1("a")), call(3, 4, read1(""))}},
		{"an unknown put takes effect late", true, []Call{call(0, -1, put("a", "unknown")), call(5, 6, read1("")), call(7, 8, read1("a"))}},
		{"an unknown put never does", true, []Call{call(0, -1, put("a", "unknown")), call(5, 6, put("b", "won")), call(7, 8, read1("b"))}},
		{"an unknown put replaces", false, []Call{call(0, -1, put("a", "unknown")), call(5, 6, put("b", "won")), call(7, 8, read1("a"))}},
		{"a slot is shown before it is put", false, []Call{call(0, 1, read1("a")), call(2, 3, put("a", "won"))}},
		{"a slot is trimmed", true, []Call{call(0, 1, put("a", "won")), call(2, 3, trim(2, 2)), call(4, 5, readTrimmed())}},
		{"a trimmed slot is won again", false, []Call{call(0, 1, put("a", "won")), call(2, 3, trim(2, 2)), call(4, 5, put("b", "won"))}},
		{"a trimmed slot comes back", false, []Call{call(0, 1, put("a", "won")), call(2, 3, trim(2, 2)), call(4, 5, read1("a"))}},
		{"nothing was trimmed, and it is gone", false, []Call{call(0, 1, put("a", "won")), call(2, 3, trim(1, 1)), call(4, 5, readTrimmed())}},

		{"a value is replaced in turns", true, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, set(3, "b", 7)), call(4, 5, get("b", 7))}},
		{"two replace one version", false, []Call{call(0, 1, set(0, "a", 3)), call(2, 9, set(3, "b", 7)), call(2, 9, set(3, "c", 8))}},
		{"a version is used again", false, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, set(3, "b", 3))}},
		{"a stale get", false, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, set(3, "b", 7)), call(4, 5, get("a", 3))}},
		{"an unknown one takes effect, its version shows later", true, []Call{call(0, 1, set(0, "a", 3)), call(2, -1, setUnknown(3, "b")), call(4, 5, get("b", 9)), call(6, 7, set(9, "c", 10))}},
		{"an unknown one whose version is old", false, []Call{call(0, 1, set(0, "a", 3)), call(2, -1, setUnknown(3, "b")), call(4, 5, get("b", 2))}},
		{"an unknown one of a version that is gone takes effect", false, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, set(3, "b", 7)), call(4, -1, setUnknown(3, "c")), call(6, 7, get("c", 9))}},
		{"who loses is shown what is there", true, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, setLost(0, "a", 3))}},
		{"who loses is shown its own version", false, []Call{call(0, 1, set(0, "a", 3)), call(2, 3, setLost(3, "a", 3))}},
		{"nothing is there yet", true, []Call{call(0, 1, get("", 0)), call(2, 3, set(0, "a", 1))}},
		{"nothing is there any more", false, []Call{call(0, 1, set(0, "a", 1)), call(2, 3, get("", 0))}},
	}
	for _, of := range cases {
		if wrong := Check(of.calls); (wrong == "") != of.good {
			t.Errorf("%s: %q", of.name, wrong)
		}
	}
}
