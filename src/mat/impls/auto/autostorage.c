/*
  CSR or HiSparse, selected while the program runs: the table of HiSparse and a chooser (storage.h).

  A matrix begins with CSR. Its products are counted, and the device samples it once they have taken so long that sampling is worth it. The storage is made when what it would have gained so far, less
  what copies of new values would have cost, is the cost of the conversion (ski rental, skirental.h), or earlier by a hint. Nothing is timed: products are predicted by bytes, costs are learned. The
  host waits for nothing.
*/
#include "auto.h"
#include "../hisparse/hisparse.h"

#define MAX_UNPAID   6   /* doublings of the cost */
#define TRANSPOSE_US 1.2 /* y = A^T x with CSR, over y = A x: 0.95 to 1.56 on an NVIDIA H200 */

/* The selection of one matrix (device.choice). Times are microseconds. */
typedef struct {
  int unpaid; /* conversions in turn that did not pay: the cost of the next one doubles with each */

  /* About the structure with this nonzerostate */
  PetscObjectState nonzerostate;
  PetscCount       products[2]; /* with the matrix and with its transpose, of device.products */
  PetscObjectState state;       /* of the matrix at the last one */
  PetscCount       changes;     /* of values between them */
  PetscBool        sampled;     /* there is a prediction */
  PetscBool        rejected;    /* CSR, until the structure changes */
  PetscBool        convert;     /* HiSparse from the next product on, */
  PetscCount       since;       /* which is this one; */
  double           balance;     /* what it has gained since then, less what copies of new values cost */
  PetscBool        ignore_hint; /* values changed too often, which the hint does not cover */
  PetscBool        fixed;       /* products may be captured in a graph: it stays as it is */
  AutoPrediction   prediction;
  HiSparseSample   samples[2];  /* of size 1, and of the blocks that it has */
  int              num_samples; /* that are there */
  HiSparseSampling sampling;    /* the next one, under way, or NULL; the product that takes it may be on another stream */
} AutoSelection;

/* Test hook -mat_auto_test_switch: the other storage every so many products, CSR from new values on; 0: what pays. */
static PetscInt test_switch = 0;

MatDeviceStorageOps MatDeviceStorageAuto;

static AutoSelection *GetSelection(Mat A)
{
  return (AutoSelection *)MatSeqAIJCUDAGet(A)->device.choice;
}

/* Whether there is storage of the structure of now. */
static PetscBool HasStorage(Mat A)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  return (PetscBool)(device->data != NULL && device->nonzerostate == A->nonzerostate);
}

/* Whether there is something to select. Small matrices stay in CSR unless a format is asked for. */
static PetscBool MaySelect(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  if (d->options.storage_format == HISPARSE_CSR || d->device.csr_use == CSR_BORROWED || d->device.view.num_nonzeros == 0) return PETSC_FALSE;
  return (PetscBool)(d->options.storage_format != HISPARSE_AUTO || HiSparseMayPay(d->device.view.num_rows, d->device.view.num_nonzeros));
}

/* What the storage gains in so many products. */
static double Gain(const AutoSelection *s, PetscCount n, PetscCount n_transpose)
{
  return s->prediction.gain * ((double)n + TRANSPOSE_US * (double)n_transpose);
}

/* What the storage costs before its first product. */
static double Cost(const AutoSelection *s)
{
  return s->prediction.convert + (s->products[1] > 0 ? s->prediction.list : 0);
}

/* The products so far, and those in all by the hint, of which the option counts first. */
static SkiRental Rental(Mat A, const AutoSelection *s)
{
  const Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  SkiRental             rental = {.seen = s->products[0] + s->products[1]};

  if (s->ignore_hint) return rental;
  rental.expected = d->options.storage_products > 0 ? d->options.storage_products : d->device.expected[0] + d->device.expected[1];
  rental.at_least = (PetscBool)(d->options.storage_products == 0 && d->device.hint == HINT_AT_LEAST);
  return rental;
}

/* Another structure: all begins anew, but for what conversions were worth. */
static void BeginStructure(Mat A, AutoSelection *s)
{
  int unpaid = s->unpaid;

  if (s->convert && s->sampled && !s->fixed) unpaid = s->balance >= Cost(s) ? 0 : PetscMin(unpaid + 1, MAX_UNPAID);
  HiSparseSamplingDestroy(&s->sampling);
  *s = (AutoSelection){.unpaid = unpaid, .nonzerostate = A->nonzerostate, .since = 1};
}

