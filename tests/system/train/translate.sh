#!/usr/bin/env bash
# translate.sh MINIPOD BLEU_SCORE: a Transformer on made pairs to a BLEU, on two ranks; the same translations
# and the same BLEU on any number of ranks; a resume in the middle of an epoch. A language model to a
# perplexity, which falls. What does not fit together is refused.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
bleu_score=$2

made=(--precision f32 --dropout 0 --optimizer adamw --lr 2e-3 --warmup-steps 20 --lr-schedule constant --progress off)
pairs=(--model transformer-tiny --data cipher:6:4000+60 --seq-len 8 "${made[@]}")
packed=(--model transformer-tiny --data cipher:6:120+10 --seq-len 24 --pack 4 --optimizer adamw --lr-schedule constant)
small=("${packed[@]}" --batch 16 --beam 2 --progress off)
text=(--model gpt-mini --data phrases:20:30+8 --seq-len 12 --batch 16 "${made[@]}")

# value FILE KEY: a number or a text of a JSON file.
value() { grep -o "\"$2\": [^,}]*" "$1" | head -n 1 | sed 's/^[^:]*: //'; }

on_ranks 2 train "${pairs[@]}" --batch 32 --label-smoothing 0 --steps 400 --eval-every 0.16 --target 25 --beam 1 --out target \
    >out 2>err || fail "the target was missed: $(tail -n 40 out err)"
grep -q '^  bleu  *[2-9][0-9]\.' out || fail "bleu: $(cat out)"
grep -q '^    signature  *case:lc|tok:t2t|smooth:exp|refs:1; beam 1, length penalty 0.6' out || fail "signature: $(cat out)"
# Of 16 tokens a pair has 10 to 16, 13 on average; tokens/s are those of the samples.
grep -q '^  tokens/s  .*without padding, which is 1[6-9]\.[0-9] % of 16 a sequence$' out || fail "tokens/s: $(cat out)"
awk -v t="$(value target/run.json tokens_per_s)" -v s="$(value target/run.json samples_per_s)" \
    'BEGIN { exit !(t > 12.7 * s && t < 13.3 * s) }' || fail "tokens/s with padding: $(cat out)"
grep -q ',loss,token_accuracy$' target/steps.csv || fail "$(head -n 3 target/steps.csv)"
grep -q '"key": "submission_benchmark", "value": "transformer"' target/mllog.txt || fail "$(head -n 4 target/mllog.txt)"
grep -q '"key": "eval_accuracy", "value": 0\.[0-9]' target/mllog.txt || fail "$(grep eval_accuracy target/mllog.txt)"

# A search of four hypotheses, with the file that says what it was.
for n in 1 2 4; do
    on_ranks $n eval --resume target --beam 4 --predictions made$n.tsv --json eval$n.json >out 2>err || fail "eval on $n: $(cat err)"
    cmp -s made1.tsv made$n.tsv || fail "other translations on $n ranks: $(diff made1.tsv made$n.tsv | head -n 4)"
    [ "$(value eval1.json bleu)" = "$(value eval$n.json bleu)" ] || fail "another BLEU on $n ranks"
done
for n in 1 4; do
    on_ranks $n eval --resume target --beam 4 --precision bf16 --predictions bf16-$n.tsv >out 2>err || fail "bf16 on $n: $(cat err)"
done
cmp -s bf16-1.tsv bf16-4.tsv || fail "in bf16 other translations on 4 ranks: $(diff bf16-1.tsv bf16-4.tsv | head -n 4)"
[ "$(awk -F '\t' 'NF == 3' made1.tsv | wc -l)" -eq 60 ] || fail "lines: $(head -n 3 made1.tsv)"
cut -f 3 made1.tsv >hypotheses
cut -f 2 made1.tsv >references
want=$("$bleu_score" hypotheses references t2t lc)
awk -v a="${want%% *}" -v b="$(value eval1.json bleu)" \
    'BEGIN { exit !(b > 15 && a - b < 1e-3 && b - a < 1e-3) }' || fail "BLEU of the file $want: $(cat eval1.json)"

"$minipod" train "${small[@]}" --steps 8 --eval-every 0 --out whole >out 2>err || fail "whole: $(cat err)"
"$minipod" train "${small[@]}" --steps 3 --eval-every 0 --out half >out 2>err || fail "half: $(cat err)"
"$minipod" train "${small[@]}" --steps 8 --eval-every 0 --resume half --out rest >out 2>err || fail "rest: $(cat err)"
grep -q '^  tokens/s  .*without padding, which is [0-9]\.[0-9] % of 48 a sequence$' out || fail "packed: $(grep tokens out)"
grep -q 'warning' err && fail "a warning: $(cat err)"
"$minipod" train "${small[@]}" --seq-len 6 --steps 1 --eval-every 0 >out 2>err || fail "long ones: $(cat err)"
grep -q 'of 120 training pairs do not fit into --seq-len 6 with the end token, and are not used' err || fail "long ones: $(cat err)"
[ "$(value whole/run.json weights_hash)" = "$(value rest/run.json weights_hash)" ] || fail "a resume has other weights"

