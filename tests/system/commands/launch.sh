#!/usr/bin/env bash
# launch.sh MINIPOD: what `minipod launch` does about jobs that end well, fail, hang, are killed or
# asked to stop. A script stands in for mpirun and does as it is told, attempt by attempt; the last
# cases have real ranks, and another job beside them.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# The stand-in does the n-th word of $PLAN in its n-th call:
#   0..255     that exit code                   log     a rank's log that gets to step 30, exit 1
#   start      likewise before its first step           option, slots  mpirun's words on what it cannot do, exit 1
#   keep       likewise with a checkpoint of step 20    banner  mpirun's words on a dead rank, exit 137
#   die        ends by SIGKILL and leaves a process     hang    a rank's log that grows no more
#   lost       a rank's words on one that died, and no end; missed, gone: and exit 139 or 1
#   struck     the log of rank 3 says that --fault struck it, exit 1
#   print      a megabyte of lines, exit 0              flood   likewise, and then waits
#   spill      more lines than a pipe takes, and fewer than two do, exit 1
#   cry        likewise on standard error
#   wait       until SIGUSR1, then exit 0               deaf    got to step 30; whatever is asked, until it is killed
#   dead       killed behind step 30, its goodput.json says that it runs
#   late       hears the second SIGUSR1 only, exit 0: no rank has begun
#   begins     begins its log after five seconds, says if SIGUSR1 comes at once then, exit 0
#   early      dies of SIGUSR1, no rank has begun       saved   likewise behind a checkpoint of its last step
#   back       likewise at step 12, having gone on from step 10    torn    likewise, of a log that is none
cat >mpi <<'END'
#!/usr/bin/env bash
echo "$*" >>calls
n=$(wc -l <calls)
log=run/job/attempt-$(printf %03d "$n").rank-0000.jsonl
head='{"schema":"minipod.job","version":1,"attempt":'$n',"rank":0,"ranks":1,"mesh":"1","model":"mlp","data":"glyphs","host":"here","pid":1,"begin_ns":100}'
step='{"step":30,"begin_ns":200,"end_ns":300,"input_ns":0,"reduce_ns":0,"save_ns":0}'
read -ra plan <<<"$PLAN"
case ${plan[n - 1]} in
log) printf '%s\n' "$head" "$step" >"$log" && exit 1 ;;
start) printf '%s\n' "$head" >"$log" && exit 1 ;;
option) echo 'mpirun: Error: unknown option "--hosts"' >&2; exit 1 ;;
slots) echo 'There are not enough slots available in the system to satisfy the 9' >&2; exit 1 ;;
keep) printf '%s\n' "$head" "$step" '{"kept":20,"at_ns":400}' >"$log" && exit 1 ;;
banner) echo 'mpirun noticed that process rank 3 with PID 0 on node here exited on signal 9 (Killed).' >&2 && exit 137 ;;
die) setsid sleep 1000 & echo $! >left; kill -9 $$ ;;
hang) printf '%s\n' "$head" "$step" >"$log"; echo $$ >hanging; exec sleep 1000 ;;
lost) echo 'rank 0: rank 5 died; rank 0 was waiting for rank 5 in allreduce ring 1M #7' >&2; echo $$ >hanging; exec sleep 1000 ;;
missed | gone)
    echo 'rank 0: rank 5 died; rank 0 was waiting for rank 5 in allreduce ring 1M #7' >&2
    [ "${plan[n - 1]}" = gone ] && exit 1
    exit 139 ;;
struck)
    for rank in 0 3; do
        sed 's/"rank":0,"ranks":1/"rank":'$rank',"ranks":4/' <<<"$head" >"${log%0000.jsonl}000$rank.jsonl"
    done
    echo '{"fault":1,"at_ns":400}' >>"${log%0000.jsonl}0003.jsonl"
    exit 1 ;;
