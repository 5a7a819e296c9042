# Sourced by the tests of how ranks end:
#   mpiexec, program   $1 and $2 of the script
#   work               a folder of its own, which goes away at the end
#   fail TEXT...       says what went wrong, and what the ranks said in $work/out
#   finish             the last line: exit code 1 where anything did
# shellcheck shell=bash
set -u
mpiexec=$1
program=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n_failed=0

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out"
    n_failed=$((n_failed + 1))
}

finish() {
    echo "$n_failed failed"
    [ $n_failed -eq 0 ]
}
