#!/usr/bin/env bash
# simulate_monotone.sh MINIPOD: with one of nine rates and latencies of a machine better, a simulated step is
# no longer by more than slack_us, with batch norm's sums and several buckets of gradients in flight.
# shellcheck source=tests/system/common.sh
. "$(dirname "$0")/../common.sh"

# Messages that come in another order can cost as much as they wait: little here, as the sums overtake.
slack_us=2

step_us() {
    "$minipod" simulate --machine ./scaled.conf --mesh 2x8x8 --model resnet50 --batch 16384 --bn-group 8 \
        --bucket 4M --progress off --json step.json >out 2>err || fail "simulate: exit $?: $(cat err)"
    sed -n 's/^ *"step_s": \([0-9.e+-]*\),$/\1/p' step.json | awk '{ printf "%.3f", 1e6 * $1 }'
}

"$minipod" explain machine --machine tpu-v3 >shipped.conf || fail 'no machine file'
cp shipped.conf scaled.conf
as_shipped=$(step_us)
for key in peak_bf16_gflop_per_s copy_memory_gb_per_s vector_gop_per_s link_gb_per_s core_gb_per_s \
    reduce_gb_per_s link_latency_us core_latency_us instr_overhead_us; do
    grep -q "^$key = " shipped.conf || fail "$key is not in the machine file"
    times=()
    for factor in 0.1 0.84 1 1.19 4; do
        [ $factor != 1 ] || { times+=("$as_shipped"); continue; }
        awk -v key="$key" -v factor="$factor" \
            '$1 == key { $3 = key ~ /_us$/ ? $3 / factor : $3 * factor } { print }' shipped.conf >scaled.conf
        times+=("$(step_us)")
    done
    echo "$key: ${times[*]} us"
    printf '%s\n' "${times[@]}" |
        awk -v slack=$slack_us 'NR > 1 && $1 > before + slack { bad = 1 } { before = $1 } NR == 1 { first = $1 }
            END { exit bad || NR != 5 || before >= first }' || fail "$key: not ever shorter: ${times[*]} us"
done
exit $failed