/* The selection of a matrix, about its structure of now. */
static PetscErrorCode UseSelection(Mat A, AutoSelection **selection)
{
  AutoSelection *s = GetSelection(A);

  PetscFunctionBegin;
  if (s == NULL) {
    PetscCall(PetscNew(&s));
    MatSeqAIJCUDAGet(A)->device.choice = s;
    BeginStructure(A, s);
  }
  if (s->nonzerostate != A->nonzerostate) BeginStructure(A, s);
  s->products[1] = MatSeqAIJCUDAGet(A)->device.products[DEVICE_WORK_TRANSPOSE];
  s->products[0] = MatSeqAIJCUDANumProducts(A) - s->products[1];
  *selection     = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A step of sampling, without waiting: begins when products are worth it, and takes the sample when the device has counted. Dense blocks are worth another one. The prediction comes of both.

  Where nothing can be sent to the host, the prediction comes at once, and the host waits.
*/
static PetscErrorCode Sample(Mat A, AutoSelection *s, cudaStream_t stream)
{
  const Mat_SeqAIJCUDA *d       = MatSeqAIJCUDAGet(A);
  DCSRView              view    = d->device.view;
  const SkiRental       rental  = Rental(A, s);
  const AutoPrediction *p       = &s->prediction;
  const HiSparseSample *samples = s->samples;
  int                   size    = s->num_samples == 0 ? 1 : s->samples[0].block_size; // 0: no other sample

  const PetscSparseCUDATuning *tuning;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetTuning(&tuning));
  PetscCall(MatOperandNoteBlockSizes(A, &view));
  if (s->sampling != NULL) {
    if (!HiSparseSamplingIsThere(s->sampling)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(HiSparseSamplingTake(view, size, &s->sampling, &s->samples[s->num_samples]));
    size = s->num_samples++ == 0 ? s->samples[0].block_size : 0;
  } else if (!SkiRentalAmortizesFor(rental.at_least ? SKI_SAMPLING_AT_LEAST : SKI_SAMPLING, rental.seen, rental.expected, rental.at_least,
                                    MatAutoCUDAProductTime(tuning, view, 0) / tuning->costs.sampling))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (size > 0) {
    PetscCall(HiSparseSamplingQueue(view, size, stream, &s->sampling));
    if (s->sampling != NULL) PetscFunctionReturn(PETSC_SUCCESS);
    samples = NULL;
  }
  PetscCall(MatAutoCUDAPredict(view, samples, (HiSparseFormat)d->options.storage_format, stream, &s->prediction));
  s->sampled  = PETSC_TRUE;
  s->rejected = (PetscBool)(p->format == HISPARSE_CSR);
  if (s->rejected) PetscCall(PetscInfo(A, "CSR stays: no other storage is predicted to be faster\n"));
  else
    PetscCall(PetscInfo(A, "Products with %s are predicted to take %.2f of the time of CSR, %.4g us; making it %.4g us, new values %.4g us\n", HiSparseFormats[p->format], p->forward, p->csr,
                        p->convert, p->update));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the storage pays, by the hint, or when it would have amortized by now. */
static PetscBool Pays(Mat A, const AutoSelection *s)
{
  SkiRental rental = Rental(A, s);

  rental.gain = (Gain(s, s->products[0], s->products[1]) - (double)s->changes * s->prediction.update) / (double)rental.seen;
  rental.cost = Cost(s);
  if (rental.expected <= rental.seen || rental.at_least) rental.cost *= (double)(1 << s->unpaid); // a lower bound is no forecast
  return SkiRentalAmortizes(&rental);
}

/* With a product by CSR: samples, and decides about the next products. */
static PetscErrorCode Consider(Mat A, AutoSelection *s, cudaStream_t stream)
{
  const DCSRView view  = MatSeqAIJCUDAGet(A)->device.view;
  const size_t   bytes = (size_t)view.num_nonzeros * (sizeof(PetscScalar) + sizeof(int32_t)) + ((size_t)view.num_rows + 1) * sizeof(int64_t);
  size_t         available;

  PetscFunctionBegin;
  if (s->rejected || s->convert || view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS); // fragmented CSR becomes compact first
  if (!s->sampled) PetscCall(Sample(A, s, stream));
  if (!s->sampled || s->rejected || !Pays(A, s)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  s->convert  = (PetscBool)(2 * bytes <= available);
  s->rejected = (PetscBool)!s->convert;
  s->since    = s->products[0] + s->products[1] + 1;
  s->balance  = 0;
  if (s->convert)
    PetscCall(PetscInfo(A, "Storage %s from product %" PetscCount_FMT " on: those before would have gained %.4g us, making it costs %.4g us\n", HiSparseFormats[s->prediction.format], s->since,
                        Gain(s, s->products[0], s->products[1]), Cost(s)));
  else PetscCall(PetscInfo(A, "CSR stays: there is not enough device memory to make %s beside it\n", HiSparseFormats[s->prediction.format]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product, with CSR or the storage, is about to be queued. */
static PetscErrorCode Count_Auto(Mat A, MatDeviceWork work, cudaStream_t stream)
{
  const PetscBool  transpose = (PetscBool)(work == DEVICE_WORK_TRANSPOSE), storage = MatSeqAIJCUDAStorageIsCurrent(A);
  AutoSelection   *s;
  PetscObjectState state;

  PetscFunctionBegin;
  if (!MaySelect(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseSelection(A, &s));
  if (s->fixed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (s->products[0] + s->products[1] > 1 && state != s->state) s->changes++;
  s->state = state;
  if (storage) s->balance += Gain(s, !transpose, transpose);
  if (test_switch > 0) s->convert = (PetscBool)(s->convert != ((s->products[0] + s->products[1]) % test_switch == 0));
  else if (storage) s->convert = PETSC_TRUE; // of a copy, too
  else PetscCall(Consider(A, s, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the hint, before the products come: samples are waited for, one of the matrix and perhaps another one of its blocks. */
static PetscErrorCode Decide_Auto(Mat A, PetscBool fix, cudaStream_t stream)
{
  AutoSelection *s;

  PetscFunctionBegin;
  if (!fix && !MaySelect(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseSelection(A, &s));
  if (s->fixed) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 3 && MaySelect(A) && Rental(A, s).seen > 0 && Rental(A, s).expected > Rental(A, s).seen; k++) {
    PetscCall(Consider(A, s, stream));
    if (s->sampling == NULL) break;
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  if (!fix) PetscFunctionReturn(PETSC_SUCCESS);
  HiSparseSamplingDestroy(&s->sampling);
  s->convert = (PetscBool)(s->convert || HasStorage(A));
  s->fixed   = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Storage that is there has old values. It goes when copies of new ones have cost more than it gained and the conversion: no more than about twice the best in hindsight is spent
  (benchmarks/select/train.py).
*/
static PetscErrorCode Wants_Auto(Mat A, PetscBool *wants)
{
  const PetscBool has = HasStorage(A);
  AutoSelection  *s   = GetSelection(A);

  PetscFunctionBegin;
  if (s != NULL && s->nonzerostate != A->nonzerostate) s = NULL;
  if (s != NULL && has && s->convert && s->sampled && !s->fixed) {
    s->balance -= s->prediction.update;
    if (s->balance + Cost(s) < 0) {
      s->convert     = PETSC_FALSE;
      s->ignore_hint = PETSC_TRUE;
      s->unpaid      = PetscMin(s->unpaid + 1, MAX_UNPAID);
      PetscCall(PetscInfo(A, "Back to CSR: values change too often\n"));
    }
  }
  *wants = (PetscBool)(s != NULL ? s->convert : has);
  if (has && !*wants) PetscCall(MatSeqAIJCUDADropStorage(A)); // CSR is current
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The format is that of the prediction. */
static PetscErrorCode Create_Auto(Mat A, DCSRView csr, cudaStream_t stream, void **data)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  AutoSelection  *s      = GetSelection(A);
  const PetscInt  format = d->options.storage_format;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (s != NULL && s->convert && s->sampled && format == HISPARSE_AUTO) d->options.storage_format = (PetscInt)s->prediction.format;
  ierr                      = (*MatDeviceStorageHiSparse.create)(A, csr, stream, data);
  d->options.storage_format = format;
  PetscCall(ierr);
  if (*data == NULL && s != NULL) {
    s->rejected = PETSC_TRUE;
    s->convert  = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another format than that of before: the values go to CSR, and the next products select again. */
static PetscErrorCode SetFromOptions_Auto(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  const PetscInt  format = d->options.storage_format;

  PetscFunctionBegin;
  PetscCall((*MatDeviceStorageHiSparse.setfromoptions)(A, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Selection of the storage (autocuda) options");
  PetscCall(PetscOptionsBoundedInt("-mat_auto_products", "Products with vectors that follow each change of the structure; 0: not known", "MATAUTOCUDA", d->options.storage_products,
                                   &d->options.storage_products, NULL, 0));
  PetscOptionsHeadEnd();
  PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, NULL, "-mat_auto_test_switch", &test_switch, NULL));
  if (format == d->options.storage_format) PetscFunctionReturn(PETSC_SUCCESS);
  if (MatSeqAIJCUDAHasDevice(A) && d->device.csr_use != CSR_BORROWED) {
    PetscCall(MatSeqAIJCUDAGetCSR(A));
    PetscCall(MatSeqAIJCUDADropStorage(A));
  }
  if (GetSelection(A) != NULL) BeginStructure(A, GetSelection(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was selected, when, and why: one line. */
static PetscErrorCode View_Auto(Mat A, PetscViewer viewer)
{
  const AutoSelection *s      = GetSelection(A);
  const PetscInt       format = MatSeqAIJCUDAGet(A)->options.storage_format;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %s", MATAUTOCUDA, HasStorage(A) ? "storage beside CSR" : "CSR"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); // in the middle of a line
  if (format == HISPARSE_CSR) PetscCall(PetscViewerASCIIPrintf(viewer, ", as -mat_hisparse_format csr says"));
  else if (!MaySelect(A)) PetscCall(PetscViewerASCIIPrintf(viewer, ", which small matrices keep"));
  else if (s == NULL || s->nonzerostate != A->nonzerostate) PetscCall(PetscViewerASCIIPrintf(viewer, ", no products yet"));
  else {
    PetscCall(PetscViewerASCIIPrintf(viewer, ", %" PetscCount_FMT " products", s->products[0] + s->products[1]));
    if (s->sampled && s->prediction.format == HISPARSE_CSR) PetscCall(PetscViewerASCIIPrintf(viewer, ", no other storage is predicted to be faster"));
    else if (s->sampled)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", %s predicted at %.2f of the time of CSR, which saves %.4g us, making it %.4g us%s", HiSparseFormats[s->prediction.format], s->prediction.forward,
                                       s->prediction.gain, Cost(s), s->rejected ? ", rejected" : ""));
    if (s->convert) PetscCall(PetscViewerASCIIPrintf(viewer, ", since product %" PetscCount_FMT, s->since));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_Auto(Mat A)
{
  AutoSelection *s = GetSelection(A);

  PetscFunctionBegin;
  if (s != NULL) HiSparseSamplingDestroy(&s->sampling);
  PetscCall(PetscFree(MatSeqAIJCUDAGet(A)->device.choice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MatDeviceChooserOps MatDeviceChooserAuto = {
  .wants   = Wants_Auto,
  .count   = Count_Auto,
  .decide  = Decide_Auto,
  .view    = View_Auto,
  .destroy = Destroy_Auto,
};

/*
  MatSeqAIJAutoCUDAExpect - Notes a hint: n products with A and n_transpose with its transpose follow, beside those that there were with this structure; with at_least more may follow.

  A is a sequential matrix of ours, of any type.
*/
void MatSeqAIJAutoCUDAExpect(Mat A, PetscCount n, PetscCount n_transpose, PetscBool at_least)
{
  MatDeviceCopy    *device   = &MatSeqAIJCUDAGet(A)->device;
  const PetscCount *products = MatSeqAIJCUDAGet(A)->device.products;

  device->hint        = n == 0 && n_transpose == 0 ? HINT_NONE : at_least ? HINT_AT_LEAST : HINT_EXACT;
  device->expected[0] = n;
  device->expected[1] = n_transpose;
  if (device->hint == HINT_NONE || device->storage == device->csr || (device->chooser != NULL && (device->choice == NULL || GetSelection(A)->fixed || !MaySelect(A))))
    return; // nothing that is counted from the beginning
  device->expected[0] += products[DEVICE_WORK_FORWARD] + products[DEVICE_WORK_EPILOGUE];
  device->expected[1] += products[DEVICE_WORK_TRANSPOSE];
}

/* MatDeviceStorageAutoInitialize - Fills the table: that of HiSparse, with options of its own, and the format that was predicted. Part of the registration of the types. */
void MatDeviceStorageAutoInitialize(void)
{
  MatDeviceStorageAuto                = MatDeviceStorageHiSparse;
  MatDeviceStorageAuto.name           = MATAUTOCUDA;
  MatDeviceStorageAuto.setfromoptions = SetFromOptions_Auto;
  MatDeviceStorageAuto.create         = Create_Auto;
  test_switch                         = 0;
}
