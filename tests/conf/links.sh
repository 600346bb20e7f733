#!/usr/bin/env bash
# conf/check-links takes links that lead somewhere, and names those that do not.
set -uo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/conf/check-links
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/docs"
printf '# A page\n\n## `Code` and (signs), twice\n\n## `Code` and (signs), twice\n\n[file](docs/b.md) [heading](docs/b.md#what-it-is) [own](#code-and-signs-twice-1) [web](https://example.org/nothing#there)\n\n```\n[not a link](nowhere.md)\n# no heading\n```\n' >"$work/a.md"
printf '# What it is\n\n[back](../a.md#a-page)\n' >"$work/docs/b.md"
said=$("$check" "$work") || { printf 'refuses good links:\n%s\n' "$said"; exit 1; }
[ -z "$said" ] || { printf 'says about good links:\n%s\n' "$said"; exit 1; }
for link in 'docs/c.md' 'docs/b.md#what-it-was' '#no-heading'; do
  printf '[bad](%s)\n' "$link" >"$work/c.md"
  said=$("$check" "$work") && { echo "takes a link to $link"; exit 1; }
  grep -qF -- "$link" <<<"$said" || { printf 'does not name %s:\n%s\n' "$link" "$said"; exit 1; }
done
exit 0
