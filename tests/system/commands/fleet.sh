#!/usr/bin/env bash
# fleet.sh MINIPOD [TRACES]: a fleet whose figures are worked out by hand, its files as goodput reads them,
# the same command twice, published figures, and what is refused, in one line, with exit 2.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
traces=${2:-}

# Two cubes, 128 chips, for 1,000 s. a: one cube for 600 s. b: two cubes for 200 s, waits from 10 to 600. c: one
# cube for 100 s, behind b from 20 on, until 800.
cat >jobs.csv <<END
job,submit_s,chips,steps,step_s,ideal_s,priority
a,0,64,600,1,0.5,1
b,10,128,200,1,0.25,2
c,20,64,100,1,0.5,0
END
plain=(--pods cubes:2 --days 0.011574074074074073 --job "launch=0,init=0,compile=0,detect=0")
"$minipod" fleet --jobs jobs.csv "${plain[@]}" --out fifo --csv fifo.csv >fifo.txt || fail "fifo: exit $?"
# Allocated: 64 x 600 + 128 x 200 + 64 x 100 = 70,400 of 128,000 chip-s; ideal 19,200 + 6,400 + 3,200 = 28,800.
grep -q '^  fleet  *3  .* 55\.00 .* 100\.00  *40\.91  *22\.50$' fifo.txt || fail "fifo: $(cat fifo.txt)"
# 64 chips are free beside a from 10 to 600, while b asks for more than that.
grep -q '^  IDLE_POLICY  *10\.5 ' fifo.txt || fail "fifo: $(grep IDLE fifo.txt)"
is_csv fifo.csv || fail "fifo.csv is no table"
"$minipod" fleet --jobs jobs.csv "${plain[@]}" --backfill easy --out easy >easy.txt || fail "easy: exit $?"
grep -q '^c,.*,20.000000000,20.000000000,120.000000000,ended,' easy/jobs.csv || fail "easy: c does not pass b"
grep -q '^b,.*,10.000000000,600.000000000,800.000000000,ended,' easy/jobs.csv || fail "easy: b starts late"
"$minipod" fleet --jobs jobs.csv "${plain[@]}" --order priority --preempt --out evict >evict.txt || fail "evict: exit $?"
grep -q '^b,.*,10.000000000,10.000000000,210.000000000,ended,' evict/jobs.csv || fail "evict: b waits"
grep -q '^a,.*,0,1,0$' evict/jobs.csv || fail "evict: a is not evicted once"

# The events say the same of scheduling goodput as the ledger.
for out in fifo easy evict; do
    "$minipod" goodput --jobs $out/events.csv >goodput.txt || fail "$out: goodput: exit $?"
    share=$(awk '$1 == "fleet" { print $5; exit }' $out.txt)
    grep -q "^# all jobs: .* = $share % *;" goodput.txt || grep -q "= $share %" goodput.txt ||
        fail "$out: scheduling $share, goodput says $(head -3 goodput.txt)"
done

# With failures, moves and evictions the same command writes the same files.
awk 'BEGIN { srand(3); print "job,submit_s,chips,duration_s,priority"
    for (i = 0; i < 400; i++) printf "j%d,%d,%d,%d,%d\n", i, i * 600, 2 ^ int(rand() * 9), 600 + rand() * 40000, rand() * 3 }' >many.csv
hard=(--pods cubes:8,2@torus:16x16 --jobs many.csv --days 5 --order priority --preempt --defrag --backfill easy
    --mtbf 500 --job bytes=20G,repair=2)
for i in 1 2; do
    "$minipod" fleet "${hard[@]}" --out hard$i >hard$i.txt || fail "hard: exit $?"
    "$minipod" goodput --jobs hard$i/events.csv >goodput$i.txt || fail "hard: goodput: exit $?"
done
for file in events.csv jobs.csv fleet.json; do
    cmp -s hard1/$file hard2/$file || fail "the same command writes another $file"
done
share=$(awk '$1 == "fleet" { print $5; exit }' hard1.txt)
grep -q "= $share %" goodput1.txt || fail "hard: scheduling $share, goodput says $(head -3 goodput1.txt)"
cmp -s hard1/events.csv <("$minipod" fleet "${hard[@]}" --seed 2 --out other >/dev/null; cat other/events.csv) &&
    fail "another seed has the same failures"

