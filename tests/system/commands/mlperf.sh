#!/bin/bash
# minipod mlperf: several seeds of one training, scored; what is there is not trained again.
#   mlperf.sh MINIPOD MLLOG_CHECK
# shellcheck source=tests/system/common.sh
source "$(dirname "$0")/../common.sh"
mllog_check=$2
train=(train --model mlp --data glyphs:16x16x1:2000+500 --batch 100 --epochs 8 --quiet)

# Answer $1 of "minipod mlperf ..." behind it, with $2 in what it prints.
says() {
    local code=$1 text=$2
    shift 2
    "$minipod" mlperf "$@" >printed 2>&1
    local found=$?
    [ "$found" -eq "$code" ] || fail "mlperf $*: exit $found, want $code: $(tail -3 printed)"
    grep -q -e "$text" printed || fail "mlperf $*: no '$text' in: $(tail -5 printed)"
}

# Five runs, and the score anew from the logs.
says 0 'score: [0-9.]* s, [0-9.]* min: the mean without the fastest and the slowest$' \
    --runs 5 --seed 11 --out five --csv five.csv --json five.json -- launch -n 2 -- "${train[@]}" --target 0.8
python3 - <<'PYTHON' || fail "the score is not that of the logs"
import csv, json
rows = list(csv.DictReader(line for line in open("five.csv") if not line.startswith("#")))
assert [row["seed"] for row in rows] == ["11", "12", "13", "14", "15"], rows
times = []
for i, row in enumerate(rows):
    at = {}
    for line in open(f"five/result_{i}.txt"):
        record = json.loads(line.removeprefix(":::MLLOG "))
        if record["key"] == "seed":
            assert str(record["value"]) == row["seed"], line
        if record["key"] in ("run_start", "run_stop"):
            at[record["key"]] = record["time_ms"]
    times.append((at["run_stop"] - at["run_start"]) / 1000)
    assert abs(times[-1] - float(row["time_s"])) < 1e-9 and row["target"] == "reached", (times, row)
score = sum(sorted(times)[1:4]) / 3
for name in ("five.json", "five/mlperf.json"):
    found = json.load(open(name))
    assert abs(found["score_s"] - score) < 1e-9, (found["score_s"], score)
    assert "not an MLPerf result" in found["claim"] and found["n_reached"] == 5, found
PYTHON
for i in 0 1 2 3 4; do
    "$mllog_check" five/result_$i.txt || fail "five/result_$i.txt is no log of a run"
done

# The same command trains nothing; another is refused before it trains.
before=$(stat -c %Y.%i five/run-*/run.json)
says 0 'run 5 of 5: five/run-4 is there' --seed 11 --out five -- launch -n 2 -- "${train[@]}" --target 0.8
[ "$(stat -c %Y.%i five/run-*/run.json)" = "$before" ] || fail "what was there was trained again"
says 2 "five/run-0: has a run of --target '0.8', found '0.7'" --seed 11 --out five -- launch -n 2 -- "${train[@]}" --target 0.7
says 2 "five/run-0: has a run of seed 11, this one's is 12" --seed 12 --out five -- launch -n 2 -- "${train[@]}" --target 0.8

# Folders that are there; one that missed its target counts as the slowest, two make no score.
says 0 'score: ' five/run-0 five/run-1 five/run-2
says 1 'score: none, it wants at least 3 runs' five/run-0 five/run-1
says 2 'five/run-1: has the seed of five/run-1, 12' five/run-0 five/run-1 five/run-1
for i in 0 1; do
    cp -r five/run-$i missed-$i
    sed -i 's/"status": "success"/"status": "aborted"/' missed-$i/mllog.txt
done
says 0 'the slowest, which missed the target' missed-0 five/run-1 five/run-2 five/run-3
says 1 'score: none, 2 of 4 runs missed the target and 1 may' missed-0 missed-1 five/run-2 five/run-3
"$minipod" "${train[@]}" --batch 50 --target 0.5 --out other >/dev/null || fail "train of another batch"
says 2 'other: ranks are 1, and 2 in five/run-0' five/run-0 five/run-1 other
"$minipod" launch -n 2 -- "${train[@]}" --batch 50 --target 0.5 --out other >/dev/null 2>&1 || fail "launch of another batch"
says 2 "other: --batch is '50', and '100' in five/run-0: runs of a score differ in their seeds alone" five/run-0 other

# Runs that miss their target: two of them end it.
says 1 '2 runs missed their target: with 3 more there is no score either' \
    --out missing -- "${train[@]}" --epochs 1 --target 0.99
