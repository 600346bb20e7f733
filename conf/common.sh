# Shared by the scripts in conf/: where things are, and one way to fail. Sourced, never run.
conf_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$conf_dir/versions.sh"
petsc_default=${PETSC_VERSIONS%%,*}
cache_dir=${XDG_CACHE_HOME:-$HOME/.cache}/petscsparsecuda

say() { printf '%s\n' "$*" >&2; }

# How many cores there are. nproc says less when programs are to have one thread each, of which as many run side by side.
count_cores() { OMP_NUM_THREADS='' nproc; }

# die WHAT CURE: one sentence that says what is missing, one that says how to get it.
die() {
  printf 'petscsparsecuda: %s\n  cure: %s\n' "$1" "$2" >&2
  exit 1
}

# Prints the version of PETSc, of those in versions.sh, that $1 names: 3.25.6 or 3.25; the first when it is empty. Fails when there is none.
petsc_version() {
  local v
  for v in ${PETSC_VERSIONS//,/ }; do
    case "${1:-$v}" in "$v" | "${v%.*}") printf '%s\n' "$v"; return ;; esac
  done
  return 1
}

# Prints "3.26.1" for the PETSc headers below $1.
petsc_release() { awk '/^#define PETSC_VERSION_(MAJOR|MINOR|SUBMINOR)/ { v = v s $3; s = "." } END { print v }' "$1/include/petscversion.h" 2>/dev/null; }

# Prints the minors of PETSc that the library is for, in words: "3.24, 3.25 or 3.26".
petsc_minors() { tr ',' '\n' <<<"$PETSC_VERSIONS" | cut -d. -f1,2 | sort -V | sed -n 'H; ${ x; s/\n//; s/\n\([^\n]*\)$/ or \1/; s/\n/, /g; p; }'; }

# Where a CUDA toolkit lies when nothing says where, and what names the distribution; tests set others.
cuda_places=(/usr/local/cuda /usr/local/cuda-1[3-9]* /usr/local/cuda-12* /opt/cuda)
os_release=/etc/os-release

# Prints how a CUDA toolkit is installed here. The package nvidia-cuda-toolkit of these distributions is too old, but for that of Debian 13.
cuda_cure() {
  local distribution
  distribution=$(. "$os_release" 2>/dev/null && printf '%s%s' "${ID:-}" "${VERSION_ID:-}" | tr -d .)
  case "$distribution" in
    debian13) printf '%s' "as root, apt-get install nvidia-cuda-toolkit (of non-free), or cuda-toolkit-13 from NVIDIA's package repository for $distribution; or set CUDA_DIR to where a toolkit is" ;;
    debian12 | ubuntu2404)
      printf '%s' "add NVIDIA's package repository for $distribution (package cuda-keyring from NVIDIA's download page for CUDA 13) and, as root, apt-get update && apt-get install cuda-toolkit-13;" \
        " the distribution's own nvidia-cuda-toolkit is too old. Or set CUDA_DIR to where a toolkit is"
      ;;
    *)
      printf '%s' "install a CUDA toolkit, $CUDA_MINIMUM or newer (cuda-toolkit-13 from NVIDIA's package repository for your distribution), or set CUDA_DIR to where it is"
      ;;
  esac
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
  for d in ${cuda_places[@]+"${cuda_places[@]}"}; do
    [ -x "$d/bin/nvcc" ] && { readlink -f "$d"; return; }
  done
  die "no CUDA toolkit found (no nvcc on PATH, in CUDA_DIR, or in /usr/local/cuda)" "$(cuda_cure)"
}

# Prints "13.0" for the toolkit in $1.
cuda_version() { "$1/bin/nvcc" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'; }

# check_cuda FOLDER: refuses a toolkit that is older than the oldest supported one.
check_cuda() {
  local have
  have=$(cuda_version "$1")
  [ "$(printf '%s\n' "$CUDA_MINIMUM" "${have:-0}" | sort -V | sed -n 1p)" = "$CUDA_MINIMUM" ] || die "the CUDA toolkit in $1 is ${have:-of no known version}, older than $CUDA_MINIMUM" "$(cuda_cure)"
}

# Prints the compute capability of the first GPU as "90"; nothing when there is none.
gpu_arch() {
  local have
  have=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n 1p | tr -d '. ' || true)
  case "$have" in '' | *[!0-9]*) ;; *) printf '%s\n' "$have" ;; esac
}

# Prints the compute capabilities that a bundle is for: the default ones, and the local GPU's when no default one runs on it.
all_cuda_archs() {
  local archs=$PETSC_CUDA_ARCHS have
  have=$(gpu_arch)
  case ",$archs," in *",${have%?}"?",") ;; *) archs=$archs${have:+,$have} ;; esac
  printf '%s\n' "$archs"
}

# Prints those to build our own PETSc for, each of which costs a third of the time of nvcc: what CUDA_ARCHS says, else the local GPU's, else compute_NN for PTX alone of the oldest
# of the default ones, which all younger GPUs run.
own_cuda_archs() {
  local have oldest=${PETSC_CUDA_ARCHS%%,*}
  have=$(gpu_arch)
  if [ -n "${CUDA_ARCHS:-}" ]; then
    tr -s ' ,' ',' <<<"$CUDA_ARCHS" | sed 's/^,//; s/,$//'
  elif [ "${have:-0}" -ge "$oldest" ]; then
    printf '%s\n' "$have"
  else
    printf 'compute_%s\n' "$oldest"
  fi
}

# What a receipt of tests on a GPU names: the sources, itself apart, as git knows them; in an archive of make dist, those that it was made of.
tree_hash() {
  if [ -e .git ]; then
    git ls-files -s src include tests | { grep -v 'tests/gpu/RECEIPT$' || true; } | sha256sum | cut -c1-16
  else
    sed -n 's/^tree: //p' conf/archive
  fi
}

sha256_of() { sha256sum "$1" | cut -d' ' -f1; }