print) seq 150000 && touch printed && exit 0 ;;
spill) printf '%s\n' "$head" >"$log"; seq 20000; exit 1 ;;
cry) printf '%s\n' "$head" >"$log"; seq 20000 >&2; exit 1 ;;
flood) trap 'touch asked; exit 0' USR1; seq 150000 & touch waiting; while :; do sleep 0.05; done ;;
wait) trap 'touch asked; exit 0' USR1; touch waiting; while :; do sleep 0.05; done ;;
late) trap 'echo >>asked; [ "$(wc -l <asked)" -lt 2 ] || exit 0' USR1; touch waiting; while :; do sleep 0.05; done ;;
begins) trap 'echo >>asked' USR1; touch waiting
    until=$((SECONDS + 5)); while [ $SECONDS -lt $until ]; do sleep 0.05; done
    cp asked asked_before; until=$((SECONDS + 2)); printf '%s\n' "$head" >"$log"
    while [ $SECONDS -lt $until ]; do cmp -s asked asked_before || { touch at_once; break; }; sleep 0.05; done; exit 0 ;;
dead) now=$(date +%s%N); sed "s/:100}/:$now}/" <<<"$head" >"$log"
    printf '%s\n' '{"from":0,"at_ns":'"$now"'}' "$(sed "s/:200/:$now/; s/:300/:$((now + 1000))/" <<<"$step")" >>"$log"
    echo '{"running":true,"clock":"wall","machine":"toy","model_flops":8,"peak_flop_per_s":4,"ranks":1,"physical_cores":1,"cores_at_work":1,"step_s":4,"n_steps":7}' >run/goodput.json
    exit 137 ;;
early) touch waiting; exec sleep 1000 ;;
saved) printf '%s\n' "$head" "$step" '{"kept":30,"at_ns":400}' >"$log"; touch waiting; exec sleep 1000 ;;
back) printf '%s\n' "$head" '{"from":10,"at_ns":150}' "${step/30/12}" >"$log"; touch waiting; exec sleep 1000 ;;
torn) printf '%s\n' "$head" 'no record' "$step" >"$log"; touch waiting; exec sleep 1000 ;;
deaf) printf '%s\n' "$head" "$step" >"$log"; trap 'touch asked' USR1; trap '' TERM INT; touch waiting; while :; do sleep 0.05; done ;;
*) exit "${plan[n - 1]}" ;;
esac
END
chmod +x mpi
fast=(--mpirun "$work/mpi" --backoff 0.1)
job=(-- train --model mlp --out run)

