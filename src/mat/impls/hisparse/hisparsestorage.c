/* HiSparse behind the interface of device storage (storage.h). Its kernels know no Mat; here is what the table asks beside them. */
#include "hisparse.h"

/* The storage of one matrix. */
typedef struct {
  HiSparse          hisparse;     /* owned, never NULL; first, where tests read it */
  PetscBool         prepared[2];  /* once, for products with the matrix, with its transpose */
  HiSparse          single;       /* the same with values in single precision or FP16, for products of preconditioners; owned, NULL until the first of these */
  PetscObjectState  single_state; /* object state of the matrix when single was made or got its values; -1: there is none */
  HiSparsePrecision asked;        /* for single, which may have more bits */
} Storage;

static Storage *GetStorage(Mat A)
{
  return (Storage *)MatSeqAIJCUDAGet(A)->device.data;
}

static HiSparse GetHiSparse(Mat A)
{
  return GetStorage(A)->hisparse;
}

/* How many bits the next product reads: with FP16 there is no transpose. */
static HiSparsePrecision GetPrecision(Mat A, MultKind kind)
{
  PetscBool half;

  if (!MatDeviceStorageUsesSingle()) return HISPARSE_VALUES_SCALAR;
  if (!MatDeviceStorageIsFinest(A, &half) || !half) return HISPARSE_VALUES_SINGLE;
  return kind == MULT_FORWARD ? HISPARSE_VALUES_HALF : HISPARSE_VALUES_SCALAR;
}

/* Whether there are rounded values of now, of no fewer bits than asked for. */
static PetscBool SingleIsCurrent(Mat A, HiSparsePrecision precision)
{
  const Storage *storage = GetStorage(A);

  return (PetscBool)(storage->single_state == ((PetscObject)A)->state && (storage->asked == precision || storage->asked == HISPARSE_VALUES_SINGLE));
}

/* What the next product reads. */
static HiSparse GetFactor(Mat A, MultKind kind)
{
  const Storage          *storage   = GetStorage(A);
  const HiSparsePrecision precision = GetPrecision(A, kind);

  return precision != HISPARSE_VALUES_SCALAR && storage->single != NULL && SingleIsCurrent(A, precision) ? storage->single : storage->hisparse;
}

/* Another format than that of a storage that is there: CSR gets the values, and the next product makes the storage again. */
static PetscErrorCode SetFromOptions_HiSparse(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  PetscEnum       format = (PetscEnum)d->options.storage_format;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "HiSparse on the device (hisparsecuda) options");
  PetscCall(PetscOptionsEnum("-mat_hisparse_format", "How the matrix is stored", "MATHISPARSECUDA", HiSparseFormats, format, &format, NULL));
  PetscOptionsHeadEnd();
  if ((PetscInt)format == d->options.storage_format) PetscFunctionReturn(PETSC_SUCCESS);
  if (MatSeqAIJCUDAHasDevice(A) && d->device.csr_use != CSR_BORROWED) {
    PetscCall(MatSeqAIJCUDAGetCSR(A));
    PetscCall(MatSeqAIJCUDADropStorage(A));
  }
  d->options.storage_format = (PetscInt)format;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The data of a matrix for a HiSparse, which belongs to it then and is destroyed after an error; NULL for none. */
