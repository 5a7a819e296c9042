#!/bin/bash
# Ranks that are asked to stop, by SIGUSR1 to mpirun, or to one of them, SIGTERM or SIGINT to one, or
# Ctrl-C, stop all behind the same step; a second SIGTERM or SIGINT ends them as if nobody had asked.
#   stopping.sh MPIEXEC PROGRAM
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# begin [long]: four ranks, until all have said who they are; mpirun is process $mpirun
begin() {
    : >"$work/out"
    timeout -k 5 40 "$mpiexec" -n 4 --bind-to none "$program" "$@" >"$work/out" 2>&1 &
    local i
    for ((i = 0; i < 1000; i++)); do
        [ "$(grep -c 'is pid' "$work/out")" -lt 4 ] || break
        sleep 0.01
    done
    sleep 0.3
}

pid_of() { sed -n "s/^rank $1 is pid //p" "$work/out"; }

# said PATTERN: a line is like that, within ten seconds
said() {
    local i
    for ((i = 0; i < 100; i++)); do
        ! grep -Eq "$1" "$work/out" || return 0
        sleep 0.1
    done
    return 1
}

# stops WHAT [EXIT]: it ended well, all ranks behind one step
stops() {
    wait $!
    local code=$?
    [ $code -eq "${2:-0}" ] || fail "$1: exit code $code"
    [ "$(grep -c 'stopped behind step' "$work/out")" -eq 4 ] || fail "$1: not all stopped"
    [ "$(sed -n 's/.*stopped behind step //p' "$work/out" | sort -u | wc -l)" -eq 1 ] ||
        fail "$1: not behind the same step"
}

begin
kill -USR1 "$(ps -o pid= --ppid $!)"
stops "SIGUSR1 to mpirun"

begin
kill -USR1 "$(pid_of 2)"
stops "SIGUSR1 to rank 2"

begin
kill -TERM "$(pid_of 3)"
stops "SIGTERM to rank 3"

begin
kill -INT "$(pid_of 1)"
stops "SIGINT to rank 1"

# One of each, as where a terminal's Ctrl-C reaches mpirun and ranks.
begin
kill -INT "$(pid_of 2)"
kill -TERM "$(pid_of 2)"
stops "SIGINT and SIGTERM to rank 2"

# mpirun gives them a second unless it is told otherwise, and has an exit code of its own.
OMPI_MCA_odls_base_sigkill_timeout=10 begin
kill -INT "$(ps -o pid= --ppid $!)"
stops "SIGINT to mpirun" 1

for signal in TERM INT; do
    begin long
    kill -$signal "$(pid_of 1)"
    said '^rank 1: ended from outside, waiting for rank 0 in barrier #[0-9]+, step 1$' ||
        fail "a first SIG$signal in a wait: nobody says for whom"
    kill -0 "$(pid_of 1)" || fail "a first SIG$signal ended a rank that asks"
    began=$SECONDS
    kill -$signal "$(pid_of 1)"
    wait $! && fail "a second SIG$signal: exit code 0"
    [ $((SECONDS - began)) -le 5 ] || fail "a second SIG$signal does not end the rank"
done

# Without mpirun, begun by a shell that lets its jobs have Ctrl-C.
for count in 1 2; do
    : >"$work/out"
    timeout -k 5 40 env --default-signal=INT "$program" $([ $count -eq 1 ] || echo long) >"$work/out" 2>&1 &
    for ((i = 0; i < 1000; i++)); do
        ! grep -q 'is pid' "$work/out" || break
        sleep 0.01
    done
    sleep 0.3
    kill -INT "$(pid_of 0)"
    # Two that come at once are one: the second is sent until the rank is gone.
    for ((i = 0; i < 50 && count == 2; i++)); do
        sleep 0.2
        kill -INT "$(pid_of 0)" 2>>"$work/out" || break
    done
    wait $!
    code=$?
    case $count.$code in
    1.0) grep -q 'rank 0 stopped behind step' "$work/out" || fail "SIGINT, alone: it did not stop" ;;
    2.130) ;;
    *) fail "$count SIGINT, alone: exit code $code" ;;
    esac
done

finish
