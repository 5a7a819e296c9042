#!/usr/bin/env bash
# resume.sh MINIPOD: a job that is gone on with is one job. What its earlier attempts found is not found
# again nor forgotten, who is refused takes nothing from it, and what does not fit is told.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
export MINIPOD_MPIRUN='mpirun --bind-to none'
small=(train --model mlp --data glyphs:8x8x1:512+64 --batch 64 --lr-schedule constant --progress off)

field() { sed -n "s/^  \"$2\": \(.*[^,]\),*\$/\1/p" "$1/run.json"; }
# same_field NAME RUN WANT: as of another run
same_field() { [ "$(field "$2" "$1")" = "$(field "$3" "$1")" ] || fail "$2: $1 $(field "$2" "$1"), want $(field "$3" "$1")"; }

# ---- a second run beside one -----------------------------------------------------------------------

"$minipod" "${small[@]}" --eval-every 0 --steps 1000000 --lr 0.001 --out beside >out 2>err &
job=$!
log=beside/job/attempt-001.rank-0000.jsonl
for ((i = 0; i < 1000; i++)); do
    ! grep -q '"step":5,' $log 2>/dev/null || break
    sleep 0.02
done
# It can be followed: whole lines under their own names, and a record that says so.
[ "$(tail -c 1 beside/steps.csv | od -An -c | tr -d ' ')" = '\n' ] && grep -q '^3,' beside/steps.csv || fail "beside: $(tail -2 beside/steps.csv)"
grep -q '"key": "run_start"' beside/mllog.txt || fail "beside: $(cat beside/mllog.txt)"
[ "$(field beside state)" = '"running"' ] && [ "$(field beside weights_hash)" = null ] || fail "beside: $(head -8 beside/run.json)"
"$minipod" report beside -o beside.html >second 2>&1
[ $? -eq 2 ] && grep -q 'beside: is running, and has no results yet$' second || fail "beside, report: $(cat second)"
for ((i = 0; i < 2; i++)); do
    "$minipod" "${small[@]}" --steps 30 --out beside >second 2>&1
    [ $? -eq 2 ] || fail "beside: the second run ends with $?"
    grep -q 'minipod train: out: another run is writing in beside$' second || fail "beside: $(cat second)"
    [ -d beside/checkpoint ] || fail "beside: the second run took the folder of checkpoints"
done
kill -USR1 $job
wait $job || fail "beside: the first run: $(cat err)"
[ "$(field beside state)" = '"stopped"' ] || fail "beside: $(field beside state)"
grep -q '^step-' beside/checkpoint/latest || fail "beside: the first run saved nothing"

# What a refused run made goes with it, and nothing else.
"$minipod" "${small[@]}" --steps 3 --batch 1000 --out made >out 2>err
[ $? -eq 2 ] || fail "made: exit $?"
[ ! -e made ] || fail "made: $(find made)"
mkdir -p there/checkpoint
"$minipod" "${small[@]}" --steps 3 --batch 1000 --out there >out 2>err
[ -d there/checkpoint ] || fail "there: the folder of checkpoints went"

# A person's own files that go by names of ours are neither replaced nor added to.
for name in run.json steps.csv mllog.txt timeline.json goodput.json checkpoint/latest; do
    mkdir -p own/checkpoint
    echo mine >own/$name
    for command in "${small[*]}" "launch -n 1 -- ${small[*]}"; do
        # shellcheck disable=SC2086 # words
        "$minipod" $command --steps 3 --out own >out 2>err
        [ $? -eq 2 ] || fail "own $name: exit $?"
        [ "$(find own -type f)" = own/$name ] && [ "$(cat own/$name)" = mine ] || fail "own $name: $(find own)"
        grep -q "out: own/$name is there, and no run of minipod wrote it: move it away, or take another --out$" err ||
            fail "own $name: $(cat err)"
    done
    rm -r own
done

# ---- what evaluations found is the job's -----------------------------------------------------------

