# shellcheck shell=bash disable=SC2034 # the lists are for those who source this
# Sourced by tests/run and bench/quickstart: installs packages that are missing, on Debian and Ubuntu,
# and builds. Uses the caller's fail() and say().

# What the program needs to be built and to run.
PACKAGES="build-essential cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libopenblas-dev
          libhdf5-dev libcjson-dev libinih-dev zlib1g-dev libjpeg-dev libpng-dev
          libutf8proc-dev"
# What its tests need besides.
TEST_PACKAGES="libcunit1-dev hdf5-tools clang-format procps python3"

missing_packages() { # PACKAGE...: prints those that are not installed
    local package
    for package; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s ' "$package"
    done
}

# quietly LOG COMMAND...: what it prints goes to the log, which is shown if the command fails
quietly() {
    local log=$1
    shift
    mkdir -p "$(dirname "$log")" || fail "$(dirname "$log"): cannot be made"
    "$@" >"$log" 2>&1 && return
    cat "$log" >&2
    return 1
}

install_packages() { # PACKAGE...
    local missing as_root=""
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian or Ubuntu system: taking for granted that these are installed: $*"
        return
    fi
    missing=$(missing_packages "$@")
    if [ -z "$missing" ]; then
        say "packages: all installed"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "packages are missing; as root: apt-get install $missing"
        as_root=sudo
    fi
    say "packages: installing $missing"
    say "apt-get's own lines are in build/packages.log"
    quietly build/packages.log $as_root apt-get -q update || fail "apt-get update did not succeed"
    # shellcheck disable=SC2086 # one word a package
    quietly build/packages.log $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends $missing || fail "apt-get install did not succeed"
}

build_preset() { # PRESET [TARGET]: all targets, or one
    say "building preset $1 into build/$1"
    quietly "build/$1.log" cmake --preset "$1" || fail "cmake --preset $1"
    cmake --build --preset "$1" ${2:+--target "$2"} || fail "cmake --build --preset $1"
}

# The program without its tests. A terminal shows ninja's one line, anything else nothing but errors.
build_program() { # PRESET
    local build=(cmake --build --preset "$1" --target minipod) log=build/$1.log
    say "building minipod into build/$1: about two minutes on two cores, the first time"
    quietly "$log" cmake --preset "$1" -DPOD_BUILD_TESTS=OFF || fail "cmake --preset $1"
    if [ -t 1 ]; then "${build[@]}"; else quietly "$log" "${build[@]}"; fi || fail "${build[*]}"
}
