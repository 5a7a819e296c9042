#!/bin/bash
# A rank that ends in the midst of a collective ends the job, within 10 s, and others name it and the
# collective; nothing is left behind. One that is late is named, and waited for.
#   collective_end.sh MPIEXEC PROGRAM
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# run CARRIER END [FLAG OF MPIRUN]: its exit code in $code, its seconds in $took, what it said in the file out
run() {
    what=$*
    mkdir shm session
    local began=$SECONDS
    # shellcheck disable=SC2086 # a flag or none
    OMPI_MCA_btl_vader_backing_directory=$PWD/shm OMPI_MCA_osc_sm_backing_directory=$PWD/shm \
        OMPI_MCA_orte_tmpdir_base=$PWD/session \
        timeout -k 5 50 "$mpiexec" ${3:-} -n 4 --bind-to none "$program" "$2" "$1" 0 0 >out 2>&1
    code=$?
    took=$((SECONDS - began))
    local left
    left=$(find shm session -type f)
    [ -z "$left" ] || fail "left behind: $left"
}

said() { grep -Eq "$1" out; }

# ends CARRIER HOW
ends() {
    run "$1" "$2"
    [ "$code" -ne 0 ] || fail "exit code 0"
    [ $took -le 10 ] || fail "took $took s"
    # Who waits for rank 3, which waits for rank 2, may be the first to see that rank 2 is dead.
    said '^rank ([013]): (rank 2 died; rank \1 was waiting for|.*waiting for .*rank 2).* in allreduce ring 400K #2[01]$' ||
        fail "nobody names rank 2 and the collective"
}

# is_late CARRIER
is_late() {
    run "$1" late
    [ "$code" -eq 0 ] || fail "exit code $code"
    said '^rank [013]: waiting for .*rank 2.* in allreduce ring 400K #20 since [12] s$' ||
        fail "nobody names rank 2 and the collective"
}

# found_by_ranks CARRIER: ranks of one node find the dead one themselves, also where whoever started
# them does not care.
found_by_ranks() {
    run "$1" dies --enable-recovery
    [ $took -le 10 ] || fail "took $took s"
    said '^rank ([013]): rank 2 died; rank \1 was waiting for' || fail "nobody finds rank 2"
    ! said 'rank [013] died' || fail "who found it is called dead"
}

for carrier in shm direct mpi; do
    begin ends $carrier dies
    begin ends $carrier gone
    begin is_late $carrier
    begin found_by_ranks $carrier
done

finish