# The target was reached: nothing more is trained, whoever asks.
toward=("${small[@]}" --eval-every 1 --steps 400 --target 0.6)
"$minipod" "${toward[@]}" --out straight >out 2>err || fail "target: $(cat err)"
cp -r straight again
"$minipod" "${toward[@]}" --out again --resume auto >out 2>err || fail "target, again: $(cat err)"
grep -q 'nothing is left to train: 16 steps are done already, and the target was reached$' out ||
    fail "target, again: $(cat out)"
cmp again/run.json straight/run.json || fail "target, again: another run.json"
grep -q 'again/run.json stays as the training left it$' out || fail "target, again: $(cat out)"
for name in steps weights_hash epochs time_to_target_s epochs_to_peak time_to_peak_s; do
    same_field $name again straight
done
cmp again/mllog.txt straight/mllog.txt || fail "target, again: another mllog.txt"

# Another folder is another job, whose times are its own; it says so.
"$minipod" "${toward[@]}" --steps 17 --target 0.9 --out branch --resume straight >out 2>err
[ $? -eq 1 ] && grep -q 'time to peak .*; since the resume at step 16, another job.s' out || fail "branch: $(cat out err)"
grep -q 'since the resume' <("$minipod" "${toward[@]}" --steps 17 --target 0.9 --out again --resume again 2>&1) &&
    fail "the same job is called another"

# Another target is another end: the record says which one, and what came of it.
"$minipod" "${small[@]}" --eval-every 1 --steps 16 --target 0.99 --trace --out eased >out 2>err
[ $? -eq 1 ] || fail "another target: $(cat err)"
cp -r eased missed
"$minipod" "${small[@]}" --eval-every 1 --steps 16 --target 0.6 --out eased --resume auto >out 2>err ||
    fail "another target: $(cat err)"
[ "$(field eased target)" = 0.6 ] || fail "another target: $(field eased target)"
[ "$(field eased time_to_target_s)" != null ] || fail "another target: it was not reached"
same_field weights_hash eased straight
for name in step_s samples_per_s allreduce_share allreduce_exposed_s optimizer_share; do
    [ "$(field eased $name)" != null ] || fail "another target: $name is not known any more"
    same_field $name eased missed
done
for name in step_spread_s phase_share; do
    cmp <(grep -A8 "\"$name\"" eased/run.json) <(grep -A8 "\"$name\"" missed/run.json) || fail "another target: $name"
done
[ -e eased/timeline.json ] || fail "another target: the timeline went"
cp eased/run.json eased.json
"$minipod" "${small[@]}" --eval-every 1 --steps 16 --target 0.6 --out eased --resume auto >out 2>err ||
    fail "another target, again: $(cat err)"
cmp eased/run.json eased.json || fail "another target, again: another run.json"

# Nor is anything of a job by steps that is done; what it is asked for beside goes with it.
"$minipod" "${small[@]}" --eval-every 0 --steps 20 --trace --out done >out 2>err || fail "done: $(cat err)"
cp -r done before
for ((i = 0; i < 2; i++)); do
    "$minipod" "${small[@]}" --eval-every 0 --steps 20 --trace --out done --json copy.json --resume auto >out 2>err ||
        fail "done, again: $(cat err)"
    for name in run.json timeline.json mllog.txt; do
        cmp done/$name before/$name || fail "done, again: another $name"
    done
    cmp done/run.json copy.json || fail "done, again: another copy.json"
done
"$minipod" goodput done >out 2>err || fail "done, goodput: $(cat err)"
grep -q 'run.json has no step' out && fail "done, goodput: $(cat out)"
grep -q '"step_s": [0-9]' done/goodput.json || fail "done: $(grep step_s done/goodput.json)"
# A record that is not of this training is written new, with what is known.
rm done/run.json
"$minipod" "${small[@]}" --eval-every 0 --steps 20 --out done --resume auto >out 2>err || fail "done, without: $(cat err)"
same_field weights_hash done before
[ "$(field done step_s)" = null ] || fail "done, without: step_s $(field done step_s)"

