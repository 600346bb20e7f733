#pragma once
/*
  QR factorization by Householder reflectors, as LAPACK's unblocked one: R with its signs, and Q of as many columns as the matrix has. A team of threads works on a column-major
  matrix; thread t owns the rows r with r mod size == t, so that it waits for others only where all need one element.

    struct Team {
      int       Size() const;           a power of two
      int       Rank() const;
      void      Sync() const;           orders memory too
      PetscReal Sum(PetscReal) const;   the same bits in all threads, and every time
      PetscReal Max(PetscReal) const;
    };

  Reference: Golub, Van Loan, Matrix Computations, section 5.2; LAPACK Users' Guide (geqr2, larfg, org2r).
*/
#include <petscsys.h>

namespace
{

/* The first row of this thread from begin on. */
template <typename Index, typename Team>
__device__ inline Index FirstOwnRow(const Team &team, Index begin)
{
  return begin + (Index)((team.Rank() - (int)(begin & (Index)(team.Size() - 1))) & (team.Size() - 1));
}

/* The norm of x[begin, end). Squares that underflow or overflow are summed again, scaled. */
template <typename Index, typename Team>
__device__ inline PetscReal HouseholderNorm(const Team &team, const PetscReal *x, Index begin, Index end)
{
  const PetscReal smallest = PETSC_REAL_MIN / (PETSC_MACHINE_EPSILON * PETSC_MACHINE_EPSILON), largest = PETSC_MAX_REAL * PETSC_MACHINE_EPSILON;
  PetscReal       sum = 0, scale = 0;

  for (Index r = FirstOwnRow(team, begin); r < end; r += team.Size()) sum += x[r] * x[r];
  sum = team.Sum(sum);
  if ((sum >= smallest && sum <= largest) || sum != sum) return PetscSqrtReal(sum);
  for (Index r = FirstOwnRow(team, begin); r < end; r += team.Size()) scale = PetscMax(scale, x[r] < 0 ? -x[r] : x[r]);
  scale = team.Max(scale);
  if (scale == 0) return 0;
  sum = 0;
  for (Index r = FirstOwnRow(team, begin); r < end; r += team.Size()) sum += (x[r] / scale) * (x[r] / scale);
  return scale * PetscSqrtReal(team.Sum(sum));
}

/* sqrt(x^2 + y^2) */
__device__ inline PetscReal HouseholderHypot(PetscReal x, PetscReal y)
{
  const PetscReal a = x < 0 ? -x : x, b = y < 0 ? -y : y, w = PetscMax(a, b), z = PetscMin(a, b);

  return z == 0 ? w : w * PetscSqrtReal(1 + (z / w) * (z / w));
}

/* x[begin - 1, end) -= tau v (v^T x), where v is 1 in row begin - 1 and has the same rows as x below it. */
template <typename Index, typename Team>
__device__ inline void HouseholderApply(const Team &team, const PetscReal *v, PetscReal tau, PetscReal *x, Index begin, Index end)
{
  const bool top = team.Rank() == (int)((begin - 1) & (Index)(team.Size() - 1));
  PetscReal  sum = top ? x[begin - 1] : 0;

  for (Index r = FirstOwnRow(team, begin); r < end; r += team.Size()) sum += v[r] * x[r];
  sum = tau * team.Sum(sum);
  if (top) x[begin - 1] -= sum;
  for (Index r = FirstOwnRow(team, begin); r < end; r += team.Size()) x[r] -= sum * v[r];
}

/*
  A [n][ld], ld >= n, becomes R in its upper triangle and the reflectors below it, tau [n] their factors. A reflector of a column that is zero below the diagonal is the identity. All
  threads of the team call; A is written by the owners of its rows, or followed by a Sync().
*/
template <typename Index, typename Team>
__device__ inline void HouseholderFactor(const Team &team, PetscReal *A, Index ld, int n, PetscReal *tau)
{
  for (int i = 0; i < n; i++) {
    PetscReal *const column = A + (size_t)i * ld;
    PetscReal        norm, alpha, beta, t;

    team.Sync();
    alpha = column[i];
    norm  = HouseholderNorm(team, column, (Index)i + 1, ld);
    beta  = HouseholderHypot(alpha, norm);
    if (!std::signbit(alpha)) beta = -beta;
    t = norm == 0 ? 0 : (beta - alpha) / beta;
    team.Sync(); // all have read alpha
    if (team.Rank() == 0) tau[i] = t;
    if (norm == 0) continue;
    for (Index r = FirstOwnRow(team, (Index)i + 1); r < ld; r += team.Size()) column[r] /= alpha - beta;
    if (team.Rank() == (i & (team.Size() - 1))) column[i] = beta;
    for (int j = i + 1; j < n; j++) HouseholderApply(team, column, t, A + (size_t)j * ld, (Index)i + 1, ld);
  }
  team.Sync();
}

/* What HouseholderFactor() left becomes the first n columns of Q. */
template <typename Index, typename Team>
__device__ inline void HouseholderGenerate(const Team &team, PetscReal *A, Index ld, int n, const PetscReal *tau)
{
  for (int i = n - 1; i >= 0; i--) {
    PetscReal *const column = A + (size_t)i * ld;
    const PetscReal  t      = tau[i];

    for (int j = i + 1; j < n && t != 0; j++) HouseholderApply(team, column, t, A + (size_t)j * ld, (Index)i + 1, ld); // element (i, j) is zero by now
    for (Index r = FirstOwnRow(team, (Index)i + 1); r < ld; r += team.Size()) column[r] *= -t;
    for (Index r = FirstOwnRow(team, (Index)0); r < i; r += team.Size()) column[r] = 0;
    if (team.Rank() == (i & (team.Size() - 1))) column[i] = 1 - t;
  }
  team.Sync();
}

} // namespace
