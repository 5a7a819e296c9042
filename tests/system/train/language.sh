#!/usr/bin/env bash
# language.sh MINIPOD: BERT on a made language to its target, on two ranks; what a run of a text tells;
# an evaluation, and a resume in the middle of an epoch; what does not fit together is refused.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

small=(--model bert-tiny --data phrases:20:30+8 --seq-len 16 --max-masked 3 --batch 16 --precision f32
    --optimizer lamb --lr-schedule constant --progress off)

# value FILE KEY: a number or a text of a JSON file.
value() { grep -o "\"$2\": [^,}]*" "$1" | head -n 1 | sed 's/^[^:]*: //'; }

# The target is far above what the frequency of words gives, 0.01.
on_ranks 2 train --model bert-tiny --data phrases:100 --seq-len 16 --max-masked 3 --batch 128 --precision f32 \
    --dropout 0 --optimizer adamw --lr 3e-3 --warmup-steps 30 --epochs 3 --eval-every 0.25 --target 0.5 \
    --out target --progress off >out 2>err || fail "the target was missed: $(tail -n 40 out err)"
grep -q '^  masked_accuracy  *0\.[5-9]' out || fail "masked_accuracy: $(cat out)"
grep -q '^  tokens/s  .*without padding, which is [0-9.]* % of 16 a sequence$' out || fail "tokens/s: $(cat out)"
head -n 3 target/steps.csv | grep -q ',loss,masked_accuracy,next_accuracy$' || fail "$(head -n 3 target/steps.csv)"
grep -q '"task": "masked-lm"' target/run.json || fail "run.json has no task"
grep -q '"key": "submission_benchmark", "value": "bert"' target/mllog.txt || fail "$(head -n 4 target/mllog.txt)"

# Elsewhere the same metrics; a resume in mid-epoch ends with the same weights.
"$minipod" train "${small[@]}" --steps 8 --eval-every 0 --out whole >out 2>err || fail "whole: $(cat err)"
"$minipod" train "${small[@]}" --steps 3 --eval-every 0 --out half >out 2>err || fail "half: $(cat err)"
"$minipod" train "${small[@]}" --steps 8 --eval-every 0 --resume half --out rest >out 2>err || fail "rest: $(cat err)"
[ "$(value whole/run.json weights_hash)" = "$(value rest/run.json weights_hash)" ] ||
    fail "a resume has other weights"
"$minipod" eval --resume whole --json eval.json >out 2>err || fail "eval: $(cat err)"
for name in masked_accuracy next_accuracy; do
    awk -v a="$(value whole/run.json eval_$name)" -v b="$(value eval.json $name)" \
        'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' || fail "$name: $(cat eval.json)"
done

# A target of another metric than the first.
"$minipod" train "${small[@]}" --steps 2 --eval-every 0 --target next_accuracy=0.01 --json next.json >out 2>err ||
    fail "next_accuracy: $(cat out err)"
grep -q '^  target next_accuracy  *0\.0100  *reached' out || fail "next_accuracy: $(cat out)"
[ "$(value next.json metric)" = '"next_accuracy"' ] || fail "metric: $(value next.json metric)"

# The best evaluation is the best by the target's metric, in the table and in --keep-best.
# best_step METRIC: the step of the evaluation with the largest value, the first of equals.
best_step() {
    grep -h "\"$1\": " by-next/checkpoint/step-000000009/manifest.json |
        sed "s/.*\"step\": \([0-9]*\),.*\"$1\": \([^,}]*\).*/\1 \2/" |
        awk '!n++ || $2 > most { most = $2; step = $1 } END { print step }'
}
"$minipod" train "${small[@]}" --steps 9 --eval-every 0.27 --target next_accuracy=0.99 --keep-best --out by-next >out 2>err
[ $? = 1 ] || fail "a target that is missed: $(cat out err)"
best=$(best_step next_accuracy)
[ "$best" != "$(best_step masked_accuracy)" ] && [ "$best" != 9 ] || fail "the metrics do not disagree: $(cat out)"
grep -q "^$(printf 'step-%09d' "$best") " by-next/checkpoint/best || fail "best: $(cat by-next/checkpoint/best out)"
"$minipod" eval --resume by-next/checkpoint/best --json eval.json >out 2>err || fail "eval of the best: $(cat err)"
awk -v a="$(value by-next/run.json best_eval_next_accuracy)" -v b="$(value eval.json next_accuracy)" \
    -v last="$(value by-next/run.json eval_next_accuracy)" \
    'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6 && a > last) }' || fail "best: $(cat by-next/run.json eval.json)"

is_refused "target: 'bleu=0.5' is of no metric of masked-lm, which has masked_accuracy, next_accuracy" \
    "$minipod" train "${small[@]}" --target bleu=0.5
is_refused 'target: next_accuracy is at most 1, found 2' "$minipod" train "${small[@]}" --target next_accuracy=2

is_refused 'its vocabulary is not the one of training' "$minipod" eval --resume whole --data phrases:21:30+8
is_refused 'sequences of 600 tokens, but the model has 512 positions' "$minipod" train "${small[@]}" --seq-len 600 --steps 1
is_refused 'has images, masked-lm needs text' "$minipod" train "${small[@]}" --data glyphs --steps 1
is_refused 'has text, image-classification needs images and labels' "$minipod" train --model mlp --data phrases --steps 1
is_refused "phrases: documents '9', need TRAIN+TEST" "$minipod" train "${small[@]}" --data phrases:20:9 --steps 1