# The same where the checkpoint of the step that reached it is all that a kill left.
"$minipod" launch -n 2 --backoff 0.1 -- "${toward[@]}" --out killed --checkpoint sync --checkpoint-every 8 \
    --fault kill:rank=0,step=16,write=26 >out 2>err || fail "target, killed: $(cat err)"
grep -q 'attempt 2 in 0.1 s from step 16, if its checkpoint is whole$' err || fail "target, killed: $(cat err)"
[ "$(field killed steps)" = 16 ] || fail "target, killed: $(field killed steps) steps"

# A kill takes none of the evaluations: not of the record, the table, the best.
"$minipod" launch -n 2 -- "${small[@]}" --eval-every 1 --steps 48 --out straight2 >want 2>err || fail "evaluations: $(cat err)"
"$minipod" launch -n 2 --backoff 0.1 -- "${small[@]}" --eval-every 1 --steps 48 --checkpoint-every 8 --checkpoint sync \
    --out killed2 --fault kill:rank=1,step=42 >out 2>err || fail "evaluations, killed: $(cat err)"
for name in weights_hash best_eval_accuracy eval_accuracy epochs_to_peak; do same_field $name killed2 straight2; done
[ "$(grep -c '"time_s"' killed2/run.json)" -eq 6 ] || fail "evaluations, killed: $(grep -c '"time_s"' killed2/run.json)"
grep -q 'best .* 6 evaluations' out || fail "evaluations, killed: $(grep best out)"
[ "$(grep -o 'best .* evaluations' out)" = "$(grep -o 'best .* evaluations' want)" ] || fail "evaluations, killed: $(cat out)"

# A new job from another's checkpoint has its own alone.
"$minipod" "${small[@]}" --eval-every 1 --steps 56 --resume straight2 --out other >out 2>err || fail "another job: $(cat err)"
[ "$(grep -c '"time_s"' other/run.json)" -eq 1 ] || fail "another job: $(grep -c '"time_s"' other/run.json) evaluations"

# ---- another batch ----------------------------------------------------------------------------------

# 8 steps of 64 are an epoch, 4 of 128: 2.5 epochs and 10 steps of 128 are 5.
"$minipod" "${small[@]}" --eval-every 1 --steps 20 --out batch >out 2>err || fail "batch: $(cat err)"
"$minipod" "${small[@]}" --eval-every 1 --batch 128 --steps 28 --out batch --resume auto >out 2>err || fail "batch: $(cat err)"
grep -q 'a batch of 64 samples until step 20, of 128 from there on; epochs are counted by samples, 2.5 are done$' out ||
    fail "batch: is not told: $(cat out)"
"$minipod" "${small[@]}" --eval-every 1 --batch 128 --epochs 5 --out batch --resume auto >out 2>err || fail "batch: $(cat err)"
[ "$(field batch steps)" = 30 ] || fail "batch: $(field batch steps) steps"
[ "$(field batch epochs)" = 5 ] || fail "batch: $(field batch epochs) epochs"
[ "$(sed -n 's/.*"key": "epoch_start".*"epoch_num": \([0-9]*\).*/\1/p' batch/mllog.txt | tr '\n' ' ')" = '1 2 3 3 4 5 5 ' ] ||
    fail "batch: $(grep epoch_start batch/mllog.txt)"
# The log has the batch that was true of each attempt: the first one's in its head.
[ "$(grep -c '"global_batch_size", "value": 64,' batch/mllog.txt)" = 1 ] || fail "batch: $(grep batch_size batch/mllog.txt)"
[ "$(sed -n 's/.*"minipod_attempt_settings".*"minipod_step": \([0-9]*\), "batch": \([0-9]*\),.*/\1:\2/p' batch/mllog.txt |
    tr '\n' ' ')" = '20:128 28:128 ' ] || fail "batch: $(grep attempt batch/mllog.txt)"
