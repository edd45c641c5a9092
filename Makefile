# The commands for contributors. Recipes longer than a line live in scripts/.
# `make run` and `make test` work from a fresh clone: they run `setup` first.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

# rustup installs here. A shell opened before the installation does not have it in PATH yet.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)
export CARGO_NET_RETRY ?= 5

# Cargo updates a stale Cargo.lock on a laptop and fails on it in CI.
LOCKED := $(if $(CI),--locked)

TESTBED := cargo run $(LOCKED) --quiet --package godwit-testbed --

.PHONY: help setup setup-tests run demo build dist web test chaos lint fmt deny dev-cassandra dev-cassandra-down clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  make run ARGS='--listen 127.0.0.1:9000'   passes flags to 'godwit serve'"
	@echo "  make test STRICT=1                        a step that cannot run is a failure, not a skip"

setup: ## Install missing tools: Rust, a C linker, Node.js (packages need root, otherwise it prints the command)
	@scripts/setup.sh

setup-tests: ## Install missing tools, and those that tests need: Java, Maven, Redis and Chromium
	@scripts/setup.sh tests

# The laptop profile builds in a few minutes and is fast enough to try everything.
LAPTOP := cargo run $(LOCKED) --profile laptop --package godwit-server --bin godwit --

run: setup web ## Build the web client and the server with a fast profile, and start it on the embedded store
	@$(LAPTOP) serve $(ARGS)

demo: setup web ## Fill an empty data folder with sample users and conversations
	@$(LAPTOP) demo $(ARGS)

build: setup web ## Build the web client and the release binary
	@cargo build $(LOCKED) --release --package godwit-server --bin godwit

dist: setup web ## Build the binary to deploy, target/dist/godwit: a slower build of a faster binary
	@cargo build $(LOCKED) --profile dist --package godwit-server --bin godwit

web: ## Build the web client, if Node.js is installed
	@scripts/web.sh build

test: setup-tests ## Run everything that CI runs, and print a summary with times
	@scripts/check.sh fmt web clippy wasm test browser deny advisories

chaos: setup-tests ## Kill and pause servers, Cassandra and Redis under load (SECONDS=300, SEED=…), and check the data
	@GODWIT_TEST_CHAOS_SECONDS=$(or $(SECONDS),300) $(if $(SEED),GODWIT_TEST_CHAOS_SEED=$(SEED)) \
		$(TESTBED) exec -- cargo test $(LOCKED) --package godwit-server --test it on_cassandra::chaos -- --nocapture

lint: setup ## Check formatting and run clippy with warnings denied
	@scripts/check.sh fmt clippy

fmt: setup ## Format the code
	@cargo fmt --all

deny: setup ## Check licences, bans, sources and security advisories of the dependencies
	@scripts/check.sh deny advisories

dev-cassandra: setup-tests ## Start three Cassandra nodes and Redis, and leave them running
	@$(TESTBED) up --redis

dev-cassandra-down: ## Stop them, and remove their data
	@$(TESTBED) down

clean: ## Remove all build output, including downloaded tools
	@cargo clean
