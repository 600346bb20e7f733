# Thin: what can be asked for. conf/variables.mk finds PETSc and CUDA, conf/rules.mk and conf/tests.mk know how things are made.
.DEFAULT_GOAL := all
BUILD_ROOT    ?= build
without_petsc := help clean distclean lint format variants mpi dist

# As many compilers as there are cores and 2 GB of memory for each, unless -j says something else; one goal after the other when there are several.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS))$(word 2,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell awk -v cores="$$(OMP_NUM_THREADS= nproc)" '/^MemAvailable/ { n = int($$2 / 2097152) } END { print n < 1 ? 1 : n < cores ? n : cores }' /proc/meminfo 2>/dev/null || echo 1)
endif

.PHONY: all help clean distclean lint format variants mpi dist test
help:
	@sed -n 's/^##//p' makefile
## make                        the library: build/<PETSC_ARCH>/lib/libpetscsparsecuda.so
## make demo                   PETSc's own programs with our matrix type, in one table  (DEMO_OPTIONS="--help")
## make test                   our tests and tutorials  (TESTS=pattern, JOBS=n, TIMEOUT=seconds, EXTRA_OPTIONS="PETSc options", TOOL=memcheck or late)
##                             (SHARE=3/20 is a twentieth of the programs)
## make test-petsc             PETSc's own tests with our type substituted  (TYPE=hisparsecuda for the other one; ALL=1 for every test of
##                             an AIJ matrix, half an hour and more: JOURNAL=file goes on where it was cut off, SHARE=3/20 is a twentieth of it)
## make test-python             the Python package and its tutorial, with a petsc4py that is built once into the cache  (TESTS="part of a name")
## make test-clients           programs of SLEPc, which is built once into the cache, and of hypre, with our type  (TESTS="part of a name")
## make bench                  benchmarks into benchmarks/results/<gpu>/  (needs a GPU; BENCHMARKS="part of a name")
## make rivals                 PETSc's own programs with our types, hypre, PETSc's types and all cores of the host, to the same residual, into the same folder  (DEMO_OPTIONS="--cases ...")
## make install prefix=DIR     library, headers, pkg-config file, CMake package
## make bundle                 one archive to take to a machine with a GPU
## make dist                   a source archive, build/petscsparsecuda-<version>.tar.gz, which builds without git
## make mpi                    an Open MPI that takes device memory, into the cache: bundles take it along, and demos, tests and benchmarks use it with several GPUs
## make lint, make format      check the sources, or give them PETSc's look
## make variants               compile against single, complex and 64-bit PETSc
## make clean                  removes build/; make distclean also PETSc from the cache
##
## Nothing has to be set. What can be:
## PETSC_DIR, PETSC_ARCH       the PETSc to build against; unset: PETSc is fetched and built once, into a cache
## VARIANT=complex             our own PETSc with other numbers, for any of these commands: single, complex, int64, complex-int64
## PETSC_SRC                   PETSc's source tree, when PETSC_DIR is an installation without it
## CUDA_DIR                    the CUDA toolkit for that PETSc, when it is not on PATH or in /usr/local/cuda
## CUDA_ARCHS="80 90"          compute capabilities; unset: those PETSc was configured with, which for our own PETSc is that of the GPU here, or PTX of 8.0 alone
## -j N                        compilers at once; unset: as many as there are cores, and 2 GB of memory for each
## BUILD_ROOT=build            where everything is built
## PETSCSPARSECUDA_MPI=own     run with the Open MPI of make mpi, also on one GPU; system: never; auto, the default: when there are several GPUs
## V=1                         shows the commands

clean:
	rm -rf $(BUILD_ROOT)

distclean: clean
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/petscsparsecuda"

lint:
	@conf/lint

format:
	@conf/lint --format

variants:
	@MAKE='$(MAKE)' conf/build-variants

mpi:
	@conf/get-mpi

# Without git, what make dist has written down.
commit = $(or $(shell { if [ -e .git ]; then git describe --always --dirty --abbrev=10 --exclude='*'; else sed -n 's/^commit: //p' conf/archive; fi; } 2>/dev/null),unknown)
dist:
	@BUILD_ROOT='$(BUILD_ROOT)' COMMIT='$(commit)' conf/make-dist

ifneq ($(filter-out $(without_petsc),$(or $(MAKECMDGOALS),all)),)
include conf/variables.mk
ifneq ($(BUILD_ARCH),)
include conf/rules.mk
else
# conf/find-petsc has said in words what is missing.
$(or $(MAKECMDGOALS),all):
	@exit 1
endif
endif