[ "$(sed -n 's/^      "epochs": \(.*\),/\1/p' batch/run.json | tr '\n' ' ')" = '1 2 2.5 3 4 4.5 5 ' ] ||
    fail "batch: evaluations $(grep '"epochs"' batch/run.json)"

# ---- a checkpoint of its own, by name -----------------------------------------------------------------

named=("${small[@]}" --eval-every 1 --checkpoint sync --checkpoint-every 8 --keep 9 --out named)
"$minipod" "${named[@]}" --steps 24 >out 2>err || fail "named: $(cat err)"
n=1
for from in checkpoint checkpoint/step-000000016 checkpoint/step-000000016/ checkpoint/step-000000016/index.h5; do
    "$minipod" "${named[@]}" --steps 32 --resume named/$from >out 2>err || fail "$from: $(cat err)"
    n=$((n + 1))
    [ -e "$(printf 'named/job/attempt-%03d.rank-0000.jsonl' $n)" ] || fail "$from: no attempt $n: $(ls named/job)"
    [ ! -e named/checkpoint.old ] || fail "$from: its checkpoints were put aside"
    [ "$(grep -c '^[0-9]' named/steps.csv)" -eq 32 ] || fail "$from: $(grep -c '^[0-9]' named/steps.csv) steps in steps.csv"
    [ "$(grep -c '"time_s"' named/run.json)" -eq 4 ] || fail "$from: $(grep -c '"time_s"' named/run.json) evaluations"
done

# From an earlier one: what is killed before its next save goes on from there, not from the steps that were left behind.
rm -r named
"$minipod" "${named[@]}" --steps 24 >out 2>err || fail "turned back: $(cat err)"
same_weights=$(field named weights_hash)
"$minipod" "${named[@]}" --steps 24 --resume named/checkpoint/step-000000008 --fault kill:rank=0,step=12 >out 2>err &&
    fail "turned back: the run ended well"
grep -q '^step-000000008 ' named/checkpoint/latest || fail "turned back: at $(cat named/checkpoint/latest)"
"$minipod" "${named[@]}" --steps 24 --resume auto >out 2>err || fail "turned back: $(cat err)"
grep -q '^{"from":8,' named/job/attempt-003.rank-0000.jsonl || fail "turned back: $(grep from named/job/attempt-003.rank-0000.jsonl)"
[ "$(field named weights_hash)" = "$same_weights" ] || fail "turned back: other weights"

# Launched likewise, also where the first attempt dies before it has begun.
cat >second_time <<'END'
#!/usr/bin/env bash
[ -e was_called ] || { : >was_called; exit 1; }
exec mpirun "$@"
END
chmod +x second_time
rm -r named
"$minipod" "${named[@]}" --steps 40 >out 2>err || fail "turned back, launched: $(cat err)"
same_weights=$(field named weights_hash)
"$minipod" launch -n 1 --mpirun ./second_time --backoff 0.1 -- "${named[@]}" --steps 40 \
    --resume named/checkpoint/step-000000016 --fault kill:rank=0,step=19 >out 2>err ||
    fail "turned back, launched: $(cat err)"
for n in 2 3; do
    grep -q "attempt $n: .*; attempt $((n + 1)) in 0.[12] s from step 16, if its checkpoint is whole$" err ||
        fail "turned back, launched: attempt $n: $(cat err)"
done
grep -q '^{"from":16,' named/job/attempt-004.rank-0000.jsonl ||
    fail "turned back, launched: $(grep from named/job/attempt-004.rank-0000.jsonl)"
[ "$(grep -o '^[0-9]*' named/steps.csv | tr '\n' ' ')" = "$(seq 40 | tr '\n' ' ')" ] ||
    fail "turned back, launched: steps $(grep -o '^[0-9]*' named/steps.csv | tr '\n' ' ')"
[ "$(field named weights_hash)" = "$same_weights" ] || fail "turned back, launched: other weights"

# ---- kept for ever --------------------------------------------------------------------------------------

