# Programs: tests, tutorials, PETSc's tutorials for the demo, benchmarks. Tutorials are tests, too, and linked as a user's program is.
# A source with a main() is a program; the other sources in its folder and in the folders above it, and those in tests/common or benchmarks/common, are
# linked into it, and so is HELPER.c, wherever it is, when the program includes "HELPER.h". Kernel tests, benchmarks and what includes private headers call
# functions that the shared library hides, so they are linked with the archive of the same objects; all others with the library, as a user's program is.
# tests/lib is for tests alone: those programs of tests/ that are linked with a library get the one that has it, those with an archive also the archive of it, and what has a constructor.
# A source in tests/tools becomes a shared library by itself, which is loaded before a program (LD_PRELOAD) and needs no other library.
is_program   = $(if $(1),$(shell grep -lE '^int main\b' $(1)))
uses_private = $(if $(1),$(shell grep -lE '^\#include [<"]((\.\./)*src/(dm|init|ksp|mat|sys|tuning)|petscsparsecuda)/' $(1)))

test_lib       := $(sort $(shell find tests/lib -name '*.c' -o -name '*.cu' 2>/dev/null))
test_sources   := $(sort $(shell find tests tutorials -path tests/petsc -prune -o -path tests/lib -prune -o \( -name '*.c' -o -name '*.cu' \) -print 2>/dev/null))
bench_sources  := $(sort $(shell find benchmarks \( -name '*.c' -o -name '*.cu' \) -print 2>/dev/null))
mains          := $(call is_program,$(test_sources) $(bench_sources))
test_mains     := $(filter tests/% tutorials/%,$(mains))
bench_mains    := $(filter benchmarks/%,$(mains))
test_programs  := $(addprefix $(BUILD)/,$(basename $(test_mains)))
# SHARE=K/N: every Nth of these programs, beginning with the Kth; turn/N: another share with every commit.
share := $(patsubst turn/%,$(if $(filter turn/%,$(SHARE)),$(shell git rev-list --count HEAD 2>/dev/null || date +%j))/%,$(SHARE))
shared_mains := $(if $(share),$(shell printf '%s\n' $(test_mains) | awk -v share='$(share)' 'split(share, s, "/") == 2 && NR % s[2] == s[1] % s[2]'),$(test_mains))
bench_programs := $(addprefix $(BUILD)/,$(basename $(bench_mains)))
preloads       := $(filter tests/tools/%,$(test_sources))
helpers        := $(filter-out $(mains) $(preloads),$(test_sources) $(bench_sources))
private        := $(filter tests/mat/kernels/% benchmarks/%,$(mains)) $(call uses_private,$(test_sources) $(bench_sources))

# SOURCE:HELPER for each program that includes the header of a helper.
included := $(foreach h,$(helpers),$(patsubst %,%:$(h),$(shell grep -lE '^.include "(.*/)?$(basename $(notdir $(h)))\.h"' $(mains))))
# shared_by(source, files): those in its folder, above it, and common to its tree. linked_from(source), program(source): what it is linked from.
shared_by   = $(strip $(foreach f,$(2),$(if $(filter $(dir $(f))% $(patsubst %/common/,%/,$(dir $(f)))%,$(1)),$(f))))
linked_from = $(1) $(sort $(call shared_by,$(1),$(helpers)) $(patsubst $(1):%,%,$(filter $(1):%,$(included))))
define program
$(BUILD)/$(basename $(1)): $(patsubst %,$(BUILD)/obj/%.o,$(2)) $(if $(filter $(2),$(private)),$(if $(filter tests/%,$(1)),$(BUILD)/obj/tests/lib/sys.c.o) $(if $(filter tests/ksp/%,$(1)),$(BUILD)/obj/tests/lib/gamgcheck.c.o) $(TEST_ARCHIVE) $(ARCHIVE),$(if $(filter tests/%,$(1)),$(TEST_SHLIB),$(SHLIB))) $(BUILD)/program-sources
endef
$(foreach s,$(mains),$(eval $(call program,$(s),$(call linked_from,$(s)))))
$(shell printf '%s\n' $(mains) $(helpers) | cmp -s - $(BUILD)/program-sources || printf '%s\n' $(mains) $(helpers) >$(BUILD)/program-sources)

