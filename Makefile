# Swell's entry points. 'make demo' and 'make test' are all a newcomer needs; 'make help' lists the others.
# Each target installs or starts what it needs, or says in one line what to install.

SHELL := /bin/bash

# DEMO selects what 'make demo' shows; DEMO=ci runs it without a terminal and checks the result.
DEMO ?=
# BENCH selects benchmarks by name, FUZZTIME is how long each fuzz target runs.
BENCH ?= .
FUZZTIME ?= 30s

timed := scripts/timed
landscape := bin/swell-landscape
landscape_sources := $(shell find landscape gqlschema -type f \( -name '*.go' -o -name go.mod -o -name go.sum -o -name '*.yaml' -o -name '*.graphql' -o -name '*.html' -o -name '*.css' \) -not -name '*_test.go' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench verify build build-landscape test-product test-landscape test-demo generate fmt fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 26

demo: build build-landscape ## upgrade a simulated fleet of clusters and watch it (DEMO=ci checks the result and ends)
	@DEMO="$(DEMO)" SWELL_LANDSCAPE="$(CURDIR)/$(landscape)" scripts/demo

test: ## run all tests, with the race detector
	@scripts/ensure cc postgres browser
	@$(timed) "build landscape" $(MAKE) --no-print-directory build-landscape
	@$(timed) "test landscape" $(MAKE) --no-print-directory test-landscape
	@$(timed) "test demo" $(MAKE) --no-print-directory test-demo
	@$(timed) "test product" $(MAKE) --no-print-directory test-product

# SQLite is C that was translated to Go, and does with pointers what C does. Checks of each of them find nothing and take two thirds of the time.
test-product:
	@SWELL_LANDSCAPE="$(CURDIR)/$(landscape)" go test -race -gcflags='modernc.org/...=-d=checkptr=0' -timeout 15m ./...

# Gardener's API server takes minutes to compile for the race detector, so the landscape's tests share the plain build.
test-landscape:
	@cd landscape && go test -timeout 10m ./...

test-demo:
	@$(MAKE) --no-print-directory demo DEMO=ci

lint: ## lint the code, and look for known vulnerabilities and for secrets
	@$(timed) "build linter" sh -c 'scripts/tool golangci-lint >/dev/null'
	@$(timed) "lint product" "$$(scripts/tool golangci-lint)" run --timeout 20m ./...
	@$(timed) "lint landscape" scripts/in landscape "$$(scripts/tool golangci-lint)" run --timeout 20m ./...
	@$(timed) "vulnerabilities" scripts/vulncheck
	@$(timed) "secrets" scripts/check-secrets

verify: build ## check generated code, modules, links, examples, and that the released module installs
	@$(timed) "generated code" scripts/check-generated
	@$(timed) "tidy modules" scripts/check-modules
	@$(timed) "links" scripts/check-links
	@$(timed) "examples" go test -run '^Example' ./runtime ./orchestration/... ./gqlschema
	@$(timed) "install module" scripts/in scripts/verifymodule go run . ../..

bench: ## run the benchmarks (BENCH=pattern)
	@scripts/bench "$(BENCH)"

build: ## build bin/swell
	@[ -x bin/swell ] || echo "building bin/swell; the first build takes one to two minutes ..." >&2
	@go build -o bin/swell ./cmd/swell

build-landscape: $(landscape) ## build the simulated landscape

$(landscape): $(landscape_sources)
	@echo "building the landscape with Gardener's API server; the first build takes 4 to 6 minutes on two cores ..." >&2
	@cd landscape && go build -o ../$(landscape) ./cmd/swell-landscape
	@touch $(landscape)

generate: ## write all generated code anew
	@scripts/generate

fmt: ## format the code
	@"$$(scripts/tool golangci-lint)" fmt ./...
	@cd landscape && "$$(../scripts/tool golangci-lint)" fmt ./...

fuzz: ## run every fuzz target (FUZZTIME=30s)
	@scripts/fuzz "$(FUZZTIME)"

clean: ## remove what was built
	@rm -rf bin .cache dist