# A mix: the levers alone and together, on threads, are the same twice; program goodput is 0.5, and 2 / 3 with half of
# the rest hidden.
cat >mix.csv <<END
share,chips,hours,spread,priority,model,step_s,ideal_s
0.8,16,2,1,0,resnet50,1,0.5
0.2,128,6,1,1,bert,1,0.5
END
mixed=(--pods cubes:8 --mix mix.csv --days 5 --load 0.9 --mtbf 2000 --job repair=4,bytes=10G)
for i in 1 2; do
    "$minipod" fleet "${mixed[@]}" --levers all --seeds 3 --csv levers$i.csv --json levers$i.json --quiet >levers$i.txt ||
        fail "levers: exit $?"
done
cmp -s levers1.json levers2.json || fail 'the same levers differ the second time'
[ "$(grep -c '^[a-z]*,[-+0-9.]*,' levers1.csv)" -eq 11 ] || fail "levers: $(cat levers1.txt)"
grep -q '^  none .* 50\.00  *0\.00 ' levers1.txt || fail "levers: program goodput: $(grep none levers1.txt)"
grep -q '^  overlap .* +16\.67  *0\.00 ' levers1.txt || fail "levers: overlap: $(grep overlap levers1.txt)"
is_csv levers1.csv || fail 'levers1.csv is no table'
"$minipod" fleet "${mixed[@]}" --segments model >model.txt || fail "segments: exit $?"
grep -q '^  bert ' model.txt && grep -q '^# most is lost by the ' model.txt || fail "segments: $(cat model.txt)"

# Pictures of a run with failures and moves.
"$minipod" fleet "${hard[@]}" --out hard3 --trace --plot hard3/occupancy.svg >/dev/null || fail "pictures: exit $?"
grep -q '"name": "down", "ph": "X"' hard3/timeline.json && grep -q '"name": "pod 1 line 7"' hard3/timeline.json &&
    [ "$(grep -c '"name": "pod 0 cube [0-7]"' hard3/timeline.json)" -eq 8 ] || fail "timeline: $(tail -3 hard3/timeline.json)"
cmp -s hard1/events.csv hard3/events.csv || fail 'pictures change the events'
pictures=0
if command -v gnuplot >/dev/null; then
    pictures=1
    grep -q '<svg' hard3/occupancy.svg || fail 'no picture'
fi

# A page with the tables of two fleets, one of them with its picture if there is gnuplot.
"$minipod" report fifo hard3 -o report.html || fail "report: exit $?"
[ "$(grep -c '<h2>Fleet ' report.html)" -eq 2 ] && [ "$(grep -c '<svg' report.html)" -eq $pictures ] &&
    grep -q '<td>fleet</td><td>3</td>.*<td>55.00 %</td>' report.html || fail "report: $(head -40 report.html)"

# An elastic job starts on half of its chips beside another, and grows when that ends: the hand-made figures are those
# of runtime.fleet_sim. The events read back give the same scheduling goodput.
printf 'job,submit_s,chips,steps,step_s,min_chips\na,0,64,100,1,\nb,50,128,60,1,64\n' >elastic.csv
"$minipod" fleet --jobs elastic.csv "${plain[@]}" --elastic --out elastic >elastic.txt || fail "elastic: exit $?"
grep -q '^b,.*,50.000000000,50.000000000,135.000000000,ended,' elastic/jobs.csv || fail "elastic: $(cat elastic/jobs.csv)"
"$minipod" goodput --jobs elastic/events.csv >goodput.txt || fail "elastic: goodput: exit $?"
share=$(awk '$1 == "fleet" { print $5; exit }' elastic.txt)
grep -q "= $share %" goodput.txt || fail "elastic: scheduling $share, goodput says $(head -3 goodput.txt)"

# Weeks are parts of the whole, and the warm-up is no part of it.
"$minipod" fleet "${mixed[@]}" --days 20 --warm-up 2 --segments week --backfill easy >week.txt || fail "week: exit $?"
awk '/^# chip-time/ { exit } /^  fleet/ { all = $4 } /^  week/ { sum += $5 }
    END { exit !(all > 0 && sum > all - 3 && sum < all + 3) }' week.txt || fail "week: $(cat week.txt)"
# 8 cubes of 64 chips for 18 days.
grep -q '^  CAPACITY  *221184\.0 ' week.txt || fail "warm-up: $(grep CAPACITY week.txt)"

# A shape is one in any orientation; jobs.csv has what a job got, and what became of it where it ran.
cat >shapes.csv <<END
job,submit_s,shape,chips,duration_s,outcome
a,0,8x2,,100,completed
b,0,,16,100,failed
c,0,2x8,,100,completed
d,0,4x4,,50,
END
"$minipod" fleet --jobs shapes.csv --pods mesh:4x8 "${plain[@]:2}" --segments outcome --out shapes >shapes.txt || fail "shapes: exit $?"
# a and b take the two lines of 1x4 hosts, then c one of them; d needs both, and its shape of two free lines is there at 200.
grep -q '^a,.*,completed,16,2x8,.*,ended,' shapes/jobs.csv && grep -q '^b,.*,failed,16,2x8,' shapes/jobs.csv &&
    grep -q '^d,.*,,16,4x4,0,0.000000000,200.000000000,' shapes/jobs.csv && grep -q '^  completed  *2  *1 ' shapes.txt ||
    fail "shapes: $(cat shapes.txt shapes/jobs.csv)"

