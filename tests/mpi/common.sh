# Sourced by the tests of how ranks end. A case is a function that runs ranks, beside other cases, in a
# folder of its own: most of its time it waits.
#   mpiexec, program        $1 and $2 of the script
#   begin FUNCTION WORD...  begins a case
#   fail TEXT...            in a case: says what went wrong, and what the ranks said in the file `out`;
#                           $what, where it is set, says in which
#   finish                  the last line: waits for all cases; exit code 1 where anything failed
# shellcheck shell=bash
set -u
mpiexec=$1
program=$(realpath "$2")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
at_once=4
n_cases=0
what=

fail() {
    {
        echo "FAILED: ${what:+$what: }$*"
        sed 's/^/    /' out
    } >>failed
}

begin() {
    n_cases=$((n_cases + 1))
    mkdir "$work/$n_cases"
    [ "$(jobs -r | wc -l)" -lt $at_once ] || wait -n
    (cd "$work/$n_cases" && "$@"; touch ended) &
}

finish() {
    wait
    local n_failed n_ended
    n_failed=$(find "$work" -name failed | wc -l)
    n_ended=$(find "$work" -name ended | wc -l)
    [ "$n_failed" -eq 0 ] || cat "$work"/*/failed
    [ "$n_ended" -eq $n_cases ] || echo "$n_ended of $n_cases cases came to their end"
    echo "$n_failed of $n_cases cases failed"
    [ "$n_failed" -eq 0 ] && [ "$n_ended" -eq $n_cases ]
}
