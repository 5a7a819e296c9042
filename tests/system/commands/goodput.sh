#!/usr/bin/env bash
# goodput.sh MINIPOD: runs whose logs are made by hand, so that each figure is worked out in a comment;
# and what is refused, in one line, with exit 2.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# ns SECONDS: a stamp so long after the epoch of these jobs; three decimals
ns() { awk -v s="$1" 'BEGIN { printf "17%08d%03d000000", int(s), (s - int(s)) * 1000 + 0.5 }'; }

# head FILE ATTEMPT RANK RANKS MESH MODEL BEGIN
head_of() {
    mkdir -p "$(dirname "$1")"
    printf '{"schema":"minipod.job","version":1,"attempt":%d,"rank":%d,"ranks":%d,"mesh":"%s","model":"%s","data":"d","host":"no host","pid":1,"begin_ns":%s}\n' \
        "$2" "$3" "$4" "$5" "$6" "$(ns "$7")" >"$1"
}
from() { # STEP AT [MILLISECONDS OF AN IDEAL STEP]
    printf '{"from":%d,"at_ns":%s%s}\n' "$1" "$(ns "$2")" "${3:+,\"ideal_ps\":$3000000000}"
}
span() { printf '{"span":"%s","begin_ns":%s,"end_ns":%s}\n' "$1" "$(ns "$2")" "$(ns "$3")"; }
kept() { printf '{"kept":%d,"at_ns":%s}\n' "$1" "$(ns "$2")"; }
ended() { printf '{"end":"%s","at_ns":%s,"text":"%s"}\n' "$1" "$(ns "$2")" "$3"; }
# steps FIRST LAST BEGIN REDUCE: a second each, of which so many milliseconds wait for all-reduces
steps() {
    local s at=$3
    for ((s = $1; s <= $2; s++, at++)); do
        printf '{"step":%d,"begin_ns":%s,"end_ns":%s,"input_ns":0,"reduce_ns":%d,"save_ns":0}\n' \
            "$s" "$(ns "$at")" "$(ns $((at + 1)))" $(($4 * 1000000))
    done
}
run_json() { # FILE MESH IDEAL STEP
    printf '{"schema":"minipod.run","version":1,"machine":"made","mesh":"%s","model_flops_per_step":1e9,"ideal_step_s":%s,"step_s":%s,"host":{"physical_cores":1}}\n' \
        "$2" "$3" "$4" >"$1"
}

# calm: two ranks for 30 s: 1 initialization, 2 start-up, 20 steps, 4 evaluation, the rest, 3, other. Rank
# 0's own time is 0.9 s of a step, rank 1's 0.5. Runtime goodput 2 x 20 / 2 x 30; program 0.25 / 1.
for rank in 0 1; do
    log=calm/job/attempt-001.rank-000$rank.jsonl
    head_of $log 1 $rank 2 2 mlp 0
    {
        span TPU_INITIALIZATION 0 1
        span PROGRAM_STARTUP 1 3
        from 0 3
        steps 1 20 3 $((100 + 400 * rank))
        [ $rank = 1 ] || kept 20 23.5
        span EVALUATION 24 28
        ended ok 30 ""
    } >>$log
done
run_json calm/run.json 2 0.25 1

# broken: one rank for 12 s. Attempt 1 does steps 1 to 4 in 4 s, 2 of them kept, and is seen dead at 5;
# attempt 2 begins at 6, its record at 7; it restores until 8, does steps 3 to 6 until 12. So 6 steps are
# kept, 2 lost and the second of a third; recovery is 5 to 7, restoring 1. Runtime goodput 6 / 12.
log=broken/job/attempt-001.rank-0000.jsonl
head_of $log 1 0 1 1 resnet8 0
{
    from 0 0
    steps 1 4 0 0
    kept 2 4
} >>$log
log=broken/job/attempt-002.rank-0000.jsonl
head_of $log 2 0 1 1 resnet8 7
{
    span UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME 7 8
    from 2 8
    steps 3 6 8 0
    ended ok 12 ""
} >>$log
{
    printf '{"schema":"minipod.launch","version":1,"command":"train","ranks":1,"begin_ns":%s}\n' "$(ns 0)"
    printf '{"attempt":1,"begin_ns":%s}\n{"attempt":1,"end_ns":%s,"exit_code":1,"reason":"killed","text":"rank 0: killed by signal 9"}\n' "$(ns 0)" "$(ns 5)"
    printf '{"attempt":2,"begin_ns":%s}\n{"attempt":2,"end_ns":%s,"exit_code":0,"reason":"ok","text":""}\n' "$(ns 6)" "$(ns 12)"
} >broken/job/launch.jsonl