# One more job of one cube at 50 s is behind b and c, and starts when b ends.
"$minipod" fleet --jobs jobs.csv "${plain[@]}" --ask 64,hours=0.01,day=0.0005787037037037037 --json ask.json >ask.txt ||
    fail "ask: exit $?"
grep -q '^  why not at once  *order  *2 jobs wait' ask.txt && grep -q '"start_h": 0.208333333333' ask.json &&
    grep -q '^  free then  *64 .*the largest slice 64' ask.txt || fail "ask: $(cat ask.txt)"

# Two chips of 128 are spare under the lever; both at once is a row.
"$minipod" fleet "${mixed[@]}" --levers spare,preempt+defrag --seeds 2 --quiet --csv both.csv >both.txt || fail "both: exit $?"
grep -q '^  preempt+defrag, once started ' both.txt || fail "both: $(cat both.txt)"
is_csv both.csv || fail 'both.csv is no table'

# A fleet of one job without failures takes as long as simulate --job says, to the nanosecond.
printf 'job,submit_s,chips,duration_s,model,batch\na,0,64,86400,resnet50,4096\n' >one.csv
"$minipod" fleet --pods tpu-v4 --jobs one.csv --days 2 --interval 600 --out one >one.txt || fail "one: exit $?"
"$minipod" simulate --machine tpu-v4 --model resnet50 --mesh 4x4x4 --batch 4096 --job days=1,seeds=1 --mtbf 0 \
    --interval 600 --json one.json >/dev/null || fail "one: simulate: exit $?"
allocated=$(sed -n 's/.*"allocated_s": \([0-9.]*\),.*/\1/p' one.json)
grep -q "^a,.*,0.000000000,$allocated,ended," one/jobs.csv || fail "one: $(tail -1 one/jobs.csv), simulate says $allocated"
grep -q '^# resnet50, batch 4096, on 4x4x4 of tpu-v4: step 20' one.txt || fail "one: $(cat one.txt)"

if [ -n "$traces" ] && [ -d "$traces/trace-philly" ]; then
    # Without the thirty replays of openb, which take 25 s.
    mkdir traces && ln -s "$traces/trace-philly" "$traces/trace-infinitehbd" traces/
    "$minipod" fleet --validate --traces traces --json validate.json >validate.txt || fail "$(grep ' NO ' validate.txt)"
    grep -q '^# 50 of 50 rows hold; 9 are not at hand' validate.txt || fail "$(tail -1 validate.txt)"
else
    "$minipod" fleet --validate >validate.txt || fail "validate: exit $?"
    grep -q '^# 16 of 16 rows hold; 43 are not at hand' validate.txt || fail "$(tail -1 validate.txt)"
fi

