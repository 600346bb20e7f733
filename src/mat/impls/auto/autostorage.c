/*
  Rows or HiSparse, chosen while the program runs: the functions of HiSparse behind the seam for storage (storage.h), with the decision in front of them.

  A matrix begins with rows. Its products are counted and some of them measured, by events that nobody waits for. What HiSparse would have gained so far is what renting has cost; when that exceeds the price of the
  conversion, it is bought (the ski rental problem: whatever comes, no more than twice the time of the best choice in hindsight is spent). Once both sides were measured, a wrong prediction is taken back.
*/
#include "auto.h"
#include "../hisparse/hisparse.h"

#define NUM_SAMPLES  3   /* products of a kind that are measured, on either side */
#define SHORT_US     20  /* of so short ones with rows one is enough until the matrix is looked at, which takes many of them; and events take the host as long as a launch */
#define MAX_UNPAID   6   /* doublings of the price */
#define TRANSPOSE_US 1.2 /* y = A^T x with rows, over y = A x, until it was measured: 0.95 to 1.56 on an NVIDIA H200 */
#define EPILOGUE_US  1.2 /* the same of products with an epilogue, whose vectors are more */

/* -mat_auto_choose */
typedef enum {
  AUTO_CHOOSE_AUTO,
  AUTO_CHOOSE_DCSR,
  AUTO_CHOOSE_HISPARSE
} AutoChoose;
static const char *const AutoChooses[] = {"auto", "dcsr", "hisparse", "AutoChoose", "AUTO_CHOOSE_", NULL};

/* What a matrix is chosen a storage by, beside its storage (device.choice). */
typedef struct {
  /* About the pattern with this nonzerostate */
  PetscObjectState nonzerostate;
  PetscCount       products[DEVICE_NUM_WORKS];             /* so far */
  PetscBool        warm[AUTO_NUM_SIDES][DEVICE_NUM_WORKS]; /* there was a product of this kind: kernels and caches are there */
  PetscBool        looked;                                 /* there is a prediction */
  PetscBool        known;                                  /* it is what an earlier matrix left */
  PetscBool        refused;                                /* rows, until the structure changes */
  PetscBool        convert;                                /* HiSparse from the next product on */
  PetscBool        judged;                                 /* both sides were measured and compared */
  PetscBool        settled;                                /* it stays as it is, whatever is counted */
  PetscBool        hashed;                                 /* the pattern was looked for, or is kept */
  PetscCount       converted_after;                        /* products with rows before the conversion */
  AutoPrediction   prediction;
  AutoTimes        times;
  AutoPattern      pattern;     /* its sizes and hash, when hashed */
  HiSparseSample   samples[2];  /* of size 1, and of the blocks that it has */
  int              num_samples; /* that are there */
  HiSparseLook     look;        /* at the next one, under way, or NULL. Products may go to another stream meanwhile: its counts come to pinned memory, which is asked without any */

  /* About values */
  PetscObjectState state;         /* of the matrix at the last product */
  PetscCount       value_changes; /* between products with this pattern, that the storage would have had to copy */
  PetscCount       stable;        /* products since the last one */
  PetscCount       updates;       /* values that the storage has got from rows since the conversion */
  PetscBool        unstable;      /* rows came back because of these: who tells of products did not tell of values, and is not asked any more */

  /* About all patterns */
  int unpaid; /* conversions in turn that the next change of the structure made useless: the price doubles with each */

  /* The product that is measured */
  cudaEvent_t   begin, end; /* NULL until one is, and after the last */
  PetscBool     measuring;  /* between begin and end */
  PetscBool     pending;    /* both are on the stream, and were not asked yet */
  AutoSide      side;
  MatDeviceWork work;
  PetscCount    since_switch; /* products, for -mat_auto_test_switch */
} AutoChoice;

/* Test hook -mat_auto_test_switch: matrices change their storage every so many products; 0: when it pays. */
static PetscInt test_switch = 0;

MatDeviceStorageOps MatDeviceStorageAuto;

static AutoChoice *GetChoice(Mat A)
{
  return (AutoChoice *)MatSeqAIJCUDAGet(A)->device.choice;
}

