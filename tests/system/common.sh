# Sourced by the system tests: a folder of their own, the program, and ranks.
#   minipod, work    the program; the folder, which goes away at the end
#   fail TEXT...     says what went wrong and makes the script end with 1
#   on_ranks N ...   the program on N ranks
# shellcheck shell=bash
set -u
minipod=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/config
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OPENBLAS_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

on_ranks() {
    local n=$1
    shift
    mpirun -n "$n" --bind-to none "$minipod" "$@"
}

# What remains of standard error without the lines that mpirun adds for an exit code that is not 0 (now
# and then one of its event loop, which lost a race as the ranks went), and those of the address sanitizer for memory that a case makes sure is not there.
without_banner() {
    grep -v -e '^-*$' -e '^Primary job  terminated' -e '^a non-zero exit code' \
        -e 'WARNING: AddressSanitizer failed to allocate' \
        -e '^mpirun detected' -e '^mpirun has exited' -e '^the job to be terminated' \
        -e '^  Process name:' -e '^  Exit code:' -e '^MPI_ABORT was invoked' \
        -e '^with errorcode' -e '^NOTE: invoking MPI_ABORT' -e '^You may or may not see' \
        -e '^exactly when Open MPI kills' -e '^\[warn\] Epoll' "$1"
}
