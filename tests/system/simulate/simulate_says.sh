#!/usr/bin/env bash
# simulate_says.sh MINIPOD: what a simulation says of itself: the settings in force, what was given, who is slow
# and what would help, in the table, the CSV and the JSON; the pages have the validation that it prints.
# shellcheck source=tests/system/common.sh
root=$(realpath "$(dirname "$0")/../../..")
. "$root/tests/system/common.sh"
pod=(simulate --machine tpu-v3 --mesh 2x4x4 --model resnet20 --batch 512)

# says PATTERN WORD...: ends with 0 and prints that on standard output
says() {
    local pattern=$1
    shift
    "$minipod" "$@" >out 2>err || fail "$*: exit $?: $(head -c 300 err)"
    grep -q -E -e "$pattern" out || fail "$*: no '$pattern' in: $(head -c 3000 out)"
}

# has FILE PATTERN: the last command left that in the file
has() {
    grep -q -E -e "$2" "$1" || fail "$1: no '$2' in: $(head -c 3000 "$1")"
}

# step FILE: the step of a simulation's JSON, in picoseconds
step() {
    awk '/"step_s"/ { printf "%.0f\n", $2 * 1e12 }' "$1"
}

# ---- the bucket in force is that of the help, and typing it changes nothing
"$minipod" simulate --help-all | tr -s ' \n' ' ' >help
has help 'on a simulated pod: 32M'
says '^  bucket +33554432 +bytes +32M: .*by default' "${pod[@]}" --json default.json
has default.json '"bucket_bytes": 33554432'
says '^  bucket +33554432 +bytes +32M: [a-z -]*$' "${pod[@]}" --bucket 32M --json typed.json
[ "$(step default.json)" = "$(step typed.json)" ] || fail "--bucket 32M is not the default"
says '^  bucket +65536 ' "${pod[@]}" --bucket 64K --json small.json
[ "$(step default.json)" != "$(step small.json)" ] || fail "a small bucket takes the same time"

# ---- each option that was given is in the table, the CSV and the JSON, and no other is
given=(--link-bandwidth 0.5 --link-latency 3 --wire bf16 --overlap off --bn-group 8 --algo ring --accumulate 2
    --recompute on --seed 7 --fault link:rank=2,dim=1 --shard-update on)
MINIPOD_LABEL_SMOOTHING=0.1 says '^  --label-smoothing +0.1 +from the environment' "${pod[@]}" "${given[@]}" \
    --json given.json --csv given.csv
for ((i = 0; i < ${#given[@]}; i += 2)); do
    has out "^  ${given[i]} +${given[i + 1]}( |\$)"
    has given.csv "^\"?${given[i]}\"?,\"?${given[i + 1]}\"?,"
    case ${given[i + 1]} in on) value=true ;; off) value=false ;; *) value=${given[i + 1]} ;; esac
    has given.json "\"${given[i]#--}\": \"?$value\"?,?\$"
done
has given.json '"label-smoothing": 0.1'
has given.json '"git": "[^"]+"'
grep -q -E -e '^  --(machine|wire|csv|trace)' <("$minipod" "${pod[@]}") && fail "an option that was not given"

# ---- the algorithms that ran
says '^  allreduce by +torus2d +torus2d: 2 a step, 1.096 MB' "${pod[@]}" --json plain.json
has plain.json '"algorithm": "torus2d"'
says '^  reduce_scatter by +torus2d' "${pod[@]}" --shard-update on
says '^  allgather by ' "${pod[@]}" --shard-update on
says '^  allreduce by +ring ' "${pod[@]}" --algo ring
says '^  allreduce by +torus2d@32K +torus2d@32K: 2 a step, 1.096 MB' "${pod[@]}" --algo torus2d@32K --json chunk.json
has chunk.json '"algorithm": "torus2d"'
has chunk.json '"chunk_bytes": 32768'
says '^  allreduce by +ring@1K,torus2d@64K +ring@1K: [0-9]+ a step.*; torus2d@64K: 1 a step' "${pod[@]}" --bn-group 8 \
    --algo '0-16K:ring@1K;16K-:torus2d@64K'

# ---- an --algo that does not run is told of, once
warned() {
    says "$1" "${@:3}"
    [ "$(wc -l <err)" -eq 1 ] || fail "${*:3}: not one line: $(cat err)"
    has err "$2"
}
for algo in direct oneshot hierarchical; do
    warned '^  allreduce by +[a-z0-9,]*torus2d' "minipod: warning: algo: $algo refuses .no ranks share memory.: allreduce of .* goes by torus2d" \
        "${pod[@]}" --bn-group 8 --algo $algo
done
warned '^  allreduce by +[a-z0-9,]*torus2d' 'algo: no rule is for allreduce of [0-9]+ bytes, which goes by torus2d' \
    "${pod[@]}" --algo 0-1K:ring
