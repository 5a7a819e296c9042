#!/usr/bin/env bash
# simulate_job.sh MINIPOD SOURCES: long jobs in simulation: what is printed, that it is the same twice,
# that categories sum to the time, and that what cannot be used ends with exit 2 and one line.
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/../common.sh"
sources=$2
given=(simulate --job step=2,save=60,seeds=50 --nodes 64 --mtbf 2000 --checkpoint sync)

# says PATTERN WORD...: ends with 0 and prints that
says() {
    local pattern=$1
    shift
    "$minipod" "$@" >out 2>err || fail "$*: exit $?: $(head -c 300 err)"
    grep -q -e "$pattern" out || fail "$*: no '$pattern' in: $(head -c 2000 out)"
}

# also PATTERN: what was printed last has that, too
also() { grep -q -e "$1" out || fail "no '$1' in: $(head -c 2000 out)"; }

# refuses PATTERN WORD...
refuses() { is_refused "$1" "$minipod" "${@:2}"; }

# ---- what comes out
says 'closed form .*96\.5' "${given[@]}" --json a.json --csv a.csv --out dir
cp out first
says 'runtime goodput' "${given[@]}" --json b.json
cmp -s a.json b.json || fail "another result from the same seed"
grep -v simulated first >first.told
grep -v simulated out >again.told
cmp -s first.told again.told || fail "another table from the same seed"
says 'runtime goodput' "${given[@]}" --seed 2 --json c.json
cmp -s a.json c.json && fail "the same result from another seed"
grep -q '^interval_s,steps,saves,failures,runtime_pct,ci95_pct,' a.csv || fail "the CSV has no heading: $(head -3 a.csv)"
[ "$(grep -c -v '^#' a.csv)" -gt 10 ] || fail "few intervals in the CSV"
says . simulate --job step=2,bytes=100G --nodes 64 --mtbf 2000 --json bytes.json
grep -q '"checkpoint_bytes": 107374182400,' bytes.json || fail "$(grep checkpoint_bytes bytes.json)"
grep -q '"closed_form_is_exact": true' a.json || fail "the closed form is not said to be exact"
cmp -s a.json dir/job.json || fail "--out has another job.json"
if command -v gnuplot >gnuplot.path; then
    for mark in Young Daly 'expected best'; do
        grep -q "$mark" dir/job.svg || fail "the plot has no mark of $mark"
    done
fi
awk '/"seconds": {/ { sub(/.*"allocated_s": /, ""); want = $0 + 0; sub(/.*"seconds": {/, "")
         n_parts = split($0, part, /[:,}]/)
         for (i = sum = 0; i < n_parts; i++) sum += part[i + 1]
         if (sum < want * (1 - 1e-12) || sum > want * (1 + 1e-12)) bad++
         n++ }
     END { exit n < 10 || bad > 0 }' a.json || fail "categories do not sum to the time"

# ---- one seed, faults of a vocabulary, hand-made: steps of 1 s, saved each 600 s for 10 s; a start 165 s
one=(simulate --nodes 2 --mtbf 0 --checkpoint sync --interval 600)
one_job=step=1,save=10,restore=5,seeds=1,days=0.05    # 4320 steps
says 'time  *4565.000 ' "${one[@]}" --job $one_job                                   # 165 + 4320 + 8 x 10
# Step 1000 begins at 165 + 600 + 10 + 399: 399 are lost; + 10 detected + 165 + 5 restored
says 'time  *5144.000 ' "${one[@]}" --job $one_job --fault kill:rank=0,step=1000
also 'WASTED_PROGRESS_FROM_DISRUPTION  *399.000 '
says 'time  *5254.000 ' "${one[@]}" --job $one_job --fault hang:rank=0,step=1000 --watchdog 120
says 'time  *4615.000 ' "${one[@]}" --job $one_job --fault slow:rank=0,factor=1.5,from=101,until=200
says 'means of 1; 1 ended' "${one[@]}" --job $one_job --fault slow:rank=0,factor=40
[ ! -s err ] || fail "a fault that strikes: $(cat err)"
# Those that come due behind the end, or in the save of a step that is not saved, are told of in one line.
says 'time  *5144.000 ' "${one[@]}" --job $one_job \
    --fault 'kill:rank=0,step=4321;kill:rank=0,step=1000;slow:rank=0,factor=2,from=4321;diskfull:rank=0,step=601'
