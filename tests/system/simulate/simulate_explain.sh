#!/usr/bin/env bash
# simulate_explain.sh MINIPOD: what --explain finds is what was done to the pod: a slow core, a failed
# link, noise, input, reductions that are waited for; the same in print, CSV and JSON.
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/../common.sh"
pod=(simulate --machine tpu-v3 --mesh 2x4x4 --model resnet50 --batch 4096)

# explains WORD...: into `out`, e.csv and e.json
explains() { "$minipod" "${pod[@]}" --explain --csv e.csv --json e.json "$@" >out 2>err || fail "$*: $(cat err)"; }
# has PATTERN
has() { grep -q -e "$1" out || fail "no '$1' in: $(sed -n '/reductions/,$p' out)"; }
has_not() { grep -q -e "$1" out && fail "'$1' in: $(sed -n '/reductions/,$p' out)"; }
# first TEXT: what helps most, in all three places
first() {
    local line
    line=$(grep -A1 '^# what would help' out | tail -1)
    [[ $line == "#   $1 "* ]] || fail "first is '$line', want '$1'"
    line=$(grep -m1 '^what if' e.csv)
    [[ $line == "what if $1,"* ]] || fail "first in the CSV is '$line', want '$1'"
    line=$(grep -m1 '"change"' e.json)
    [[ $line == *"\"change\": \"$1\","* ]] || fail "first in the JSON is '$line', want '$1'"
}
# step_of FILE.csv: ms
step_of() { sed -n 's/^step,\([^,]*\),.*/\1/p' "$1"; }

explains
first 'memory twice as fast'
has '^# reductions: 4 collectives of .* are in flight for .* ms, summed over them;$'
has '^#   core 0 waits for none: they hide behind what it computes$'
has_not 'waits the most'
has_not 'slow\|failed\|noise\|^#.*overlap'
[ "$(grep -c '^part ' e.csv)" -eq "$(grep -c '"part":' e.json)" ] || fail "parts: CSV and JSON differ"
cp e.csv plain.csv

explains --fault 'slow:rank=3,factor=2;slow:rank=5,factor=1.2'
first 'no core slower than others'
has '^# slow: core 3 takes 2 times as long, the slowest of 2; '
grep -q "^what if no core slower than others,$(step_of plain.csv),ms," e.csv ||
    fail "without the slow cores: $(grep 'no core slower' e.csv), plain $(step_of plain.csv)"
grep -q '"slow": {' e.json || fail "no slow core in the JSON"

explains --fault link:rank=2,dim=1 --noise 0.05
has ' no failed link '
has ' no noise '
has '^#   core [0-9]* waits the most, [0-9.]* ms$'

# 2 hosts of 2,048 samples each at 4,000/s: half a second, and a quarter when input is twice as fast.
explains --input-rate 4000
first 'input twice as fast'
grep -q '^what if input twice as fast,256.000,ms,a step; 2.00 x' e.csv || fail "$(grep 'what if input' e.csv)"

explains --overlap off
has '^# reductions: .* --overlap off: each is waited for at once'
has ' reductions that overlap '
has_not 'hide behind'

"$minipod" simulate --machine tpu-v3 --model mlp --explain >out || fail "one core"
has 'one core: nothing is reduced'
has_not 'links'

# ---- links without latency: few cores still stand for all, and the step is that of all
wide=(simulate --machine tpu-v3 --mesh 2x32x32 --model resnet20 --batch 4096 --link-latency 0)
"$minipod" "${wide[@]}" --csv few.csv >out || fail "no latency"
has '^  cores  *2048  *[1-9][0-9]\{0,2\} simulated, which stand for all'
"$minipod" "${wide[@]}" --csv all.csv --every-core on >out || fail "no latency, every core"
has_not 'which stand for all'
[ "$(step_of few.csv)" = "$(step_of all.csv)" ] || fail "few cores: $(step_of few.csv) ms, all $(step_of all.csv)"

exit $failed
