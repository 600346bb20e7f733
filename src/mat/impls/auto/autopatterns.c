/* Patterns that were multiplied with before, so that the next matrix with one of them starts right. The table is bounded, and is empty after PetscFinalize(). */
#include "auto.h"

#define MAX_PATTERNS 64

static AutoPattern patterns[MAX_PATTERNS];
static int         num_patterns = 0, oldest = 0; // the oldest is the next to go

/* MatAutoCUDAMayKnow - Whether there is a pattern of these sizes, so that a hash is worth while. */
PetscBool MatAutoCUDAMayKnow(PetscInt num_rows, PetscInt num_columns, PetscCount num_nonzeros)
{
  for (int k = 0; k < num_patterns; k++)
    if (patterns[k].num_rows == num_rows && patterns[k].num_columns == num_columns && patterns[k].pattern.num_nonzeros == num_nonzeros) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* MatAutoCUDAFindPattern - What is known of a pattern, by its sizes, its hash and the options of the matrix; NULL: nothing. Is valid until the next one is kept. */
AutoPattern *MatAutoCUDAFindPattern(const AutoPattern *p)
{
  for (int k = 0; k < num_patterns; k++) {
    AutoPattern *q = &patterns[k];

    if (q->num_rows == p->num_rows && q->num_columns == p->num_columns && q->format == p->format && DCSRPatternEqual(&q->pattern, &p->pattern)) return q;
  }
  return NULL;
}

/* MatAutoCUDAKeepPattern - Keeps what is known of a pattern, in place of what was; the oldest pattern goes when there is no room. */
AutoPattern *MatAutoCUDAKeepPattern(const AutoPattern *p)
{
  AutoPattern *q = MatAutoCUDAFindPattern(p);

  if (q == NULL && num_patterns < MAX_PATTERNS) q = &patterns[num_patterns++];
  else if (q == NULL) {
    q      = &patterns[oldest];
    oldest = (oldest + 1) % MAX_PATTERNS;
  }
  *q = *p;
  return q;
}

/* MatAutoCUDAForgetPatterns - Part of PetscFinalize(): times of one run say nothing of the next one's GPU. */
void MatAutoCUDAForgetPatterns(void)
{
  num_patterns = oldest = 0;
}
