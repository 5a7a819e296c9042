# shellcheck shell=bash disable=SC2034 # PACKAGES is for those who source this
# Sourced by tests/run and bench/quickstart: installs what a build needs and is missing, on Debian
# and Ubuntu. Uses the caller's fail() and say().

PACKAGES="build-essential cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libopenblas-dev
          libhdf5-dev hdf5-tools libcunit1-dev libcjson-dev libinih-dev zlib1g-dev
          libjpeg-dev libpng-dev"

missing_packages() { # PACKAGE...: prints those that are not installed
    local package
    for package; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s ' "$package"
    done
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
    $as_root apt-get -q update || fail "apt-get update did not succeed"
    # shellcheck disable=SC2086 # one word a package
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y install --no-install-recommends $missing || fail "apt-get install did not succeed"
}

build_preset() { # PRESET
    local report
    say "building preset $1 into build/$1"
    report=$(cmake --preset "$1" 2>&1) || { printf '%s\n' "$report"; fail "cmake --preset $1"; }
    cmake --build --preset "$1" || fail "cmake --build --preset $1"
}