[ ! -e missing/run-2 ] || fail "a third run began where two had missed"

# One that is stopped begins anew.
"$minipod" mlperf --runs 3 --out stopped -- launch -n 2 -- "${train[@]}" --epochs 5000 --target 0.9999 >out 2>&1 &
pid=$!
stepped=no
for _ in $(seq 600); do
    grep -qs '"step"' stopped/run-0/job/attempt-001.rank-0000.jsonl && stepped=yes && break
    sleep 0.05
done
[ $stepped = yes ] || fail "a stop: no step within 30 s"
kill -TERM $pid
wait $pid
code=$?
[ $code -eq 1 ] || fail "a stop: exit $code, want 1: $(tail -3 out)"
grep -q 'stopped/run-0: was asked to stop; the same command begins this run anew' out || fail "a stop: $(tail -3 out)"
[ ! -e stopped/run-1 ] || fail "a run began after the stop"
says 2 'stopped/run-0: the run was stopped before its end' stopped/run-0

# Signals that are switched off, as by nohup, and SIGCHLD inherited so: the series goes on.
(trap '' HUP CHLD INT
    exec "$minipod" mlperf --runs 3 --out deaf -- "${train[@]}" --target 0.8) >out 2>&1 &
pid=$!
for _ in $(seq 600); do
    [ -d deaf/run-0/job ] && break
    sleep 0.01
done
kill -HUP $pid
wait $pid
code=$?
[ $code -eq 0 ] && [ -e deaf/run-2/run.json ] || fail "signals that are switched off: exit $code: $(tail -3 out)"

# A reader that leaves ends no series.
"$minipod" mlperf --runs 3 --out head -- "${train[@]}" --target 0.8 2>/dev/null | head -1 >/dev/null
[ -e head/mlperf.json ] || fail "a reader left, and the runs were not scored"

# Time spent before is not in a run that goes on from another; what is there is not trained over.
"$minipod" "${train[@]}" --target 0 --epochs 2 --out pre >/dev/null || fail "train before"
for i in 1 2 3; do
    "$minipod" "${train[@]}" --resume pre --target 0.7 --epochs 12 --out fine$i >/dev/null || fail "train on"
done
says 2 'fine1/mllog.txt:[0-9]*: goes on from another run, whose time is not in it' fine1 fine2 fine3
MINIPOD_RESUME=pre says 2 'resume: each run begins anew' --out on -- "${train[@]}" --target 0.7
mkdir there
cp -r pre there/run-0
says 2 'there/run-0/run.json: a run without --target has no time to it' --out there -- "${train[@]}" --target 0.8
cmp -s pre/run.json there/run-0/run.json || fail "a run that was there was trained over"

# Fewer runs than before: the logs of the others go.
says 0 'score: ' --runs 3 --seed 11 --out five -- launch -n 2 -- "${train[@]}" --target 0.8
[ -e five/result_2.txt ] && [ ! -e five/result_3.txt ] || fail "logs of runs that are not scored: $(ls five)"

# What is wrong is said before anything runs.
says 2 "is there and is not a JSON record of mlperf" --out five --json five/run-0/run.json -- "${train[@]}" --target 0.8
says 2 "csv: cannot be train's" --out none -- "${train[@]}" --target 0.8 --csv t.csv
says 2 'out: want a folder for the runs' -- launch -n 2 -- "${train[@]}" --target 0.8
says 2 'which runs?'
says 2 'which runs?' --out none
says 2 'runs: is how many are trained' --runs 3 five/run-0
says 2 'target: train has none' --out none -- train --model mlp
printf 'target = 0.8\nmodel = nonet\n' >mine.conf # reaches train through launch
says 2 'nonet' --conf mine.conf --out none -- launch -n 1 --restarts 0 -- train
rm -rf none
says 2 "seed: cannot be train's" --out none -- launch -n 2 -- train --seed 3 --target 0.8
says 2 "repeats train, or launch -- train, found 'eval'" --out none -- eval --resume five/run-0
says 2 "--btch: there is no such option" --out none -- train --btch 3 --target 0.8
says 2 'absent/run.json: ' absent five/run-0
[ ! -e none ] || fail "a command that was refused made its folder"
cp -r five/run-0 torn
sed -i '$d' torn/mllog.txt
says 2 'torn/mllog.txt: has no run_stop' torn
echo ':::MLLOG {"key": ' >>torn/mllog.txt
says 2 'torn/mllog.txt:[0-9]*: is no JSON' torn
exit "$failed"