# calm asks for 2 ranks from -10 on and has one of them from -5 on, both from 0 to 30: 60 of 80.
cat >jobs.csv <<END
# what the scheduler did
job,event,time_s,ranks
,capacity,-10,4
calm,submit,-10,2
calm,allocate,-5,1
calm,allocate,0,2
calm,end,30,
END

# has TEXT: a line of what was printed, blanks squeezed
has() { tr -s ' ' <out | grep -q -e "$1" || fail "no '$1' in: $(cat out err)"; }
# csv FILE ROW {COLUMN WANT}...
csv() {
    local file=$1 row=$2 got
    shift 2
    while [ $# -ge 2 ]; do
        got=$(awk -F, -v row="$row" -v name="$1" '/^#/ { next } !c { for (c = NF; c && $c != name; c--); next }
            $1 == row { print $c }' "$file")
        awk -v a="$got" -v b="$2" 'BEGIN { exit !(a == b || (a - b < 1e-6 && b - a < 1e-6 && a != "" && a != "-")) }' ||
            fail "$file: $1 of $row is '$got', want $2"
        shift 2
    done
}

"$minipod" goodput calm broken/ --csv runs.csv --json runs.json --prometheus runs.prom >out 2>err || fail "$(cat err)"
csv runs.csv calm wall_rank_s 60 productive_rank_s 40 runtime 0.666666667 program 0.25 scheduling '' goodput ''
csv runs.csv calm tpu_initialization_rank_s 2 program_startup_rank_s 4 evaluation_rank_s 8 other_rank_s 6
csv runs.csv broken wall_rank_s 12 runtime 0.5 program '' wasted_progress_from_disruption_rank_s 3
csv runs.csv broken infrastructure_recovery_from_disruption_rank_s 2
csv runs.csv broken unproductive_checkpoint_restore_time_rank_s 1 disruptions 1
csv runs.csv all runtime 0.638888889 # 46 / 72
csv runs.csv all ideal_rank_s 10            # a quarter of calm's 40
has 'broken: program goodput is not known: there is no run.json'
has 'scheduling goodput is not known: a job alone'
has 'all: program goodput is of 1 of 2 runs'
has '^ EVALUATION 8.000 11.11$'
has '^ wall 72.000 100.00$'
has '^ broken 6 2 2 0 1000.000 '
has '^ 1 1 0.000 5.000 0 4 killed rank 0: killed by signal 9'
has '^ 2 1 6.000 6.000 2 6 ok'
has '^ 0 900.000 100.000 0.000 0.000 0.556 1.000 slow: 1.80 times the others'
has '^ 1 500.000 500.000 0.000 0.000 1.000 1.000 waits 400.000 ms a step for rank 0'
has '^# 2 ranks share 1 core: own times'
has '^# slow: rank 0; without it steps would be 40.0 % shorter'
has '^# 1. 26.7 % rank 0 as fast as the others' # 40 % of 40 of 60
grep -q 'last 60 s' out && fail "a window of 60 s in jobs of 30 s and 12 s"
has '^ cumulative 60.000 40.000 0.000 66.67 EVALUATION 13.33'
grep -q '^minipod_goodput_time_seconds{run="calm",model="mlp",mesh="2"} 40$' runs.prom || fail "$(cat runs.prom)"
grep -q '^minipod_badput_time_seconds{run="broken",model="resnet8",mesh="1",category="WASTED_PROGRESS_FROM_DISRUPTION"} 3$' \
    runs.prom || fail "$(cat runs.prom)"
grep -q 'minipod_scheduling_goodput{' runs.prom && fail "scheduling goodput of nothing"
grep -q '"disruption_count": 1,' runs.json || fail "runs.json: no disruption"
grep -q '"running": false,' runs.json || fail "runs.json: does not say whether a run runs"
grep -q '"interval": \[' runs.json || fail "runs.json: no intervals"

# 0.75 x 2 / 3 x 0.25; by all that ranks did: capacity 4 x 40
"$minipod" goodput calm --jobs jobs.csv --csv one.csv >out 2>err || fail "$(cat err)"
csv one.csv calm scheduling 0.75 goodput 0.125
has '^ calm 80.000 60.000 5.000 10.000 75.00$'
has '^# all jobs: 60.000 / 160.000 rank-s = 37.50 %'
# The job's name is the folder's own, whatever leads there.
ln -s calm latest
for run in calm/ calm/. latest "$work/latest/"; do
    "$minipod" goodput $run --jobs jobs.csv --csv one.csv >out 2>err || fail "$run: $(cat err)"
    has '60.000 60.000 40.000 10.000 75.00 66.67 25.00 12.50$'
done
(cd calm && "$minipod" goodput . --jobs ../jobs.csv) >out 2>err || fail "the folder at hand: $(cat err)"
has '^ \. 1 80.000 60.000 60.000 40.000 10.000 75.00 66.67 25.00 12.50$'
# The log's 60 rank-s are not the 200 that the scheduler tells of: 40 / 220 x 0.25
sed 's/calm,end,30/calm,end,100/' jobs.csv >longer.csv
"$minipod" goodput calm --jobs longer.csv --csv one.csv >out 2>err || fail "$(cat err)"
csv one.csv calm goodput 0.0454545455
has '^# calm: the log has 60.000 rank-s, the scheduler.s record 200.000 together: goodput is'
"$minipod" goodput calm broken --jobs jobs.csv --csv both.csv >out 2>err || fail "$(cat err)"
csv both.csv all scheduling 0.375
csv both.csv broken scheduling ''
has "jobs.csv has no job 'broken'"
"$minipod" goodput --jobs jobs.csv >out 2>err || fail "a fleet alone: $(cat err)"

"$minipod" goodput calm broken --by model --csv by.csv >out 2>err || fail "$(cat err)"
csv by.csv mlp productive_rank_s 40
"$minipod" goodput calm broken --by mesh --csv by.csv >out 2>err || fail "$(cat err)"
csv by.csv 1 runs 1
"$minipod" goodput calm broken --by phase --csv by.csv >out 2>err || fail "$(cat err)"
csv by.csv training runtime 0.71875 # 46 / (72 - 8)
csv by.csv evaluation wall_rank_s 8 runtime ''
csv by.csv all runtime 0.638888889

# uneven: two ranks do steps 1 to 5, a second each, of which 4 are kept; then one rank does 5 and 6, 5 s
# each, where a step would ideally take 0.25 s. On the one core that there is so it would on two ranks:
# (2 x 4 + 2) x 0.25 rank-s of 2 x 4 + 10; with a core each in half of that: 6 steps of 0.25 rank-s. The
# median of steps is of no matter.
for rank in 0 1; do
    log=uneven/job/attempt-001.rank-000$rank.jsonl
    head_of $log 1 $rank 2 2 mlp 0
    { from 0 0; steps 1 5 0 0; } >>$log
    [ $rank = 1 ] || kept 4 5 >>$log
done
log=uneven/job/attempt-002.rank-0000.jsonl
head_of $log 2 0 1 1 mlp 6
{ from 4 6; steps 5 5 6 0; steps 6 6 11 0; ended ok 16 ""; } |
    sed "s/\($(ns 6),\"end_ns\":\)$(ns 7)/\1$(ns 11)/; s/\($(ns 11),\"end_ns\":\)$(ns 12)/\1$(ns 16)/" >>$log
run_json uneven/run.json 1 0.25 4
"$minipod" goodput uneven calm --csv uneven.csv --json uneven.json --prometheus uneven.prom >out 2>err || fail "$(cat err)"
csv uneven.csv uneven productive_rank_s 18 ideal_rank_s 2.5 program 0.138888889
csv uneven.csv all ideal_rank_s 12.5
grep -q '^ *"program_goodput": 0.138888' uneven.json || fail "uneven.json: $(grep program_goodput uneven.json)"
grep -q '^minipod_program_goodput{run="uneven",.* 0.138888' uneven.prom || fail "uneven.prom: $(grep program uneven.prom)"
has '^# uneven: ideal = kept steps x ideal step of their attempt, the last one.s 250.000 ms, of each rank; the median step took 4000.000 ms; ideal step = 1 GFLOP'
# By mesh: on 2 both did 4 s that are kept of the 6 until the second attempt began, on 1 the 10 of 10.
"$minipod" goodput uneven calm --by mesh --csv mesh.csv >out 2>err || fail "$(cat err)"
csv mesh.csv 2 runs 2 attempts 2 disruptions 1
csv mesh.csv 2 wall_rank_s 72 # 2 x 6 + 60
csv mesh.csv 2 productive_rank_s 48 ideal_rank_s 12
csv mesh.csv 1 runs 1 disruptions 0 wall_rank_s 10 productive_rank_s 10 ideal_rank_s 0.5 program 0.05
csv mesh.csv all runs 2 wall_rank_s 82
has '^# uneven: its attempts were on 2 meshes: each has the time that it was there$'
has '^# uneven: mlp on meshes 2, 1; 2 attempts, 1 disruption'
printf 'job,event,time_s,ranks\n,capacity,0,2\nuneven,submit,0,2\nuneven,allocate,0,2\nuneven,end,16,\n' >uneven.jobs
"$minipod" goodput uneven --by mesh --jobs uneven.jobs --csv mesh.csv >out 2>err || fail "$(cat err)"
csv mesh.csv 2 runtime 0.666666667 # 8 of 2 x 6
csv mesh.csv 2 scheduling ''
csv mesh.csv all scheduling 1
has '^# uneven: its attempts were on 2 meshes: each has the time that it was there, and none what the scheduler tells of the whole'
sed -i 's/"physical_cores":1/"physical_cores":4/' uneven/run.json
"$minipod" goodput uneven --csv uneven.csv >out 2>err || fail "$(cat err)"
csv uneven.csv uneven ideal_rank_s 1.5

# grown: 4 steps of 1 s, then one of a larger batch, 5 s; ideally they take 0.1 s and 2 s, as the log says,
# whatever run.json, if there is any, says of the last one. What the first step of the larger batch takes beyond
# those of the smaller is no start-up. In all, with calm: 12.4 s ideally of 90 that were asked for.
log=grown/job/attempt-001.rank-0000.jsonl
head_of $log 1 0 1 1 mlp 0
{ from 0 0 100; steps 1 4 0 0; kept 4 4; ended stopped 4 ""; } >>$log
log=grown/job/attempt-002.rank-0000.jsonl
head_of $log 2 0 1 1 mlp 5
{ from 4 5 2000; steps 5 5 5 0; ended ok 10 ""; } | sed "s/$(ns 6)/$(ns 10)/" >>$log
for record in '' grown/run.json; do
    [ -z "$record" ] || run_json $record 1 2 5
    "$minipod" goodput grown --csv grown.csv >out 2>err || fail "$(cat err)"
    csv grown.csv grown productive_rank_s 9 ideal_rank_s 2.4 program 0.266666667
    has "^# grown: ideal = kept steps x ideal step.* the last \(one's 2000.000 ms\|attempt's\), of each rank"
done
printf 'grown,submit,0,1\ngrown,allocate,0,1\ngrown,end,10,\n' |
    sort -t, -s -k3,3g - <(grep '^calm,' jobs.csv) | sed '1i job,event,time_s,ranks' >whole.csv
"$minipod" goodput calm grown --jobs whole.csv --csv grown.csv >out 2>err || fail "$(cat err)"
csv grown.csv calm goodput 0.125
csv grown.csv grown goodput 0.24
csv grown.csv all goodput 0.137777778

if command -v gnuplot >/dev/null; then
    "$minipod" goodput broken --plot picture.svg >out 2>err || fail "$(cat err)"
    grep -q 'WASTED_PROGRESS_FROM_DISRUPTION' picture.svg || fail "picture.svg: no lost steps"
fi

# A training that hangs, whose log is open: a link to that in another folder makes the job there one that
# runs.
"$minipod" train --model mlp --data glyphs --batch 64 --steps 20 --eval-every 0 --fault hang:rank=0,step=2 \
    --progress off --out hangs >out 2>err &
hangs=$!
for ((i = 0; i < 300; i++)); do
    grep -qs '"fault":0' hangs/job/attempt-001.rank-0000.jsonl && break
    sleep 0.1
done
"$minipod" goodput hangs >out 2>err || fail "a job that hangs: $(cat err)"
has 'it still runs$'

# The second attempt still runs. Steps 3 to 6 are not saved yet.
cp -r broken alive
rm alive/job/launch.jsonl
ln hangs/mllog.txt alive
sed -i '/"end"/d' alive/job/attempt-002.*
sed -i "s/:17000000/:$((($(date +%s) + 100) / 100))/g" alive/job/*
"$minipod" goodput alive >out 2>err || fail "a job that runs: $(cat err)"
has '^ alive 2 2 2 4 '
has '1 disruption; it still runs$'
# Windows count kept steps, as the run does: 1 and 2.
"$minipod" goodput alive --json alive.json >out 2>err || fail "a job that runs: $(cat err)"
grep -q '^ *"goodput_time": 2.000000000,$' alive.json || fail "alive.json: $(grep -w goodput_time alive.json)"
grep -q '"cumulative": .*"goodput_time": 2.000000000, "unsaved_time": 4.000000000,' alive.json ||
    fail "alive.json: $(grep cumulative alive.json)"
has 'alive: program goodput is not known: there is no run.json yet: train writes it'

# Two runs are not one job's.
mkdir other && cp -r calm other/calm
printf 'job,event,time_s,ranks\ncalm,submit,0,2\ncalm,allocate,1,2\ncalm,end,100,\n' >one.csv
"$minipod" goodput calm other/calm --jobs one.csv >out 2>err
[ $? -eq 2 ] && grep -q 'calm and other/calm: both bear the name of job calm of --jobs, which is one run$' err || fail "one job: $(cat err)"

# Nothing is saved yet: that is no 0 %, for nothing is lost either.
cp -r calm young
ln hangs/mllog.txt young
sed -i '/"end"/d; /"kept"/d' young/job/*
sed -i "s/:17000000/:$((($(date +%s) + 100) / 100))/g" young/job/*
"$minipod" goodput young --csv young.csv --json young.json --prometheus young.prom >out 2>err || fail "a job that saved nothing yet: $(cat err)"
has 'young: runtime goodput is not known: nothing saved yet: a step counts once a checkpoint keeps it$'
csv young.csv young runtime ''
grep -q '^ *"runtime_goodput": null' young.json || fail "a job that saved nothing yet: $(grep runtime young.json)"
has '^# young: runtime goodput by window; not known: nothing saved yet$'
has '^ cumulative [0-9.]* 0.000 40.000 - '
grep -q '"interval_goodput": [0-9]' young.json && fail "young.json: $(grep cumulative young.json)"
grep -q 'interval_goodput{' young.prom && fail "goodput of windows in which nothing is saved: $(grep interval young.prom)"

kill -9 $hangs
wait $hangs 2>wait.err
"$minipod" goodput alive >out 2>err || fail "$(cat err)"
grep -q 'it still runs' out && fail "a job whose process is gone is said to run"

# Killed between the move of the folder's pointer to step 20 and the record of it.
"$minipod" train --model mlp --data glyphs --batch 64 --steps 20 --checkpoint-every 10 --eval-every 0 \
    --out real >out 2>err || fail "$(cat err)"
sed -i '/"kept"/d; /"end"/d' real/job/attempt-001.rank-0000.jsonl
"$minipod" goodput real >out 2>err || fail "$(cat err)"
has '^ real 20 0 0 0 '
# That of an earlier version is not gone on from; the one before it is.
manifest=real/checkpoint/step-000000020/manifest.json
head -c -33 $manifest | sed 's/"version": 2,/"version": 1,/' >body
crc=$(gzip -c body | tail -c 8 | od -An -tx4 -N 4 --endian=little | tr -d ' ')
{ cat body && printf '  "manifest_crc32": "%s"\n}\n' "$crc"; } >$manifest
"$minipod" goodput real >out 2>err || fail "$(cat err)"
has '^ real 10 10 0 0 '
rm -r real/checkpoint
"$minipod" goodput real >out 2>err || fail "$(cat err)"
has '^ real 0 20 0 0 '

# A run that never began leaves nothing that looks like one.
"$minipod" train --model mlp --data nowhere.h5 --out unborn >out 2>err && fail "trains on nothing"
[ ! -e unborn ] || fail "a run that never began leaves $(find unborn | tr '\n' ' ')"
mkdir -p real/checkpoint
"$minipod" train --model mlp --data nowhere.h5 --out real >out 2>err && fail "trains on nothing"
[ -e real/run.json ] || fail "a run that never began takes an older one's files"

# A last line that a kill tore is no fault; a log of which the middle is damaged is.
cp -r calm torn
printf '{"step":21,"begi' >>torn/job/attempt-001.rank-0000.jsonl
"$minipod" goodput torn >out 2>err || fail "a torn line: $(cat err)"
has 'attempt 1: the last line of the logs of 1 of 2 ranks is cut off and left out'

"$minipod" goodput calm >out 2>err || fail "whole logs: $(cat err)"
grep -q 'ranks left no log\|cut off' out && fail "whole logs are said to be none: $(cat out)"
cp -r calm short
sed -i '/"end"/d' short/job/attempt-001.rank-0001.jsonl
"$minipod" goodput short >out 2>err || fail "a log that is cut off: $(cat err)"
has 'attempt 1: it came to its end, but the logs of 1 of 2 ranks have none: they are cut off'
: >short/job/attempt-001.rank-0001.jsonl
"$minipod" goodput short >out 2>err || fail "an empty log: $(cat err)"
has 'attempt 1: 1 of 2 ranks left no log that is begun'

# refuses PATTERN WORD...
refuses() { is_refused "$1" "$minipod" goodput "${@:2}"; }
mkdir empty hollow hollow/job
# Of several folders those that are no run's are named, a line each; the others are as they were alone.
"$minipod" goodput calm --csv want.csv --json want.json >want 2>err || fail "$(cat err)"
"$minipod" goodput absent calm empty hollow --csv got.csv --json got.json >out 2>err
code=$?
{ [ $code -eq 2 ] && cmp -s want out && cmp -s want.csv got.csv && cmp -s want.json got.json &&
    [ "$(cut -c 1-38 err)" = "minipod goodput: absent: No such file 
minipod goodput: empty: is no run's fo
minipod goodput: hollow/job: no job lo" ]; } || fail "one run of four: exit $code: $(cat out err)"
"$minipod" goodput absent empty --csv none.csv >out 2>err
code=$?
{ [ $code -eq 2 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 2 ] && [ ! -e none.csv ]; } ||
    fail "no run of two: exit $code: $(cat out err)"
refuses 'which runs'
refuses 'absent: No such file' absent
refuses 'empty: is no run.s folder: want job/ .* found nothing$' empty
refuses 'jobs.csv: is a file, want a run.s folder' jobs.csv
refuses "calm/job: is no run.s folder: .* found attempt-001.rank-0000.jsonl, attempt-001.rank-0001.jsonl$" calm/job
refuses '\.: is no run.s folder: .* found .*, \.\.\.; did you mean \./alive?$' .
refuses 'hollow/job: no job log: the folder is empty' hollow
ln -s calm link
refuses 'calm/: stands twice among the runs: it is the same folder as calm$' calm calm/
refuses '\./calm: stands twice among the runs: it is the same folder as calm/$' calm/ broken ./calm
refuses 'link: stands twice among the runs: it is the same folder as' "$work/calm" link
refuses "by: 'color' is none of run|model|mesh|phase" calm --by color
refuses 'plot: is of one run, found 2' calm broken --plot p.svg
refuses 'plot: .*want a name in .svg' calm --plot p.png
refuses 'nowhere' calm --prometheus nowhere/m.prom
refuses 'nowhere' calm --csv nowhere/m.csv
refuses 'absent.csv' calm --jobs absent.csv
# A clock that was set back by 10 s between two attempts; the second alone is whole: 5 s, of which 4 are steps.
cp -r broken set_back
awk '{ while (match($0, /_ns":17[0-9]+/)) {
    t = substr($0, RSTART + 5, RLENGTH - 5)
    printf "%s%d%s", substr($0, 1, RSTART + 4), substr(t, 1, 10) - 10, substr(t, 11)
    $0 = substr($0, RSTART + RLENGTH) } print }' broken/job/attempt-002.rank-0000.jsonl >set_back/job/attempt-002.rank-0000.jsonl
refuses 'set_back/job: attempt 2 begins 8 s before attempt 1 was last seen: a clock was set back' set_back
rm set_back/job/launch.jsonl set_back/job/attempt-001.*
"$minipod" goodput set_back >out 2>err || fail "the rest of set_back: $(cat err)"
has '^ set_back 1 - - 5.000 4.000 '
sed 's/calm,end/calm,enb/' jobs.csv >unknown.csv
refuses "unknown.csv:7: there is no event 'enb'; did you mean end" calm --jobs unknown.csv
# What the scheduler did and what the log says: calm had 2 ranks for 30 s.
sed 's/calm,end,30/calm,end,25/' jobs.csv >early.csv
refuses "early.csv: job 'calm' was together for so many rank-seconds: 50, but the log of calm says 60" calm --jobs early.csv
# Four ranks for half an hour, taken away for an hour, and half an hour more: 4 x 3600 rank-seconds.
for rank in 0 1 2 3; do
    log=preempted/job/attempt-001.rank-000$rank.jsonl
    head_of $log 1 $rank 4 4 mlp 0
    { from 0 0; span EVALUATION 0 1798; steps 1 2 1798 0; } >>$log
    log=preempted/job/attempt-002.rank-000$rank.jsonl
    head_of $log 2 $rank 4 4 mlp 5400
    { from 0 5400; steps 1 2 5400 0; span EVALUATION 5402 7200; ended ok 7200 ""; } >>$log
done
# taken AT WORD...: what the scheduler did with them
taken() {
    local at=$1
    shift
    printf 'job,event,time_s,ranks\npreempted,submit,0,4\npreempted,allocate,0,4\n'
    printf 'preempted,%s\n' "${@//AT/$at}" 'allocate,5400,4' 'end,7200,'
}
taken 1800 'allocate,AT,0' >held.csv
taken 1800 'end,AT,' 'submit,AT,4' >again.csv
for file in held again; do
    "$minipod" goodput preempted --jobs $file.csv --csv taken.csv >out 2>err || fail "$file.csv: $(cat err)"
    has '^ preempted [0-9.]* 14400.000 '
done
cp -r calm damaged
sed -i '5s/"step"/"stop"/' damaged/job/attempt-001.rank-0001.jsonl
refuses 'damaged/job/attempt-001.rank-0001.jsonl:5: ' damaged
cp -r calm overlaps
sed -i '6s/begin_ns":17/begin_ns":16/' overlaps/job/attempt-001.rank-0001.jsonl
refuses 'overlaps' overlaps
for content in '{' '[]' '{"schema":"minipod.simulate","version":1}' '{"schema":"minipod.run","version":2}'; do
    rm -rf other && cp -r calm other
    printf '%s' "$content" >other/run.json
    refuses 'other/run.json: ' other
done
exit $failed
