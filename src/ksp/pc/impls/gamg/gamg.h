#pragma once
/*
  Layer 4: PCGAMG's setup on the device. What its files share.

  PCSetUp_GAMG() of PETSc calls operations for each level: default data, graph, coarsening, tentative prolongator, smoothing. Ours stand around PETSc's. A level that is
  supported is done on the device, with the aggregates that PETSc makes; others go to PETSc's operation. docs/gamg.md says which.
*/
#include "../../../../petsc/ksp.h"
#include "../../../../mat/impls/aijcuda/core/core.h"

/* The aggregates of a level, on the device. A vertex is a node of the graph: as many rows of the matrix as its blocks have. Numbers of vertices are global. */
typedef struct {
  PetscInt num_vertices; /* of this process */
  PetscInt begin;        /* the first of them */
  PetscInt num_roots;    /* of this process: its aggregates */
  int32_t *parent;       /* [num_vertices] device, owned: the root of the aggregate that has the vertex; a root is its own; -1: in none. NULL without vertices */
  int32_t
    *first; /* [num_vertices] device, owned: the root that took the vertex before roots next to it could, but never parent when that is on another process and next to the vertex; NULL with one hop,
              where nothing is taken away again */
  PetscInt  num_remote; /* own vertices whose root is on another process */
  PetscBool by_number;  /* members in the order of their numbers (MATCOARSENMISK); otherwise root, own, others', stolen (MATCOARSENMIS, squared graph) */
} GAMGAggregates;

/* How PETSc coarsens a level. */
typedef struct {
  PetscInt  hops;      /* 2: MATCOARSENMIS on the squared graph, with what PCGAMGAGG does to its aggregates afterwards; 1: MATCOARSENMIS or MATCOARSENMISK on the graph */
  PetscBool by_number; /* members are in the order of their numbers: MATCOARSENMISK */
  PetscBool by_degree; /* vertices with few neighbors come first; otherwise the order is random */
} GAMGCoarsening;

/* What the tests' library looks at: levels of the device beside what PETSc's own code makes of them. The last one frees what the others keep in GAMGContext.check. */
typedef struct {
  PetscErrorCode (*graph)(PC, Mat A, Mat G);
  PetscErrorCode (*aggregates)(PC, const GAMGAggregates *);
  PetscErrorCode (*keepdata)(PC, Mat A); /* the near null space, before the prolongator */
  PetscErrorCode (*prolongator)(PC, Mat A, Mat P);
  PetscErrorCode (*smoothed)(PC, Mat A, PetscReal emax, PetscReal filter, Mat P0, Mat P); /* what was smoothed at once */
  PetscErrorCode (*keepprolongator)(Mat P, Mat *copy);                                    /* before the filter */
  PetscErrorCode (*filter)(PC, Mat P, Mat *copy);
  PetscErrorCode (*reset)(void **check);
} GAMGChecks;
PETSC_INTERN const GAMGChecks *GAMGTestChecks; /* NULL without the tests' library */

/* applyrichardson of struct _PCOps */
typedef PetscErrorCode PCApplyRichardsonFn(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *);

/* -pc_gamg_level_values: what cycles read of the values of level operators and prolongators. */
typedef enum {
  GAMG_VALUES_DOUBLE, /* the values themselves, PetscScalar */
  GAMG_VALUES_SINGLE, /* rounded to single precision */
  GAMG_VALUES_HALF,   /* the same, and to FP16 on the finest level, where it has masked diagonals */
  GAMG_VALUES_AUTO    /* the same in solves that guards look after, until these say that they do not serve */
} GAMGLevelValues;
PETSC_INTERN const char *const GAMGLevelValuesNames[]; /* for PetscOptionsEnum() */

