# What to build against, from what, into what, with which flags. Nothing in here runs a compiler.
include conf/versions.sh

# One settings file for each PETSc that was ever asked for, so that a second make need not look for it again.
# A bundle goes to other machines: its PETSc is for all compute capabilities, our own of other commands for what is here (conf/get-petsc).
all_archs    := $(if $(filter bundle,$(MAKECMDGOALS)),1)
# VARIANT=single, complex, int64 or complex-int64 is our own PETSc of that kind.
settings_key := $(subst /,_,$(if $(PETSC_DIR),$(PETSC_DIR)-$(PETSC_ARCH)-$(PETSC_SRC),own$(if $(all_archs),-all)$(CUDA_DIR)$(addprefix -,$(PETSC_VERSION)))$(addprefix -,$(VARIANT)))
settings     := $(BUILD_ROOT)/settings/$(settings_key).mk

# As it is before an older settings file is read, which sets them, too, and is made anew here.
petsc_asked_for := PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' PETSC_SRC='$(PETSC_SRC)'
$(settings): conf/find-petsc conf/get-petsc conf/common.sh conf/versions.sh
	@$(petsc_asked_for) PETSC_ALL_ARCHS=$(all_archs) VARIANT='$(VARIANT)' conf/find-petsc $@
-include $(settings)

ifneq ($(BUILD_ARCH),)
include $(PETSC_DIR)/lib/petsc/conf/variables

# The numbers of this PETSc in the words of VARIANT, which is empty when the user's own PETSc is taken; empty for real scalars in double precision with 32-bit indices.
empty   :=
variant := $(subst $(empty) $(empty),-,$(strip $(filter complex,$(PETSC_SCALAR)) $(filter-out double,$(PETSC_PRECISION)) $(if $(filter 64,$(PETSC_INDEX_SIZE)),int64)))
ifneq ($(or $(VARIANT),$(variant),double),$(or $(variant),double))
$(error VARIANT=$(VARIANT), and the PETSc in $(PETSC_DIR) is $(or $(variant),double): remove that folder, and it is made anew)
endif

BUILD  := $(BUILD_ROOT)/$(BUILD_ARCH)
LIBDIR := $(BUILD)/lib
SHLIB  := $(LIBDIR)/libpetscsparsecuda.so
# Its soname has MAJOR.MINOR of the version while MAJOR is 0, MAJOR alone afterwards.
version_major := $(firstword $(subst ., ,$(PETSCSPARSECUDA_VERSION)))
SOVERSION     := $(if $(filter 0,$(version_major)),$(basename $(PETSCSPARSECUDA_VERSION)),$(version_major))
INFO   := $(BUILD)/bin/petscsparsecuda-info
# The same objects as an archive: kernel tests and benchmarks call functions that the shared library hides.
ARCHIVE := $(LIBDIR)/libpetscsparsecuda_objects.a
# The same with what tests alone need (tests/lib), and the objects of that.
TEST_SHLIB   := $(LIBDIR)/libpetscsparsecudatests.so
TEST_ARCHIVE := $(LIBDIR)/libpetscsparsecudatests_objects.a

sources := $(sort $(shell find src -name '*.c' -o -name '*.cu' 2>/dev/null))
objects := $(patsubst %,$(BUILD)/obj/%.o,$(sources))

# Compute capabilities: PETSc's, or CUDA_ARCHS="80 90"; and PTX of the newest, so that younger GPUs run it too.
comma := ,
petsc_gencode := $(filter arch=%,$(CUDAC_FLAGS))
ifdef CUDA_ARCHS
archs := $(sort $(subst $(comma), ,$(CUDA_ARCHS)))
else
archs := $(sort $(foreach g,$(petsc_gencode),$(patsubst code=sm_%,%,$(filter code=sm_%,$(subst $(comma), ,$(g))))))
endif
newest := $(shell printf '%s\n' $(archs) | sort -n | tail -1)
gencode := $(foreach a,$(archs),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) $(addprefix -gencode ,$(if $(newest),arch=compute_$(newest)$(comma)code=compute_$(newest)))
# PETSc configured for "native" or "all" has no -gencode to take over: its own flag stays.
cudac_flags := $(if $(archs),$(filter-out -gencode -gencode=% arch=% -arch=%,$(CUDAC_FLAGS)) $(gencode),$(CUDAC_FLAGS))

# With real scalars PETSc's headers need no complex numbers. Those of device code are Thrust's, which take 3.5 of the 5.4 s that a .cu file takes on one core before its first line.
skip_complex = $(if $(filter real,$(PETSC_SCALAR)),-DPETSC_SKIP_COMPLEX)
# -I$(PETSC_SRC)/include is what makes <../src/mat/impls/aij/seq/aij.h> mean the source tree; after PETSc's own include folders.
own_includes := -Iinclude
src_includes := -I$(PETSC_SRC)/include -I$(PETSC_SRC)
compile_c    = $(PCC) -c $(PCC_FLAGS) -fPIC -fvisibility=hidden -Wall -Werror=implicit-function-declaration $(CFLAGS) $(own_includes) $(CCPPFLAGS) $(src_includes) $(CUDA_INCLUDE) -MMD -MP
compile_cu   = $(CUDAC) -c $(MPICXX_INCLUDES) $(cudac_flags) $(CUDAPP_FLAGS) $(skip_complex) $(CUDAFLAGS) -Xcompiler -fPIC -Xcompiler -fvisibility=hidden $(own_includes) $(src_includes) $(CUDA_HOSTFLAGS) -MMD -MP -MF $(@:.o=.d)
# No libcuda.so.1 at load: a machine without a driver runs the host path.
cuda_libdir := $(firstword $(wildcard $(CUDA_ROOT)/lib64 $(CUDA_ROOT)/targets/x86_64-linux/lib $(CUDA_ROOT)/lib))
petsc_libdir := $(PETSC_DIR)/$(if $(PETSC_ARCH),$(PETSC_ARCH)/)lib
# A PETSc with Kokkos needs functions of the driver, which the machine that builds may lack.
link_libs   = -Wl,--allow-shlib-undefined -L$(petsc_libdir) -L$(cuda_libdir) -Wl,-rpath,$(petsc_libdir) -Wl,-rpath,$(cuda_libdir) -lpetsc -Wl,--as-needed $(HYPRE_LIB) -lcusparse -lcublas -lcudart -lstdc++ -lm
link_shared = $(CXX_LINKER) -shared -Wl,-soname,$(notdir $@)$(if $(filter $(SHLIB),$@),.$(SOVERSION)) -Wl,-z,defs -Wl,-rpath,'$$ORIGIN'
link_program = $(CXX_LINKER)
endif