[ "$(cat err)" = "minipod: warning: fault: no job, of 4320 steps, was struck by kill:rank=0,step=4321;slow:rank=0,factor=2,from=4321;diskfull:rank=0,step=601" ] ||
    fail "faults that never strike: $(cat err)"
# 119 are lost
says 'time  *4864.000 ' "${one[@]}" --job $one_job --fault kill:rank=0,step=4320
[ ! -s err ] || fail "the last step: $(cat err)"

# ---- what cannot be used
trace=$sources/tests/fuzz/corpus/fault_trace/two_nodes.json
printf '{"no": "trace"}' >none.json
refuses "there is no key 'dais'; did you mean days" simulate --job dais=3 --mtbf 100
refuses 'job: save' simulate --job step=1,save=-5 --nodes 2 --mtbf 100
refuses 'mtbf' simulate --job step=1,save=5 --nodes 2 --mtbf -1
refuses 'too many for' simulate --job step=1,save=5 --nodes 1000 --mtbf 0.0001
refuses 'how do nodes fail' simulate --job step=1,save=5 --nodes 2
refuses 'not both' simulate --job step=1,save=5 --nodes 2 --mtbf 3 --faults-from "$trace"
refuses 'none.json: is no JSON array of node faults' simulate --job step=1,save=5 --nodes 2 --faults-from none.json
refuses 'absent.json' simulate --job step=1,save=5 --nodes 2 --faults-from absent.json
refuses 'has 2 nodes, the job and its spares need 3; with those' simulate --job step=1,save=5,spares=1 --nodes 2 --faults-from "$trace"
refuses 'need 5$' simulate --job step=1,save=5,trace-nodes=4 --nodes 5 --faults-from "$trace"
refuses 'has 2 nodes with a fault, found 1' simulate --job step=1,save=5,trace-nodes=1 --nodes 1 --faults-from "$trace"
refuses 'start: 9 days' simulate --job step=1,save=5,start=9 --nodes 1 --faults-from "$trace"
refuses 'none.json: is no JSON' simulate --job step=1,save=5 --nodes 2 --faults-from none.json --out made
[ ! -e made ] || fail "what is refused leaves a folder"
refuses 'repair and shape' simulate --job step=1,save=5,repair=9 --nodes 1 --faults-from "$trace"
refuses 'on how many nodes' simulate --job step=1,save=5 --mtbf 100
refuses 'bytes= of a checkpoint, or save=' simulate --job step=1 --nodes 2 --mtbf 100
refuses 'nodes' simulate --job step=1,save=5 --nodes 2,0 --mtbf 100
refuses 'more than 2147483647 cores' simulate --job step=1,save=5,node=1000000 --nodes 1000000 --mtbf 100
refuses 'interval' simulate --job step=1,save=5 --nodes 2 --mtbf 100 --interval soon
refuses 'interval' simulate --job step=1,save=5 --nodes 2 --mtbf 100 --interval 60,-1
long=00000000000000000000000000000000 # words are used whole or refused
refuses "nodes: '${long}00000000...' has more than" simulate --job step=1,save=5 --nodes 2,${long}000000007 --mtbf 100
refuses "interval: '${long}00000000...' has more than" simulate --job step=1,save=5 --nodes 2 --mtbf 100 --interval 60,${long}00000000.7
refuses 'does not go with --explain' simulate --job days=1 --mtbf 100 --explain
refuses 'mtbf: of a long job' simulate --mtbf 100
refuses 'the mesh has its own' simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --job days=1 --nodes 4 --mtbf 100
refuses 'no whole number of nodes with 3' simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --job node=3 --mtbf 100
refuses 'kill of rank 8, but there are 8 cores' simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --job days=1 --mtbf 100 --fault kill:rank=8,step=5
refuses 'has no links' simulate --job step=1,save=5 --nodes 2 --mtbf 100 --fault link:rank=0,dim=0
for word in mesh=2x2 model=resnet50 noise=0.1 trace-cores=1; do # one of each group of options
    refuses "^minipod simulate: ${word%%=*}: has no effect: --job step= gives the step" "${given[@]}" --"$word"
