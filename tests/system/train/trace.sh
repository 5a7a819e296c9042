#!/usr/bin/env bash
# trace.sh MINIPOD TRACE_CHECK: the timelines that train and simulate write hold together, have what
# was asked for, and a length that cannot be kept is refused.
trace_check=$(realpath "$2")
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# counts FILE: "ranks 4 slices 100 ..." into shell variables of these names
counts() {
    local line words
    line=$("$trace_check" "$1" 2>&1) || fail "$1: $line"
    echo "$1: $line"
    read -r -a words <<<"$line"
    for ((i = 0; i + 1 < ${#words[@]}; i += 2)); do printf -v "${words[i]}" %s "${words[i + 1]}"; done
}
# is WHAT FOUND TEST: a number that must be there
is() { [ "$2" "${@:3}" ] || fail "$1: $2, want ${*:3}"; }

train=(train --model resnet8 --data glyphs:8x8x1:96+40 --batch 24 --steps 12 --lr 0.02 --progress off --quiet)
on_ranks 4 "${train[@]}" --mesh 2x2 --trace --trace-steps 3 --accumulate 2 --out run >out 2>&1 ||
    fail "train: $(cat out)"
counts run/timeline.json
is "ranks of a run" "$ranks" -eq 4
is "steps of four ranks" "$steps" -eq 12
is "slices" "$slices" -ge 400
is "batches" "$data" -ge 4
is "counts of bytes in flight" "$counters" -ge 24
grep -q '"clock": "wall"' run/timeline.json || fail "the clock is not named"
grep -q '"name": "step 12"' run/timeline.json || fail "no step 12"
grep -q '"name": "step 9"' run/timeline.json && fail "step 9 was not to be kept"

# ---- checkpoints, and a rank that is slow ----------------------------------------------------

on_ranks 2 "${train[@]}" --mesh 2 --trace --trace-steps 12 --checkpoint-every 4 --fault slow:rank=1,factor=20 \
    --out slow >out 2>&1 || fail "a slow rank: $(cat out)"
counts slow/timeline.json
# Of three saves both ranks wait, copy and write, and rank 0 commits.
is "events of files" "$file" -eq 21
is "the begin of the attempt and the fault" "$instants" -eq 3
from=$(grep '"ph": "s"' slow/timeline.json | grep -c '"pid": 1')
is "arrows from the slow rank" "$from" -gt $((arrows / 2))
grep -q '"labels": "attempt 1"' slow/timeline.json || fail "the attempt is not named"
for name in 'evaluation 12' 'save: commit 8' 'fault 0'; do
    grep -q "\"name\": \"$name\"" slow/timeline.json || fail "no '$name'"
done

# ---- on ranks that mpirun did not start, with the lengths there are --------------------------

"$minipod" "${train[@]}" --trace --out alone >out 2>&1 || fail "one rank: $(cat out)"
counts alone/timeline.json
is "ranks of one" "$ranks" -eq 1
is "steps by default" "$steps" -eq 8
is "arrows of one rank" "$arrows" -eq 0
"$minipod" "${train[@]}" --trace --trace-steps 1000000 --out long >out 2>&1 || fail "all steps: $(cat out)"
counts long/timeline.json
is "all steps" "$steps" -eq 12
"$minipod" "${train[@]}" --steps 100000000 --trace --trace-steps 100000000 --out never >out 2>err
is "exit code of too many steps" $? -eq 2
grep -q '^minipod train: trace-steps: 100000000 steps of .* GiB of a rank' err || fail "too many steps: $(cat err)"
is "lines of it" "$(wc -l <err)" -eq 1
[ -e never/timeline.json ] && fail "a trace of a run that did not begin"

# ---- the simulator's -------------------------------------------------------------------------

"$minipod" simulate --machine tpu-v3 --mesh 4x4 --model resnet20 --batch 512 --fault slow:rank=3,factor=2 \
    --trace --trace-cores 0,3,5 --out sim >out 2>&1 || fail "simulate: $(cat out)"
counts sim/timeline.json
is "cores that are watched" "$ranks" -eq 3
is "steps of three cores" "$steps" -eq 3
is "arrows from the slow core" "$arrows" -ge 2
grep '"ph": "s"' sim/timeline.json | grep -vq '"pid": 3' && fail "somebody but core 3 was waited for"
grep -q '"clock": "virtual, machine tpu-v3"' sim/timeline.json || fail "clock and machine are not named"

# Each instruction says what it does and what bounds it; what is joined to another is left out. On 8 cores
# their FLOPs are the model's.
"$minipod" simulate --machine tpu-v3 --mesh 2x2x2 --model resnet50 --batch 64 --trace --out pod >out 2>&1 ||
    fail "simulate: $(cat out)"
counts pod/timeline.json
want=$(sed -n 's/.*"model_flops_per_step": \([0-9]*\).*/\1/p' pod/simulate.json)
found=$(sed -n 's/.*"flops": \([0-9.e+]*\).*/\1/p' pod/timeline.json | awk '{ sum += $1 } END { printf "%.0f", 8 * sum }')
is "FLOPs of all instructions" "$found" -eq "$want"
for bound in matrix memory overhead; do
    grep -q "\"bound_by\": \"$bound\", \"flops\": .*\"memory_bytes\": .*\"joined\": [1-9]" pod/timeline.json ||
        fail "nothing is bound by $bound"
done
grep '"joined": ' pod/timeline.json | grep -q '"dur": 0.000000,\|"joined": 0\|"kernel"' &&
    fail "an instruction that takes no time, or one with a kernel"

# What found no room is told: an evaluation of many batches leaves more than a track holds.
on_ranks 2 train --model mlp --data glyphs:8x8x1:60+5000 --batch 12 --steps 2 --trace --progress off --out dropped \
    >out 2>err || fail "dropped: $(cat err)"
n=$(sed -n 's/.*"dropped_records": \([1-9][0-9]*\).*/\1/p' dropped/run.json)
[ -n "$n" ] && grep -q "^ *records dropped  *$n " out && grep -q "\"dropped_records\": $n" dropped/timeline.json ||
    fail "dropped: run.json has '$n': $(cat out)"

exit "$failed"
