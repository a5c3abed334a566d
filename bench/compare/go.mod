module telar/bench/compare

go 1.22