kept() { find "$1/checkpoint" -mindepth 1 -maxdepth 1 -printf '%f\n' | sed 's/^step-0*//' | sort -n | tr '\n' ' '; }
archive=("${small[@]}" --eval-every 0 --checkpoint sync --checkpoint-every 3 --keep 1 --out archive)
"$minipod" "${archive[@]}" --keep-every 6 --steps 18 >out 2>err || fail "archive: $(cat err)"
# An attempt that does not repeat the option; one that has nothing to train saves step 18 anew.
for steps in 18 21; do
    "$minipod" "${archive[@]}" --steps $steps --resume auto >out 2>err || fail "archive: $(cat err)"
done
[ "$(kept archive)" = 'latest 6 12 18 21 ' ] || fail "archive: $(kept archive)"
# Released by hand.
rm archive/checkpoint/step-000000012/keep
"$minipod" "${archive[@]}" --keep-every 6 --steps 24 --resume auto >out 2>err || fail "archive: $(cat err)"
[ "$(kept archive)" = 'latest 6 18 24 ' ] || fail "archive, released: $(kept archive)"

# ---- what was left behind ------------------------------------------------------------------------------

# The checkpoints of a line of steps that was left behind stay until the new line has one of its own.
back=("${small[@]}" --eval-every 0 --checkpoint sync --keep 2 --keep-every 14 --out back)
"$minipod" "${back[@]}" --checkpoint-every 7 --steps 50 >out 2>err || fail "left behind: $(cat err)"
all='latest 14 28 42 49 50 '
[ "$(kept back)" = "$all" ] || fail "left behind: $(kept back)"
"$minipod" "${back[@]}" --steps 45 --resume back/checkpoint/step-000000028 --fault kill:rank=0,step=33 >out 2>err &&
    fail "left behind: the run ended well"
[ "$(kept back)" = "$all" ] || fail "left behind, killed: $(kept back)"
cp -r back before_branch
"$minipod" "${small[@]}" --eval-every 0 --steps 35 --resume back/checkpoint/step-000000028 --out branch2 >out 2>err ||
    fail "left behind, a branch: $(cat err)"
diff -r back before_branch || fail "left behind: a branch changed what it began from"
"$minipod" "${back[@]}" --steps 45 --resume back/checkpoint/step-000000028 >out 2>err || fail "left behind: $(cat err)"
[ "$(kept back)" = 'latest 14 28 45 ' ] || fail "left behind: $(kept back)"
# Where that is damaged, or nothing points to it, the line is the same.
rm back/checkpoint/latest
printf X | dd of=back/checkpoint/step-000000045/shard-0000.h5 bs=1 seek=1000 conv=notrunc 2>err
"$minipod" eval --resume back >out 2>err || fail "left behind, eval: $(cat err)"
[ "$(awk '$1 == "mlp" { print $4 }' out)" = 28 ] || fail "left behind, eval: $(cat out)"
"$minipod" "${back[@]}" --steps 60 --resume auto >out 2>err || fail "left behind: $(cat err)"
grep -q '^{"from":28,' back/job/attempt-004.rank-0000.jsonl ||
    fail "left behind: $(grep from back/job/attempt-004.rank-0000.jsonl)"
[ "$(kept back)" = 'latest 14 28 60 ' ] || fail "left behind, in the end: $(kept back)"

# ---- auto, where checkpoints were and are not ----------------------------------------------------------

