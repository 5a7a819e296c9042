#!/usr/bin/env bash
# large_batch.sh MINIPOD TREE: the large-batch study in a tiny form: all rows, none twice, one more where
# one was lost; its table and plot; a diverged run is a result, a failed one leaves no row and the others
# are done; damaged files and bad options are named in one line, before anything runs.
# shellcheck source-path=SCRIPTDIR source=../common.sh
tree=$2
. "$(dirname "$0")/../common.sh"
if ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not here"
    exit 0
fi
mkdir bin

# study WORD...: exit code in $code, outputs in out and err
study() {
    PATH=$work/bin:$PATH "$tree/bench/large_batch" --minipod "$minipod" --csv s.csv "$@" >out 2>err
    code=$?
}
# refused PATTERN WORD...: exit 2, one line
refused() {
    local pattern=$1
    shift
    study "$@"
    [ "$code" -eq 2 ] || fail "$*: exit $code, want 2: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] && grep -q -e "^bench/large_batch: .*$pattern" err ||
        fail "$*: want '$pattern': $(cat err)"
    [ ! -e s.csv.minipod-part ] || fail "$*: s.csv.minipod-part stays"
    [ ! -e s.runs ] && ! grep -q 'to do' out || fail "$*: something was run: $(cat out)"
}
rows() { [ "$(($(wc -l <s.csv) - 1))" -eq "$1" ] || fail "want $1 rows: $(cat s.csv)"; }

cat >bin/gnuplot <<'END'
#!/bin/sh
cat >drawn
[ ! -e no_plot ] || { echo 'no terminal'; exit 3; }
END
chmod +x bin/gnuplot

# ---- all runs, once ----------------------------------------------------------------------------

tiny=(--data glyphs:8x8x1:64+16 --models resnet20 --batches "16,32" --seeds "1,2" --epochs 2 --mesh 2
    --target 0.01)
study "${tiny[@]}"
[ "$code" -eq 0 ] || fail "study: exit $code: $(cat err)"
rows 8
grep -q '^# 8 runs to do, 0 are in s.csv$' out || fail "to do: $(cat out)"
[ "$(grep -c '^ *resnet20 *glyphs:8x8x1:64+16 *2 .* 2  *0 *0\.[0-9]* .* 0.01  *2 ' out)" -eq 4 ] ||
    fail "the table: $(cat out)"
grep -q '^# resnet20, epochs 2: the best is 0.[0-9]*, ' out || fail "no verdict: $(cat out)"
grep -q '^#   lars at 32: [0-9.]* points less$' out || fail "no verdict: $(cat out)"
grep -q '^set output "s.svg"$' drawn && [ "$(grep -c '^16 0\.[0-9]* 0\.[0-9]* 0\.' drawn)" -eq 2 ] ||
    fail "the plot: $(cat drawn)"
grep -q '^resnet20,glyphs:8x8x1:64+16,2,2,32,sgd,[0-9a-f]*,0.025,1,2,,2,1,finished,0\.[0-9]*,[12],0.01,1,' s.csv ||
    fail "rows: $(cat s.csv)"
cp s.csv whole.csv

# BERT: micro-steps of 64 sequences and its own metric.
study --data phrases:50:400+40 --models bert-tiny --batches 256 --seeds 1 --epochs 1 --mesh 2 --target 0.001
[ "$code" -eq 0 ] || fail "BERT: exit $code: $(cat err)"
for optimizer in adamw lamb; do
    grep -q "^bert-tiny,phrases:50:400+40,2,2,256,$optimizer,[0-9a-f]*,.*,1,2,finished,0\.[0-9]*,1,0.001,1," s.csv ||
        fail "BERT: no row of $optimizer: $(cat s.csv)"
done
cp whole.csv s.csv

study "${tiny[@]}"
[ "$code" -eq 0 ] && cmp -s s.csv whole.csv || fail "again: exit $code: $(cat err)"
grep -q '^# 0 runs to do, 8 are in s.csv$' out || fail "again: $(cat out)"