/* -pc_gamg_coarse_cycle: what does the part of a cycle below the finest level. */
typedef enum {
  GAMG_COARSE_PETSC,    /* PETSc's code */
  GAMG_COARSE_LAUNCHES, /* the same launches without PETSc's code between them */
  GAMG_COARSE_GRAPH     /* these as one CUDA graph */
} GAMGCoarseCycle;
PETSC_INTERN const char *const GAMGCoarseCycles[]; /* for PetscOptionsEnum() */
typedef struct _n_GAMGCoarse  *GAMGCoarse;         /* what coarsecycle.c keeps with a PC */

/* -pc_gamg_strength: which couplings count for a threshold. */
typedef enum {
  GAMG_STRENGTH_ABSOLUTE, /* by their absolute values */
  GAMG_STRENGTH_SIGNED    /* the same, but those with the sign of the diagonal do not */
} GAMGStrength;
PETSC_INTERN const char *const GAMGStrengths[]; /* for PetscOptionsEnum() */

/* -pc_gamg_preset */
typedef enum {
  GAMG_PRESET_NONE,
  GAMG_PRESET_ROBUST
} GAMGPreset;

/* -pc_gamg_restriction: what residuals are restricted with. */
typedef enum {
  GAMG_RESTRICTION_TRANSPOSE, /* the transpose of the prolongator */
  GAMG_RESTRICTION_TENTATIVE  /* that of the tentative prolongator */
} GAMGRestriction;
PETSC_INTERN const char *const GAMGRestrictions[]; /* for PetscOptionsEnum() */

/* What presets and tuning choose. */
typedef struct {
  PetscReal       threshold; /* of the finest level; of coarser ones it is scaled as the user says */
  PetscReal       filter;    /* of prolongators */
  PetscInt        aggressive, nsmooths;
  GAMGStrength    strength;
  GAMGRestriction restriction;
  PetscInt        poly; /* degree of KSPGMRESPOLY as smoother; 0: PETSc's smoother */
} GAMGChoice;

/* What a PC has of these. */
typedef struct {
  PetscReal       threshold[PETSC_MG_MAXLEVELS];
  PetscReal       filter;     /* of prolongators */
  PetscInt        aggressive; /* levels that are coarsened aggressively */
  PetscInt        nsmooths;
  GAMGStrength    strength;
  GAMGRestriction restriction;
  PetscInt        poly; /* degree of KSPGMRESPOLY as smoother, where no option says another one; 0: PETSc's smoother */
} GAMGSettings;

/* Which of these the user gave, by options or setters. */
typedef struct {
  PetscBool threshold, filter, aggressive, nsmooths, strength, restriction, level_values;
} GAMGGiven;

/* -pc_gamg_tune_cost: what trials are judged by. */
typedef enum {
  GAMG_COST_TIME, /* times of the slowest process */
  GAMG_COST_MODEL /* a model of these, which is the same in every run */
} GAMGCost;

/* Tuning, and what it found for the pattern of now. */
typedef struct {
  PetscInt   num_solves; /* -pc_gamg_tune: so many are expected with a pattern; 0: nothing is tuned */
  GAMGCost   cost;       /* -pc_gamg_tune_cost */
  PetscBool  trial;      /* this PC is one of a search */
  PetscBool  creates;    /* a level is being made, or could not be */
  PetscBool  limited;    /* this trial ended at a limit */
  Mat        graph;      /* borrowed: PETSc's of the level under way, when that is not supported; read in trials alone */
  PetscBool  done;       /* there was a search for the pattern of now, */
  PetscBool  found;      /* and something in it converged; what follows is of that */
  PetscBool  own;        /* the settings that the PC has are the best */
  GAMGChoice choice;     /* unless own */
  PetscReal  solve;      /* seconds of a solve with it */
  PetscBool  cycle_done; /* the degree of smoothers and the precision of cycles have been looked for: */
  PetscInt   degree;     /* of smoothers; 0: it is not ours to choose */
  PetscInt   own_degree; /* the one of before */
  PetscBool  single;     /* cycles read single precision because that was found */
  PetscReal  digits;     /* an iteration, of the first solve after the search that converged; 0: there was none */
  PetscInt   num_tried;  /* hierarchies */
  PetscReal  seconds;    /* of the search */
  char      *options;    /* the settings as options to type, owned; NULL unless found */
  PetscInt   slow;       /* last solves in a row that converged much worse than that */
  PetscCount solves;     /* since the search */
  PetscCount wait;       /* so many have to be there before the next search of this pattern */
} GAMGTuning;

