#!/usr/bin/env bash
# faults.sh MINIPOD: what --fault asks for strikes a run of ranks as it says, and the watchdog names a rank
# that hangs, or that somebody stops, with what the others wait in and the step; `goodput` names one that is slow.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
small=(train --model mlp --data glyphs:8x8x1:60+30 --batch 12 --progress off)

# one_line WHAT REGEX: all that is on standard error, beside what mpirun says
one_line() {
    without_banner err | grep -v -e ORTE_ERROR_LOG -e 'more process.* has sent help message' \
        -e 'Set MCA parameter' >lines
    if [ "$(wc -l <lines)" -ne 1 ] || ! grep -Eq "$2" lines; then fail "$1: $(cat err)"; fi
}

# ---- hang ---------------------------------------------------------------------------------------

# By the log of rank 3, from the strike on.
struck_ns() { sed -n 's/.*"fault":0,"at_ns":\([0-9]*\).*/\1/p' run/job/attempt-001.rank-0003.jsonl; }

on_ranks 4 "${small[@]}" --mesh 2x2 --steps 400 --watchdog 2 --fault hang:rank=3,step=12 --out run >out 2>err
[ $? -eq 1 ] || fail "hang: exit $?"
ended_ns=$(date +%s%N)
one_line hang '^rank [0-2]: rank 3 did not arrive in [a-z]+ .* #[0-9]+, step 12, for [23] s: ending the job$'
[ -n "$(struck_ns)" ] || fail "hang: rank 3 did not write down that it was struck"
# 3 s and what mpirun takes to end ranks; much, where others keep this machine busy.
[ $(((ended_ns - $(struck_ns)) / 1000000)) -le 10000 ] || fail "hang: took $(((ended_ns - $(struck_ns)) / 1000000)) ms"

# ---- a rank is stopped in the midst of the run ----------------------------------------------------

rm -rf run
on_ranks 4 "${small[@]}" --mesh 2x2 --steps 1000000 --lr 0.001 --watchdog 2 --out run >out 2>err &
job=$!
log=run/job/attempt-001.rank-0002.jsonl
for ((i = 0; i < 1000; i++)); do
    ! grep -q '"step":5,' $log 2>/dev/null || break
    sleep 0.02
done
kill -STOP "$(sed -n '1s/.*"pid": *\([0-9]*\).*/\1/p' $log)" || fail "stopped: there is no rank 2"
wait $job
[ $? -eq 1 ] || fail "stopped: exit $?"
one_line stopped '^rank [013]: rank 2 did not arrive in .* #[0-9]+, step [0-9]+, for [23] s: ending the job$'

# ---- nan, slow ------------------------------------------------------------------------------------

on_ranks 2 "${small[@]}" --mesh 2x1 --steps 30 --fault nan:rank=1,step=9 >out 2>err
[ $? -eq 1 ] || fail "nan: exit $?"
one_line nan "^minipod train: step 9: '[a-z0-9/]+' was not finite before the step began\$"

weights() { sed -n 's/^ *weights *\([0-9a-f]*\) .*/\1/p' out; }
on_ranks 2 "${small[@]}" --mesh 2x1 --steps 10 >out 2>err || fail "plain: $(cat err)"
plain=$(weights)
on_ranks 2 "${small[@]}" --mesh 2x1 --steps 10 --fault slow:rank=1,factor=5,from=3 >out 2>err || fail "slow: $(cat err)"
[ -n "$plain" ] || fail "plain: no weights: $(cat out)"
[ "$(weights)" = "$plain" ] || fail "slow: weights $(weights), $plain without"

# So slow that nothing else that this machine does comes near it: it is named, and the others wait for it.
on_ranks 3 train --model mlp --data glyphs:28x28x1:600+60 --batch 60 --mesh 3 --steps 80 --progress off \
    --fault slow:rank=1,factor=20 --out slowed >out 2>err || fail "slowed: $(cat err)"
"$minipod" goodput slowed >out 2>err || fail "slowed: $(cat err)"
awk '/^# rank +own/ { behind = NR } !behind || NR > behind + 4 { next }
    $1 == 1 && $6 < 0.5 && / slow: [0-9.]+ times the others$/ { named++ }
    $1 != 1 && $6 > 0.5 && / waits [0-9.]+ ms a step for rank 1$/ { wait++ }
    END { exit named != 1 || wait != 2 }' out && grep -q '^# slow: rank 1; ' out ||
    fail "rank 1 of 3 is not the slow one: $(grep -A 7 'medians; own' out)"

# ---- what never comes due -------------------------------------------------------------------------

# A job that is done says so in one line; what struck in an earlier attempt has struck.
never='kill:rank=1,step=9;diskfull:rank=0,step=3,write=900'
due=("${small[@]}" --mesh 2x1 --checkpoint-every 1 --checkpoint sync --out due
    --fault "nan:rank=1,step=5;slow:rank=1,factor=1.5;corrupt-checkpoint:step=2,byte=99999999;$never")
said='^minipod: warning: fault: the job is done and was not struck by'
on_ranks 2 "${due[@]}" --steps 3 >out 2>err || fail "not due: exit $?"
one_line 'not due' "$said nan:rank=1,step=5;$never\$"
on_ranks 2 "${due[@]}" --steps 8 --resume auto >out 2>err && fail "due: the run ended well"
one_line due '^minipod train: step 5: '
on_ranks 2 "${due[@]}" --steps 8 --resume auto >out 2>err || fail "behind it: exit $?"
one_line 'behind it' "$said $never\$"

# ---- what cannot strike ---------------------------------------------------------------------------

for fault in hang:rank=2,step=1 slow:rank=0,factor=0.5; do
    on_ranks 2 "${small[@]}" --mesh 2x1 --steps 1 --fault $fault >out 2>err
    [ $? -eq 2 ] || fail "$fault: exit $?"
    one_line $fault '^minipod train: fault: '
done

[ "$failed" -eq 0 ] && echo "faults: all as it should be"
exit "$failed"
