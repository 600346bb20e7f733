#!/usr/bin/env bash
# Every option that docs/recipes.md names exists: docs/options.md, our sources or PETSc's have it. Prefixes of solvers, as in -fieldsplit_velocity_pc_type, go first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
petsc=${PETSC_SRC:-${PETSC_DIR:?}}/src
[ -d "$petsc/mat" ] || exit 77
classes='(mat|vec|dm|pc|ksp|snes)_[a-z0-9_]+'
named=$({ grep -oE -- "(^|[ \`])-[a-z0-9_]*$classes" docs/recipes.md || true; } | sed -E 's/^[ `]//; s/^-(fieldsplit_[a-z]+|st|nl0)_/-/' | sort -u)
known=$({ grep -oE -- "\`-$classes" docs/options.md | tr -d '`'; grep -rhoE --include='*.[ch]*' -- "\"-$classes" src "$petsc"/{mat,vec,dm,ksp,snes} | tr -d '"'; } | sort -u)
[ "$(wc -l <<<"$named")" -gt 10 ] || { echo 'docs/recipes.md: options are not found any more:' "$named"; exit 1; }
missing=$(comm -23 <(echo "$named") <(echo "$known"))
[ -z "$missing" ] || { echo 'docs/recipes.md names options that nobody has:' "$missing"; exit 1; }