/* The matrices of a setup under way, which PETSc loses when it fails. */
typedef struct {
  PetscInt num_levels;                       /* below the finest; 0 outside of a setup */
  Mat      operators[PETSC_MG_MAXLEVELS];    /* [num_levels] PETSc's, destroyed when the setup fails; the last one is NULL when it could not be made */
  Mat      prolongators[PETSC_MG_MAXLEVELS]; /* [num_levels] likewise */
} GAMGUnderWay;

typedef struct {
  GAMGRestriction kind;      /* -pc_gamg_restriction */
  Mat             tentative; /* owned: tentative prolongator of the level under way, with the columns of the prolongator, when residuals are restricted with its transpose; otherwise NULL */
  Mat             levels[PETSC_MG_MAXLEVELS]; /* owned: the same of all levels of the last setup that made any, the finest first; NULL: there is none */
} GAMGRestricting;

#define GAMG_SLOW 0.7 /* of the digits an iteration that another solve had: this one has converged much worse */

/* What looks after cycles in single precision (guards.c). */
typedef struct {
  PetscBool   known;      /* the last solve was by a method that guards look after, and the next one may be: setups make rounded values */
  PetscBool   solving;    /* such a solve is under way: cycles read them */
  PetscBool   compare;    /* the next cycle has to be finite, and near to the one in full precision */
  PetscInt64  states[4];  /* object states and ids of the matrices when values were rounded, or it was found out that they are not to be; the first -1: not since the setup */
  PetscInt    num_cycles; /* of the solve under way */
  PetscInt    num_ended;  /* solves in a row that took all their iterations */
  PetscInt    num_failed; /* hierarchies whose cycles read full precision in the end */
  PetscReal   solved;     /* unknowns a process of all solves so far */
  PetscInt    interval;   /* in cycles, of looks at residuals */
  PetscReal   norm;       /* of the residual that was looked at last */
  PetscReal   digits;     /* an iteration, of the best solve with these interpolations and the tolerances of the last one; 0: there was none */
  PetscReal   rtol;       /* these */
  PetscReal   abstol;
  PetscBool   off;         /* a search is under way, whose cycles and solves tell nothing, and read full values */
  const char *reason;      /* static: why cycles read full precision again; NULL: they do not */
  const char *half_reason; /* the same for single precision in place of FP16 */
} GAMGGuards;