refuse() { # PATTERN OPTION...
    local pattern=$1
    shift
    "$minipod" fleet "$@" >out 2>err
    [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] && grep -q -e "$pattern" err ||
        fail "fleet $*: $(cat out err)"
}
refuse 'jobs: which ones?'
refuse "levers: there is no lever 'esy'; did you mean easy" --mix mix.csv --levers esy
refuse 'levers: easy stands twice' --mix mix.csv --levers easy,easy
refuse 'mix: --jobs is given too' --mix mix.csv --jobs jobs.csv
printf 'share,chips,hours\n0.5,4,1\n' >half.csv
refuse 'half.csv:2: the shares of jobs sum to 0.5, want 1' --mix half.csv
printf 'share,chips,hours\n1,65,1\n' >large.csv
refuse "large.csv:2: job 'cubes:1-1' asks for 65 chips" --mix large.csv --pods cubes:1
refuse "there is no pod 'tpu-v5'; did you mean tpu-v" --jobs jobs.csv --pods tpu-v5
refuse 'pods: tpu-v4 stands twice' --jobs jobs.csv --pods tpu-v4,tpu-v4
refuse "jobs.csv:3: job 'b' asks for 128 chips; the largest pod has 64" --jobs jobs.csv --pods cubes:1
refuse "'worst' is none of first|best|mfp|buddy" --jobs jobs.csv --place worst
refuse 'preempt: takes --order priority, found fifo' --jobs jobs.csv --preempt
refuse 'job: days is no key of fleet' --jobs jobs.csv --job days=3
printf 'timestamp,duration,num_gpus,cluster\n2017-10-01 00:00:00,10,8,a\n2017-10-01 00:01:00,10,80,a\n' >large.csv
refuse "fleet: large.csv:3: job 'philly-3' asks for 80 chips; the largest pod has 64" --jobs philly:large.csv --pods nodes:8x8
printf '1 10 3 60 4 -1 -1 8 120 -1 1 1 1 1 1 1 -1\n' >short.swf
refuse 'short.swf:1: 17 numbers, want the 18 of SWF' --jobs swf:short.swf
printf 'name,num_gpu,creation_time,deletion_time\na,1,-5,7\n' >early.csv
refuse 'early.csv:2: creation_time: -5 is not within' --jobs openb:early.csv
printf 'job,submit_s,chips,duration_s\na,5,4,10\nb,3,4,10\n' >back.csv
refuse 'back.csv:3: submit_s 3 goes back' --jobs back.csv
refuse "order: 'lifo' is none of fifo|sjf|priority" --jobs jobs.csv --order lifo
refuse "backfill: 'eazy' is none of none|skip|easy" --jobs jobs.csv --backfill eazy
refuse "protect: 'xl' is neither a number of chips nor medium" --jobs jobs.csv --protect xl
refuse 'spare: 128 chips, but all pods of cubes:2 have 128' --jobs jobs.csv --pods cubes:2 --spare 128
refuse "there is no format 'philli'" --jobs philli:jobs.csv
refuse "jobs.csv:1: column 'timestamp' is missing" --jobs philly:jobs.csv
refuse 'order: --validate takes --traces' --validate --order sjf
printf 'job,submit_s,chips,duration_s,machine\na,0,4,10,tpu-v9\n' >machine.csv
refuse "machine.csv:2: job 'a' goes to machine 'tpu-v9', but --pods has none" --jobs machine.csv
printf 'job,submit_s,chips,duration_s,model,batch\na,0,64,60,resnet5,4096\n' >model.csv
refuse "model.csv:2: job 'a': model: there is no 'resnet5'" --jobs model.csv
printf 'job,submit_s,chips,duration_s,model,batch\na,0,64,60,resnet50,4096\n' >pods.csv
refuse "pods.csv:2: job 'a': a batch wants pods of a machine, such as tpu-v4, found cubes:8" --jobs pods.csv --pods cubes:8
printf 'job,submit_s,shape,duration_s\na,0,4x4x8,10\nb,0,2x2x8,10\n' >shape.csv
refuse "shape.csv:3: job 'b' asks for a slice of 2x2x8; no pod has one" --jobs shape.csv --pods cubes:8
printf 'job,submit_s,shape,duration_s\na,0,3xx,10\n' >shape.csv
refuse "shape.csv:2: shape '3xx' of job 'a'" --jobs shape.csv
refuse "ask: there is no key 'houre'; did you mean hours" --jobs jobs.csv --ask 64,houre=4
refuse 'ask: the job asks for 5000 chips' --jobs jobs.csv --ask 5000
refuse 'warm-up: 60 days, but --days is 60' --jobs jobs.csv --warm-up 60
refuse 'faults-from: has its own failures' --jobs jobs.csv --faults-from trace.json --mtbf 5
refuse 'link-mtbf: takes pods with links' --jobs jobs.csv --pods nodes:16x8,pool:128 --link-mtbf 5
refuse 'switch-mtbf: takes pods of cubes' --jobs jobs.csv --pods tpu-v3 --switch-mtbf 5
"$minipod" fleet --jobs jobs.csv --pods pool:8,cubes:2 --link-mtbf 5000 --switch-mtbf 5000 >links.txt || fail "links: exit $?"
refuse 'job: trace-nodes: --faults-from is not given' --jobs jobs.csv --job trace-nodes=5
refuse "'weekly' is none of poisson|daily|bursty" --mix mix.csv --arrivals weekly
refuse 'elastic: does not go with --backfill conservative' --jobs jobs.csv --elastic --backfill conservative
refuse 'traces: /nowhere has none of the folders trace-philly' --validate --traces /nowhere
mkdir -p idle/trace-openb-2023
printf 'cpu_milli,memory_mib,gpu\n8000,8000,8\n' >idle/trace-openb-2023/openb_node_list_all_node.csv
printf 'cpu_milli,memory_mib,num_gpu,gpu_milli\n10,10,0,0\n' >idle/trace-openb-2023/openb_pod_list_default.csv
refuse 'openb_pod_list_default.csv: no task asks for a GPU' --validate --traces idle
exit $failed
