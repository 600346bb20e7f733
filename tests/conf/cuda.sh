#!/usr/bin/env bash
# Without a CUDA toolkit the scripts name the packages of the distribution, in one sentence with its cure, before they install or build anything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
major=13

# A checkout with these scripts alone, that looks for CUDA nowhere and believes to be on another distribution.
mkdir "$work/bin"
cp -r conf "$work/conf"
sed -i -e "s#^cuda_places=.*#cuda_places=()#; s#^os_release=.*#os_release=$work/os-release#" "$work/conf/common.sh"
for tool in bash cat tr cut sed dirname readlink find id sha256sum mktemp awk grep; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done

expect() { # expect WORDS...: all of them are in the refusal of conf/get-system-packages, which is two lines long
  local text word
  if text=$(env -i PATH="$work/bin" HOME="$work" "$work/conf/get-system-packages" 2>&1); then text="(accepted) $text"; fi
  for word in 'no CUDA toolkit found' 'cure: ' "$@"; do
    if ! grep -qF -- "$word" <<<"$text" || [ "$(wc -l <<<"$text")" -ne 2 ]; then
      printf 'expected a refusal with "%s", got:\n%s\n' "$word" "$text"
      failed=1
    fi
  done
}
for pair in 'debian 12' 'ubuntu 24.04'; do
  read -r id version <<<"$pair"
  printf 'ID=%s\nVERSION_ID="%s"\n' "$id" "$version" >"$work/os-release"
  expect "repository for $id${version/./} " "apt-get install cuda-toolkit-$major" 'nvidia-cuda-toolkit is too old' CUDA_DIR
done
printf 'ID=debian\nVERSION_ID="13"\n' >"$work/os-release"
expect 'apt-get install nvidia-cuda-toolkit' "cuda-toolkit-$major" CUDA_DIR
printf 'ID=other\nVERSION_ID=1\n' >"$work/os-release"
expect "cuda-toolkit-$major from NVIDIA's package repository" CUDA_DIR
rm "$work/os-release"
expect "cuda-toolkit-$major" CUDA_DIR

# A toolkit that is too old is refused with the same cure, before PETSc is fetched.
mkdir -p "$work/old/bin"
printf '#!/bin/sh\necho "Cuda compilation tools, release 12.3, V12.3.107"\n' >"$work/old/bin/nvcc"
chmod +x "$work/old/bin/nvcc"
printf '#!/bin/sh\n' >"$work/conf/get-system-packages"
if text=$(env -i PATH="$work/bin" HOME="$work" CUDA_DIR="$work/old" "$work/conf/get-petsc" 2>&1); then text="(accepted) $text"; fi
if ! grep -qF "is 12.3, older than 12.4" <<<"$text" || ! grep -qF "cuda-toolkit-$major" <<<"$text"; then
  printf 'expected CUDA 12.3 to be refused, got:\n%s\n' "$text"
  failed=1
fi
exit $failed
