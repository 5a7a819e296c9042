#!/usr/bin/env bash
# optimizers.sh MINIPOD [full]: every optimizer trains with nothing given but its name. The short form is
# one seed on small images; `full` is what the defaults in runtime/optim/optims.def were chosen for, takes
# minutes, and prints the accuracies:
#   tests/system/train/optimizers.sh build/release/bench/minipod full
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
form=(--data glyphs:8x8x1:2000+200 --batch 64 --epochs 3)
seeds=(1)
least=0.5
if [ "${2:-}" = full ]; then
    form=(--data glyphs:16x16x1:8000+1000 --epochs 6)
    seeds=(1 2 3)
    least=0.9
fi

optimizers=$("$minipod" train --help-all | grep -A 3 '^  --optimizer NAME' | sed -n 's/.*\[\([^;]*\);.*/\1/p' | tr '|' ' ')
[ "$(wc -w <<<"$optimizers")" -ge 6 ] || fail "optimizers: '$optimizers'"
for optimizer in $optimizers; do
    printf '%s' "$optimizer"
    for seed in "${seeds[@]}"; do
        "$minipod" train --model resnet8 "${form[@]}" --optimizer "$optimizer" --seed "$seed" --eval-every 0 \
            --quiet --json run.json >out 2>&1 || fail "$optimizer: $(cat out)"
        accuracy=$(grep -o '"eval_accuracy": [0-9.]*' run.json | grep -o '[0-9.]*$')
        printf ' %s' "$accuracy"
        awk -v a="$accuracy" -v least=$least 'BEGIN{exit !(a >= least)}' ||
            fail "$optimizer, seed $seed: accuracy $accuracy, need $least"
    done
    echo
done

# The values that were taken stand in the table, the record and explain.
"$minipod" train --model mlp --data glyphs:8x8x1:64+16 --batch 32 --steps 1 --optimizer adamw --lr 0.5 --json run.json >out
grep -q '^  learning rate *0.5 *cosine; --beta1 0.9 --beta2 0.999 --weight-decay 0.01 --epsilon 1e-8$' out ||
    fail "the table: $(grep 'learning rate' out)"
grep -q '"epsilon": "*1e-0*8' run.json || fail "the record: $(grep epsilon run.json)"
grep -q '"lr": "*0.5' run.json || fail "the record: $(grep '"lr"' run.json)"
"$minipod" explain optimizer --optimizer lars --trust 0.01 >out || fail "explain optimizer"
grep -q "^  lr  *0.5  *the optimizer's default$" out && grep -q '^  trust  *0.01  *from the command line$' out ||
    fail "explain optimizer: $(cat out)"
exit $failed