# One is lost; a row of other options than this script's is another run's.
grep -v ',32,lars,.*,,2,' whole.csv >s.csv
sed -n 's/,32,lars,[0-9a-f]*,\(.*,,2,\)/,32,lars,00000000,\1/p' whole.csv >>s.csv
MINIPOD_STEPS=1 MINIPOD_LR_PER=1 MINIPOD_PRECISION=f33 study "${tiny[@]}" # the environment is not the study's
[ "$code" -eq 0 ] || fail "one lost: exit $code: $(cat err)"
rows 9
grep -q '^1 of 1: resnet20, batch 32, lars, seed 2: finished, peak 0\.' out || fail "one lost: $(cat out)"
grep -q '^#   lars recipe 00000000 at 32: ' out || fail "recipes: $(cat out)"
# The same run gives the same accuracy, whenever it is done.
grep -v ',00000000,' s.csv >again.csv
[ "$(cut -d, -f1-15 again.csv | sort)" = "$(cut -d, -f1-15 whole.csv | sort)" ] ||
    fail "one lost: $(cat s.csv)"
mv again.csv whole.csv
cp whole.csv s.csv

# Options for the trainer are part of what a run is; large shares are done in parts.
one=(--data glyphs:8x8x1:64+16 --models resnet20 --optimizers sgd --batches 32 --seeds 1 --epochs 2
    --mesh 2)
study "${one[@]}" --batches 64 --memory 0.0039 --plot s.png -- --nesterov on
[ "$code" -eq 0 ] || fail "options: exit $code: $(cat err)"
rows 9
# How many micro-steps the memory asks for is the kernels' of this CPU.
grep -q ',2,--nesterov on,1,[2-9][0-9]*,finished,' s.csv || fail "options: $(cat s.csv)"
grep -q 'terminal png' drawn || fail "png: $(cat drawn)"
touch no_plot
study --table
[ "$code" -eq 1 ] && grep -q 'gnuplot: exit 3: no terminal' err || fail "plot: exit $code: $(cat err)"
rm no_plot

# ---- runs that do not end well -----------------------------------------------------------------

study "${one[@]}" -- --fault nan:rank=0,step=1
[ "$code" -eq 0 ] && grep -q ',"--fault nan:rank=0,step=1",1,1,diverged,' s.csv || fail "diverged: $code: $(cat err out)"
cp s.csv whole.csv

# One fails, the others are done; what train does not take ends the study.
cat >fails <<'END'
#!/bin/bash
[[ "$1" = train && " $* " = *" --seed 1 "* ]] || exec "$REAL" "$@"
echo 'no space' >&2
exit "$FAILS"
END
chmod +x fails
FAILS=1 REAL=$minipod study "${one[@]}" --seeds 1,2 --epochs 3 --minipod "$work/fails"
[ "$code" -eq 1 ] && grep -q '^bench/large_batch: resnet20, batch 32, sgd, seed 1: exit 1: no space' err &&
    [ "$(tail -1 err)" = 'bench/large_batch: 1 failed: resnet20, batch 32, sgd, seed 1' ] &&
    grep -q '^1 of 2: .*: failed$' out && grep -q '^2 of 2: .*: finished, ' out &&
    [ "$(grep -c ',3,,2,1,finished,' s.csv)" -eq 1 ] && grep -q '^# runs: ' out || fail "one failed: exit $code: $(cat err out)"
cp whole.csv s.csv
FAILS=2 REAL=$minipod study "${one[@]}" --seeds 1,2 --epochs 3 --minipod "$work/fails"
[ "$code" -eq 2 ] && grep -q 'sgd, seed 1: exit 2: no space' err && ! grep -q ' of 2: ' out &&
    cmp -s s.csv whole.csv || fail "usage: exit $code: $(cat err out)"
[ ! -e s.runs ] || fail "a failed run's folder stays: $(find s.runs)"

# Killed with checkpoints: goes on from the last one, to the same accuracy.
cat >killed <<'END'
#!/bin/bash
[ "$1" = train ] || exec "$REAL" "$@"
at_each_step=()
for word in "$@"; do
    [ "${at_each_step[-1]:-}" = --checkpoint-every ] && word=1
    at_each_step+=("$word")