static PetscCount NumProducts(const AutoChoice *c)
{
  PetscCount n = 0;

  for (int w = 0; w < DEVICE_NUM_WORKS; w++) n += c->products[w];
  return n;
}

/* Whether there is storage of the structure of now, on which products work. */
static PetscBool HasStorage(Mat A)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  return (PetscBool)(device->data != NULL && device->nonzerostate == A->nonzerostate);
}

/* Whether there is something to choose. Small matrices stay in rows unless a format is asked for. */
static PetscBool MayChoose(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  if (d->options.storage_choice != AUTO_CHOOSE_AUTO || d->options.storage_format == HISPARSE_CSR || d->device.csr_use == CSR_BORROWED || d->device.view.num_nonzeros == 0) return PETSC_FALSE;
  return (PetscBool)(d->options.storage_format != HISPARSE_AUTO || HiSparseMayPay(d->device.view.num_rows, d->device.view.num_nonzeros));
}

static PetscErrorCode DestroyEvents(AutoChoice *c)
{
  PetscFunctionBegin;
  if (c->begin != NULL) PetscCallCUDA(cudaEventDestroy(c->begin)); // one that is pending is released when it is done
  if (c->end != NULL) PetscCallCUDA(cudaEventDestroy(c->end));
  c->begin   = NULL;
  c->end     = NULL;
  c->pending = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds of a product. With rows what was measured, or what another kind of product tells; 0: not known yet. */
static double RowsTime(const AutoChoice *c, MatDeviceWork work)
{
  static const double over[DEVICE_NUM_WORKS] = {1, TRANSPOSE_US, EPILOGUE_US};
  const double       *us                     = c->times.us[AUTO_ROWS];

  if (us[work] > 0) return us[work];
  for (int w = 0; w < DEVICE_NUM_WORKS; w++)
    if (us[w] > 0) return us[w] / over[w] * over[work];
  return 0;
}

/* The same with the storage: measured, or predicted. What an epilogue adds is the same on both sides. */
static double StorageTime(const AutoChoice *c, MatDeviceWork work)
{
  const double us = c->times.us[AUTO_STORAGE][work];

  if (us > 0) return us;
  if (work == DEVICE_WORK_TRANSPOSE) return c->prediction.transpose * RowsTime(c, work);
  if (work == DEVICE_WORK_EPILOGUE) return RowsTime(c, work) - (1 - c->prediction.forward) * RowsTime(c, DEVICE_WORK_FORWARD);
  return c->prediction.forward * RowsTime(c, work);
}

/* Microseconds that the storage gains over rows in all products with this pattern. */
static double Gain(const AutoChoice *c)
{
  double gain = 0;

  for (int w = 0; w < DEVICE_NUM_WORKS; w++) gain += (double)c->products[w] * (RowsTime(c, (MatDeviceWork)w) - StorageTime(c, (MatDeviceWork)w));
  return gain;
}

/* What the storage costs before its first product. */
static double Price(const AutoChoice *c)
{
  return c->prediction.convert + (c->products[DEVICE_WORK_TRANSPOSE] > 0 ? c->prediction.list : 0);
}

/* Products that somebody expects in all with this structure; 0: not known. What the option says counts first. */
static PetscCount Told(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return d->options.storage_products > 0 ? d->options.storage_products : d->device.expected[0] + d->device.expected[1];
}

/* Whether more may come than these. */
static PetscBool ToldMinimum(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->options.storage_products == 0 && d->device.hint == HINT_AT_LEAST);
}

