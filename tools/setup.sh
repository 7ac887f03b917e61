# Shared by tools/quickstart and tools/test: installs the Debian packages that are missing, configures and builds.
# To be sourced. Sets root (the source tree) and build (the release build).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release

packages=(g++ cmake ninja-build libboost-dev libeigen3-dev libfmt-dev libspdlog-dev libcli11-dev libtomlplusplus-dev
          nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev python3)

say() { printf '\n== %s\n' "$*"; }

# Packages of the list (and of the arguments) that dpkg does not have.
missing_packages() {
  local package
  for package in "${packages[@]}" "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || echo "$package"
  done
}

install_missing() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system: expecting the equivalents of: ${packages[*]} $*"
    return 0
  fi
  local wanted
  mapfile -t wanted < <(missing_packages "$@")
  if [ ${#wanted[@]} -eq 0 ]; then
    say "packages: all there"
    return 0
  fi
  say "packages: installing ${wanted[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "these packages need root to install: ${wanted[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
}

# Configures once (ninja repeats it when a CMake file changed) and builds the targets given, or everything.
build_release() {
  say "build: $build ($(nproc) cores)"
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DTCSIM_PCH=OFF); fi
  [ -f "$build/build.ninja" ] || (cd "$root" && cmake --preset release "${launcher[@]}" >/dev/null)
  ninja -C "$build" "$@"
}
