#!/bin/bash
# Ranks that are asked to stop, by a signal to mpirun or to one of them, stop all behind the same step; a
# second SIGTERM, SIGINT or SIGHUP ends them as if nobody had asked.
#   stopping.sh MPIEXEC PROGRAM
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
export UCX_DEBUG_SIGNO=0 # else UCX, which Open MPI 5 brings along, takes SIGHUP (see bench/minipod.c)

# start [long]: four ranks, until all have said who they are; mpirun, or what ends it in time, is process $!
start() {
    : >out
    timeout -k 5 60 "$mpiexec" -n 4 --bind-to none "$program" "$@" >out 2>&1 &
    within 30 '[ "$(grep -c "is pid" out)" -eq 4 ]' || fail "they do not begin"
    sleep 0.3
}

# within SECONDS CONDITION
within() {
    local until=$((SECONDS + $1))
    until eval "$2"; do
        [ $SECONDS -le $until ] || return 1
        sleep 0.01
    done
}

mpirun_pid() { ps -o pid= --ppid $!; }
pid_of() { sed -n "s/^rank $1 is pid //p" out; }

# stops [EXIT]: it ended well, all ranks behind one step
stops() {
    wait $!
    local code=$?
    [ $code -eq "${1:-0}" ] || fail "exit code $code"
    [ "$(grep -c 'stopped behind step' out)" -eq 4 ] || fail "not all stopped"
    [ "$(sed -n 's/.*stopped behind step //p' out | sort -u | wc -l)" -eq 1 ] || fail "not behind the same step"
}

# asked SIGNAL RANK|mpirun
asked() {
    what="SIG$1 to $2"
    start
    if [ "$2" = mpirun ]; then kill "-$1" "$(mpirun_pid)"; else kill "-$1" "$(pid_of "$2")"; fi
    stops
}

# One of each, as where a terminal's Ctrl-C reaches mpirun and ranks.
asked_twice() {
    what="SIGINT and SIGTERM to rank 2"
    start
    kill -INT "$(pid_of 2)"
    kill -TERM "$(pid_of 2)"
    stops
}

# mpirun gives them a second unless it is told otherwise, and has an exit code of its own.
interrupted() {
    what="SIG$1 to mpirun"
    export OMPI_MCA_odls_base_sigkill_timeout=4
    start
    kill "-$1" "$(mpirun_pid)"
    stops 1
}

# insisted SIGNAL: rank 1 waits for ever
insisted() {
    what="SIG$1 twice in a wait"
    start long
    kill "-$1" "$(pid_of 1)"
    within 10 "grep -Eq '^rank 1: ended from outside, waiting for rank 0 in barrier #[0-9]+, step 1\$' out" ||
        fail "nobody says for whom"
    kill -0 "$(pid_of 1)" || fail "the first ended a rank that asks"
    local began=$SECONDS
    kill "-$1" "$(pid_of 1)"
    wait $! && fail "exit code 0"
    [ $((SECONDS - began)) -le 5 ] || fail "the second does not end the rank"
}

# alone TIMES: without mpirun, begun by a shell that lets its jobs have Ctrl-C
alone() {
    what="SIGINT, alone, $1 times"
    : >out
    # shellcheck disable=SC2046 # a word or none
    timeout -k 5 60 env --default-signal=INT "$program" $([ "$1" -eq 1 ] || echo long) >out 2>&1 &
    within 30 'grep -q "is pid" out' || fail "it does not begin"
    sleep 0.3
    kill -INT "$(pid_of 0)"
    # Two that come at once are one: the second is sent until the rank is gone.
    [ "$1" -eq 1 ] || within 10 'sleep 0.2; ! kill -INT "$(pid_of 0)" 2>>out'
    wait $!
    local code=$?
    case $1.$code in
    1.0) grep -q 'rank 0 stopped behind step' out || fail "it did not stop" ;;
    2.130) ;;
    *) fail "exit code $code" ;;
    esac
}

begin asked USR1 mpirun
begin asked USR1 2
begin asked TERM 3
begin asked INT 1
begin asked_twice
begin asked USR2 mpirun
begin asked XCPU 3
begin asked HUP 2
# Open MPI 5 follows SIGTERM by SIGKILL within a quarter of a second, whatever it is told.
if "$mpiexec" --version | grep -Eq '\((OpenRTE|Open MPI)\) [0-4]\.'; then
    begin interrupted INT
    begin interrupted HUP
else
    echo "skipped: SIGINT and SIGHUP to mpirun: Open MPI 5 gives ranks no time to stop"
fi
begin insisted TERM
begin insisted HUP
begin alone 1
begin alone 2

finish
