/* The storage of a sequential matrix beside its CSR view, and who of the two has the newest values; storage.h says what for. */
#include "state.h"
#include <petscsparsecuda/record.h>

/* Our sequential types. DCSR comes first, and most often. */
#define MAX_TYPES 8
static struct {
  MatType                    type;
  const MatDeviceStorageOps *storage;
  const MatDeviceChooserOps *chooser;
} types[MAX_TYPES];
static size_t num_types = 0;

/* The position of a sequential type; num_types when it is not one of ours. */
static PetscErrorCode FindType(MatType type, size_t *k)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  for (*k = 0; *k < num_types; (*k)++) {
    PetscCall(PetscStrcmp(type, types[*k].type, &same));
    if (same) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatDeviceStorageRegister - Names the storage of a sequential type, whose constructor calls MatCreate_SeqAIJCUDA(), and what chooses between it and CSR, NULL where nothing does. Registering a type
  again replaces its tables.

  The type begins with MATSEQAIJ and is registered with MatRegister() as well; its string and the tables stay. PETSC_ERR_PLIB: there are too many types.
*/
PetscErrorCode MatDeviceStorageRegister(MatType type, const MatDeviceStorageOps *storage, const MatDeviceChooserOps *chooser)
{
  size_t k;

  PetscFunctionBegin;
  PetscCall(FindType(type, &k));
  PetscCheck(k < MAX_TYPES, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No room for type %s: raise MAX_TYPES", type);
  types[k].type    = type;
  types[k].storage = storage;
  types[k].chooser = chooser;
  num_types        = PetscMax(num_types, k + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatDeviceStorageFind - The string that a sequential type was registered with; NULL when it is not one of ours. The type may be NULL. */
PetscErrorCode MatDeviceStorageFind(MatType type, MatType *registered)
{
  size_t k;

  PetscFunctionBegin;
  PetscCall(FindType(type, &k));
  *registered = k < num_types ? types[k].type : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDASetStorage - Gives a matrix without storage beside CSR the tables of a sequential type of ours, as it was registered, which becomes its own. */
PetscErrorCode MatSeqAIJCUDASetStorage(Mat A, MatType type)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  size_t          k;

  PetscFunctionBegin;
  PetscCall(FindType(type, &k));
  d->type           = types[k].type;
  d->device.storage = types[k].storage;
  d->device.chooser = types[k].chooser;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACSRReleased - Whether the storage has replaced the arrays of the CSR view, whose sizes stay. */
PetscBool MatSeqAIJCUDACSRReleased(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->device.data != NULL && d->device.view.row_offsets == NULL && d->device.view.segments == NULL);
}

/* MatSeqAIJCUDAStorageIsCurrent - Whether there is storage beside CSR, with the newest structure and values. */
PetscBool MatSeqAIJCUDAStorageIsCurrent(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->device.data != NULL && d->device.csr_use != CSR_BORROWED && d->device.newest != DEVICE_VALUES_CSR && MatSeqAIJCUDADeviceIsCurrent(A));
}

/* Gives compact CSR what it lacks of structure and values. */
static PetscErrorCode FillCSR(Mat A)
{
  Mat_SeqAIJCUDA *d        = MatSeqAIJCUDAGet(A);
  const PetscBool released = MatSeqAIJCUDACSRReleased(A);
  const PetscBool values   = (PetscBool)(A->offloadmask != PETSC_OFFLOAD_CPU); // otherwise those of the host are about to take their place
  DCSRView        view     = d->device.view;
  PetscBool       wide;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (released) {
    PetscCall(DCSRNeedsWide(d->device.view.num_nonzeros, &wide));
    PetscCall(DCSRViewAllocateCompact(d->device.view.num_rows, d->device.view.num_columns, d->device.view.num_nonzeros, wide, stream, &view));
  }
  PetscCallGoto(ierr, failed, (*d->device.storage->getcsr)(A, released, values, view, stream));
  d->device.view = view;
  MatSeqAIJCUDANoteValues(A, values ? VALUES_COPIED_TO_CSR : VALUES_GONE_FROM_STORAGE);
  if (released) d->device.csr_use = CSR_STAYS;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (released) PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(ierr);
}

/*
  MatSeqAIJCUDAGetCSR - Makes the CSR view as new as the storage is. Does nothing when it is, or when there is no storage beside it.

  Part of MatSeqAIJCUDACopyToDevice() and MatSeqAIJCUDACompact(), which are the ways to ask for CSR. After PETSC_ERR_MEM the storage is as it was.
*/
PetscErrorCode MatSeqAIJCUDAGetCSR(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->device.data == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->device.newest != DEVICE_VALUES_STORAGE && !MatSeqAIJCUDACSRReleased(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FillCSR(A));
  if (MatAIJCUDAScope.deferrals > 0) PetscCall(MatSeqAIJCUDADropStorage(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAGetStructure - Compact CSR without values, for the time being: storage that has replaced the CSR makes it, and the CSR stays released.

  The device copy of A has its structure. The view is to be given to MatSeqAIJCUDARestoreStructure() before A changes; its values are not to be used.
*/
PetscErrorCode MatSeqAIJCUDAGetStructure(Mat A, DCSRView *view)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;
  PetscBool            wide;
  cudaStream_t         stream;
  PetscErrorCode       ierr;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDACSRReleased(A) || MatAIJCUDAScope.deferrals > 0) {
    PetscCall(MatSeqAIJCUDACompact(A));
    *view = device->view;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRNeedsWide(device->view.num_nonzeros, &wide));
  PetscCall(DCSRViewAllocateStructure(device->view.num_rows, device->view.num_columns, device->view.num_nonzeros, wide, stream, view));
  PetscCallGoto(ierr, failed, (*device->storage->getcsr)(A, PETSC_TRUE, PETSC_FALSE, *view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(ierr);
}

/* MatSeqAIJCUDARestoreStructure - Gives back what MatSeqAIJCUDAGetStructure() gave. */
PetscErrorCode MatSeqAIJCUDARestoreStructure(Mat A, DCSRView *view)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!MatSeqAIJCUDACSRReleased(A)) PetscFunctionReturn(PETSC_SUCCESS); // the view is the matrix's own
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRViewFree(view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls a function that frees a part of the device copy. Recorded work does not use it when the matrix was in none. */
static PetscErrorCode ReleaseMemory(Mat A, PetscErrorCode (*release)(Mat, cudaStream_t), cudaStream_t stream)
{
  const PetscBool recorded = MatSeqAIJCUDAGet(A)->device.recorded;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (!recorded) PetscSparseCUDAReleaseUnused(PETSC_TRUE);
  ierr = (*release)(A, stream);
  if (!recorded) PetscSparseCUDAReleaseUnused(PETSC_FALSE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CSR and its plans. */
static PetscErrorCode FreeCSR(Mat A, cudaStream_t stream)
{
  const Mat_SeqAIJCUDA *d    = MatSeqAIJCUDAGet(A);
  DCSRView              view = d->device.view;

  PetscFunctionBegin;
  PetscCall((*d->device.csr->destroy)(A, NULL));
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees the arrays of the CSR view; its sizes stay. */
static PetscErrorCode ReleaseCSR(Mat A, cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall(ReleaseMemory(A, FreeCSR, stream));
  d->device.view.values       = NULL;
  d->device.view.columns      = NULL;
  d->device.view.row_offsets  = NULL;
  d->device.view.segments     = NULL;
  d->device.view.row_sizes    = NULL;
  d->device.view.base_offsets = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the storage of current compact CSR, or gives it the values. */
static PetscErrorCode UpdateStorage(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  if (d->device.data != NULL) {
    PetscCall((*d->device.storage->setvalues)(A, d->device.view, stream));
    MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_STORAGE);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*d->device.storage->create)(A, d->device.view, stream, &d->device.data));
  if (d->device.data != NULL && d->device.turn == STORAGE_FIRST) d->device.turn = STORAGE_MADE;
  MatSeqAIJCUDANoteValues(A, VALUES_COPIED_TO_STORAGE);
  if (d->device.data == NULL) {
    d->device.csr_use = CSR_ALONE;
    PetscCall(PetscInfo(A, "Storage %s does not pay for this matrix, which stays in CSR\n", d->device.storage->name));
  } else if (d->device.storage->replaces_csr && d->device.csr_use == CSR_MAY_GO) PetscCall(ReleaseCSR(A, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAUseCurrent - Makes a matrix that uses the device current there, in its storage if that is current, otherwise in CSR; *table has the functions that work on it. For what all tables have.
*/
PetscErrorCode MatSeqAIJCUDAUseCurrent(Mat A, const MatDeviceStorageOps **table)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  PetscFunctionBegin;
  *table = device->storage;
  if (device->storage != device->csr) {
    PetscCall(MatSeqAIJCUDAFinishInsertion(A));
    if (MatSeqAIJCUDAStorageIsCurrent(A)) PetscFunctionReturn(PETSC_SUCCESS);
    *table = device->csr;
  }
  PetscCall(MatSeqAIJCUDACopyToDevice(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDANewStructure - Notes that A gets another structure than its device copy had: products are counted anew, and a matrix that had storage waits for them. */
void MatSeqAIJCUDANewStructure(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  if (d->device.turn == STORAGE_MADE) d->device.turn = STORAGE_WAITS;
  if (MatSeqAIJCUDANumProducts(A)) d->device.last_products = MatSeqAIJCUDANumProducts(A);
  for (int work = 0; work < DEVICE_NUM_WORKS; work++) d->device.products[work] = 0;
}

/* MatSeqAIJCUDANumProducts - How many products with vectors there were since the structure changed. */
PetscCount MatSeqAIJCUDANumProducts(Mat A)
{
  PetscCount n = 0;

  for (int work = 0; work < DEVICE_NUM_WORKS; work++) n += MatSeqAIJCUDAGet(A)->device.products[work];
  return n;
}

/* Whether products that come next go by the storage: as the type chooses, or for the second structure and later ones when products with CSR have lost what making it costs. */
static PetscErrorCode WantsStorage(Mat A, PetscBool *wants)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  PetscFunctionBegin;
  *wants = PETSC_TRUE;
  if (device->chooser != NULL) PetscCall((*device->chooser->wants)(A, wants));
  else if (device->data == NULL && device->turn == STORAGE_WAITS)
    *wants = SkiRentalAmortizesFor(SKI_STORAGE, MatSeqAIJCUDANumProducts(A), device->expected[0] + device->expected[1], (PetscBool)(device->hint == HINT_AT_LEAST), 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAUseStorage - Makes the storage of a matrix that uses the device current.

  *table has the functions that work on it; those of CSR when it is the storage, or the storage does not pay for this matrix.
  Costs nothing when it is current; storage beside CSR is made after a change of the structure, from compact CSR, and gets the values after a change of these.
*/
PetscErrorCode MatSeqAIJCUDAUseStorage(Mat A, const MatDeviceStorageOps **table)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  PetscBool       wanted = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAUseCurrent(A, table));
  if (*table == d->device.storage || d->device.csr_use >= CSR_ALONE || MatAIJCUDAScope.deferrals > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(WantsStorage(A, &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDACompact(A));
  PetscCall(UpdateStorage(A));
  if (d->device.data != NULL) *table = d->device.storage;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatDeviceStorageDefer - Says that matrices are multiplied by vectors a few times, and their rows are needed.

  From a call with PETSC_TRUE until that with PETSC_FALSE products make no storage beside CSR, and CSR that is made replaces it. Pairs of calls may be nested.
  The setup of a preconditioner needs rows of every level. With both of a matrix its peak of memory is that of both of all levels.
*/
void MatDeviceStorageDefer(PetscBool begin)
{
  MatAIJCUDAScope.deferrals += begin ? 1 : -1;
}

/*
  MatDeviceStorageMake - Makes the storage of a matrix of any type now, if it is a sequential one of ours, has any beside CSR and is used on the device; otherwise a product with a vector makes it,
  when that pays.

  After PETSC_ERR_MEM the matrix is as it was.
*/
PetscErrorCode MatDeviceStorageMake(Mat A)
{
  const MatDeviceStorageOps *table;
  const MatDeviceCopy       *d;
  PetscBool                  ours, device;
  cudaStream_t               stream;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours || !A->assembled || MatSeqAIJCUDAGet(A)->device.storage == MatSeqAIJCUDAGet(A)->device.csr) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAUseDevice(A, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  d = &MatSeqAIJCUDAGet(A)->device;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAUseCurrent(A, &table)); // what is decided is about the structure of now
  if (d->chooser != NULL) PetscCall((*d->chooser->decide)(A, PETSC_FALSE, stream));
  PetscCall(MatSeqAIJCUDAUseStorage(A, &table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatDeviceStorageSettle - Chooses the storage of a matrix that is used on the device now, until its structure changes, so that launches of its products may be recorded.

  One that waits for products before it gets a storage stays in CSR.
  From now on what it frees counts as lost for recorded work (PetscSparseCUDAGetMemoryChanges()); a change of the storage of any other matrix does not.
*/
PetscErrorCode MatDeviceStorageSettle(Mat A)
{
  MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;
  cudaStream_t   stream;

  const MatDeviceStorageOps *table;

  PetscFunctionBegin;
  device->recorded = PETSC_TRUE;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MatSeqAIJCUDAUseCurrent(A, &table));
  if (device->chooser != NULL) PetscCall((*device->chooser->decide)(A, PETSC_TRUE, stream));
  else if (device->turn == STORAGE_WAITS && device->data == NULL && device->csr_use != CSR_BORROWED) device->csr_use = CSR_ALONE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatDeviceStorageUseSingle - Says that products with vectors may read values in single precision, where a storage has them, or makes them.

  They may from a call with PETSC_TRUE until that with PETSC_FALSE. Pairs of calls may be nested; rounding has what was said around the first one meanwhile.
  For the cycles of a preconditioner. The same matrices are used with full precision outside of the pairs, so that a Krylov method around the cycle has its operator.
*/
void MatDeviceStorageUseSingle(PetscBool begin, MatDeviceRounding *rounding)
{
  const MatDeviceRounding before = MatAIJCUDAScope.rounding;

  MatAIJCUDAScope.single += begin ? 1 : -1;
  MatAIJCUDAScope.rounding = *rounding;
  *rounding                = before;
}

/* MatDeviceStorageUsesSingle - Whether products may read values in single precision now; never with PETSc in single precision */
PetscBool MatDeviceStorageUsesSingle(void)
{
  return (PetscBool)(MatAIJCUDAScope.single > 0 && !PetscDefined(USE_REAL_SINGLE));
}

/* MatDeviceStorageMakesSingle - Whether values are rounded where that has not been done since they changed; otherwise products read the full ones there */
PetscBool MatDeviceStorageMakesSingle(void)
{
  return (PetscBool)!MatAIJCUDAScope.rounding.made;
}

/* MatDeviceStorageIsFinest - Whether A is the finest matrix of the cycles under way; *half: it may be read in FP16 */
PetscBool MatDeviceStorageIsFinest(Mat A, PetscBool *half)
{
  const PetscBool finest = (PetscBool)(MatDeviceStorageUsesSingle() && MatAIJCUDAScope.rounding.finest == A);

  *half = (PetscBool)(finest && MatAIJCUDAScope.rounding.half);
  return finest;
}

/* The table that the last product of a matrix went by. */
static const MatDeviceStorageOps *GetTable(const MatDeviceCopy *device)
{
  return device->data != NULL ? device->storage : device->csr;
}

/* MatDeviceStorageGetRounding - How much values in FP16 differ from those of a matrix of any type, which was prepared for products in a cycle; -1 where there are none. */
PetscErrorCode MatDeviceStorageGetRounding(Mat A, PetscReal *error)
{
  const MatDeviceStorageOps *table;
  PetscBool                  ours;

  PetscFunctionBegin;
  *error = -1;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  table = GetTable(&MatSeqAIJCUDAGet(A)->device);
  if (table->getrounding != NULL) PetscCall((*table->getrounding)(A, error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatDeviceStorageReleaseSingle - Frees the values in single precision that a matrix of any type keeps for products; sequential ones of ours have such values. */
PetscErrorCode MatDeviceStorageReleaseSingle(Mat A)
{
  const MatDeviceCopy *device;
  PetscBool            ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(A, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  device = &MatSeqAIJCUDAGet(A)->device;
  if (device->csr->releasesingle != NULL) PetscCall((*device->csr->releasesingle)(A));
  if (device->data != NULL && device->storage->releasesingle != NULL) PetscCall((*device->storage->releasesingle)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAStorageChanged - Notes that functions of a table changed the values: the host copy's are stale, and those of the storage that the table does not work on. */
PetscErrorCode MatSeqAIJCUDAStorageChanged(Mat A, const MatDeviceStorageOps *table)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAValuesChanged(A, table == MatSeqAIJCUDAGet(A)->device.csr ? VALUES_WRITTEN_IN_CSR : VALUES_WRITTEN_IN_STORAGE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDANoteBorrowed - Notes that somebody holds the values of the CSR, which are current; of types without storage beside it, too, since they may become others. */
PetscErrorCode MatSeqAIJCUDANoteBorrowed(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->device.data != NULL) PetscCall(MatSeqAIJCUDADropStorage(A));
  d->device.csr_use = CSR_BORROWED;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDACountMult - Counts a product that is about to be queued on the stream, for what is made when products have lost its cost. */
PetscErrorCode MatSeqAIJCUDACountMult(Mat A, MatDeviceWork work, cudaStream_t stream)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  PetscFunctionBegin;
  MatSeqAIJCUDAGet(A)->device.products[work]++;
  if (device->chooser != NULL) PetscCall((*device->chooser->count)(A, work, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDAForgetChoice - Frees what a type that chooses its storage keeps for that; the matrix goes, or becomes one of another type. */
PetscErrorCode MatSeqAIJCUDAForgetChoice(Mat A)
{
  const MatDeviceChooserOps *chooser = MatSeqAIJCUDAGet(A)->device.chooser;

  PetscFunctionBegin;
  if (chooser != NULL) PetscCall((*chooser->destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FreeStorage(Mat A, PETSC_UNUSED cudaStream_t stream)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  PetscCall((*d->device.storage->destroy)(A, &d->device.data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJCUDADropStorage - Frees the storage beside CSR, which must be current, or not needed any more. */
PetscErrorCode MatSeqAIJCUDADropStorage(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (d->device.data != NULL) PetscCall(ReleaseMemory(A, FreeStorage, NULL));
  d->device.csr_use = CSR_MAY_GO;
  MatSeqAIJCUDANoteValues(A, VALUES_GONE_FROM_STORAGE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDATransposeStorage - Makes the storage of the transpose of A the matrix T, of the same type; what T was before is discarded. CSR is made of it when somebody asks.

  The storage of A is current and can be transposed. T is preallocated and not assembled then.
*/
PetscErrorCode MatSeqAIJCUDATransposeStorage(Mat A, Mat T)
{
  const Mat_SeqAIJCUDA *a    = MatSeqAIJCUDAGet(A);
  void                 *data = NULL;
  DCSRView              view;
  cudaStream_t          stream;
  PetscErrorCode        ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall((*a->device.storage->share)(A, PETSC_TRUE, stream, &data));
  PetscCall(PetscArrayzero(&view, 1)); // no arrays: released
  view.num_rows     = a->device.view.num_columns;
  view.num_columns  = a->device.view.num_rows;
  view.num_nonzeros = a->device.view.num_nonzeros;
  PetscCallGoto(ierr, failed, MatSeqAIJCUDASetDeviceMatrix(T, &view));
  MatSeqAIJCUDAGet(T)->device.data = data;
  if (MatSeqAIJCUDAGet(T)->device.turn == STORAGE_FIRST) MatSeqAIJCUDAGet(T)->device.turn = STORAGE_MADE;
  MatSeqAIJCUDANoteValues(T, VALUES_WRITTEN_IN_STORAGE);
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall((*a->device.storage->destroy)(A, &data));
  PetscFunctionReturn(ierr);
}

/*
  MatSeqAIJCUDAShareStorageValues - Gives the storage of B the values of A, or those of its transpose, where that is all it takes: B has the structure of A, or had the transposed one once.

  *done: PETSC_FALSE when they have no storage of one kind, that of A is not current, or the structures may differ; nothing was done. After PETSC_ERR_MEM B is as it was.
*/
PetscErrorCode MatSeqAIJCUDAShareStorageValues(Mat A, Mat B, PetscBool transpose, PetscBool *done)
{
  Mat_SeqAIJCUDA *a = MatSeqAIJCUDAGet(A), *b = MatSeqAIJCUDAGet(B);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  PetscCall(MatSeqAIJCUDAFinishInsertion(B));
  *done = (PetscBool)(a->device.storage == b->device.storage && a->device.storage->sharevalues != NULL && MatSeqAIJCUDAStorageIsCurrent(A));
  *done = (PetscBool)(*done && b->device.data != NULL && b->device.csr_use != CSR_BORROWED && b->device.nonzerostate == B->nonzerostate);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall((*a->device.storage->sharevalues)(A, B, transpose, stream, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAValuesChanged(B, VALUES_WRITTEN_IN_STORAGE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The storage has got a new structure, of which nothing else knows: rows go, and what was made of them. */
static PetscErrorCode StorageStructureChanged(Mat A, PetscCount num_nonzeros)
{
  Mat_SeqAIJCUDA *d    = MatSeqAIJCUDAGet(A);
  void           *data = d->device.data;
  DCSRView        view;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(ReleaseCSR(A, stream));
  PetscCall(PetscArrayzero(&view, 1));
  view.num_rows     = d->device.view.num_rows;
  view.num_columns  = d->device.view.num_columns;
  view.num_nonzeros = num_nonzeros;
  d->device.view    = view;
  d->device.data    = NULL; // not to be freed with what was made of the old structure
  ierr              = MatSeqAIJCUDAStructureChanged(A);
  d->device.data    = data;
  MatSeqAIJCUDANoteValues(A, VALUES_WRITTEN_IN_STORAGE);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAStorageAXPY - Y = Y + a X, of the same size, with the storage of both, where it can: rows are not needed. Y gets no more than max_nonzeros entries.

  *sum is what became of Y. DEVICE_SUM_NONE: the storage of one of the two is not current, or cannot do it; nothing was done. Otherwise assembly is left to the caller.
  After PETSC_ERR_MEM Y is as it was.
*/
PetscErrorCode MatSeqAIJCUDAStorageAXPY(Mat Y, PetscScalar a, Mat X, PetscCount max_nonzeros, MatDeviceSum *sum)
{
  const MatDeviceStorageOps *storage      = MatSeqAIJCUDAGet(Y)->device.storage;
  PetscCount                 num_nonzeros = 0;
  cudaStream_t               stream;

  PetscFunctionBegin;
  *sum = DEVICE_SUM_NONE;
  PetscCall(MatSeqAIJCUDAFinishInsertion(Y));
  PetscCall(MatSeqAIJCUDAFinishInsertion(X));
  if (storage->axpy == NULL || MatSeqAIJCUDAGet(X)->device.storage != storage || !MatSeqAIJCUDAStorageIsCurrent(Y) || !MatSeqAIJCUDAStorageIsCurrent(X)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGpuTime((*storage->axpy)(Y, a, X, max_nonzeros, stream, &num_nonzeros, sum));
  if (*sum == DEVICE_SUM_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  if (*sum == DEVICE_SUM_GROWN) PetscCall(StorageStructureChanged(Y, num_nonzeros));
  PetscCall(MatSeqAIJCUDAValuesChanged(Y, VALUES_WRITTEN_IN_STORAGE));
  if (*sum == DEVICE_SUM_GROWN) PetscCall(MatSeqAIJCUDAUpdateBlock(Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJCUDAShareStorage - Gives B, of the type of A and without storage, a copy of the storage of A with values, where that is all it takes; CSR is made of it when somebody asks.

  The device copy of A has its structure. *done: PETSC_FALSE when A has no current storage beside CSR, or one that is not shared; nothing was done.
*/
PetscErrorCode MatSeqAIJCUDAShareStorage(Mat A, Mat B, PetscBool *done)
{
  Mat_SeqAIJCUDA *a = MatSeqAIJCUDAGet(A), *b = MatSeqAIJCUDAGet(B);
  cudaStream_t    stream;

  PetscFunctionBegin;
  *done = (PetscBool)(a->device.storage == b->device.storage && MatSeqAIJCUDAStorageIsCurrent(A) && a->device.storage->share != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall((*a->device.storage->share)(A, PETSC_FALSE, stream, &b->device.data));
  b->device.turn              = STORAGE_MADE;
  b->device.view.num_rows     = a->device.view.num_rows;
  b->device.view.num_columns  = a->device.view.num_columns;
  b->device.view.num_nonzeros = a->device.view.num_nonzeros;
  MatSeqAIJCUDANoteValues(B, VALUES_WRITTEN_IN_STORAGE);
  PetscFunctionReturn(PETSC_SUCCESS);
}