# ... and of the one that is largest, not of a batch norm's.
warned '^  bn-group|^  --bn-group' 'allreduce of 10[0-9]{5} bytes goes by torus2d .the largest of [0-9]+ that go by no rule.$' \
    "${pod[@]}" --bn-group 8 --algo direct
warned ' 2x4x4 +32 ' 'mesh 2x2x2: algo: direct refuses' scale --machine tpu-v3 --model resnet20 --batch 512 \
    --meshes 2x2x2,2x4x4 --algo direct
says '^  allreduce by +torus2d ' "${pod[@]}" --algo 'direct;torus2d'
[ ! -s err ] || fail "a rule that another follows is warned of: $(cat err)"

# ---- each row of --validate is what its command line simulates, to the picosecond
says 'all hold' simulate --validate --csv validate.csv --json validate.json
[ "$(grep -c '"step_s": 0\.[0-9]*' validate.json)" -eq "$(grep -vc -e '^#' -e '^model,' validate.csv)" ] ||
    fail "validate.json and validate.csv have not the same rows"
grep -q '"all_hold": true' validate.json || fail "validate.json: $(head -12 validate.json)"
grep -E '^# +[0-9.]+ ms: minipod simulate ' out >commands
[ "$(wc -l <commands)" -eq "$(grep -c -E '^  [A-Z]' out)" ] || fail "not a command for each row: $(cat out)"
cmp -s commands <(grep -E '^# +[0-9.]+ ms: minipod simulate ' validate.csv) || fail "the CSV has other commands"
n_predicted=0
while read -r published predicted error row_is _; do
    [ "$row_is" = predicted ] && n_predicted=$((n_predicted + 1))
    grep -q -F "| $published | $predicted | $error % | $row_is |" "$root/doc/simulation.md" ||
        fail "doc/simulation.md: no row of $published ms published, $predicted predicted, $error %, $row_is"
done < <(awk '!/^#/ {for (i = 1; i <= NF; i++) if ($i ~ /^[-+][0-9.]+$/) {print $(i - 2), $(i - 1), $i, $(i + 1); next}}' out)
[ "$n_predicted" -gt 8 ] && grep -q "$n_predicted runs to which no constant was fitted" "$root/README.md" ||
    fail "README.md: not $n_predicted predicted runs"
while read -r _ step _ _ command; do
    case $command in *shard-update*) continue ;; esac # 8,192 cores, whose shards take seconds to plan
    eval "\"\$minipod\" $command --json row.json" >/dev/null 2>err || fail "$command: $(cat err)"
    [ "$(awk '/"step_s"/ { printf "%.9f\n", $2 * 1e3 }' row.json)" = "$step" ] ||
        fail "$command: not $step ms, $(grep step_s row.json)"
done <commands

# ---- a preset is a row with its settings, and a typed option overrides them
says '^  resnet50-v0.6-tpu-v3-2048 +25.15 ms' simulate --preset list
[ "$(grep -c ' ms ' out)" -eq "$(wc -l <commands)" ] || fail "not a preset for each row: $(cat out)"
says '^  nearest published +25.15 +ms +resnet50-v0.6-tpu-v3-2048, .* this is its step$' \
    simulate --preset resnet50-v0.6-tpu-v3-2048 --json preset.json
grep -q -F "$(awk '/"step_s"/ { printf " %.9f ms: ", $2 * 1e3; exit }' preset.json)" commands ||
    fail "the preset is no row: $(grep step_s preset.json)"
says '^    differs in +batch 8192, not 32768; bn-group 8, not 1$' simulate --preset resnet50-v0.6-tpu-v3-2048 --cores 512 --batch 8192
says '^    differs in +batch 2048, not 1024; optimizer sgd, not lars-mlperf; bucket 32M, not 1G; overlap on, not off$' \
    simulate --machine tpu-v3 --cores 8 --model resnet50 --batch 2048 --recompute off --accumulate 1
"$minipod" simulate --preset resnet50-v0.6-tpu-v3-2047 2>err && fail "a preset that there is not"
has err "preset: there is no 'resnet50-v0.6-tpu-v3-2047', did you mean resnet50-v0.6-tpu-v3-2048"

