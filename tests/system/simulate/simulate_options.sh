#!/usr/bin/env bash
# simulate_options.sh MINIPOD: an option of simulate that would do nothing, or not what it says, is
# refused in one line with exit 2; what --validate leaves, and what a host's simulation is told with.
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/../common.sh"

# refuses PATTERN WORD...
refuses() { is_refused "$1" "$minipod" simulate "${@:2}"; }

# takes WORD...: ends with 0
takes() { "$minipod" simulate "$@" >out 2>err || fail "$*: exit $?: $(head -c 300 err)"; }

# ---- the validation has settings of its own
for word in machine=absent mesh=2x2x2 model=mlp batch=64 out=dir trace=on explain=on to-target=on \
    link-bandwidth=0.5 fault=link:rank=0,dim=0 noise=0.1 algo=ring bn-group=4 wire=bf16 bucket=32M; do
    refuses "^minipod simulate: ${word%%=*}: --validate takes" --validate --"$word"
done
[ ! -e dir ] || fail "a refused --out was made"
printf 'overlap = on\n' >given.conf
refuses '^minipod simulate: overlap: --validate takes' --validate --conf given.conf

# ---- options that mean something in other company
small=(--machine tpu-v3 --mesh 2x2x2 --model resnet20 --batch 256)
for word in scaling=weak watchdog=30 checkpoint=sync mtbf=100; do
    refuses "^minipod simulate: ${word%%=*}: of a long job" "${small[@]}" --"$word"
done
refuses "^minipod simulate: trace-cores: '0' is there twice" "${small[@]}" --trace-cores 0,3,0
refuses '^minipod simulate: start-up: .* --to-target or --job' "${small[@]}" --start-up 20
for word in epochs=3 steps=10; do
    refuses "^minipod simulate: ${word%%=*}: --to-target takes" "${small[@]}" --to-target --"$word"
done
course=(lr=0.5 lr-per=256 lr-schedule=poly warmup=3 end-lr=0.01 poly-power=1 decay-rate=0.5 decay-epochs=5 epochs=3 steps=10)
for word in "${course[@]}"; do
    refuses "^minipod simulate: ${word%%=*}: of a training's course: a step takes as long" "${small[@]}" --"$word"
    refuses "^minipod simulate: ${word%%=*}: of a training's course" "${small[@]}" --job days=1 --mtbf 100 --"$word"
done
refuses "steps: .*; --repeat simulates several" "${small[@]}" --steps 10
printf '%s\n' "${course[@]}" >course.conf # of a training that reads the same file
MINIPOD_LR=0.3 takes "${small[@]}" --conf course.conf --json course.json
takes "${small[@]}" --json plain.json
[ "$(grep '"step_s"' course.json)" = "$(grep '"step_s"' plain.json)" ] || fail "a training's course changes its steps"
for word in fusion=off tile=0 impl=gemm; do
    refuses "^minipod simulate: ${word%%=*}: of the kernels of --machine host" "${small[@]}" --"$word"
done
refuses '^minipod simulate: fault: a rank is slowed once at a step, found slow:rank=1,factor=2 and slow:' "${small[@]}" \
    --fault 'slow:rank=1,factor=2;slow:rank=1,factor=2'
takes "${small[@]}" --fault 'slow:rank=1,factor=2;slow:rank=2,factor=2'

# ---- collectives of more steps than this host has memory for, as coll refuses them
for each in on off; do
    refuses '^minipod simulate: 2048 ranks with [0-9]* steps of torus2d each need about [0-9.e+]* GB of memory' \
        --machine multipod --mesh 2x32ox32o --model resnet50 --batch 32768 --algo torus2d@1 --every-core $each
done
takes --machine tpu-v3 --mesh 2x32x32 --model resnet50 --batch 32768 --algo torus2d@32K

# What train reads of the same file or environment is not meant.
printf 'fusion = off\nwatchdog = 30\ncheckpoint = sync\n' >train.conf
MINIPOD_TILE=0 MINIPOD_STEPS=10 takes "${small[@]}" --conf train.conf

# ---- half the bytes on the wire: gradients are converted where they are made and read, in no pass of their own
declare -A memory_s
for wire in f32 bf16; do
    takes --machine tpu-v3 --mesh 2x8x8 --model resnet50 --batch 16384 --wire $wire --json $wire.json
    memory_s[$wire]=$(sed -n 's/.*"memory": \([0-9.e+-]*\).*/\1/p' $wire.json)
    [ -n "${memory_s[$wire]}" ] || fail "$wire.json: $(head -c 600 $wire.json)"
done
awk "BEGIN { exit !(${memory_s[bf16]} <= ${memory_s[f32]}) }" ||
    fail "bound by memory for ${memory_s[bf16]} s with bf16 on the wire, ${memory_s[f32]} s with f32"

# ---- links that nothing goes over
made_host >made.conf
host=(--machine made.conf --model mlp --batch 64 --mesh 2)
for word in link-bandwidth=0.001 link-latency=3 fault=link:rank=0,dim=0; do
    refuses "^minipod simulate: ${word%%=*}: .*nothing goes over a link: .*share its memory" "${host[@]}" --"$word"
    takes "${host[@]}" --"$word" --algo ring
done
refuses 'nothing goes over a link: there is one core' "${small[@]}" --mesh 1 --link-latency 2
takes "${host[@]}" --link-bandwidth 1

# ---- what explain memory says of a pod is what simulate says

pod=(--machine tpu-v3 --mesh 2x2x2 --model resnet50 --batch 128)
"$minipod" simulate "${pod[@]}" --json pod.json >out 2>err || fail "simulate: $(cat err)"
held=$(sed -n 's/.*"memory_bytes_per_core": \([0-9]*\).*/\1/p' pod.json)
"$minipod" explain memory "${pod[@]}" >out 2>err && grep -q "^ *total  *$held " out ||
    fail "explain memory of a pod, simulated $held: $(head -6 out; cat err)"

# ---- more ranks than the host has cores, and why nothing faster is tried on it
# has PATTERN, has_not PATTERN: in what was printed
has() { grep -q -e "$1" out || fail "no '$1' in: $(cat out)"; }
has_not() { ! grep -q -e "$1" out || fail "'$1' in: $(cat out)"; }
takes "${host[@]}" --mesh 8x8 --json many.json
has '^  cores  *64  *ranks share [0-9]* physical cores*, in turns$'
grep -q '"cores_shared": true' many.json || fail "many.json: $(head -c 600 many.json)"
takes "${host[@]}" --explain --json few.json
has_not 'ranks share'
grep -q '"cores_shared": false' few.json || fail "few.json: $(head -c 600 few.json)"
why="^# a host's file has times of ops, not rates: what a faster part would help is not tried"
has "$why"
has_not '^# what would help'
takes "${small[@]}" --explain --json pod.json
has_not "$why"
grep -q '"cores_shared": false' pod.json || fail "pod.json: $(head -c 600 pod.json)"

exit $failed
