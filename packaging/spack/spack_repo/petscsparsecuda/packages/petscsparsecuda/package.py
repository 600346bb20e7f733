import os

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Petscsparsecuda(MakefilePackage, CudaPackage):
    """Sparse matrix types on NVIDIA GPUs for an unmodified PETSc: one shared library
    that PETSc loads, and with -mat_type dcsrcuda an existing program keeps its
    matrices on the GPU."""

    # The checkout that this recipe lies in.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 6))

    license("BSD-2-Clause")

    version("main", branch="main")

    # The library has no other way to compute; CudaPackage brings the variant along.
    variant("cuda", default=True, description="Use CUDA; must be true")
    conflicts("~cuda", msg="petscsparsecuda is for NVIDIA GPUs: it needs +cuda")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    depends_on("cuda@12.4:13")
    # One library is for one minor version of PETSc, with the scalars and indices of this PETSc.
    depends_on("petsc@3.24:3.26 +cuda +mpi +shared")

    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc cuda_arch={arch}", when=f"cuda_arch={arch}")
        if int(arch.rstrip("af")) < 80:
            conflicts(
                f"cuda_arch={arch}", msg="petscsparsecuda needs compute capability 8.0 or newer"
            )

    sanity_check_is_file = [
        join_path("lib", "libpetscsparsecuda.so"),
        join_path("lib", "pkgconfig", "petscsparsecuda.pc"),
        join_path("include", "petscsparsecuda.h"),
        join_path("include", "petscsparsecuda_device.h"),
    ]

    def petsc_source(self):
        """The source tree of the PETSc that is installed, which has headers that the
        installation lacks: unpacked and patched where Spack builds PETSc."""
        petsc = self.spec["petsc"].package
        petsc.do_patch()
        return petsc.stage.source_path

    def make_variables(self):
        variables = [
            f"PETSC_DIR={self.spec['petsc'].prefix}",
            "PETSC_ARCH=",
            f"PETSC_SRC={self.petsc_source()}",
            "V=1",
        ]
        if not self.spec.satisfies("cuda_arch=none"):
            variables.append("CUDA_ARCHS=" + " ".join(self.spec.variants["cuda_arch"].value))
        return variables

    def build(self, spec, prefix):
        make("library", *self.make_variables())

    def install(self, spec, prefix):
        make("install", f"prefix={prefix}", *self.make_variables())

    # The tests of the makefile need PETSc's test harness, mpiexec and minutes.
    def check(self):
        pass

    def setup_run_environment(self, env):
        env.set("PETSCSPARSECUDA_LIBRARY", join_path(self.prefix.lib, "libpetscsparsecuda.so"))