# ---- a slice by its cores
says '^  mesh +2ox8ox16o' simulate --machine tpu-v3 --cores 256 --model resnet20 --batch 512
says '^# 2x8x8: nearest published 130.92 ms, ' scale --machine tpu-v3 --cores 8,128 --model resnet50 --batch 1024 --scaling weak
says '^# --cores N picks a slice: 8 .2x2x2. 32 .2x4x4. 128 ' explain machine --machine tpu-v2
says '^# program for mesh 2ox4ox4o,' explain program --machine tpu-v3 --cores 32 --model resnet8 --batch 256
for words in '--cores 1000' '--cores 8 --mesh 2x2x2' '--cores 8,32' '--cores many'; do
    # shellcheck disable=SC2086
    "$minipod" simulate --machine tpu-v3 --model resnet20 $words >out 2>err
    [ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^minipod simulate: cores: ' err || fail "$words: $(cat err)"
done
"$minipod" scale --machine tpu-v3 --cores 128,100 --model resnet50 --batch 32768 >out 2>err
[ $? -eq 2 ] && grep -q 'cores: tpu-v3 has no slice of 100 cores; the nearest: 32 (2x4x4), 128 (2x8x8)$' err || fail "scale: $(cat err)"
"$minipod" simulate --preset list --csv none.csv >out 2>err && has err 'warning: --csv none.csv has no effect with --preset list' ||
    fail "--preset list --csv: $(cat err)"

# ---- chips, and cores of theirs that idle
v3=(simulate --machine tpu-v3 --model resnet20 --batch 512)
says '^  chips +64 +1 of 2 cores of each, the others and their memory idle: --mesh 2x8x8 takes all$' \
    "${v3[@]}" --mesh 8x8 --json chips.json
has chips.json '"cores_per_chip_used": 1,'
says '^  chips +64 *$' "${v3[@]}" --mesh 2x8x8 --json chips.json
has chips.json '"cores_per_chip_used": 2,'
says '^  cores +1 +--mesh or --cores gives more' "${v3[@]}"
says '^  chips +1 .*: --mesh 2x1x1 takes all' "${v3[@]}"
# A mesh with one extent is of chips, too, and so is one of two: what takes all cores has three.
for mesh in 1 4; do
    says "^  chips +$mesh +1 of 2 .*: --mesh 2x${mesh}x1 takes all\$" "${v3[@]}" --mesh $mesh
done
says '^  chips +4 *$' "${v3[@]}" --mesh 2x4x1
"$minipod" simulate --machine tpu-v3 --model resnet50 --batch 16384 >out 2>err
[ $? -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] || fail "too much for one core: $(cat err)"
has err 'batch: 16384 needs .* the largest that fits is [0-9]+ on 1 core; --mesh gives more$'

# ---- whose step the shares are of, and who waits how long
slow=("${pod[@]}" --fault 'slow:rank=3,factor=2')
says '^    reduce +[0-9.]+ +% +of core 0.s step: ' "${slow[@]}" --json slow.json
has out '^  all-reduce exposed +[0-9.]+ +ms +of core 0; of all: mean [0-9.]+, least [0-9.]+ .core 3., most [0-9.]+ .core [0-9]+.$'
has out '^    bound by memory +[0-9.]+ +ms +of what core 0 runs$'
has slow.json '"core": 0,'
has slow.json '"least_core": 3,'
memory=$(awk '/bound by memory/ { print $4 }' out)
says '^    bound by memory +[0-9.]+ +ms +of what core 3 runs, slowed 2 times$' "${slow[@]}" --trace-cores 3 --noise 0
awk -v once="$memory" '/bound by memory/ { exit !(($4 - 2 * once) ^ 2 < 1e-5) }' out || fail "a slow core's bounds"
# What a core runs and what it waits are its step.
awk '/bound by|all-reduce exposed/ { sum += /bound/ ? $4 : $3 } $1 == "step" { step = $2 }
    END { exit !((sum - step) ^ 2 < 1e-5) }' out || fail "the bounds do not sum up to the step: $(cat out)"

# Ops of a host that no probe has timed.
made_host >made.conf
host=("$minipod" simulate --machine made.conf --mesh 1x1 --model mlp --data glyphs:8x8x1:640+64 --batch 64)
"${host[@]}" >out 2>err || fail "a host: $(cat err)"
grep -q '^# no probe has timed normalize, .*, momentum: priced by FLOPs at the peak, or bytes through memory$' out &&
    ! grep -q '^# no probe .*[ ,]matmul_bias,' out || fail "what has no probe: $(head -3 out)"
"$minipod" simulate --machine tpu-v3 --mesh 2x2 --model mlp --batch 64 >out 2>err
! grep -q 'no probe' out || fail "a pod has no probes: $(head -3 out)"

# ---- networks of attention on 2,048 cores: the bytes of all gradients and three sums, each padded to 64
for of in transformer-big=843219136 gpt-mini=21551296; do
    says "^  all-reduced +${of#*=} +bytes" simulate --machine tpu-v3 --cores 2048 --batch 8192 --model "${of%=*}" --explain
done
says '^  all-reduced +22869824 +bytes' simulate --machine tpu-v3 --cores 2048 --batch 8192 --model vit-tiny

exit $failed
