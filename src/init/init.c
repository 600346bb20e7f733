/* Loading, registration, and the checks that the library fits the PETSc that loads it. */
#include <petscconf.h>
#include <petscversion.h>

// Before any header of PETSc's that may have changed.
#if PETSC_VERSION_MAJOR != 3 || PETSC_VERSION_MINOR < 24 || PETSC_VERSION_MINOR > 26
  #error "this version of petscsparsecuda is for PETSc 3.24, 3.25 and 3.26: set PETSC_DIR to one, or unset it and let make build it; CONTRIBUTING.md says how others are supported"
#endif
#if !defined(PETSC_HAVE_CUDA)
  #error "petscsparsecuda needs a PETSc configured with CUDA: configure PETSc with --with-cuda=1"
#endif

#include "../dm/impls/da/da.h"
#include "../dm/impls/plex/plex.h"
#include "../ksp/ksp/impls/fused/fused.h"
#include "../ksp/pc/impls/gamg/gamg.h"
#include "../ksp/pc/impls/jacobi/jacobi.h"
#include "../ksp/pc/impls/pbjacobi/pbjacobi.h"
#include "../petsc/parents.h"
#include "../mat/impls/aijcuda/host/host.h"
#include "../mat/impls/auto/auto.h"
#include "../mat/impls/dcsr/dcsr.h"
#include "../mat/impls/type/type.h"
#include "../mat/impls/hisparse/hisparse.h"
#include <petscsparsecuda/preload.h>
#include <petscsparsecuda/report.h>
#include <petscsparsecuda/sys.h>

PetscLogEvent PETSCSPARSECUDA_CopyToDevice, PETSCSPARSECUDA_CopyToHost, PETSCSPARSECUDA_SpMVAnalysis, PETSCSPARSECUDA_TransposeAnalysis, PETSCSPARSECUDA_Defragment, PETSCSPARSECUDA_Insert;
PetscLogEvent PETSCSPARSECUDA_GAMGPermutation, PETSCSPARSECUDA_GAMGIndependentSet, PETSCSPARSECUDA_GAMGAggregates, PETSCSPARSECUDA_GAMGTentative, PETSCSPARSECUDA_GAMGCoarseCycle;

static PetscBool initialized = PETSC_FALSE;