auto=("${small[@]}" --eval-every 0 --out lost --resume auto)
found='^minipod: warning: resume: auto found no checkpoint in lost/checkpoint, but '
kept="the job's log tells of one of step 8" old='lost/checkpoint.old has those of an earlier run'
# anew WHAT STEPS: the one line that is said; all steps are done
anew() {
    "$minipod" "${auto[@]}" --steps "$2" >out 2>err || fail "auto: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] && grep -q "$found$1: the job begins anew\$" err || fail "auto, $1: $(cat err)"
    [ "$(grep -c '^[0-9]' lost/steps.csv)" -eq "$2" ] || fail "auto, $1: not anew"
}
"$minipod" "${auto[@]}" --steps 8 >out 2>err || fail "auto: $(cat err)"
[ ! -s err ] || fail "auto, of a first run: $(cat err)"
mv lost/checkpoint elsewhere
anew "$kept" 4
mv elsewhere lost/checkpoint.old
find lost/checkpoint -mindepth 1 -delete
anew "$kept, and $old" 4
rm -r lost/job lost/checkpoint/*
anew "$old" 4

# ---- a job that began long ago -------------------------------------------------------------------------

# More picoseconds ago than 64 bits hold.
"$minipod" "${small[@]}" --steps 8 --out old >out 2>err || fail "old: $(cat err)"
perl -pi -e 's/((?:begin|end)_ns":)(\d+)/$1.($2-120*86400*10**9)/ge' old/job/*.jsonl
perl -pi -e 's/("time_ms": )(\d+)/$1.($2-120*86400*10**3)/ge' old/mllog.txt
"$minipod" "${small[@]}" --steps 16 --out old --resume auto >out 2>err || fail "old: $(cat err)"
tail -n 1 old/steps.csv | grep -q '^16,1036800[0-9]\.' || fail "old: $(tail -n 1 old/steps.csv)"
[[ $(field old time_to_peak_s) == 1036* || $(field old time_to_peak_s) == 0.* ]] || fail "old: $(field old time_to_peak_s)"

# ---- settings that are not given again -----------------------------------------------------------------

# Nothing of the training is typed again, in the same folder or in another one: it is all in the checkpoint.
shaped=(train --model mlp --data glyphs:8x8x1:512+64 --batch 32 --seed 7 --lr 0.01 --momentum 0.5 --precision f32
    --lr-schedule constant --label-smoothing 0.1 --eval-every 0 --progress off)
"$minipod" "${shaped[@]}" --steps 24 --out long >out 2>err || fail "settings: $(cat err)"
"$minipod" "${shaped[@]}" --steps 12 --out short >out 2>err || fail "settings: $(cat err)"
"$minipod" train --eval-every 0 --progress off --steps 24 --resume short --out taken >out 2>err || fail "settings: $(cat err)"
same_field weights_hash taken long
grep -q '^settings taken from the checkpoint: --model mlp .* --batch 32 --precision f32 --seed 7 --lr 0.01 .*--momentum 0.5' out ||
    fail "settings: $(cat out)"
[ ! -s err ] || fail "settings: $(cat err)"
"$minipod" "${shaped[@]}" --steps 24 --resume auto --out short >out 2>err || fail "settings, all: $(cat err)"
{ grep checkpoint: out || [ -s err ]; } && fail "settings, the same line: $(cat out err)"
MINIPOD_MOMENTUM=0.9 "$minipod" train --eval-every 0 --progress off --epochs 3 --lr 0.1 --batch 32 --precision f32 --beta1 0.8 \
    --resume taken >out 2>err || fail "settings, others: $(cat err)"
[ "$(cat err)" = "minipod: warning: --beta1 0.8 has no effect with --optimizer sgd
minipod: warning: differs from the checkpoint: lr 0.1 (was 0.01), momentum 0.9 (was 0.5)" ] || fail "settings, others: $(cat err)"

# ---- the best evaluation ---------------------------------------------------------------------------------

# It worsens after its best: of that the weights stay, beside the latest, and can be resumed from.
worsens=("${small[@]}" --lr 0.5 --eval-every 1 --epochs 12)
"$minipod" "${worsens[@]}" --out forgets >out 2>err || fail "best: $(cat err)"
grep -q '^  accuracy .* evaluations; --keep-best keeps the weights of the best$' out || fail "best: $(cat out)"
"$minipod" "${worsens[@]}" --out best --keep-best --keep 1 >out 2>err || fail "best: $(cat err)"
grep -q '^  accuracy .* evaluations; the best weights: --resume best/checkpoint/best$' out || fail "best: $(cat out)"
[ "$(find best/checkpoint -name 'step-*' | wc -l)" -eq 2 ] || fail "best: $(ls best/checkpoint)"
printf -v best '%.6f' "$(field best best_eval_accuracy)"
"$minipod" eval --resume best/checkpoint/best --json best.json >out 2>err || fail "best, eval: $(cat err)"
[ "$(grep -o '"accuracy": [0-9.]*' best.json | cut -d' ' -f2 | xargs printf '%.6f')" = "$best" ] || fail "best: $(cat best.json)"
at=$(sed 's/step-0*\([0-9]*\) .*/\1/' best/checkpoint/best)
"$minipod" "${worsens[@]}" --out best --resume best/checkpoint/best >out 2>err || fail "best, resume: $(cat err)"
grep -q "^{\"from\":$at," best/job/attempt-002.rank-0000.jsonl || fail "best: resumes elsewhere than at step $at"