static PetscErrorCode Wrap(HiSparse *hisparse, cudaStream_t stream, void **data)
{
  Storage       *storage = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *data = NULL;
  if (*hisparse == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallGoto(ierr, failed, PetscNew(&storage));
  storage->hisparse     = *hisparse;
  storage->single_state = -1;
  *hisparse             = NULL;
  *data                 = storage;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(HiSparseDestroy(hisparse, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Create_HiSparse(Mat A, DCSRView csr, cudaStream_t stream, void **data)
{
  const HiSparseFormat format   = (HiSparseFormat)MatSeqAIJCUDAGet(A)->options.storage_format;
  HiSparse             hisparse = NULL;

  PetscFunctionBegin;
  *data = NULL;
  if (format == HISPARSE_CSR || csr.num_nonzeros == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatOperandNoteBlockSizes(A, &csr));
  PetscCall(HiSparseCreate(csr, format, stream, &hisparse));
  PetscCall(Wrap(&hisparse, stream, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetCSR_HiSparse(Mat A, PetscBool structure, PetscBool values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseGetCSR(GetHiSparse(A), structure, values, csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_HiSparse(Mat A, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseSetValues(GetHiSparse(A), csr, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Share_HiSparse(Mat A, PetscBool transpose, cudaStream_t stream, void **data)
{
  HiSparse shared = NULL;

  PetscFunctionBegin;
  if (transpose) PetscCall(HiSparseTranspose(GetHiSparse(A), stream, &shared));
  else PetscCall(HiSparseDuplicate(GetHiSparse(A), stream, &shared));
  PetscCall(Wrap(&shared, stream, data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShareValues_HiSparse(Mat A, Mat B, PetscBool transpose, cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  if (transpose) PetscCall(HiSparseTransposeValues(GetHiSparse(A), GetHiSparse(B), stream, done));
  else PetscCall(HiSparseCopyValues(GetHiSparse(A), GetHiSparse(B), stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_HiSparse(PETSC_UNUSED Mat A, void **data)
{
  Storage     *storage = (Storage *)*data;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (storage == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(HiSparseDestroy(&storage->single, stream));
  PetscCall(HiSparseDestroy(&storage->hisparse, stream));
  PetscCall(PetscFree(storage));
  *data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the second copy the values alone, since the structure is shared, and their precision. */
static PetscErrorCode SingleBytes(Mat A, size_t *bytes, HiSparsePrecision *precision)
{
  const HiSparse single = GetStorage(A)->single;
  HiSparseInfo   info   = {0};

  PetscFunctionBegin;
  if (single != NULL) PetscCall(HiSparseGetInfo(single, &info));
  *bytes = info.values_bytes;
  if (precision != NULL) *precision = info.precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bytes_HiSparse(Mat A, PetscCount *bytes)
{
  HiSparseInfo info;
  size_t       single;

  PetscFunctionBegin;
  PetscCall(HiSparseGetInfo(GetHiSparse(A), &info));
  PetscCall(SingleBytes(A, &single, NULL));
  *bytes += (PetscCount)(info.bytes + single);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReleaseSingle_HiSparse(Mat A)
{
  Storage     *storage = GetStorage(A);
  cudaStream_t stream;

  PetscFunctionBegin;
  storage->single_state = -1;
  if (storage->single == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(HiSparseDestroy(&storage->single, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetRounding_HiSparse(Mat A, PetscReal *error)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  *error = -1;
  if (GetStorage(A)->single == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(HiSparseGetRounding(GetStorage(A)->single, stream, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View_HiSparse(Mat A, PetscViewer viewer)
{
  const double      nonzeros = (double)PetscMax(MatSeqAIJCUDAGet(A)->device.view.num_nonzeros, 1);
  HiSparseInfo      info;
  size_t            single;
  HiSparsePrecision precision;
  char              blocks[64], also[96] = "";
  const char       *segments = "diagonal segments";

  PetscFunctionBegin;
  PetscCall(HiSparseGetInfo(GetHiSparse(A), &info));
  if (info.format == HISPARSE_BLOCK_DIAGONALS) {
    PetscCall(PetscSNPrintf(blocks, sizeof(blocks), "diagonal segments of %" PetscInt_FMT " x %" PetscInt_FMT " blocks", info.block_size, info.block_size));
    segments = blocks;
  }
  PetscCall(SingleBytes(A, &single, &precision));
  if (single > 0) PetscCall(PetscSNPrintf(also, sizeof(also), ", values also in %s precision, %.2f bytes a nonzero", precision == HISPARSE_VALUES_HALF ? "half" : "single", (double)single / nonzeros));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %s%s, %.2f bytes a nonzero and %.2f for transpose products, %" PetscCount_FMT " %s, %" PetscCount_FMT " entries outside of them%s\n", MATHISPARSECUDA,
                                   HiSparseFormats[info.format], info.transposed ? ", transposed" : "", (double)(info.bytes - info.transpose_bytes) / nonzeros, (double)info.transpose_bytes / nonzeros,
                                   info.num_segments, segments, info.num_others, also));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rounded values, where the next product reads them and they are not of now. */
static PetscErrorCode RoundValues(Mat A, MultKind kind, cudaStream_t stream)
{
  const HiSparsePrecision precision = GetPrecision(A, kind);
  Storage                *storage   = GetStorage(A);

  PetscFunctionBegin;
  if (precision == HISPARSE_VALUES_SCALAR || !MatDeviceStorageMakesSingle() || SingleIsCurrent(A, precision)) PetscFunctionReturn(PETSC_SUCCESS);
  storage->single_state = -1;
  PetscCall(HiSparseRound(storage->hisparse, precision, stream, &storage->single));
  PetscCall(PetscObjectStateGet((PetscObject)A, &storage->single_state));
  storage->asked = precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the first product of a direction needs, and the first one with new values, which some formats keep a second time for the transpose. The first time is an event of the log. */
static PetscErrorCode Prepare_HiSparse(Mat A, MultKind kind, cudaStream_t stream)
{
  const PetscBool transpose = (PetscBool)(kind != MULT_FORWARD);
  PetscBool      *prepared  = &GetStorage(A)->prepared[transpose ? 1 : 0];

  PetscFunctionBegin;
  PetscCall(RoundValues(A, kind, stream));
  if (*prepared) PetscCall(HiSparsePrepare(GetFactor(A, kind), transpose, stream));
  else PetscCallLogged(transpose ? PETSCSPARSECUDA_TransposeAnalysis : PETSCSPARSECUDA_SpMVAnalysis, A, HiSparsePrepare(GetFactor(A, kind), transpose, stream));
  *prepared = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_HiSparse(Mat A, MultKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (kind == MULT_FORWARD) PetscCall(HiSparseMult(GetFactor(A, kind), x, z, y, stream));
  else PetscCall(HiSparseMultTranspose(GetFactor(A, kind), (PetscBool)(kind == MULT_HERMITIAN), x, z, y, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultEpilogue_HiSparse(Mat A, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(HiSparseMultEpilogue(GetFactor(A, MULT_FORWARD), x, epilogue, y, stream, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale_HiSparse(Mat A, PetscScalar alpha, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseScale(GetHiSparse(A), alpha, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal_HiSparse(Mat A, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseGetDiagonal(GetHiSparse(A), diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AXPY_HiSparse(Mat Y, PetscScalar a, Mat X, PetscCount max_nonzeros, cudaStream_t stream, PetscCount *num_nonzeros, MatDeviceSum *sum)
{
  static const MatDeviceSum sums[] = {[HISPARSE_SUM_NONE] = DEVICE_SUM_NONE, [HISPARSE_SUM_SAME] = DEVICE_SUM_SAME, [HISPARSE_SUM_SUBSET] = DEVICE_SUM_SUBSET, [HISPARSE_SUM_GROWN] = DEVICE_SUM_GROWN};
  HiSparseSum               done;
  HiSparseInfo              info;

  PetscFunctionBegin;
  PetscCall(HiSparseAXPY(GetHiSparse(Y), a, GetHiSparse(X), max_nonzeros, stream, &done));
  *sum = sums[done];
  if (*sum != DEVICE_SUM_GROWN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseGetInfo(GetHiSparse(Y), &info));
  *num_nonzeros              = info.num_nonzeros;
  GetStorage(Y)->prepared[0] = PETSC_FALSE;
  GetStorage(Y)->prepared[1] = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MatDeviceStorageOps MatDeviceStorageHiSparse = {
  .name           = MATHISPARSECUDA,
  .replaces_csr   = PETSC_TRUE,
  .setfromoptions = SetFromOptions_HiSparse,
  .create         = Create_HiSparse,
  .getcsr         = GetCSR_HiSparse,
  .setvalues      = SetValues_HiSparse,
  .share          = Share_HiSparse,
  .sharevalues    = ShareValues_HiSparse,
  .destroy        = Destroy_HiSparse,
  .bytes          = Bytes_HiSparse,
  .view           = View_HiSparse,
  .prepare        = Prepare_HiSparse,
  .mult           = Mult_HiSparse,
  .multepilogue   = MultEpilogue_HiSparse,
  .releasesingle  = ReleaseSingle_HiSparse,
  .getrounding    = GetRounding_HiSparse,
  .scale          = Scale_HiSparse,
  .getdiagonal    = GetDiagonal_HiSparse,
  .axpy           = AXPY_HiSparse,
};