$(test_programs) $(bench_programs): $(config)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link_program) $(filter %.o,$^) $(filter %.a %.so,$^) -Wl,-rpath,$(abspath $(LIBDIR)) $(link_libs) $(BLASLAPACK_LIB) -o $@

preload_libraries := $(patsubst %.c,$(BUILD)/%.so,$(preloads))
$(preload_libraries): $(BUILD)/%.so: $(BUILD)/obj/%.c.o
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(PCC_LINKER) -shared -Wl,-soname,$(@F) -Wl,-z,defs -Wl,--as-needed $< -ldl -o $@

test_lib_objects := $(patsubst %,$(BUILD)/obj/%.o,$(test_lib))
$(TEST_ARCHIVE): $(test_lib_objects)
	$(say) AR $@
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) crs $@ $^

$(TEST_SHLIB): $(objects) $(test_lib_objects) $(BUILD)/sources
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link_shared) $(filter %.o,$^) $(link_libs) -o $@

$(BUILD)/obj/tests/%.o $(BUILD)/obj/benchmarks/%.o: own_includes = -Iinclude -I. -Itests -Ibenchmarks
-include $(patsubst %,$(BUILD)/obj/%.d,$(test_lib) $(test_sources) $(bench_sources))

# PETSc's own, unmodified tutorials, compiled from its source tree.
demo_programs := $(addprefix $(BUILD)/demo/,ksp-bench_kspsolve ksp-ex56 ksp-ex45 ksp-ex54 ksp-ex55 snes-ex19 snes-ex13 snes-ex56 ts-ex45)
$(BUILD)/demo/ksp-%: $(PETSC_SRC)/src/ksp/ksp/tutorials/%.c $(config)
	$(compile_demo)
$(BUILD)/demo/snes-%: $(PETSC_SRC)/src/snes/tutorials/%.c $(config)
	$(compile_demo)
$(BUILD)/demo/ts-%: $(PETSC_SRC)/src/ts/tutorials/%.c $(config)
	$(compile_demo)
define compile_demo
	$(say) DEMO $@
	@mkdir -p $(@D)
	$(Q)$(PCC) $(filter-out -fvisibility=hidden,$(PCC_FLAGS)) $(CCPPFLAGS) $< -L$(petsc_libdir) -Wl,-rpath,$(petsc_libdir) -lpetsc -lm -o $@
endef

# The harness: PETSc's generator makes the scripts, conf/run-tests runs them.
harness := $(if $(PETSC_ARCH),$(PETSC_DIR)/config,$(PETSC_DIR)/share/petsc/examples/config)
PYTHON  ?= python3
$(BUILD)/tests/cases.json: $(test_mains) conf/generate-tests $(config) $(BUILD)/program-sources
	@mkdir -p $(@D)
	@conf/generate-tests --petsc-dir='$(PETSC_DIR)' --petsc-arch='$(PETSC_ARCH)' --config='$(harness)' --folder=$(abspath tests) --folder=$(abspath tutorials) --out=$(abspath $(BUILD)) $(test_mains)

# What the scripts and programs are told: where the library and PETSc are. Tests may say -dll_append $PETSCSPARSECUDA_LIBRARY.
run_environment = VARIANT= PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' PETSC_SRC='$(PETSC_SRC)' PETSC_CC='$(PCC)' PETSCSPARSECUDA_BUILD='$(abspath $(BUILD))' PETSCSPARSECUDA_BUILD_ROOT='$(BUILD_ROOT)' PETSCSPARSECUDA_LIBRARY='$(abspath $(SHLIB))'
# Scripts that test the project's own scripts are the same in all variants.
test_scripts := $(if $(VARIANT),,$(sort $(shell find tests -path tests/petsc -prune -o -name '*.sh' -perm -u+x -print 2>/dev/null)))