static PetscErrorCode Finalize(void)
{
  PetscFunctionBegin;
  PetscCall(MatAIJCUDAForgetSaved());
  initialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of operations move from one minor version to the next: with another one than the library was compiled for, wrong functions would be called. */
static PetscErrorCode CheckVersion(void)
{
  PetscInt major, minor, subminor;

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, NULL));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "libpetscsparsecuda.so was built for PETSc %d.%d and is loaded into PETSc %" PetscInt_FMT ".%" PetscInt_FMT ": build it again with PETSC_DIR set to this PETSc", PETSC_VERSION_MAJOR,
             PETSC_VERSION_MINOR, major, minor);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckInt(void)
{
  size_t theirs;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &theirs));
  PetscCheck(theirs == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "libpetscsparsecuda.so was built with a PetscInt of %d bytes and is loaded into a PETSc with %d bytes: build it again with PETSC_DIR and PETSC_ARCH set to this PETSc",
             (int)sizeof(PetscInt), (int)theirs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Asks by name: PETSC_REAL and PETSC_SCALAR are what this library was compiled with, and every PETSc knows the size of a double. */
static PetscErrorCode CheckType(const char name[], PetscDataType ours, const char what[])
{
  PetscDataType theirs;
  PetscBool     found;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeFromString(name, &theirs, &found));
  PetscCheck(found && theirs == ours, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "libpetscsparsecuda.so was built with a %s of type %s and is loaded into a PETSc with %s: build it again with PETSC_DIR and PETSC_ARCH set to this PETSc", what, PetscDataTypes[ours],
             found ? PetscDataTypes[theirs] : "another one");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckPETSc(void)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(CheckVersion());
  PetscCall(CheckInt());
  PetscCall(CheckType("real", PETSC_REAL, "PetscReal"));
  PetscCall(CheckType("scalar", PETSC_SCALAR, "PetscScalar"));
  PetscCall(PetscHasExternalPackage("cuda", &cuda));
  PetscCheck(cuda, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "libpetscsparsecuda.so needs a PETSc configured with CUDA: configure PETSc with --with-cuda=1 and build the library again");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterEvents(void)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("MatDCSRToDevice", MAT_CLASSID, &PETSCSPARSECUDA_CopyToDevice));
  PetscCall(PetscLogEventRegister("MatDCSRToHost", MAT_CLASSID, &PETSCSPARSECUDA_CopyToHost));
  PetscCall(PetscLogEventRegister("MatDCSRMultPlan", MAT_CLASSID, &PETSCSPARSECUDA_SpMVAnalysis));
  PetscCall(PetscLogEventRegister("MatDCSRTransPlan", MAT_CLASSID, &PETSCSPARSECUDA_TransposeAnalysis));
  PetscCall(PetscLogEventRegister("MatDCSRDefrag", MAT_CLASSID, &PETSCSPARSECUDA_Defragment));
  PetscCall(PetscLogEventRegister("MatDCSRInsert", MAT_CLASSID, &PETSCSPARSECUDA_Insert));
  PetscCall(PetscLogEventSetCollective(PETSCSPARSECUDA_Insert, PETSC_FALSE)); // a process inserts when its stage is full, without the others
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RegisterPCEvents(void)
{
  PetscFunctionBegin;
  PetscCall(PCInitializePackage());
  PetscCall(PetscLogEventRegister("GAMGDevPermute", PC_CLASSID, &PETSCSPARSECUDA_GAMGPermutation));
  PetscCall(PetscLogEventRegister("GAMGDevIndSet", PC_CLASSID, &PETSCSPARSECUDA_GAMGIndependentSet));
  PetscCall(PetscLogEventRegister("GAMGDevAggs", PC_CLASSID, &PETSCSPARSECUDA_GAMGAggregates));
  PetscCall(PetscLogEventRegister("GAMGDevTentative", PC_CLASSID, &PETSCSPARSECUDA_GAMGTentative));
  PetscCall(PetscLogEventRegister("GAMGCoarseCycle", PC_CLASSID, &PETSCSPARSECUDA_GAMGCoarseCycle));
  PetscCall(PetscLogEventSetCollective(PETSCSPARSECUDA_GAMGPermutation, PETSC_FALSE)); // local work, before which a process may have failed: -log_sync must not wait for it
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The families of types: how users and PETSc call them, the types of blocks, the storage, the constructors. */
static const struct {
  MatAIJCUDATypes            types;
  const MatDeviceStorageOps *storage;
  const MatDeviceChooserOps *chooser; /* NULL: there is nothing to choose */
  PetscErrorCode (*create_seq)(Mat), (*create_mpi)(Mat);
} families[] = {
  {{MATDCSRCUDA, MATAIJDCSRCUDA, MATSEQAIJDCSRCUDA, MATMPIAIJDCSRCUDA, MATSEQAIJDCSRCUDA}, &MatDeviceStorageDCSR, NULL, MatCreate_SeqAIJDCSRCUDA, MatCreate_MPIAIJDCSRCUDA},
  {{MATHISPARSECUDA, MATAIJHISPARSECUDA, MATSEQAIJHISPARSECUDA, MATMPIAIJHISPARSECUDA, MATSEQAIJDCSRCUDA}, &MatDeviceStorageHiSparse, NULL, MatCreate_SeqAIJHiSparseCUDA, MatCreate_MPIAIJHiSparseCUDA},
  {{MATAUTOCUDA, MATAIJAUTOCUDA, MATSEQAIJAUTOCUDA, MATMPIAIJAUTOCUDA, MATSEQAIJDCSRCUDA}, &MatDeviceStorageAuto, &MatDeviceChooserAuto, MatCreate_SeqAIJAutoCUDA, MatCreate_MPIAIJAutoCUDA},
};

static PetscErrorCode RegisterTypes(void)
{
  PetscFunctionBegin;
  MatDeviceStorageAutoInitialize();
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(families); k++) {
    const MatAIJCUDATypes *types = &families[k].types;

    PetscCall(MatAIJCUDATypesRegister(types));
    PetscCall(MatDeviceStorageRegister(types->seq, families[k].storage, families[k].chooser));
    PetscCall(MatRegister(types->seq, families[k].create_seq));
    PetscCall(MatRegister(types->mpi, families[k].create_mpi));
    PetscCall(MatRegisterRootName(types->aij, types->seq, types->mpi)); // the first match is the canonical one
    PetscCall(MatRegisterRootName(types->root, types->seq, types->mpi));
    PetscCall(MatSeqAIJRegister(types->seq, MatSeqAIJSetType_AIJCUDA));
    PetscCall(MatSeqAIJRegister(types->root, MatSeqAIJSetType_AIJCUDA));
  }
  PetscCall(MatAIJCUDARegisterSubclasses());
  PetscCall(MatAIJCUDARegisterFactors());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(families); k++) PetscCall(MatAIJCUDARegisterFactorsOf(families[k].types.seq));
  PetscCall(MatAIJCUDARegisterNestedFactors());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -petscsparsecuda_info. Collective on PETSC_COMM_WORLD */