done
printf 'model = resnet50\n' >step.conf # of others that read the same file or environment
MINIPOD_MESH=2x2 says 'closed form' "${given[@]}" --conf step.conf --quiet --seed 3 --watchdog 30 --start-up 20
refuses 'simulate --job takes all' simulate --machine tpu-v3 --mesh 2x2x2 --model mlp --fault kill:rank=0,step=5

# ---- nothing ever fails
says 'mtbf  *none ' simulate --job step=1,save=5,seeds=1 --nodes 2 --mtbf 0 --json never.json
for quantity in Young Daly 'expected best'; do
    also "$quantity  *none "
done
says '^  -  *2  *1000.000  *-  *5  *-  *-  ' simulate --job step=1,save=5,seeds=1 --nodes 2,4 --mtbf 0
for key in node_mtbf_h mtbf_s young_s daly_s expected_best_s; do
    grep -q "\"$key\": null" never.json || fail "never.json: $(grep "$key" never.json)"
done

# ---- with the step of a machine, and over meshes
says 'program goodput  *[0-9]' simulate --machine tpu-v3 --mesh 2x4x4 --model resnet20 --batch 512 --job days=2 --mtbf 100

# What a straggler of some steps costs is in program goodput: three times as long in all of the job's
# steps is a third of it, in half of them a half. From the step that the job begins, steps are kept all
# the same: goodput has no more of them in it than the time has.
straggler=(simulate --machine tpu-v3 --model resnet20 --batch 512 --mtbf 0 --checkpoint sync)
# straggles FAULT: the points' "steps program goodput", by mesh, of jobs without a failure
straggles() {
    "$minipod" "${straggler[@]}" --meshes 2x2x2,2x4x4 --job days=0.01,seeds=2 --fault "$1" --csv points.csv --json points.json \
        >out 2>err || fail "$1: $(cat err)"
    awk -F'[:,] *' '/^ *"steps":/ { steps = $2 } /^ *"program_goodput":/ { program = $2 }
        /^ *"goodput":/ { print steps, program, $2 }' points.json
    awk -F, '/^#/ { next } !c { for (c = NF; $c != "program_pct"; c--); next } { print $1, $c, $(c + 1) }' points.csv
}
straggles slow:rank=0,factor=3,from=999999999 >alone
straggles slow:rank=0,factor=3,from=1 >throughout
half=$(awk 'NR == 1 { print int($1 / 2) }' alone)
straggles "slow:rank=0,factor=3,until=$half" >partly
paste -d' ' alone throughout partly | awk '
    function near(got, want) { d = got / want - 1; if (d > 1e-3 || d < -1e-3) bad++ }
    { near($5, $2 / 3) }
    $3 > $2 || $6 > $5 || $6 < 0.3 * $3 || $6 > 0.7 * $3 { bad++ } # start-up is of less of a longer job
    NR == 1 || NR == 3 { near($8, $2 / 2) }                       # of the first mesh
    END { exit NR != 4 || bad > 0 }' || fail "stragglers: $(cat alone throughout partly)"
says '2ox4ox4o  *2 ' simulate --machine tpu-v3 --meshes 2x2x2,2x4x4 --model resnet20 --batch 512 --job days=2,spares=1,repair=12 --mtbf 100
says 'waiting  *[0-9]' simulate --job step=2,save=1,days=1 --nodes 2 --faults-from "$trace"

exit $failed