/* What is known at the end of a pattern's time, for the next matrix that has it. */
static PetscErrorCode Leave(AutoChoice *c)
{
  AutoPattern *p = c->hashed ? MatAutoCUDAFindPattern(&c->pattern) : NULL;

  PetscFunctionBegin;
  if (p != NULL) p->products = NumProducts(c);
  if (c->convert && c->converted_after < NumProducts(c) && Gain(c) * (double)(NumProducts(c) - c->converted_after) / (double)NumProducts(c) >= Price(c)) c->unpaid = 0;
  else if (c->convert) c->unpaid = PetscMin(c->unpaid + 1, MAX_UNPAID);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another pattern: all begins anew, but for what conversions were worth. */
static PetscErrorCode BeginPattern(Mat A, AutoChoice *c)
{
  int unpaid;

  PetscFunctionBegin;
  PetscCall(Leave(c));
  PetscCall(DestroyEvents(c));
  HiSparseLookDestroy(&c->look);
  unpaid = c->unpaid;
  PetscCall(PetscArrayzero(c, 1));
  c->unpaid       = unpaid;
  c->nonzerostate = A->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The choice of a matrix, about its pattern of now. */
static PetscErrorCode UseChoice(Mat A, AutoChoice **choice)
{
  AutoChoice *c = GetChoice(A);

  PetscFunctionBegin;
  if (c == NULL) {
    PetscCall(PetscNew(&c));
    c->nonzerostate                    = A->nonzerostate;
    MatSeqAIJCUDAGet(A)->device.choice = c;
  }
  if (c->nonzerostate != A->nonzerostate) PetscCall(BeginPattern(A, c));
  *choice = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes the time of the product that was measured, if it has come to an end. */
static PetscErrorCode CollectTime(AutoChoice *c)
{
  double     *us = &c->times.us[c->side][c->work];
  cudaError_t error;
  float       ms;

  PetscFunctionBegin;
  if (!c->pending) PetscFunctionReturn(PETSC_SUCCESS);
  error = cudaEventQuery(c->end);
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError(); // it is none, and is not to be found by the next launch
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(error);
  PetscCallCUDA(cudaEventElapsedTime(&ms, c->begin, c->end));
  c->pending = PETSC_FALSE;
  if (*us == 0 || 1000.0 * (double)ms < *us) *us = PetscMax(1000.0 * (double)ms, 1e-3);
  c->times.samples[c->side][c->work]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products of this kind need not be measured any more, for now. */
static PetscBool Measured(const AutoChoice *c, MatDeviceWork work)
{
  const int samples = c->times.samples[c->side][work];

  return (PetscBool)(samples >= NUM_SAMPLES || (samples > 0 && c->side == AUTO_ROWS && !c->looked && c->times.us[AUTO_ROWS][work] < SHORT_US));
}

static PetscErrorCode MultBegin_Auto(Mat A, MatDeviceWork work, cudaStream_t stream)
{
  AutoChoice *c;

  PetscFunctionBegin;
  if (!MayChoose(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseChoice(A, &c));
  c->measuring = PETSC_FALSE;
  if (c->settled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CollectTime(c));
  c->side = c->pending ? c->side : HasStorage(A) ? AUTO_STORAGE : AUTO_ROWS;
  if (c->pending || c->judged || c->refused || !c->warm[c->side][work] || Measured(c, work)) PetscFunctionReturn(PETSC_SUCCESS); // the first product of a kind loads its kernel
  if (c->side == AUTO_ROWS && c->convert) PetscFunctionReturn(PETSC_SUCCESS);                                                    // this one makes the storage
  if (c->begin == NULL) PetscCallCUDA(cudaEventCreate(&c->begin));
  if (c->end == NULL) PetscCallCUDA(cudaEventCreate(&c->end));
  c->work = work;
  PetscCallCUDA(cudaEventRecord(c->begin, stream));
  c->measuring = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there are so many bytes of device memory: rows serve where there are not. */
static PetscErrorCode HasMemory(size_t bytes, PetscBool *has)
{
  size_t available;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  *has = (PetscBool)(bytes <= available);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of compact rows. */
static size_t RowsBytes(Mat A)
{
  const DCSRView *view = &MatSeqAIJCUDAGet(A)->device.view;

  return (size_t)view->num_nonzeros * (sizeof(PetscScalar) + sizeof(int32_t)) + ((size_t)view->num_rows + 1) * sizeof(int64_t);
}

/* The hash of the pattern of compact rows. */
static PetscErrorCode HashPattern(Mat A, AutoChoice *c, DCSRView csr, cudaStream_t stream)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  PetscFunctionBegin;
  if (c->hashed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArrayzero(&c->pattern, 1));
  c->pattern.num_rows    = csr.num_rows;
  c->pattern.num_columns = csr.num_columns;
  c->pattern.format      = d->options.storage_format;
  PetscCall(DCSRPatternGet(csr, stream, &c->pattern.pattern));
  c->hashed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an earlier matrix with this pattern left, at the first product with compact rows. */
static PetscErrorCode Recall(Mat A, AutoChoice *c, cudaStream_t stream)
{
  const DCSRView     view = MatSeqAIJCUDAGet(A)->device.view;
  const AutoPattern *p;

  PetscFunctionBegin;
  if (c->looked || c->hashed || !MatAutoCUDAMayKnow(view.num_rows, view.num_columns, view.num_nonzeros)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HashPattern(A, c, view, stream));
  p = MatAutoCUDAFindPattern(&c->pattern);
  if (p == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  c->looked     = PETSC_TRUE;
  c->known      = PETSC_TRUE;
  c->refused    = p->refused;
  c->prediction = p->prediction;
  c->times      = p->times;
  c->judged     = p->judged;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps what was measured, for the next matrix with this pattern. */
static PetscErrorCode Remember(AutoChoice *c)
{
  AutoPattern p = c->pattern;

  PetscFunctionBegin;
  if (!c->hashed) PetscFunctionReturn(PETSC_SUCCESS);
  p.refused    = c->refused;
  p.judged     = c->judged;
  p.prediction = c->prediction;
  p.times      = c->times;
  p.products   = NumProducts(c);
  (void)MatAutoCUDAKeepPattern(&p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The prediction by samples, which are taken when there are none. The time of a product with rows is known. */
static PetscErrorCode Predict(Mat A, AutoChoice *c, const HiSparseSample samples[], cudaStream_t stream)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  DCSRFacts             facts;

  PetscFunctionBegin;
  if (d->plans.spmv != NULL) PetscCall(DCSRSpMVPlanGetInfo(d->plans.spmv, NULL, &facts, NULL, NULL));
  PetscCall(MatAutoCUDAPredict(d->device.view, d->plans.spmv != NULL ? &facts : NULL, samples, (HiSparseFormat)d->options.storage_format, RowsTime(c, DEVICE_WORK_FORWARD), stream, &c->prediction));
  c->looked  = PETSC_TRUE;
  c->refused = (PetscBool)(c->prediction.format == HISPARSE_CSR);
  if (c->refused) PetscCall(PetscInfo(A, "Rows stay: no other storage is expected to be faster, by %s\n", c->prediction.by));
  else
    PetscCall(PetscInfo(A, "Products with %s are expected to take %.2f of the time of rows, %.4g us, and transpose products %.2f, by bytes; making it %.4g us, new values %.4g us, by %s\n", HiSparseFormats[c->prediction.format], c->prediction.forward,
                        RowsTime(c, DEVICE_WORK_FORWARD), c->prediction.transpose, c->prediction.convert, c->prediction.update, c->prediction.by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of the sample which comes next. */
static int SampleSize(const AutoChoice *c)
{
  return c->num_samples == 0 ? 1 : c->samples[0].block_size;
}

/* Begins to look at the matrix, without waiting; where nothing can be sent to the host, the look is over at once. */
static PetscErrorCode BeginLook(Mat A, AutoChoice *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(HiSparseLookQueue(MatSeqAIJCUDAGet(A)->device.view, SampleSize(c), stream, &c->look));
  if (c->look == NULL) PetscCall(Predict(A, c, NULL, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends a look, if the device has counted. Dense blocks are worth another one. */
static PetscErrorCode EndLook(Mat A, AutoChoice *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!HiSparseLookIsThere(c->look)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseLookTake(MatSeqAIJCUDAGet(A)->device.view, SampleSize(c), &c->look, &c->samples[c->num_samples]));
  c->num_samples++;
  if (c->num_samples == 1 && c->samples[0].block_size > 0) PetscCall(BeginLook(A, c, stream));
  else PetscCall(Predict(A, c, c->samples, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads to a prediction, a step with each product: what is remembered, a look when products have paid for it, and its end. */
static PetscErrorCode Look(Mat A, AutoChoice *c, cudaStream_t stream)
{
  double us;

  PetscFunctionBegin;
  if (c->look != NULL) {
    PetscCall(EndLook(A, c, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Recall(A, c, stream)); // once: it hashes the pattern
  if (c->looked) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAutoCUDALookTime(&us));
  if (SkiRentalBuysFor(ToldMinimum(A) ? SKI_MINIMUM_LOOK : SKI_STORAGE_LOOK, NumProducts(c), Told(A), ToldMinimum(A), RowsTime(c, DEVICE_WORK_FORWARD) / us)) PetscCall(BeginLook(A, c, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the storage pays: so many products follow, as somebody tells or an earlier matrix had, or it would have paid for itself by now. */
static PetscBool Pays(Mat A, const AutoChoice *c)
{
  const double       n = (double)NumProducts(c), gain = Gain(c) / n, net = gain - (double)c->value_changes / n * c->prediction.update, doubled = Price(c) * (double)(1 << c->unpaid);
  const PetscBool    minimum = ToldMinimum(A);
  const AutoPattern *p       = c->known ? MatAutoCUDAFindPattern(&c->pattern) : NULL;
  const SkiRental    told    = {.seen = NumProducts(c), .expected = Told(A), .minimum = minimum, .gain = net, .price = minimum ? doubled : Price(c)}; // a minimum is no forecast
  SkiRental          rental  = {.seen = NumProducts(c), .gain = net, .price = doubled};

  if (told.expected > told.seen && !c->unstable) return SkiRentalBuys(&told);
  if (SkiRentalBuys(&rental) && gain * (double)c->stable >= c->prediction.update) return PETSC_TRUE;
  if (p == NULL || p->products <= rental.seen) return PETSC_FALSE;
  rental.expected = p->products;
  return SkiRentalBuys(&rental);
}

/* After a product with rows. */
static PetscErrorCode Consider(Mat A, AutoChoice *c, cudaStream_t stream)
{
  const Mat_SeqAIJCUDA *d        = MatSeqAIJCUDAGet(A);
  const PetscCount      n        = NumProducts(c);
  PetscBool             memory   = PETSC_FALSE;
  char                  told[64] = "";

  PetscFunctionBegin;
  if (c->refused || c->convert || d->device.view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS); // fragmented rows become compact first
  if (!c->looked) PetscCall(Look(A, c, stream));
  if (!c->looked || c->refused || !Pays(A, c)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HasMemory(2 * RowsBytes(A), &memory));
  c->refused = (PetscBool)!memory;
  if (c->refused) {
    PetscCall(PetscInfo(A, "Rows stay: there is not enough device memory to make %s beside them\n", HiSparseFormats[c->prediction.format]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->convert         = PETSC_TRUE;
  c->converted_after = n;
  c->updates         = 0;
  if (Told(A) > n) PetscCall(PetscSNPrintf(told, sizeof(told), " of %s%" PetscCount_FMT " that are told", ToldMinimum(A) ? "at least " : "", Told(A)));
  PetscCall(PetscInfo(A, "Storage %s from the next product on, after %" PetscCount_FMT " products%s: these would have gained %.4g us, making it takes %.4g us%s\n", HiSparseFormats[c->prediction.format], n, told, Gain(c), Price(c),
                      c->known ? "; the pattern is known" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the storage to rows, if there is memory for them. */
static PetscErrorCode GoBack(Mat A, AutoChoice *c, const char why[])
{
  PetscBool memory = PETSC_TRUE;

  PetscFunctionBegin;
  if (MatSeqAIJCUDACSRReleased(A)) PetscCall(HasMemory(RowsBytes(A), &memory));
  if (!memory) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSeqAIJCUDAGetCSR(A));
  PetscCall(MatSeqAIJCUDADropStorage(A));
  c->convert = PETSC_FALSE;
  PetscCall(PetscInfo(A, "Back to rows: %s\n", why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Microseconds that the products so far would have gained, by kinds of which both sides were measured; PETSC_FALSE: none was. */
static PetscBool MeasuredGain(const AutoChoice *c, double *gain)
{
  PetscBool any = PETSC_FALSE;

  *gain = 0;
  for (int w = 0; w < DEVICE_NUM_WORKS; w++) {
    if (c->products[w] == 0 || c->times.samples[AUTO_ROWS][w] == 0 || c->times.samples[AUTO_STORAGE][w] < NUM_SAMPLES) continue;
    any = PETSC_TRUE;
    *gain += (double)c->products[w] * (c->times.us[AUTO_ROWS][w] - c->times.us[AUTO_STORAGE][w]);
  }
  return any;
}

/* After a product with the storage: once what was measured says whether the prediction was right, and always whether values change too often. */
static PetscErrorCode Judge(Mat A, AutoChoice *c)
{
  const double later = (double)(NumProducts(c) - c->converted_after) / (double)NumProducts(c);
  double       gain;

  PetscFunctionBegin;
  if (!c->convert) PetscFunctionReturn(PETSC_SUCCESS); // from a copy, or grown in place
  if (!c->judged && MeasuredGain(c, &gain)) {
    c->judged  = PETSC_TRUE;
    c->refused = (PetscBool)(gain <= 0);
    PetscCall(Remember(c));
    PetscCall(DestroyEvents(c));
    if (c->refused) {
      PetscCall(GoBack(A, c, "its products were measured to be faster"));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  if (later * PetscMax(Gain(c), 0) + Price(c) < (double)c->updates * c->prediction.update) { // a loss is for the comparison above, which has more than one time
    PetscCall(GoBack(A, c, "values change too often"));
    c->unpaid        = PetscMin(c->unpaid + 1, MAX_UNPAID);
    c->value_changes = 0;
    PetscCall(PetscArrayzero(c->products, DEVICE_NUM_WORKS));
    c->unstable = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Test hook: the other storage every so many products. */
static PetscErrorCode Switch(Mat A, AutoChoice *c)
{
  PetscFunctionBegin;
  if (++c->since_switch < test_switch) PetscFunctionReturn(PETSC_SUCCESS);
  c->since_switch = 0;
  if (HasStorage(A)) PetscCall(GoBack(A, c, "for a test"));
  else c->convert = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultEnd_Auto(Mat A, MatDeviceWork work, cudaStream_t stream)
{
  AutoChoice      *c;
  PetscObjectState state;

  PetscFunctionBegin;
  if (!MayChoose(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseChoice(A, &c));
  if (c->settled) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->measuring) {
    PetscCallCUDA(cudaEventRecord(c->end, stream));
    c->measuring = PETSC_FALSE;
    c->pending   = PETSC_TRUE;
  }
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (NumProducts(c) > 0 && state != c->state) {
    c->value_changes++;
    c->stable = 0;
  }
  c->state = state;
  c->stable++;
  c->products[work]++;
  c->warm[HasStorage(A) ? AUTO_STORAGE : AUTO_ROWS][work] = PETSC_TRUE;
  if (test_switch > 0) PetscCall(Switch(A, c));
  else if (HasStorage(A)) PetscCall(Judge(A, c));
  else PetscCall(Consider(A, c, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By what is told, before the products come: looks are waited for, one at the matrix and perhaps another one at its blocks. */
static PetscErrorCode Decide_Auto(Mat A, PetscBool settle, cudaStream_t stream)
{
  AutoChoice *c;

  PetscFunctionBegin;
  if (!settle && !MayChoose(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(UseChoice(A, &c));
  if (c->settled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CollectTime(c));
  for (int k = 0; k < 3 && MayChoose(A) && !HasStorage(A) && NumProducts(c) > 0 && Told(A) > NumProducts(c); k++) {
    PetscCall(Consider(A, c, stream));
    if (c->look == NULL) break;
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  if (!settle) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DestroyEvents(c));
  HiSparseLookDestroy(&c->look);
  c->settled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wants_Auto(Mat A, PetscBool *wants)
{
  const AutoChoice *c      = GetChoice(A);
  const AutoChoose  choose = (AutoChoose)MatSeqAIJCUDAGet(A)->options.storage_choice;

  PetscFunctionBegin;
  *wants = (PetscBool)(choose == AUTO_CHOOSE_HISPARSE || (choose == AUTO_CHOOSE_AUTO && (HasStorage(A) || (c != NULL && c->convert && c->nonzerostate == A->nonzerostate))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The format is that of the prediction. The pattern is hashed while its rows are there. */
static PetscErrorCode Create_Auto(Mat A, DCSRView csr, cudaStream_t stream, void **data)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  AutoChoice     *c      = GetChoice(A);
  const PetscInt  format = d->options.storage_format;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (c != NULL && c->convert && c->looked) {
    PetscCall(HashPattern(A, c, csr, stream));
    if (format == HISPARSE_AUTO) d->options.storage_format = (PetscInt)c->prediction.format;
  }
  ierr                      = (*MatDeviceStorageHiSparse.create)(A, csr, stream, data);
  d->options.storage_format = format;
  PetscCall(ierr);
  if (*data == NULL && c != NULL) {
    c->refused = PETSC_TRUE;
    c->convert = PETSC_FALSE;
  }
  if (c != NULL && c->looked) PetscCall(Remember(c)); // the next matrix with this pattern may come before both sides were measured
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_Auto(Mat A, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall((*MatDeviceStorageHiSparse.setvalues)(A, csr, stream));
  if (GetChoice(A) != NULL) GetChoice(A)->updates++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another choice than that of before: the values go to rows, and the next products choose again. */
static PetscErrorCode SetFromOptions_Auto(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_SeqAIJCUDA *d      = MatSeqAIJCUDAGet(A);
  PetscEnum       choose = (PetscEnum)d->options.storage_choice;
  const PetscInt  format = d->options.storage_format;

  PetscFunctionBegin;
  PetscCall((*MatDeviceStorageHiSparse.setfromoptions)(A, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Choice of the storage (autocuda) options");
  PetscCall(PetscOptionsEnum("-mat_auto_choose", "Rows, HiSparse, or what pays", "MATAUTOCUDA", AutoChooses, choose, &choose, NULL));
  PetscCall(PetscOptionsBoundedInt("-mat_auto_products", "Products with vectors that follow each change of the structure; 0: not known", "MATAUTOCUDA", d->options.storage_products, &d->options.storage_products, NULL, 0));
  PetscOptionsHeadEnd();
  PetscCall(PetscOptionsGetInt(((PetscObject)A)->options, NULL, "-mat_auto_test_switch", &test_switch, NULL));
  if ((PetscInt)choose == d->options.storage_choice && format == d->options.storage_format) PetscFunctionReturn(PETSC_SUCCESS);
  if (MatSeqAIJCUDAHasDevice(A) && d->device.csr_use != CSR_BORROWED) {
    PetscCall(MatSeqAIJCUDAGetCSR(A));
    PetscCall(MatSeqAIJCUDADropStorage(A));
  }
  if (GetChoice(A) != NULL) PetscCall(BeginPattern(A, GetChoice(A)));
  d->options.storage_choice = (PetscInt)choose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewTimes(const AutoChoice *c, PetscViewer viewer)
{
  static const char *const works[DEVICE_NUM_WORKS] = {"A x", "A^T x", "smoothing"};
  static const char *const sides[AUTO_NUM_SIDES]   = {"rows", "storage"};

  PetscFunctionBegin;
  for (int s = 0; s < AUTO_NUM_SIDES; s++)
    for (int w = 0; w < DEVICE_NUM_WORKS; w++)
      if (c->times.us[s][w] > 0) PetscCall(PetscViewerASCIIPrintf(viewer, ", %s with %s %.4g us", works[w], sides[s], c->times.us[s][w]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was chosen, when, and why. */
static PetscErrorCode ViewChoice_Auto(Mat A, PetscViewer viewer)
{
  const AutoChoice *c      = GetChoice(A);
  const AutoChoose  choose = (AutoChoose)MatSeqAIJCUDAGet(A)->options.storage_choice;
  const char       *what   = HasStorage(A) ? "storage beside rows" : "rows";
  const PetscBool   use    = (PetscBool)(c != NULL && c->nonzerostate == A->nonzerostate);

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s: %s", MATAUTOCUDA, what));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); // in the middle of a line
  if (choose != AUTO_CHOOSE_AUTO) PetscCall(PetscViewerASCIIPrintf(viewer, ", as -mat_auto_choose %s says\n", AutoChooses[choose]));
  else if (!use || !MayChoose(A)) PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", MayChoose(A) ? ", no products yet" : ", which small matrices keep"));
  else {
    PetscCall(PetscViewerASCIIPrintf(viewer, ", %" PetscCount_FMT " products", NumProducts(c)));
    if (c->looked && c->prediction.format == HISPARSE_CSR) PetscCall(PetscViewerASCIIPrintf(viewer, ", no other storage is expected to be faster"));
    else if (c->looked)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", %s by %s: %.2f of the time of rows, transposed %.2f, making it %.4g us", HiSparseFormats[c->prediction.format], c->prediction.by, c->prediction.forward, c->prediction.transpose, Price(c)));
    if (c->convert) PetscCall(PetscViewerASCIIPrintf(viewer, ", since product %" PetscCount_FMT, c->converted_after + 1));
    if (c->looked && c->refused && c->prediction.format != HISPARSE_CSR) PetscCall(PetscViewerASCIIPrintf(viewer, ", measured or found not to pay"));
    if (c->known) PetscCall(PetscViewerASCIIPrintf(viewer, ", the pattern was known"));
    PetscCall(ViewTimes(c, viewer));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  }
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Forget_Auto(Mat A)
{
  Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);
  AutoChoice     *c = GetChoice(A);

  PetscFunctionBegin;
  if (c == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Leave(c));
  PetscCall(DestroyEvents(c));
  HiSparseLookDestroy(&c->look);
  PetscCall(PetscFree(d->device.choice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJAutoCUDAExpect - Notes that products follow, n with A and n_transpose with its transpose, beside those that there were with this structure; with minimum more may follow.

  A is a sequential matrix of ours, of any type.
*/
void MatSeqAIJAutoCUDAExpect(Mat A, PetscCount n, PetscCount n_transpose, PetscBool minimum)
{
  MatDeviceCopy    *device = &MatSeqAIJCUDAGet(A)->device;
  const AutoChoice *c      = device->storage == &MatDeviceStorageAuto ? GetChoice(A) : NULL;
  PetscCount        seen = 0, seen_transpose = 0;

  if (c != NULL && c->nonzerostate == A->nonzerostate && (n > 0 || n_transpose > 0)) {
    seen_transpose = c->products[DEVICE_WORK_TRANSPOSE];
    seen           = NumProducts(c) - seen_transpose;
  }
  device->expected[0] = seen + n;
  device->expected[1] = seen_transpose + n_transpose;
  device->hint        = n == 0 && n_transpose == 0 ? HINT_NONE : minimum ? HINT_AT_LEAST : HINT_EXACT;
}

const MatDeviceChooserOps MatDeviceChooserAuto = {
  .wants   = Wants_Auto,
  .count   = MultEnd_Auto,
  .decide  = Decide_Auto,
  .view    = ViewChoice_Auto,
  .destroy = Forget_Auto,
};

/* MatDeviceStorageAutoInitialize - Fills the table: that of HiSparse, with the decision in front. Part of the registration of the types. */
void MatDeviceStorageAutoInitialize(void)
{
  MatDeviceStorageAuto                = MatDeviceStorageHiSparse;
  MatDeviceStorageAuto.name           = MATAUTOCUDA;
  MatDeviceStorageAuto.setfromoptions = SetFromOptions_Auto;
  MatDeviceStorageAuto.create         = Create_Auto;
  MatDeviceStorageAuto.setvalues      = SetValues_Auto;
  test_switch                         = 0;
}