# Each token of a batch weighs the same, whatever rank and micro-step it is in, although their numbers of tokens differ.
few=(--batch 8 --precision f32 --dropout 0 --optimizer sgd --lr 0.05 --lr-schedule constant --steps 3 --eval-every 0 --progress off)
losses() { grep -v '^#' few/steps.csv | cut -d , -f "$1"; }
for task in 'transformer-tiny --data cipher:6:60+2 --seq-len 8' 'bert-tiny --data phrases:20:30+2 --seq-len 24'; do
    for how in 1,1 1,8 4,2; do
        # shellcheck disable=SC2086
        on_ranks ${how%,*} train --model $task --accumulate ${how#*,} "${few[@]}" --out few >out 2>err || fail "$task: $(cat err)"
        column=$(grep -v '^#' few/steps.csv | head -n 1 | tr , '\n' | grep -n '^loss$' | cut -d : -f 1)
        losses "$column" >got
        [ $how = 1,1 ] && cp got want
        paste want got | awk 'NR > 1 && ($1 - $2 > 1e-5 * $1 || $2 - $1 > 1e-5 * $1) { n++ } END { exit n > 0 || NR != 4 }' ||
            fail "$task, ranks and micro-steps $how: losses $(paste want got)"
        rm -r few
    done
done

# A search by the averages of the weights; evaluated again on two ranks.
"$minipod" train "${small[@]}" --ema 0.9 --steps 8 --eval-every 0.5 --out ema >out 2>err || fail "ema: $(cat err)"
on_ranks 2 eval --resume ema --json ema.json >out 2>err || fail "eval of ema: $(cat err)"
[ "$(value ema/run.json eval_bleu)" = "$(value ema.json bleu)" ] || fail "BLEU of averages: $(grep bleu ema/run.json ema.json)"

# The memory of a rank: a search needs more for its hypotheses than a small batch does for its step.
of_one=("${packed[@]}" --data cipher:6:120+16 --seq-len 256 --batch 1)
"$minipod" train "${of_one[@]}" --progress off --steps 1 --eval-every 0 --json memory.json >out 2>err || fail "memory: $(cat err)"
"$minipod" explain memory "${of_one[@]}" >out 2>err || fail "explain memory: $(cat err)"
grep -Eq "^ *total +$(value memory.json memory_bytes_per_core) " out || fail "memory: $(value memory.json memory_bytes_per_core), $(cat out)"
grep -Eq '^ *search programs +[1-9]' out || fail "no more for the search: $(cat out)"

# Better is down: the target is reached from above, and the best is the lowest.
"$minipod" train "${text[@]}" --steps 60 --eval-every 0.2 --target 14 --keep-best --out text >out 2>err ||
    fail "perplexity: $(tail -n 40 out err)"
grep -q '^  target perplexity  *14.0000  *reached' out || fail "perplexity: $(cat out)"
grep -q '"task": "language-model"' text/run.json || fail "run.json has no task"
"$minipod" eval --resume text --json eval.json >out 2>err || fail "eval: $(cat err)"
awk -v a="$(value text/run.json eval_perplexity)" -v b="$(value eval.json perplexity)" \
    'BEGIN { exit !(a - b < 1e-4 && b - a < 1e-4) }' || fail "perplexity of eval: $(cat eval.json)"
"$minipod" train "${text[@]}" --steps 2 --eval-every 0 --target 2 --out text >out 2>err
[ $? -eq 1 ] || fail "a perplexity above its target: $(cat out err)"
"$minipod" report text target -o r.html >out 2>err || fail "report: $(cat err)"

is_refused 'target: bleu is at most 100, found 101' "$minipod" train "${small[@]}" --target 101
is_refused 'target: perplexity is at least 1, found 0.5' "$minipod" train "${text[@]}" --target 0.5
is_refused 'target: accuracy is at most 1, found 92' "$minipod" train --model mlp --target 92
is_refused 'phrases: translate needs the fields source and target' "$minipod" train "${small[@]}" --data phrases
is_refused 'cipher: language-model needs sentences in documents' "$minipod" train "${text[@]}" --data cipher
is_refused 'has images, translate needs pairs of sentences' "$minipod" train "${small[@]}" --data glyphs
is_refused "cipher: pairs '9', need TRAIN+TEST" "$minipod" train "${small[@]}" --data cipher:20:9
is_refused 'predictions: of image models and of translations' "$minipod" eval --resume text --predictions p.csv
exit $failed