/* What is kept with a PC: a container composed with it. */
typedef struct {
  struct _PCGAMGOps    parent;              /* PETSc's operations */
  PetscBool            device_setup;        /* -pc_gamg_device_setup */
  const GAMGChecks    *checks;              /* with -pc_gamg_device_check of the tests' library; otherwise NULL */
  GAMGLevelValues      level_values;        /* -pc_gamg_level_values */
  PetscBool            join_levels;         /* -pc_gamg_join_levels */
  PetscReal            join_latency;        /* -pc_gamg_join_latency, in microseconds; negative: the rule has its own */
  PetscBool            process_limit_given; /* -pc_gamg_process_eq_limit or PCGAMGSetProcEqLim() */
  GAMGStrength         strength;            /* -pc_gamg_strength */
  GAMGPreset           preset;              /* -pc_gamg_preset */
  PetscBool            preset_holds;        /* the PC has the settings of the preset now */
  GAMGSettings         own;                 /* those without it, while it holds */
  GAMGGiven            given;
  GAMGTuning           tune;
  PetscBool            unsymmetric;    /* the matrix, as far as presets and tuning have asked */
  PetscInt             poly;           /* of the settings */
  PetscBool            poly_set;       /* smoothers of the last hierarchy have the degree of one */
  PetscInt             max_levels;     /* PCGAMGSetNlevels(); PETSc's PC_GAMG has the number of levels of the last setup in its place */
  PetscReal            max_complexity; /* -pc_gamg_max_complexity; 0: none */
  GAMGUnderWay         under_way;
  GAMGRestricting      restricting;     /* what residuals are restricted with */
  GAMGCoarseCycle      coarse_cycle;    /* -pc_gamg_coarse_cycle */
  GAMGCoarse           coarse;          /* of the last setup; NULL: cycles are PETSc's */
  PetscBool            single;          /* there are values in single precision, which cycles read; with auto in solves that guards look after */
  PetscBool            half;            /* and those of the finest level in FP16 */
  GAMGGuards           guards;          /* of -pc_gamg_level_values auto; otherwise zero */
  PCApplyRichardsonFn *applyrichardson; /* PETSc's, while single has put it away; otherwise NULL */
  PetscBool            supported;       /* whether the level under way is; the same on all processes, decided with its graph */
  PetscBool            data_on_device;  /* whether GAMGCreateDefaultData() makes the near null space of the finest level, not PETSc */
  GAMGCoarsening       coarsening;      /* of the level under way */
  void                *check;           /* what they keep of the level under way; NULL: nothing */
  GAMGAggregates       aggregates;      /* of the level under way, from its coarsening to its prolongator */
  PetscBool            data_is_coarse;  /* the near null space is that of a coarser level, which this setup has made */
  PetscErrorCode       data_error;      /* what making the near null space on this process ended with; raised where all processes meet */
  PetscBool            constant;        /* the near null space of the finest level is the vector of ones of single unknowns, which nobody stores */
  PetscReal           *data; /* device, owned unless data_is_kept: near null space of the level under way as in PC_GAMG, [data_cell_cols][num_data_rows]; NULL: constant, or in PC_GAMG, on the host */
  PetscInt             num_data_rows;   /* rows of the matrix that data is for */
  PetscBool            data_is_kept;    /* data belongs to the MatNullSpace */
  PetscCount           cycles;          /* since the last setup */
  PetscCount           expected_cycles; /* after this one: those of the last setup that had any; 0: none had */
  PetscCount           cycles_before;   /* the solve under way */
} GAMGContext;

/* Log events of the stages, registered in src/init/init.c. gamg.c logs GAMGCoarsen() as the second and GAMGCreateProlongator() as the fourth; the others are parts of these. */
PETSC_INTERN PetscLogEvent PETSCSPARSECUDA_GAMGPermutation, PETSCSPARSECUDA_GAMGIndependentSet, PETSCSPARSECUDA_GAMGAggregates, PETSCSPARSECUDA_GAMGTentative, PETSCSPARSECUDA_GAMGCoarseCycle;

/* gamg.c */
PETSC_INTERN PetscErrorCode PCGAMGRegister_AIJCUDA(void);
PETSC_INTERN PetscErrorCode PCGAMGPredictFromOptions_AIJCUDA(void);
PETSC_INTERN PetscErrorCode GAMGPredictMemory(PetscInt, PetscCount, PetscInt, PetscInt, PetscBool, PetscCount, PetscLogDouble *, PetscLogDouble *);
PETSC_INTERN PetscErrorCode GAMGGetContext(PC, GAMGContext **);

