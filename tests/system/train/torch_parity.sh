#!/usr/bin/env bash
# torch_parity.sh MINIPOD TREE: logits and gradients are those of the same networks in PyTorch, on one
# rank and on two; and networks that differ are told apart. Exit 77: PyTorch or h5py is not here.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
python=python3
"$python" -c 'import torch, h5py' 2>/dev/null || python=/usr/bin/python3
parity=("$python" "$2/bench/peers/torch_parity.py" --minipod "$minipod")
"${parity[@]}" --help >out 2>&1
case $? in
0) ;;
77)
    cat out
    exit 77
    ;;
*) fail "--help: $(tail -n 3 out)" ;;
esac

# equal WORD...
equal() {
    timeout 150 "${parity[@]}" "$@" >out 2>err || fail "$*: exit $?: $(cat out err)"
    grep -q '^# 0 of [0-9]* beyond 0.001$' out || fail "$*: $(cat out)"
}

equal --model resnet8 --batch 32
equal --model resnet20 --batch 8 --ranks 2
equal --model resnet50 --batch 2 --shape 64x64x3 --label-smoothing 0
equal --model efficientnet-b0 --batch 4 --shape 65x64x3
equal --model efficientnet-b1 --batch 4 --shape 48x48x1 -- --fusion off
equal --model efficientnet-b0-32 --batch 8 --ranks 2

# A checkpoint of another optimizer, on a data set of its own; then in another precision.
"$minipod" data make glyphs:20x20x3:64+40 -o set.h5 --quiet &&
    "$minipod" train --model resnet8 --data set.h5 --batch 16 --steps 4 --optimizer adamw --lr 1e-3 \
        --ema 0.9 --out run --progress off --quiet >out 2>&1 || fail "a run: $(cat out)"
run=(--model resnet8 --batch 16 --checkpoint run --data set.h5)
equal "${run[@]}"
"${parity[@]}" "${run[@]}" -- --precision bf16 >out 2>&1 && fail "bf16 passes for f32"
grep -q '^# [1-9][0-9]* of [0-9]* beyond 0.001: ' out || fail "bf16 against f32: $(cat out)"

[ "$failed" -eq 0 ] && echo "logits and gradients are PyTorch's"
exit "$failed"
