# Shared by the scripts in conf/: where things are, and one way to fail. Sourced, never run.
conf_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$conf_dir/versions.sh"
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/petscsparsecuda

say() { printf '%s\n' "$*" >&2; }

# die WHAT CURE: one sentence that says what is missing, one that says how to get it.
die() {
  printf 'petscsparsecuda: %s\n  cure: %s\n' "$1" "$2" >&2
  exit 1
}

# Prints the root of the CUDA toolkit: CUDA_DIR or CUDA_HOME if set, else that of nvcc on PATH, else the usual places.
find_cuda() {
  local d
  for d in "${CUDA_DIR:-}" "${CUDA_HOME:-}"; do
    [ -n "$d" ] && [ -x "$d/bin/nvcc" ] && { readlink -f "$d"; return; }
  done
  if command -v nvcc >/dev/null 2>&1; then
    d=$(readlink -f "$(command -v nvcc)")
    readlink -f "$(dirname "$d")/.."
    return
  fi
  for d in /usr/local/cuda /usr/local/cuda-13* /opt/cuda; do
    [ -x "$d/bin/nvcc" ] && { readlink -f "$d"; return; }
  done
  die "no CUDA toolkit found (no nvcc on PATH, in CUDA_DIR, or in /usr/local/cuda)" \
    "install the CUDA $CUDA_MINIMUM_MAJOR toolkit, or set CUDA_DIR to where it is"
}

# Prints "13.0" for the toolkit in $1.
cuda_version() { "$1/bin/nvcc" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'; }

# Prints the compute capabilities to build PETSc for: the default ones, and the local GPU's when no default one runs on it.
cuda_archs() {
  local archs=$PETSC_CUDA_ARCHS have
  if command -v nvidia-smi >/dev/null 2>&1; then
    have=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d '. ')
    case "$have" in
      '' | *[!0-9]*) ;;
      *) case ",$archs," in *",${have%?}"?",") ;; *) archs=$archs,$have ;; esac ;;
    esac
  fi
  printf '%s\n' "$archs"
}

sha256_of() { sha256sum "$1" | cut -d' ' -f1; }