# ---- read beside a job that removes its checkpoints -----------------------------------------------------

"$minipod" "${small[@]}" --eval-every 0 --steps 1000000 --lr 0.001 --checkpoint-every 2 --keep 1 --out rotates >out 2>err &
job=$!
for ((i = 0; i < 1000; i++)); do
    [ ! -e rotates/checkpoint/latest ] || break
    sleep 0.02
done
for ((i = 0; i < 6; i++)); do
    "$minipod" eval --resume rotates >said 2>&1 || fail "rotates: $(cat said)"
    grep '^minipod' said && fail "rotates: a line on what is gone"
done
kill -USR1 $job
wait $job || fail "rotates: $(cat err)"

# ---- what it was trained on ---------------------------------------------------------------------------

# The test images are the same, the first set's mean and deviation are others: those of training are used.
"$minipod" "${small[@]}" --steps 16 --out of >out 2>err || fail "set: $(cat err)"
same_eval() { "$minipod" eval --resume of "$@" --csv - 2>err | sed 1,3d | cut -d, -f5-7; }
[ "$(same_eval)" = "$(same_eval --data glyphs:8x8x1:100+64)" ] || fail "set: normalized otherwise"
grep -q "^minipod: warning: of/.*: trained on a data set 'glyphs' of fingerprint .*, normalized as in training$" err ||
    fail "set: $(cat err)"
for other in '--data glyphs:9x10x1:512+64' '--image-size 9x10'; do
    for command in eval 'train --steps 20'; do
        # shellcheck disable=SC2086 # several words
        "$minipod" $command $other --resume of >out 2>err
        [ $? -eq 2 ] || fail "images, $command $other: exit $?"
        grep -q 'of/.*: trained on 8x8x1, this set has 9x10x1; --image-size 8x8 resizes them$' err ||
            fail "images, $command $other: $(cat err)"
    done
done

# ---- another data set of the same name ----------------------------------------------------------------

"$minipod" "${small[@]}" --steps 8 --out data >out 2>err || fail "data: $(cat err)"
for other in '--data glyphs:8x8x1:256+64' '--data glyphs:8x8x1:512+32' '--seed 5'; do
    # shellcheck disable=SC2086 # two words
    "$minipod" "${small[@]}" --steps 16 --resume data $other >out 2>err
    [ $? -eq 2 ] || fail "data, $other: exit $?"
    grep -q "is a checkpoint of another data set 'glyphs.*': its sizes, labels or samples have fingerprint" err ||
        fail "data, $other: $(cat err)"
done

# Nor has it averages that nobody asked for.
"$minipod" "${small[@]}" --steps 16 --resume data --ema 0.9 >out 2>err
[ $? -eq 2 ] || fail "ema: exit $?"
grep -q "has no moving average 'ema/.*': a checkpoint of a run without --ema$" err || fail "ema: $(cat err)"

[ "$failed" -eq 0 ] && echo "resume: all as it should be"
exit "$failed"
