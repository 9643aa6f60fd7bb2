# Every verb of this repository. `make demo` needs Rust alone; `make test` installs the system packages it lacks.
RANKS ?= 4
# Rank counts of the MPI suites, and how hard test-long tries.
MPI_RANKS ?= 1 2 3 4 6
KILLS ?= 200
FUZZ_SECONDS ?= 600
export RANKS MPI_RANKS KILLS FUZZ_SECONDS

.PHONY: help demo demo-mpi test test-long test-mpi lint features bench doc fuzz

help:       ## what can be made
	@sed -n 's/^\([a-z-]*\): *## /make \1\t/p' Makefile | expand -t 18

demo:       ## the main job on RANKS thread ranks, output in out/demo
	cargo run --release -p integration-tests --example jacksboro -- --ranks $(RANKS)

demo-mpi:   ## the same program under mpirun
	scripts/demo-mpi.sh $(RANKS)

test:       ## everything that guards a change
	scripts/test.sh

test-long:  ## saves killed 200 times, many seeds, 10 minutes of fuzzing a target
	scripts/test-long.sh

test-mpi:   ## the MPI suites alone
	scripts/test.sh mpi

lint:       ## formatting, clippy, spelling
	scripts/test.sh lint

features:   ## each feature alone, none, and all pure ones
	scripts/features.sh

bench:      ## criterion groups, their limits and their peers in one run
	scripts/bench.sh

doc:        ## the documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

fuzz:       ## every fuzz target for FUZZ_SECONDS
	scripts/fuzz-all.sh $(FUZZ_SECONDS)
