#!/bin/bash
# A rank that ends in the midst of a collective ends the job, within 10 s, and others name it and the
# collective; nothing is left behind. One that is late is named, and waited for.
#   collective_end.sh MPIEXEC PROGRAM
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

flags=

# run CARRIER END, under mpirun with $flags: its exit code in $code, its seconds in $took, what it said in $work/out
run() {
    mkdir -p "$work/shm" "$work/session"
    local began=$SECONDS
    OMPI_MCA_btl_vader_backing_directory=$work/shm OMPI_MCA_osc_sm_backing_directory=$work/shm \
        OMPI_MCA_orte_tmpdir_base=$work/session \
        timeout -k 5 50 "$mpiexec" $flags -n 4 --bind-to none "$program" "$@" > "$work/out" 2>&1
    code=$?
    took=$((SECONDS - began))
    local left
    left=$(find "$work/shm" "$work/session" -type f)
    [ -z "$left" ] || fail "$*: left behind: $left"
    rm -rf "$work/shm" "$work/session"
}

said() { grep -Eq "$1" "$work/out"; }

for carrier in shm direct mpi; do
    for end in killed gone; do
        run $carrier $end
        [ $code -ne 0 ] || fail "$carrier $end: exit code 0"
        [ $took -le 10 ] || fail "$carrier $end: took $took s"
        # Who waits for rank 3, which waits for rank 2, may be the first to see that rank 2 is dead.
        said '^rank [013]: (rank 2 died, waiting for|.*waiting for .*rank 2).* in allreduce ring 400K #2[01]$' ||
            fail "$carrier $end: nobody names rank 2 and the collective"
    done
    run $carrier late
    [ $code -eq 0 ] || fail "$carrier late: exit code $code"
    said '^rank [013]: waiting for .*rank 2.* in allreduce ring 400K #20 since [12] s$' ||
        fail "$carrier late: nobody names rank 2 and the collective"
done

# Ranks of one node find the dead one themselves, also where whoever started them does not care.
flags=--enable-recovery
run shm killed
[ $took -le 10 ] || fail "shm killed, recovery: took $took s"
said '^rank [013]: rank 2 died, waiting for' || fail "shm killed, recovery: nobody finds rank 2"
! said 'rank [013] died' || fail "shm killed, recovery: who found it is called dead"

finish
