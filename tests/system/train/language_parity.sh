#!/usr/bin/env bash
# language_parity.sh MINIPOD TREE: losses and gradients of BERT's pre-training are those of PyTorch, with
# micro-steps on two ranks; and those of another precision are told apart. Exit 77: PyTorch or h5py is
# not here.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
python=python3
"$python" -c 'import importlib.util as u; exit(not (u.find_spec("torch") and u.find_spec("h5py")))' ||
    python=/usr/bin/python3 # Debian's, where another stands before it
parity=("$python" "$2/bench/peers/language_parity.py" --minipod "$minipod" --batch 8 --tolerance 1e-5)

timeout 100 "${parity[@]}" --ranks 2 -- --accumulate 2 >out 2>err
case $? in
0) grep -q '^# 0 of 51 beyond 1e-05$' out || fail "$(cat out)" ;;
77)
    cat out
    exit 77
    ;;
*) fail "two ranks: $(cat out err)" ;;
esac
timeout 100 "${parity[@]}" -- --precision bf16 >out 2>&1 && fail "bf16 passes for f32"
grep -q '^# [1-9][0-9]* of 51 beyond 1e-05: ' out || fail "bf16 against f32: $(cat out)"

[ "$failed" -eq 0 ] && echo "losses and gradients are PyTorch's"
exit "$failed"
