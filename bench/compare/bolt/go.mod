module telar/bench/compare/bolt

go 1.22