/* cycle.c */
PETSC_INTERN PetscErrorCode GAMGPatchCycle(PC);
PETSC_INTERN PetscErrorCode GAMGForEachMatrix(PC, PetscErrorCode (*)(Mat));
PETSC_INTERN PetscErrorCode GAMGHasNullSpace(PC, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGHasReserve(PetscBool *);
PETSC_INTERN PetscErrorCode GAMGReleaseSingle(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGSetUpCycle(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGLeaveHalf(PC, GAMGContext *, const char[]);

/* guards.c */
typedef PetscErrorCode      PCApplyFn(PC, Vec, Vec); /* apply of struct _PCOps */
PETSC_INTERN PetscErrorCode GAMGGuardsBegin(GAMGContext *, PetscBool);
PETSC_INTERN PetscErrorCode GAMGGuardCycle(PC, GAMGContext *, PCApplyFn *, PCFailedReason, Vec, Vec, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGGuardsPreSolve(PC, GAMGContext *, KSP);
PETSC_INTERN PetscErrorCode GAMGGuardsPostSolve(PC, GAMGContext *, KSP);

/* products.c */
PETSC_INTERN PetscErrorCode GAMGHintProducts(PC, GAMGContext *);

/* coarsecycle.c */
PETSC_INTERN PetscErrorCode GAMGCoarseSetUp(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGCoarseApply(PC, GAMGContext *, Vec, Vec, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGCoarseDestroy(GAMGCoarse *);

/* probe.c */
PETSC_INTERN PetscErrorCode GAMGStructFits(PetscBool *);
PETSC_INTERN PetscErrorCode GAMGRandomFits(PetscBool *);

/* support.c */
PETSC_INTERN PetscErrorCode GAMGSupportsData(PC, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGSupports(PC, Mat, GAMGContext *, Mat *);
PETSC_INTERN PetscErrorCode GAMGSwitchCoarsening(PC);

/* memory.c */
PETSC_INTERN PetscErrorCode GAMGGetMemoryNeeded(PC, Mat, PetscInt, PetscReal *);

/* preset.c */
PETSC_INTERN void           GAMGGetSettings(PC, const GAMGContext *, GAMGSettings *);
PETSC_INTERN void           GAMGSetSettings(PC, GAMGContext *, const GAMGSettings *);
PETSC_INTERN void           GAMGReplaceSettings(PC, const GAMGContext *, const GAMGChoice *, GAMGSettings *); /* where the user gave none */
PETSC_INTERN PetscErrorCode GAMGPresetPut(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGPresetLook(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGPresetBeginSmoothers(PC, GAMGContext *, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGPresetEndSmoothers(PC, PetscBool);
PETSC_INTERN PetscErrorCode GAMGSmootherIsGiven(PC, const char[], PetscBool *);
PETSC_INTERN PetscErrorCode GAMGPresetTakeBack(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGPresetSetFromOptions(PC, GAMGContext *, PetscOptionItems);
PETSC_INTERN PetscErrorCode GAMGPresetView(const GAMGContext *, PetscViewer);
PETSC_INTERN PetscErrorCode GAMGPresetTell(PC, const GAMGContext *, PetscCount); /* cycles of a solve */
PETSC_INTERN PetscErrorCode GAMGPatchSetters(PC);

/* tune.c */
PETSC_INTERN PetscErrorCode GAMGTuneSetFromOptions(PC, GAMGContext *, PetscOptionItems);
PETSC_INTERN PetscErrorCode GAMGTuneIsDue(PC, const GAMGContext *, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGTune(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGTuneCycle(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGTuneForget(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGTuneLimit(PC, Mat, Mat);
PETSC_INTERN PetscErrorCode GAMGTuneNoteSolve(GAMGContext *, KSP);
PETSC_INTERN PetscBool      GAMGTuneGetDigits(KSP, PetscReal *);
PETSC_INTERN PetscErrorCode GAMGTuneView(const GAMGContext *, PetscViewer);
PETSC_INTERN PetscErrorCode GAMGTuneDestroy(GAMGTuning *);

/* limit.c */
PETSC_INTERN PetscErrorCode GAMGCreateLevelInLimits(PC, Mat, PetscInt, Mat *, Mat *, PetscMPIInt *, IS *, PetscBool);
PETSC_INTERN PetscErrorCode GAMGUnderWayReset(GAMGUnderWay *);

/* check.c */

static inline PC_GAMG *GAMGGet(PC pc)
{
  return (PC_GAMG *)((PC_MG *)pc->data)->innerctx;
}

static inline GAMGAggOptions *GAMGGetAggOptions(PC pc)
{
  return (GAMGAggOptions *)GAMGGet(pc)->subctx;
}

/* Whether all rows and columns of A are on the first of several processes, which then sets up its level alone; the same on all of them. */
static inline PetscBool GAMGIsOnFirst(Mat A)
{
  return (PetscBool)(A->rmap->size > 1 && A->rmap->range[1] == A->rmap->N && A->cmap->range[1] == A->cmap->N);
}

/* data.c */
PETSC_INTERN PetscErrorCode GAMGCreateDefaultData(PC, Mat);
PETSC_INTERN PetscErrorCode GAMGFreeData(GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGCoarseDataToHost(PC, MPI_Comm);
PETSC_INTERN PetscErrorCode GAMGDataToHost(PC, Mat); /* before a level goes to PETSc's code */

/* graph.c */
PETSC_INTERN PetscErrorCode GAMGCreateGraph(PC, Mat, Mat *, PetscBool *);
PETSC_INTERN PetscErrorCode GAMGCreateGraphByPETSc(PC, Mat, Mat *);

/* coarsen.c */
PETSC_INTERN PetscErrorCode GAMGCoarsen(Mat, GAMGCoarsening, GAMGAggregates *); /* of a graph; collective */
PETSC_INTERN PetscErrorCode GAMGAggregatesDestroy(GAMGAggregates *);

/* prolongator.c */
PETSC_INTERN PetscErrorCode GAMGCreateProlongator(PC, Mat, GAMGAggregates *, Mat *); /* matrix of the level, aggregates; NULL: the level cannot be coarsened */

/* join.c */
PETSC_INTERN PetscErrorCode GAMGCreateLevel(PC, Mat, PetscInt, Mat *, Mat *, PetscMPIInt *, IS *, PetscBool);

/* restriction.c */
PETSC_INTERN PetscErrorCode GAMGRestrictionBegin(PC, GAMGContext *, PetscBool);
PETSC_INTERN PetscErrorCode GAMGRestrictionKeep(PC, GAMGContext *, Mat);
PETSC_INTERN PetscErrorCode GAMGRestrictionSet(PC, GAMGContext *, Mat);
PETSC_INTERN PetscErrorCode GAMGGalerkin(PC, GAMGContext *, Mat, Mat, Mat *);
PETSC_INTERN PetscErrorCode GAMGRestrictionCreateLevel(PC, GAMGContext *, Mat, PetscInt, Mat *, Mat *, PetscMPIInt *, IS *, PetscBool);
PETSC_INTERN PetscErrorCode GAMGRestrictionEnd(PC, GAMGContext *);
PETSC_INTERN PetscErrorCode GAMGRestrictionReset(GAMGContext *);

/* smooth.c */
PETSC_INTERN PetscErrorCode GAMGSmoothProlongator(PC, Mat, Mat *);
PETSC_INTERN PetscErrorCode GAMGSmoothBySteps(PC, Mat, PetscInt, PetscReal, Mat *);
PETSC_INTERN PetscErrorCode GAMGSmoothAtOnce(PC, Mat, PetscReal, PetscReal, Mat *, PetscBool *);

/* filter.c */
PETSC_INTERN PetscErrorCode GAMGPackCoarse(PC, PetscInt, cudaStream_t, PetscReal **);
PETSC_INTERN PetscBool      GAMGIsCoarsest(PC, Mat);
PETSC_INTERN PetscErrorCode GAMGFilterProlongator(PC, PetscReal, Mat *);
PETSC_INTERN PetscErrorCode GAMGFilterByPETSc(PC, Mat *);
