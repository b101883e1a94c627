# shellcheck shell=bash disable=SC2034
# Shell functions that the scripts share. Sourced, never run; the caller has done "set -euo pipefail".

# usage: the header comment of the script that runs.
usage() { awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$script"; }
# -h or --help among the first options is a question to the script; behind another word it belongs to whatever the script runs.
script=$(realpath "$0")
for word in "$@"; do
  case $word in
    -h | --help) usage; exit ;;
    -*) ;;
    *) break ;;
  esac
done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
started=$SECONDS

# step TEXT: a line of progress, with the seconds since the script began.
step() { printf '\n==> [%d s] %s\n' $((SECONDS - started)) "$*"; }
say() { printf '    %s\n' "$*"; }

# Debian 12 and Ubuntu 24.04 have all of these under the same names.
packages_build="cmake ninja-build g++ libboost-dev libboost-context-dev libspdlog-dev libtbb-dev libclang-19-dev llvm-19-dev libpng-dev nlohmann-json3-dev zlib1g-dev libzip-dev"
packages_test="ccache libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev python3-numpy"
packages_bench="libbenchmark-dev"
# Not needed to build: opened at run time where they are.
packages_wanted="libopenblas0-pthread"
# Parses each source by itself in tests.
packages_test_wanted="clang-19"

# A package may be here without apt's knowledge (a newer CMake, say): programs are looked for as programs.
package_is_here() {
  case $1 in
    cmake | ccache) command -v "$1" ;;
    ninja-build) command -v ninja ;;
    g++) command -v "${CXX:-g++}" ;;
    *) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
  esac >/dev/null
}

# install_packages NAME...: installs those that are missing, as root or through sudo that asks no password;
# otherwise prints the one command that would, and exits with 3.
install_packages() {
  local package missing=() sudo=() try
  if ! command -v apt-get >/dev/null; then
    say "this machine has no apt-get: nothing is installed; needed are: $*"
    return
  fi
  for package in "$@"; do
    package_is_here "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "all there"
    return
  fi
  try="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      say "missing: ${missing[*]}"
      say "Install them, then run this again:"
      say "sudo sh -c '$try'"
      exit 3
    fi
    sudo=(sudo -n)
  fi
  say "installing: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq </dev/null || say "apt-get update failed; trying with the lists that are here"
  if ! "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" </dev/null >"$root/.apt.log" 2>&1; then
    tail -20 "$root/.apt.log"
    say "apt-get could not install them. Try by hand: $try"
    say "(Debian 12 and Ubuntu 24.04 have them all; on Ubuntu the component universe must be on.)"
    exit 3
  fi
  rm -f "$root/.apt.log"
}

# want_packages LOSS NAME...: the same, but goes on without those that cannot be had, and says what is lost.
want_packages() {
  local loss=$1
  shift
  (install_packages "$@") || say "going on without $*: $loss"
}

# oneDNN's package has its version in its name: the one that apt knows of, if any.
onednn_package() {
  local name
  for name in libdnnl3.6 libdnnl3 libdnnl2; do
    if apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [0-9]'; then
      echo "$name"
      return
    fi
  done
}

# A GPU without a toolkit is worth a word: the packages above do not bring one.
mention_cuda() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    say "GPU: $(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | awk '{$1 = $1 " x"; print}' | paste -sd, -)"
    if ! command -v nvcc >/dev/null && [ ! -e /usr/local/cuda/include/nvrtc.h ] && [ -z "${CUDAToolkit_ROOT:-}" ]; then
      say "but no CUDA toolkit, so the CUDA back end stays off."
      say "For it: install cuda-toolkit 12.4 or newer, https://developer.nvidia.com/cuda-downloads"
    fi
  else
    say "no NVIDIA GPU: everything runs on the CPU"
  fi
}

# One job a core, and no more than memory allows: the largest files take 2 GB to compile.
job_count() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ { print int($2 / 2097152) }' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# configure PRESET [ARGUMENTS]: prints Damo's summary, or everything when it fails.
configure() {
  local preset=$1 log
  shift
  mkdir -p "build/$preset"
  log=build/$preset/configure.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log"
    exit 1
  fi
  sed -n '/^-- Damo /,/^-- $/p' "$log" | sed 's/^-- /    /'
}

# Of Ninja's lines one in twenty, and one when ten seconds have passed; all others. Bash itself, because mawk (Debian's awk)
# reads a pipe by 4096 bytes: a minute of a build.
thin_progress() {
  local line count=0 last=$SECONDS
  while IFS= read -r line || [ -n "$line" ]; do
    if ! [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then
      printf '%s\n' "$line"
    elif ((++count % 20 == 0 || SECONDS - last >= 10)); then
      printf '    %s\n' "${BASH_REMATCH[0]}"
      last=$SECONDS
    fi
  done
}

# build PRESET [--target T...]: Ninja's own progress where someone watches; in a log, some of its lines.
build() {
  local preset=$1
  shift
  if [ -t 1 ]; then
    cmake --build --preset "$preset" -j "$(job_count)" "$@"
  else
    cmake --build --preset "$preset" -j "$(job_count)" "$@" | thin_progress
  fi
}

# skipped LOG: "skipped: REASON: N tests" for each reason (its text up to a colon), from the log of a ctest run with GoogleTest.
skipped() {
  awk '/: Skipped$/ { wanted = 1; next }
       wanted && NF { sub(/:.*/, ""); count[$0]++; wanted = 0 }
       END { for (reason in count) printf "skipped: %s: %d test%s\n", reason, count[reason], (count[reason] > 1 ? "s" : "") }' "$1" | sort
}

# What is being measured or tested: $DAMO_COMMIT where there is no git.
commit() {
  if [ -n "${DAMO_COMMIT:-}" ]; then
    echo "$DAMO_COMMIT"
  elif git rev-parse HEAD >/dev/null 2>&1; then
    echo "$(git rev-parse --short=12 HEAD)$([ -z "$(git status --porcelain --untracked-files=no)" ] || echo +changes)"
  else
    echo unknown
  fi
}