# launch EXIT PLAN WORD...: in a folder that knows of no job; leaves `out`, `err` and `calls`
launch() {
    local want=$1 code
    export PLAN=$2
    shift 2
    rm -rf run calls waiting asked left
    "$minipod" launch "$@" >out 2>err
    code=$?
    [ $code -eq "$want" ] || fail "[$PLAN] $*: exit $code, want $want: $(cat err)"
}
calls() { [ "$(wc -l <calls)" -eq "$1" ] || fail "[$PLAN] $(wc -l <calls) attempts, want $1"; }
says() { grep -q -e "$1" err || fail "[$PLAN] no '$1' in: $(cat err)"; }
notes() { grep -q -e "$1" run/job/launch.jsonl || fail "[$PLAN] no '$1' in: $(cat run/job/launch.jsonl)"; }
silent() { [ ! -s err ] || fail "[$PLAN] says: $(cat err)"; }
# soon COMMAND...: it comes true within ten seconds
soon() {
    for _ in $(seq 200); do "$@" && return; sleep 0.05; done
    fail "[$PLAN] not within 10 s: $*"
}
gone() { ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# ---- how attempts end --------------------------------------------------------------------------

launch 0 '0' -n 3 "${fast[@]}" "${job[@]}"
calls 1
silent
[ "$(cat calls)" = "-n 3 $minipod train --model mlp --out run --attempt 1" ] || fail "started as: $(cat calls)"
notes '^{"schema": "minipod.launch", "version": 1, "command": "train --model mlp --out run", "ranks": 3, '
notes '"attempt": 1, "end_ns": [0-9]*, "exit_code": 0, "reason": "ok", "text": ""}$'

launch 0 'start 137 0' -n 2 "${fast[@]}" "${job[@]}" --resume here.h5 --checkpoint-every 5 --
calls 3
says 'attempt 1: ended with exit code 1; it took 0.[0-9] s and ended before its first step; attempt 2 in 0.1 s from the beginning$'
says 'attempt 2: a rank was killed by signal 9; .*; attempt 3 in 0.2 s from the beginning$'
[ "$(head -1 calls)" = "-n 2 $minipod train --model mlp --out run --resume here.h5 --checkpoint-every 5 --attempt 1 --" ] ||
    fail "started as: $(head -1 calls)"
[ "$(tail -1 calls)" = "-n 2 $minipod train --model mlp --out run --resume here.h5 --checkpoint-every 5 --attempt 3 --" ] ||
    fail "started again as: $(tail -1 calls)"
grep -q 'done in 3 attempts' out || fail "says not that it is done"

launch 1 'start 1 start 0' -n 2 --restarts 2 "${fast[@]}" "${job[@]}"
calls 3
says '^minipod launch: attempt 3: .*; none of 2 restarts without progress is left: .* --resume auto resumes the job$'
[ "$(wc -l <err)" -eq 3 ] || fail "three attempts, $(wc -l <err) lines"
launch 2 'start 2 0' "${fast[@]}" "${job[@]}"
calls 2
notes '"reason": "usage"'
says '^minipod launch: attempt 2: ended with exit code 2; .*; its input cannot be used, so none follows$'
launch 2 '2 0' "${fast[@]}" "${job[@]}"
calls 1
[ ! -e run ] || fail "a job that never began leaves $(find run)"
mkdir -p run && : >run/mine
rm calls
PLAN=2
"$minipod" launch "${fast[@]}" "${job[@]}"
[ "$(find run | sort | tr '\n' ' ')" = 'run run/mine ' ] || fail "leaves $(find run)"
# What never had a rank is not tried again; of a job that had one nobody knows.
for plan in option slots; do
    launch 2 "$plan 0" "${fast[@]}" "${job[@]}"
    calls 1
    says '^minipod launch: no rank has begun: why stands above'
    [ ! -e run ] || fail "$plan: a job that never began leaves $(find run)"
done
launch 0 '255 0' "${fast[@]}" "${job[@]}" # a host that is not reached may come back
calls 2
says 'attempt 1: ended with exit code 255; '
launch 0 'start 255 slots 0' "${fast[@]}" "${job[@]}"
says 'attempt 2: ended with exit code 255; '
calls 4
launch 2 'option 0' "${fast[@]}" -- coll -b 4K -e 4K
launch 1 '1 0' --restarts 0 "${fast[@]}" "${job[@]}"
calls 1
silent
launch 1 '1 0' --restarts 0 "${fast[@]}" -- train --model mlp
grep -q -e "^-n [0-9]* $minipod train --model mlp$" calls || fail "started as: $(cat calls)"
launch 1 '1 0' "${fast[@]}" -- coll -b 4K -e 4K
calls 1

# Progress sets the pause back; a checkpoint is gone on from.
launch 0 'log log keep keep 0' --restarts 5 "${fast[@]}" "${job[@]}"
says 'attempt 1: .* to step 30; attempt 2 in 0.1 s from the beginning: --checkpoint-every is 0$'
says 'attempt 2: .* attempt 3 in 0.2 s from the beginning'
says 'attempt 3: .* attempt 4 in 0.1 s from step 20, if its checkpoint is whole$'
says 'attempt 4: .* attempt 5 in 0.2 s from step 20, if its checkpoint is whole$'
sed -n 3p calls | grep -q -e '--attempt 3$' || fail "goes on from nothing: $(sed -n 3p calls)"
sed -n 4p calls | grep -q -e '--attempt 4 --resume auto$' || fail "goes not on: $(sed -n 4p calls)"
launch 0 'banner 0' "${fast[@]}" "${job[@]}"
says 'attempt 1: rank 3 was killed by signal 9; it took '
says '^mpirun noticed that process rank 3'
notes '"exit_code": 137, "reason": "killed", "text": "rank 3 was killed by signal 9"}$'
# Where mpirun names no signal, its exit code may tell it, or the log of who was struck.
launch 0 'missed gone struck 0' --restarts 3 "${fast[@]}" "${job[@]}" --fault 'slow:rank=1,factor=2;kill:rank=3,step=5'
says 'attempt 1: rank 5 was killed by signal 11; it took '
says 'attempt 2: rank 5 died (no signal is known); it took '
says 'attempt 3: rank 3 was killed by signal 9; it took '
notes '"exit_code": 1, "reason": "killed", "text": "rank 3 was killed by signal 9"}$'
# Who dies does not write his end into goodput.json.
launch 1 'dead dead' --restarts 1 "${fast[@]}" "${job[@]}"
grep -v '_ns"' run/goodput.json | tr -d ' \n' >out
for said in '"running":false' '"attempts":2' '"disruption_count":2' '"n_lost_steps":2' '"program_goodput":0.5' \
    '"machine":"toy"' '"runtime_goodput":0,'; do
    grep -qF "$said" out || fail "no $said in a dead job's goodput.json: $(cat out)"
done
launch 0 'die 0' "${fast[@]}" "${job[@]}"
says "attempt 1: $work/mpi was killed by signal 9; it took"
soon gone "$(cat left)"

# The same folder again: anew, or the same job gone on with.
PLAN='0 0 0 0'
"$minipod" launch "${fast[@]}" "${job[@]}" --resume auto || fail "does not go on"
tail -1 calls | grep -q -e '--resume auto --attempt 3$' || fail "went on as: $(tail -1 calls)"
[ "$(grep -c minipod.launch run/job/launch.jsonl)" -eq 2 ] || fail "two launches are not two in the log"
"$minipod" launch "${fast[@]}" "${job[@]}" --resume ./run/ || fail "does not go on from its folder"
tail -1 calls | grep -q -e '--attempt 4$' || fail "went on as: $(tail -1 calls)"
rm calls
"$minipod" launch "${fast[@]}" "${job[@]}" || fail "does not begin anew"
[ "$(grep -c minipod.launch run/job/launch.jsonl)" -eq 1 ] || fail "an older job's log stays"

# What an older run left stays until a newer one has begun, also where the launcher is killed before.
launch 1 'log' --restarts 0 "${fast[@]}" "${job[@]}"
: >run/job/mine
cp -r run before
for _ in 1 2; do
    rm calls
    PLAN=2
    "$minipod" launch "${fast[@]}" "${job[@]}"
    diff -r before run || fail "a job that never began changed what an older one left"
    rm -f calls waiting
    PLAN=wait
    "$minipod" launch "${fast[@]}" "${job[@]}" &
    pid=$!
    soon test -e waiting
    stand_in=$(pgrep -P "$pid")
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    soon gone "$stand_in"
done
rm calls
PLAN=keep
"$minipod" launch --restarts 0 "${fast[@]}" "${job[@]}"
[ "$(find run | sort | tr '\n' ' ')" = "$(find before | sed 's/before/run/' | sort | tr '\n' ' ')" ] ||
    fail "leaves $(find run)"
grep -q kept run/job/attempt-001.rank-0000.jsonl || fail "an older job's log stays"

# Nor is a job gone on with where that is refused before it begins: one more attempt would be counted.
for was_launched in yes no; do
    PLAN='log 0 2'
    rm -rf run calls
    "$minipod" launch --restarts 1 "${fast[@]}" "${job[@]}" 2>err || fail "$(cat err)"
    [ $was_launched = yes ] || rm run/job/launch.jsonl
    rm -rf before && cp -r run before
    "$minipod" launch "${fast[@]}" "${job[@]}" --resume auto
    [ $? -eq 2 ] && diff -r before run || fail "was launched: $was_launched: a refused launch stays in the log"
    calls 3
done

# ---- what cannot be launched -------------------------------------------------------------------

# refuses PATTERN WORD...: with one line, before anything is started or written
refuses() {
    local says=$1
    shift
    PLAN="$*"
    launch 2 0 "$@"
    says "^minipod launch: .*$says"
    [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || fail "$*: more than one line: $(cat out err)"
    [ ! -e calls ] && [ ! -e run ] || fail "$*: has begun"
}
refuses 'which command? like minipod launch' -n 4
refuses "'trian' is no command; did you mean train?" -- trian
refuses 'kernels runs alone' -- kernels gemm
refuses 'launch runs alone' -- launch -- train
refuses 'out: train has none.* or launch --restarts 0' -- train --model mlp
refuses 'not an option of coll' -- coll --out run
refuses '--out: not an option of launch' --out run -- train
refuses 'not an option of launch' -n 4 train --out run
refuses "mpirun: 'nowhere' cannot be started: No such file or directory" --mpirun nowhere "${job[@]}"
refuses 'mpirun: in .* a quote is not closed' --mpirun "mpirun 'x" "${job[@]}"
: >taken
PLAN='a file'
"$minipod" launch "${fast[@]}" -- train --model mlp --out taken/below 2>err
[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] || fail "a folder in a file: $(cat err)"
MINIPOD_OUT=run launch 0 '0' "${fast[@]}" -- train --model mlp # the environment's, and a file's
grep -q -e '--attempt 1$' calls || fail "MINIPOD_OUT is not seen"
echo 'out = run' >out.conf
launch 0 '0' "${fast[@]}" -- train --model mlp --conf out.conf
grep -q -e '--attempt 1$' calls || fail "out of a file is not seen"
launch 0 '0' "${fast[@]}" --conf out.conf -- train --model mlp # launch's own file has options of train, too
grep -q -e ' train --conf out.conf --model mlp --attempt 1$' calls || fail "launch --conf does not reach train: $(cat calls)"

# ---- hangs -----------------------------------------------------------------------------------

launch 0 'hang 0' --stall 0.5 "${fast[@]}" "${job[@]}"
says "attempt 1: no rank's log grew for 0\.[5-9] s; .*, to step 30; attempt 2 "
notes '"reason": "hung"'
soon gone "$(cat hanging)"
launch 0 'lost 0' --stall 0.5 "${fast[@]}" "${job[@]}"
says 'attempt 1: rank 5 died (no signal is known); it took [0-3]\.[0-9] s and ended before its first step; attempt 2 '
launch 1 'hang' --restarts 0 --stall 0.5 "${fast[@]}" "${job[@]}"
says "^minipod launch: attempt 1: no rank's log grew"

# ---- stops -----------------------------------------------------------------------------------

# begin PLAN WORD...: in the background; `pid` is the launcher, which prints into $into, else `out`
begin() {
    rm -rf run calls waiting asked left hanging
    export PLAN=$1
    shift
    "$minipod" launch "$@" >"${into:-out}" 2>err &
    pid=$!
}
ends() {
    local code
    wait "$pid"
    code=$?
    [ $code -eq "$1" ] || fail "[$PLAN] exit $code, want $1: $(cat err)"
}

for signal in TERM USR1 HUP; do
    begin 'wait 0' "${fast[@]}" "${job[@]}"
    soon test -e waiting
    kill -$signal "$pid"
    ends 0
    [ -e asked ] || fail "SIG$signal does not reach mpirun"
    calls 1
    notes '"reason": "stopped"'
done
begin 'wait 0' --stall 2 "${fast[@]}" "${job[@]}" # suspended, which is no hang
soon test -e waiting
kill -STOP "$pid"
sleep 2.5
kill -CONT "$pid"
sleep 0.5
kill -TERM "$pid"
ends 0
calls 1
begin 'deaf 0' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
soon test -e asked
kill -TERM "$pid"
ends 1
calls 1
says '^minipod launch: attempt 1: asked to stop, and ended before it could save$'
begin 'start 0' --mpirun ./mpi --backoff 30 "${job[@]}"
soon grep -q 'attempt 2 in 30 s' err
kill -TERM "$pid"
ends 0
calls 1
grep -q 'stopped as it was asked to, before attempt 2; ' out || fail "in the pause: $(cat out)"
begin 'late 0' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
ends 0
calls 1
# Of each request mpirun prints a line: at 0, 0.5, 1.5 and 3.5 s, and once a rank can hear it.
begin 'begins 0' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
ends 0
calls 1
[ -e at_once ] || fail "a rank that has begun is not asked at once"
[ "$(wc -l <asked_before)" -le 4 ] || fail "asked to stop $(wc -l <asked_before) times in 5 s"
# What dies of being asked has lost nothing where it has done no step, or has saved its last one.
for plan in early saved; do
    begin "$plan 0" "${fast[@]}" "${job[@]}"
    soon test -e waiting
    kill -TERM "$pid"
    ends 0
    calls 1
    notes '"exit_code": 138, "reason": "stopped"'
done
# A checkpoint of the steps that were left behind, of step 20 here, keeps none of those that followed.
begin 'keep back' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
ends 1
says 'attempt 2: asked to stop, and ended before it could save$'
# Nor does a log that cannot be read say that nothing is lost.
begin 'torn' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
ends 1
says '^minipod: warning: run/job/attempt-001.rank-0000.jsonl:2: '
says 'attempt 1: asked to stop, and ended before it could save$'

# ---- who reads what is printed -----------------------------------------------------------------

# A reader that has enough leaves; the job continues and warns once.
export PLAN=print
rm -rf run calls printed
"$minipod" launch "${fast[@]}" "${job[@]}" 2>err | head -1 >out
[ "${PIPESTATUS[0]}" -eq 0 ] && [ -e printed ] && [ "$(cat out)" = 1 ] || fail "| head: $(cat err)"
says '^minipod: warning: launch: standard output: Broken pipe: output is dropped, the job continues$'
[ "$(wc -l <err)" -eq 1 ] || fail "| head: more than one line: $(cat err)"
notes '"reason": "ok"'
rm -rf run calls printed
"$minipod" launch "${fast[@]}" "${job[@]}" 2>err | tail -1 >out
[ "$(cat out)" = 150000 ] || fail "| tail: the last line is $(cat out)"
silent
# One that stands still, as `| less` does, keeps nobody from stopping the job.
mkfifo pipe
sleep 1000 <pipe &
reader=$!
into=pipe begin 'flood 0' "${fast[@]}" "${job[@]}"
soon test -e waiting
kill -TERM "$pid"
soon test -e asked
kill "$reader"
ends 0

# Nor does it keep a job from being begun again, or its end from the log.
sleep 1000 <pipe &
reader=$!
begun_again() { [ -e calls ] && [ "$(wc -l <calls)" -eq 2 ]; }
into=pipe begin 'spill 0' "${fast[@]}" "${job[@]}"
soon begun_again
kill "$reader"
ends 0
says '^minipod: warning: launch: nobody reads the rest of what the attempt printed: it is dropped$'
says '^minipod: warning: attempt 1: .*; it took [01]\.[0-9] s and'
sleep 1000 <pipe &
reader=$!
into=pipe begin 'spill' --restarts 0 "${fast[@]}" "${job[@]}"
soon grep -qs '"exit_code": 1' run/job/launch.jsonl
kill -0 "$pid" || fail "does not wait for who reads its last words"
kill "$reader"
ends 1

# Standard error, where the launcher itself speaks, is no other.
sleep 1000 <pipe &
reader=$!
rm -rf run calls
PLAN='cry 0'
"$minipod" launch "${fast[@]}" "${job[@]}" >out 2>pipe &
pid=$!
soon begun_again
kill "$reader"
: >err
ends 0
notes '"exit_code": 1, '

# A launcher that is killed leaves nothing that runs.
begin 'hang 0' "${fast[@]}" "${job[@]}"
soon test -e hanging
kill -9 "$pid"
wait "$pid" 2>/dev/null
soon gone "$(cat hanging)"

# ---- real ranks, beside another job ------------------------------------------------------------

ends_soon=(coll --algo ring -b 4M -e 4M)
sessions() { ls -d "${TMPDIR:-/tmp}"/ompi.*/pid."$1" "${TMPDIR:-/tmp}"/prterun.*."$1".* 2>/dev/null; }
# child PID: its mpirun, which is prterun in Open MPI 5
child() { pgrep -P "$1" -x 'mpirun|prterun'; }
# shared MPIRUN: what its ranks share in memory
shared() {
    local rank
    for rank in $(pgrep -P "$1"); do grep -o '/dev/shm/[^ ]*' "/proc/$rank/maps"; done | sort -u
}
on_ranks 2 "${ends_soon[@]}" -n 100000 >other.out 2>&1 &
other=$!
"$minipod" launch -n 2 -- "${ends_soon[@]}" -n 100000 >out 2>err &
pid=$!
PLAN='real ranks'
mine=
find_mine() { mine=$(child "$pid") && [ -n "$(shared "$mine")" ] && [ -n "$(shared "$(child $other || echo $other)")" ]; }
soon find_mine
other_mpirun=$(child $other || echo $other)
left=$(shared "$mine")
ranks=$(pgrep -P "$mine")
kill -9 "$mine"
ends 1
says 'minipod launch: attempt 1: mpirun was killed by signal 9'
for file in $left; do [ ! -e "$file" ] || fail "$file is left"; done
for rank in $ranks; do soon gone "$rank"; done
[ -z "$(sessions "$mine")" ] || fail "$(sessions "$mine") is left"
kill -0 "$other" 2>/dev/null || fail "the other job has ended"
[ -n "$(shared "$other_mpirun")" ] || fail "the other job's memory is gone"
kill -TERM "$other_mpirun"
wait "$other" 2>/dev/null

exit $failed
