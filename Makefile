# Entry points. Each is a thin call, so that the same command line works without make.

.DEFAULT_GOAL := help
.PHONY: help demo test page wheel npm fmt bench

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 14

demo: ## build the telar binary and run its demonstration
	tools/page.sh || echo 'The page is left out: it needs Node.js and its packages.'
	cargo build --release --locked -p telar-server
	target/release/telar demo

test: ## run every check of the project, as CI does
	tools/test.sh

page: ## build the page that the server serves, for the next cargo build to embed
	tools/page.sh

wheel: ## build the Python package into target/python/wheels
	tools/python.sh --wheel

npm: ## build the Node.js package into target/node/packages
	tools/node.sh --package

fmt: ## format all Rust code
	cargo fmt --all

bench: ## run the benchmarks at their default size
	cargo build --release --locked -p telar-server -p telar-bench
	target/release/telar bench kernel
