# How things are made. Objects go below build/<PETSC_ARCH>, header dependencies are written by the compilers.
ifeq ($(V),1)
say = @:
say_object = @:
Q =
else
say = @printf '  %-8s %s\n'
# With how many of the library's objects there are since everything was last compiled again.
say_object = @printf '  %-8s %-60s %d of $(words $(objects))\n' $(1) $< "$$(find $(BUILD)/obj/src -name '*.o' -newer $(BUILD)/flags | wc -l)"
Q = @
endif

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# Everything compiled again when the PETSc, a flag or the list of sources changes, and only then.
flags_now := $(PETSC_DIR) $(PETSC_ARCH) $(PETSC_SRC) $(PETSC_RELEASE) | $(PCC) $(PCC_FLAGS) $(CFLAGS) | $(CUDAC) $(cudac_flags) $(skip_complex) $(CUDAFLAGS)
$(shell mkdir -p $(BUILD)/obj/src; printf '%s\n' '$(subst ','\'',$(flags_now))' | cmp -s - $(BUILD)/flags || printf '%s\n' '$(subst ','\'',$(flags_now))' >$(BUILD)/flags)
# The commit of the sources, if git knows it. The shared library alone has it, so that a commit does not make all test programs again.
commit_of_sources := $(shell git log -1 --format=%h --abbrev=10 -- src include 2>/dev/null)
commit_of_sources := $(commit_of_sources)$(if $(commit_of_sources),$(if $(shell git status --porcelain -- src include 2>/dev/null),-dirty))
$(shell printf '%s\n' '$(commit_of_sources)' | cmp -s - $(BUILD)/commit || printf '%s\n' '$(commit_of_sources)' >$(BUILD)/commit)
$(shell printf '%s\n' $(sources) | cmp -s - $(BUILD)/sources || printf '%s\n' $(sources) >$(BUILD)/sources)
config := $(BUILD)/flags $(petsc_libdir)/petsc/conf/petscvariables $(PETSC_DIR)/$(if $(PETSC_ARCH),$(PETSC_ARCH)/)include/petscconf.h

.PHONY: objects library
all: library $(INFO)
objects: $(objects)
library: $(SHLIB)

$(BUILD)/obj/%.c.o: %.c $(config)
	$(call say_object,CC)
	@mkdir -p $(@D)
	$(Q)$(compile_c) $< -o $@

$(BUILD)/obj/%.cu.o: %.cu $(config)
	$(call say_object,CUDAC)
	@mkdir -p $(@D)
	$(Q)$(compile_cu) $< -o $@

# What PetscSparseCUDAView() says about the build.
$(BUILD)/obj/src/init/info.c.o: own_includes += -DBUILD_ARCHS='"$(if $(archs),$(archs) and PTX of $(newest),$(filter -arch=% -gencode%,$(CUDAC_FLAGS)))"'

$(BUILD)/obj/commit.o: $(BUILD)/commit
	$(Q)printf 'const char PetscSparseCUDACommit[] = "%s";\n' "$$(cat $<)" | $(PCC) -c -fPIC -fvisibility=hidden -x c - -o $@

$(SHLIB): $(objects) $(BUILD)/obj/commit.o $(BUILD)/sources
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link_shared) $(filter %.o,$^) $(link_libs) -o $@
	@ln -sf $(@F) $@.$(SOVERSION)

$(INFO): $(BUILD)/obj/bin/petscsparsecuda-info.c.o $(SHLIB)
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(link_program) $^ -Wl,-rpath,'$$ORIGIN/../lib' $(link_libs) -o $@

$(ARCHIVE): $(objects) $(BUILD)/sources
	$(say) AR $@
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) crs $@ $(objects)

# What is left of sources that moved or went.
left := $(filter-out $(objects:.o=.d),$(shell find $(BUILD)/obj/src -name '*.d' 2>/dev/null))
$(if $(left),$(shell rm -f $(left) $(left:.d=.o)))
-include $(objects:.o=.d) $(BUILD)/obj/bin/petscsparsecuda-info.c.d
include conf/tests.mk
