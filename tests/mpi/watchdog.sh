#!/bin/bash
# Under a watchdog a rank that hangs, is stopped or dies ends the job in time, and one line names it
# and where the others waited for it; one that is late, or works long while the others have nothing
# to do, does not, nor does a job that was stopped as a whole.
#   watchdog.sh MPIEXEC PROGRAM
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
seconds=2

# RANKS WHERE CARRIER NODE: its exit code in $code, what it said in the file out, each line behind
# the time when it came.
run() {
    timeout -k 5 50 "$mpiexec" -n "$1" --bind-to none "$program" "$2" "$3" "$4" $seconds 2>&1 |
        while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done >out
    code=${PIPESTATUS[0]}
    ended=$EPOCHREALTIME
    what="$1 ranks, $4 a node, $2 over $3"
}

n_lines() { grep -Ec "^[0-9.]+ $1" out; }
time_of() { sed -n "s/$1/\\1/p" out; }

# How much longer things take where others keep this machine busy.
busy=$(awk -v cpus="$(nproc)" '{ print ($1 > 4 * cpus ? $1 / (4 * cpus) : 1) }' /proc/loadavg)

# at_most SECONDS FROM TO, beyond the watchdog's
at_most() {
    awk -v most="$1" -v from="$2" -v to="$3" -v plus="$seconds" -v busy="$busy" \
        'BEGIN { exit !(from && to && to - from <= plus + most * busy) }'
}

# hangs RANKS WHERE CARRIER NODE RANK PLACE: the line comes within a second of the watchdog's seconds. mpirun
# takes up to a second and some more to end ranks that are told to go.
hangs() {
    run "$@"
    local since said
    since=$(time_of '.*hangs at \(.*\)')
    said=$(time_of '^\([0-9.]*\) rank .*did not arrive.*')
    [ "$code" -eq 1 ] || fail "exit code $code"
    [ "$(n_lines 'rank [0-9]+: .*did not arrive')" -eq 1 ] || fail "not one line"
    [ "$(n_lines 'rank [0-9]+: .*(ended from outside|waiting for|died)')" -eq 0 ] ||
        fail "others speak too"
    [ "$(n_lines "rank [0-9]+: rank $5 did not arrive in $6, for [0-9]+ s: ending the job\$")" -eq 1 ] ||
        fail "rank $5 is not named in $6"
    at_most 1 "$since" "$said" || fail "said at $said, hangs since $since"
    at_most 3 "$since" "$ended" || fail "ended at $ended, hangs since $since"
}

# goes_on RANKS WHERE CARRIER NODE
goes_on() {
    run "$@"
    [ "$code" -eq 0 ] || fail "exit code $code"
    [ "$(n_lines 'rank [0-9]+: ')" -eq 0 ] || fail "somebody speaks"
}

# suspended RANKS CARRIER NODE: stopped twice for longer than the watchdog's seconds, each rank at
# another moment, and made to go on in another order
suspended() {
    local pids
    run "$1" paced "$2" "$3" &
    until [ "$(cat out 2>/dev/null | grep -c "is pid")" = "$1" ]; do sleep 0.05; done
    sleep 0.5
    mapfile -t pids < <(sed -n 's/.* is pid //p' out)
    for _ in 1 2; do
        for pid in $(shuf -e "${pids[@]}"); do kill -STOP "$pid" 2>>err; sleep 0.1; done
        sleep 2.5
        for pid in $(shuf -e "${pids[@]}"); do kill -CONT "$pid" 2>>err; sleep 0.3; done
    done
    wait
    [ "$(n_lines 'rank [0-9]+: ')" -eq 0 ] || fail "suspended: somebody speaks"
    [ ! -s err ] || fail "a rank was gone: $(cat err)"
}

# dies RANKS WHERE CARRIER NODE RANK: mpirun may be faster to find it than the others are
dies() {
    run "$@"
    [ "$code" -ne 0 ] || fail "exit code 0"
    grep -q "rank $5" out || fail "rank $5 is not named"
    at_most 3 "$(time_of '.*hangs at \(.*\)')" "$ended" || fail "ended at $ended"
}

ring='allreduce ring 400K #20, step 20'
agreement='agreement #[0-9]+, step 20'
begin hangs 4 setup shm 0 2 '[a-z ]+ #[0-9]+'
begin hangs 4 begin shm 0 2 "$ring"
begin hangs 4 inside shm 0 2 "$ring"
begin hangs 4 begin direct 0 2 "$ring"
begin hangs 4 vote shm 0 2 "$agreement"
begin hangs 4 agree shm 0 2 "$agreement"
begin hangs 4 stopped shm 0 2 "$ring"
begin hangs 4 waiting shm 0 2 "$ring"
begin hangs 4 inside mpi 0 2 "$ring"
begin hangs 2 begin shm 0 1 "$ring"
begin hangs 2 waiting mpi 0 1 "$ring"
begin hangs 8 begin shm 0 6 "$ring"
begin hangs 8 waiting mpi 0 6 "$ring"
begin goes_on 4 late shm 0
begin goes_on 4 idle shm 0
begin suspended 4 shm 0
begin suspended 4 direct 0
begin suspended 3 mpi 1
begin dies 4 killed shm 0 2
clocks='measurement of clocks #[0-9]+, step 20'
begin hangs 4 clock shm 0 2 "$clocks"
begin hangs 4 clock0 shm 0 0 "$clocks"
begin dies 4 dead shm 0 2

# Several nodes are played on this one.
begin hangs 2 begin shm 1 1 "$ring"
begin hangs 4 begin shm 2 2 "$ring"
begin hangs 4 begin shm 1 2 "$ring"
begin hangs 4 agree shm 1 2 "$agreement"
begin hangs 4 waiting shm 1 2 "$ring"
begin hangs 8 begin shm 4 6 "$ring"
begin hangs 8 waiting shm 3 6 "$ring"
begin goes_on 4 idle mpi 1
begin dies 4 killed shm 2 2
begin hangs 4 clock mpi 1 2 "$clocks"

finish
