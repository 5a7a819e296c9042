#!/usr/bin/env bash
# torch_peer.sh MINIPOD TREE: PyTorch trains the networks that minipod trains, and the two are measured
# in turn. Exit 77: PyTorch is not here.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
peers=$2/bench/peers
python=python3
"$python" -c 'import torch' 2>/dev/null || python=/usr/bin/python3 # Debian's, where another stands before it
"$python" -c 'import torch' 2>/dev/null || {
    echo "SKIPPED: no PyTorch for $python (apt-get install python3-torch)"
    exit 77
}

for model in mlp resnet20 resnet50 efficientnet-b{0..7} efficientnet-b0-32; do
    ours=$("$minipod" explain model --model $model | awk '$1 == "parameters" { print $2 }')
    theirs=$("$python" "$peers/torch_train.py" --model $model --parameters)
    [ "$ours" = "$theirs" ] || fail "$model: $ours parameters, PyTorch has $theirs"
done
"$python" "$peers/torch_train.py" --model mlp --batch 8 --steps 2 --ranks 2 >ranks 2>err ||
    fail "two ranks: exit $?: $(tail -n 3 err)"
grep -q '^samples/s  [0-9.]*$' ranks || fail "two ranks: $(cat ranks)"
"$python" "$peers/torch_train.py" --batch 9 --ranks 2 >out 2>err && fail "a batch that does not divide"
grep -q 'batch: 9 is not divisible by 2 ranks' err || fail "a batch that does not divide: $(cat err)"
cpu=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status | sed 's/[,-].*//')
"$python" "$peers/compare.py" --model mlp --batch 8 --steps 2 --rounds 1 --minipod "$minipod" \
    --cpus "$cpu" --json both.json >both 2>err || fail "compare: exit $?: $(tail -n 3 err)"
grep -q '^# minipod: [0-9.]* x PyTorch' both || fail "compare: $(cat both)"
grep -q '"schema": "minipod.compare"' both.json || fail "compare: $(head -n 5 both.json)"

# What is asked wrong is told in one line, with what may be asked.
# refuses PATTERN WORD...
refuses() {
    local pattern=$1 code
    shift
    "$python" "$peers/compare.py" --minipod "$minipod" --cpus "$cpu" --batch 8 --steps 2 --rounds 1 "$@" >out 2>err
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] || fail "compare $*: exit $code, $(head -c 600 err)"
    grep -q -e "$pattern" err || fail "compare $*: no '$pattern' in: $(cat err)"
}
refuses "^compare.py: .*--model: invalid choice: 'foo' (choose from .*'resnet20', .*)$" --model foo
refuses "^compare.py: .*--precision: invalid choice: 'f16' (choose from 'bf16', 'f32')$" --precision f16
refuses "^compare.py: .*--rounds: '0' is no whole number" --rounds 0
refuses '^compare.py: unrecognized arguments: --modle' --modle foo
refuses "^compare.py: minipod data: .*0x1x1" --images 0x1x1
refuses '^compare.py: minipod train: --lrr: there is no such option' --model mlp -- --lrr 3
refuses '^compare.py: .*absent: No such file' --minipod ./absent

[ "$failed" -eq 0 ] && echo "PyTorch stands beside minipod"
exit "$failed"
