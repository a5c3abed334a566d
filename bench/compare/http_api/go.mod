module telar/bench/compare/http_api

go 1.22