.PHONY: test-programs test-petsc test-python test-clients demo bench rivals demo-programs bench-programs
test-programs: $(addprefix $(BUILD)/,$(basename $(shared_mains))) $(preload_libraries) $(BUILD)/tests/cases.json
demo-programs: $(demo_programs)
bench-programs: $(bench_programs)

test: library $(INFO) test-programs
	@$(run_environment) $(if $(EMULATOR),conf/emulator/run $(BUILD)) conf/run-tests $(if $(JOBS),-j $(JOBS)) $(if $(TESTS),-k '$(TESTS)') $(if $(TIMEOUT),-t $(TIMEOUT)) $(if $(EXTRA_OPTIONS),-E '$(EXTRA_OPTIONS)') $(if $(TOOL),-U $(TOOL)) $(if $(share),-p '$(basename $(shared_mains))') $(BUILD)/tests $(test_scripts)

test-petsc: library $(TEST_SHLIB)
	@$(run_environment) tests/petsc/run --library $(abspath $(TEST_SHLIB)) --build $(abspath $(BUILD))/petsc-tests $(if $(JOBS),--jobs $(JOBS)) $(if $(TIMEOUT),--timeout $(TIMEOUT)) $(if $(TESTS),--only '$(TESTS)') $(if $(TYPE),--type '$(TYPE)') $(if $(ALL),--all) $(if $(SHARE),--share $(SHARE)) $(if $(JOURNAL),--journal '$(JOURNAL)')

test-python: library
	@$(run_environment) tests/python/run $(if $(TESTS),'$(TESTS)')

test-clients: library $(BUILD)/demo/ksp-bench_kspsolve
	@$(run_environment) tests/clients/run $(if $(TESTS),'$(TESTS)')

# Only what it runs is compiled; when that cannot be told, everything, and demo.py says what is wrong.
demo_runs := $(if $(filter demo,$(MAKECMDGOALS)),$(shell $(PYTHON) demo/demo.py --list-programs $(DEMO_OPTIONS) 2>/dev/null))
demo: build-info $(if $(filter-out $(notdir $(demo_programs)),$(or $(demo_runs),?)),$(demo_programs),$(addprefix $(BUILD)/demo/,$(demo_runs)))
	@$(run_environment) $(PYTHON) demo/demo.py $(DEMO_OPTIONS)

bench: build-info $(bench_programs) $(demo_programs)
	@$(run_environment) conf/run-benchmarks $(BENCHMARKS)

rivals: build-info $(demo_programs) $(BUILD)/tutorials/elasticity/elasticity $(BUILD)/tests/tools/repeat.so
	@$(run_environment) conf/run-benchmarks rivals

# What records and bundles say about the build.
.PHONY: build-info install bundle
build-info: library
	@printf '{"version": "%s", "commit": "%s", "petsc": "%s", "cuda": "%s", "archs": "%s", "variant": "%s"}\n' '$(PETSCSPARSECUDA_VERSION)' '$(commit)' '$(PETSC_RELEASE)' \
	  '$(lastword $(subst release,,$(filter-out V%,$(subst $(comma),,$(CUDA_VERSION)))))' '$(archs)' '$(or $(variant),double)' >$(BUILD)/build-info.json

install: library $(INFO)
	@BUILD=$(BUILD) SOVERSION=$(SOVERSION) PETSC_DIR='$(PETSC_DIR)' PETSC_RELEASE=$(PETSC_RELEASE) PETSC_LIBDIR='$(petsc_libdir)' PREFIX='$(or $(prefix),$(PREFIX))' conf/install

bundle: library $(INFO) $(TEST_SHLIB) test-programs $(bench_programs) $(demo_programs) build-info
	@$(run_environment) VARIANT='$(variant)' BUILD=$(BUILD) BUILD_ROOT=$(BUILD_ROOT) PETSC_RELEASE=$(PETSC_RELEASE) PETSC_LIBDIR='$(petsc_libdir)' HARNESS='$(harness)' conf/make-bundle