static PetscErrorCode ViewFromOptions(void)
{
  PetscViewer viewer;
  PetscBool   wanted;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreateViewer(PETSC_COMM_WORLD, NULL, NULL, "-petscsparsecuda_info", &viewer, NULL, &wanted));
  if (wanted) PetscCall(PetscSparseCUDAView(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscSparseCUDAInitialize - Registers the matrix types of petscsparsecuda in the PETSc that this program runs.

  Collective on `PETSC_COMM_WORLD`

  Options Database Keys:
+ -mat_dcsr_transfer_threads <n> - threads that copy large arrays between host and device, 0 to 64; the process's share of the cores by default, at most 8
. -petscsparsecuda_info [viewer] - calls `PetscSparseCUDAView()`
. -mat_dcsr_preload <bool>       - a thread loads kernels that a setup of PCGAMG will want; by default with two cores for each process
- -mat_dcsr_report               - prints at the end what was copied between host and device and why, and where the levels of PCGAMG were set up

  Level: beginner

  Notes:
  Call it after every `PetscInitialize()` in a program that links the library; calling it twice does nothing. A program that loads the library with
  `-dll_append /path/to/libpetscsparsecuda.so` need not call it.

  Errors: `PETSC_ERR_ARG_INCOMP` when the library was built for another minor version, precision or index width of PETSc, or this PETSc was configured without CUDA; the
  message says which. `PETSC_ERR_ARG_OUTOFRANGE` for an option that is out of range.

.seealso: `MATDCSRCUDA`, `MatSetType()`, `PetscSparseCUDAView()`
@*/
PetscErrorCode PetscSparseCUDAInitialize(void)
{
  int cores;

  PetscFunctionBegin;
  if (initialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckPETSc());
  PetscSparseCUDADeviceInitialize();
  PetscCall(MatInitializePackage());
  PetscCall(MatAIJCUDACaptureParents());
  PetscCall(RegisterEvents());
  PetscCall(RegisterTypes());
  PetscCall(MatAIJCUDARegisterForeign());
  PetscCall(DMDARegister_AIJCUDA());
  PetscCall(DMPlexRegister_AIJCUDA());
  PetscCall(RegisterPCEvents());
  PetscCall(PCJacobiRegister_AIJCUDA());
  PetscCall(PCPBJacobiRegister_AIJCUDA());
  PetscCall(PCGAMGRegister_AIJCUDA());
  PetscCall(KSPFusedRegister_AIJCUDA());
  PetscCall(PetscSparseCUDACountCores(&cores));
  PetscCall(PetscSparseCUDATransferInitialize(cores));
  PetscCall(PetscSparseCUDAPreloadInitialize(cores));
  PetscCall(PetscSparseCUDAReportInitialize());
  if (PetscSparseCUDATestInitialize != NULL) PetscCall((*PetscSparseCUDATestInitialize)());
  PetscCall(PetscRegisterFinalize(Finalize));
  initialized = PETSC_TRUE;
  PetscCall(ViewFromOptions());
  PetscCall(PCGAMGPredictFromOptions_AIJCUDA());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PetscDLLibraryRegister_petscsparsecuda - What PETSc calls when the library is loaded with -dll_append.
*/
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscsparsecuda(void)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAInitialize());
  PetscFunctionReturn(PETSC_SUCCESS);
}