done
exec "$REAL" "${at_each_step[@]}" --fault kill:rank=1,step=5
END
chmod +x killed
study "${one[@]}" --epochs 4
[ "$code" -eq 0 ] || fail "uninterrupted: exit $code: $(cat err)"
mv s.csv uninterrupted.csv
cp whole.csv s.csv
REAL=$minipod study "${one[@]}" --epochs 4 --minipod "$work/killed"
[ "$code" -eq 1 ] && cmp -s s.csv whole.csv || fail "killed at a step: exit $code: $(cat err)"
folder=$(echo s.runs/resnet20-32-sgd-1-*)
ls "$folder"/checkpoint/step-* >/dev/null || fail "no checkpoint of the killed run: $(find s.runs)"
cat >watched <<'END'
#!/bin/sh
"$REAL" "$@" && { cp s.runs/*/run.json . 2>/dev/null || true; }
END
chmod +x watched
REAL=$minipod study "${one[@]}" --epochs 4 --minipod "$work/watched"
grep -q '"attempts": *2' run.json || fail "from the start again: $(cat run.json)"
[ "$code" -eq 0 ] && [ ! -e s.runs ] || fail "gone on: exit $code: $(cat err; find s.runs)"
[ "$(cut -d, -f1-18 s.csv)" = "$(cut -d, -f1-18 uninterrupted.csv)" ] || fail "gone on: $(cat s.csv)"
tail -1 s.csv | grep -q ',finished,[^,]*,[^,]*,0.92,[^,]*,,,[0-9]' || fail "times of an interrupted run: $(tail -1 s.csv)"
cp whole.csv s.csv

# The study itself is told to go: its ranks save, whatever the checkpoints' distance.
"$tree/bench/large_batch" --minipod "$minipod" --csv s.csv "${one[@]}" --epochs 4000 >out 2>err &
study=$!
until ls s.runs/*/steps.csv >/dev/null 2>&1; do sleep 0.1; done
sleep 0.5
kill "$study"
wait "$study"
code=$?
[ "$code" -eq 143 ] && grep -q '^bench/large_batch: interrupted: the same command resumes$' err && cmp -s s.csv whole.csv ||
    fail "told to go: exit $code: $(cat err)"
ls s.runs/*/checkpoint/step-* >/dev/null || fail "told to go: no checkpoint: $(find s.runs)"
rm -r s.runs

# Killed: the ranks save and go, too; who comes while they do finds the run held.
"$tree/bench/large_batch" --minipod "$minipod" --csv s.csv "${one[@]}" --epochs 4000 >out 2>err &
study=$!
until ls s.runs/*/steps.csv >/dev/null 2>&1; do sleep 0.1; done
sleep 0.3
disown "$study" # nor does the shell say so
kill -KILL "$study"
flock -w 60 s.runs/* true || fail "killed: the ranks stay"
cmp -s s.csv whole.csv && ls s.runs/*/checkpoint/step-* >/dev/null && grep -q '"stopped": *true' s.runs/*/run.json ||
    fail "killed: $(find s.runs)"
rm -r s.runs

# Stopped is not finished: no row, and the checkpoint stays. Ended, but for its row: it is not done again.
cat >stopped <<'END'
#!/bin/bash
[ "$1" = train ] || exec "$REAL" "$@"
"$REAL" "$@" &
sleep 0.5
kill -USR1 $!
wait $!
END
chmod +x stopped
REAL=$minipod study "${one[@]}" --mesh 1 --epochs 4000 --minipod "$work/stopped"
[ "$code" -eq 1 ] && grep -q 'sgd, seed 1: exit 0: it was stopped' err && cmp -s s.csv whole.csv ||
    fail "stopped: exit $code: $(cat err)"
ls s.runs/*/checkpoint/step-* >/dev/null || fail "stopped without a checkpoint: $(find s.runs)"
sed -i 's/"stopped": *true/"stopped": false/' s.runs/*/run.json
study "${one[@]}" --mesh 1 --epochs 4000
[ "$code" -eq 0 ] && [ ! -e s.runs ] && grep -q '^1 of 1: .*: finished' out || fail "ended: exit $code: $(cat err out)"
cp whole.csv s.csv

# Another study is at it, or has just done it.
cat >waits <<'END'
#!/bin/bash
[ "$1" = train ] || exec "$REAL" "$@"
touch begun
until [ -e go ]; do sleep 0.1; done
exec "$REAL" "$@"
END
chmod +x waits
REAL=$minipod "$tree/bench/large_batch" --minipod "$work/waits" --csv s.csv "${one[@]}" --epochs 5 >first.out 2>&1 &
until [ -e begun ]; do sleep 0.1; done
study "${one[@]}" --epochs 5
[ "$code" -eq 0 ] && grep -q '^1 of 1: .*: another study does it$' out && cmp -s s.csv whole.csv ||
    fail "held: exit $code: $(cat err out)"
touch go
wait $! || fail "the first of two studies: $(cat first.out)"
[ "$(wc -l <s.csv)" -eq "$(($(wc -l <whole.csv) + 1))" ] && [ ! -e s.runs ] || fail "the first of two: $(cat s.csv)"
cp whole.csv s.csv

# ---- bad input ---------------------------------------------------------------------------------

damaged() { # PATTERN SED-COMMAND
    sed "$2" whole.csv >s.csv
    refused "$1" --table
}
if [ -w /dev/full ] && [ -w /dev ]; then
    study "${one[@]}" --csv /dev/full
    [ "$code" -eq 2 ] && grep -q '/dev/full: is no file to keep rows in' err || fail "a device: exit $code: $(cat err)"
fi
damaged 's.csv: line 1 is not the header' 1d
refused 's.csv: line 1 is not the header' "${tiny[@]}"
damaged 's.csv: line 1 is not the header' '1s/seed/sead/'
damaged 's.csv: line 3: [0-9]* cells, need 24' '3s/,[^,]*$//'
damaged "s.csv: line 4: lr 'fast' is no number" '4s/,0.0125,\|,0.025,\|,0.312[^,]*,\|,0.44[^,]*,/,fast,/'
damaged "s.csv: line 2: outcome 'lost' is neither" '2s/finished/lost/'
damaged 's.csv: line 3: .* is there twice' 2p
: >s.csv
refused 's.csv: line 1 is not the header' --table
head -c 400 /dev/urandom >s.csv
refused 's.csv: ' --table
rm s.csv && mkdir s.csv
refused 's.csv: is no file to keep rows in' --table
rmdir s.csv
refused 's.csv: is not there' --table

# ---- what is asked for -------------------------------------------------------------------------

# Of --table, with the study's own rows.
cp "$tree/bench/results/large-batch.csv" s.csv
study --table --models efficientnet-b0-32
[ "$code" -eq 0 ] && grep -q '^ *efficientnet-b0-32 ' out && ! grep -q resnet20 out ||
    fail "one model: exit $code: $(cat err out)"
study --table --models resnet20 --batches 8192 --optimizers lars --seeds 1,3 --epochs 20
[ "$code" -eq 0 ] && [ "$(grep -c '^ *resnet20 .* 8192 *lars .* 20 *2 ' out)" -eq 1 ] &&
    [ "$(grep -vc '^#\|^$' out)" -eq 1 ] || fail "some runs: exit $code: $(cat err out)"
refused 's.csv: has no row of seed 9$' --table --seeds 9
# They count as done, and each run is counted once.
study --data fashion-mnist.h5 --models resnet20,resnet20 --batches 256,256 --seeds 1,1 --mesh 1x1
[ "$code" -eq 0 ] && grep -q '^# 0 runs to do, 2 are in s.csv$' out || fail "rows: exit $code: $(cat err out)"
cmp -s s.csv "$tree/bench/results/large-batch.csv" || fail "rows changed: $(cat s.csv)"
rm s.csv

# Where there are several meshes or data sets, verdict and plot name them.
{
    cat "$tree/bench/results/large-batch.csv"
    sed -n 's/,1x1,1,\(8192,lars,.*,20,,1,\)/,2x2,4,\1/p' "$tree/bench/results/large-batch.csv"
    sed -n 's/,fashion-\(.*,8192,lars,.*,20,,1,\)/,\1/p' "$tree/bench/results/large-batch.csv"
} >s.csv
study --table --models resnet20 --epochs 20
[ "$code" -eq 0 ] && [ "$(grep '^# resnet20' out)" = '# resnet20, fashion-mnist.h5, 1x1, epochs 20: the best is 0.9398, sgd at batch 256
# resnet20, fashion-mnist.h5, 2x2, epochs 20: the best is 0.8914, lars at batch 8192
# resnet20, mnist.h5, 1x1, epochs 20: the best is 0.8914, lars at batch 8192' ] || fail "several: exit $code: $(cat err out)"
grep -q 'title "resnet20, fashion-mnist.h5, 1x1, epochs 20, lars" .* title "resnet20, mnist.h5, 1x1, epochs 20, lars" ' drawn ||
    fail "several: $(cat drawn)"
rm s.csv

# ---- bad options -------------------------------------------------------------------------------

# As refused, of lines PATTERN ~ WORD..., in one process.
cat >all_refused.py <<'END'
import contextlib, io, re, runpy, sys
program, *given = sys.argv[1:]
for line in sys.stdin:
    pattern, words = line.rstrip("\n").split(" ~ ")
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = [program, *given, *words.split()]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as e:
            code = e.code
    said = err.getvalue()
    if code != 2 or not re.fullmatch(f"bench/large_batch: .*{pattern}.*\n", said) or out.getvalue():
        print(f"{words}: exit {code}, want 2 and '{pattern}': {said}{out.getvalue()}")
END
python3 all_refused.py "$tree/bench/large_batch" --minipod "$minipod" --csv s.csv "${one[@]}" >out 2>&1 <<'END'
models: 'resnet21' is none of resnet20, efficientnet-b0-32 ~ --models resnet21
batches: 'x' is no whole number ~ --batches 1,x
batches: 7 is not divisible by 2 ranks ~ --batches 7
mesh: '2by2' is not like 2x2 ~ --mesh 2by2
epochs: '0' is not from ~ --epochs 0
plot: 's.gif' is neither ~ --plot s.gif
x.h5 ~ --data x.h5
GiB a core ~ --memory 0.001
unexpected argument 'foo'; options of minipod train stand behind -- ~ --quick foo
nowhere/x.csv: cannot write: No such file or directory ~ --csv nowhere/x.csv
nowhere/x.svg: cannot write: No such file or directory ~ --plot nowhere/x.svg
plot: 's.svg' is the file of --csv ~ --csv s.svg --plot s.svg
minipod: there is no program 'nix' ~ --minipod nix
batches: 128 is more than the 64 training samples of glyphs ~ --batches 64,128
epochs: 0.2 epochs of 2 steps, at a batch of 32, are no step ~ --epochs 0.2
rmsprop: resnet20 has recipes for sgd, lars ~ --optimizers rmsprop
sgd: efficientnet-b0-32 has recipes for rmsprop, lars ~ --models resnet20,efficientnet-b0-32
--model behind --: is the study's own, --models says it ~ -- --model mlp
--seed behind --: is the study's own, --seeds says it ~ -- --seed=7 --model mlp
--mesh behind --: is the study's own, --mesh says it ~ -- --tile 1M --mesh 1x2
--resume behind --: is the study's own, --csv says it ~ -- --resume auto
--lr-per behind --: is the study's own ~ -- --lr_per=1
--trust behind --: is the study's own, as it trains resnet20 with lars ~ --optimizers sgd,lars -- --trust 1
--checkpoint-every behind --: is the study's own ~ -- --checkpoint-every 1
--help behind --: trains nothing ~ -- -h
resnet20 with lars: minipod train: --tile: '1X' is ~ --optimizers lars -- --tile 1X
resnet20 with sgd: minipod train: unexpected argument 'foo' ~ -- foo
END
[ ! -s out ] || fail "refused: $(cat out)"
[ ! -e s.runs ] && [ ! -e nowhere ] && [ -z "$(find . -name 'large-batch-*')" ] || fail "refused, and left: $(find .)"
refused 'data: none is given' --quick
! [ -e "$tree/bench/large_batch_lib/__pycache__" ] || fail "python's cache is in the tree"
cp "$tree/bench/large_batch" alone
if ./alone --table >out 2>err || ! grep -q '^bench/large_batch: needs the folder large_batch_lib' err; then
    fail "a copy of the program alone: $(cat err)"
fi
exit "$failed"
