#!/usr/bin/env bash
# paper.sh [MINIPOD [SEEDS]]: one pod of TPU v4 and four of TPU v3 for 60 days. Writes
#
#   bench/results/fleet-levers.csv   what each lever does, at a load of 0.42
#   bench/results/fleet-loads.csv    scheduling goodput of each class of jobs by load, before and after
#   doc/fleet.svg                    a plot of the second
set -eu
cd "$(dirname "$0")/../.."
minipod=${1:-minipod}
seeds=${2:-10}
results=bench/results
# shellcheck disable=SC2054 # the commas are those of --job
fleet=(--pods "1@tpu-v4,4@tpu-v3" --mix bench/fleet/paper.csv --days 60 --warm-up 7
    --mtbf 30000 --job repair=12,restore=60 --interval 900 --checkpoint sync --overlap off
    --backfill skip --protect extra-large)

"$minipod" fleet "${fleet[@]}" --load 0.42 --seeds "$seeds" --csv $results/fleet-levers.csv \
    --levers preempt,defrag,preempt+defrag,easy,async,cache,overlap,spare,repair

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for load in 0.3 0.42 0.5 0.6 0.7; do
    "$minipod" fleet "${fleet[@]}" --load $load --seeds "$seeds" --levers preempt+defrag --csv "$work/$load.csv" --quiet
    grep -v '^#' "$work/$load.csv" | sed "1s/^/load,/; 2,\$s/^/$load,/" >>"$work/all.csv"
done
{
    echo "# bench/fleet/paper.sh: minipod fleet ${fleet[*]} --levers preempt+defrag --seeds $seeds"
    awk 'NR == 1 || !/^load,/' "$work/all.csv"
} >$results/fleet-loads.csv

# Columns: 11, 13, 15 and 17 are scheduling goodput of the four classes, the next of each half of its interval.
for lever in none preempt+defrag; do
    awk -F, -v lever=$lever '$2 == lever' $results/fleet-loads.csv >"$work/$lever"
done
gnuplot <<END
set terminal svg size 800,420 font "sans,13"
set output "doc/fleet.svg"
set datafile separator ","
set xlabel "load: chip-time that jobs ask for / chip-time of the pods"
set ylabel "scheduling goodput, % of what was asked for"
set yrange [0:101]
set key outside right
set arrow from graph 0, first 95 to graph 1, first 95 nohead dashtype 3 linecolor rgb "grey40"
name(i) = word("small medium large extra-large", i)
plot for [i = 1:4] "$work/preempt+defrag" using 1:(column(9 + 2 * i)):(column(10 + 2 * i)) \
         with yerrorlines linecolor i linewidth 2 pointtype 7 pointsize 0.5 title name(i), \
     for [i = 1:4] "$work/none" using 1:(column(9 + 2 * i)):(column(10 + 2 * i)) \
         with yerrorlines linecolor i dashtype 2 pointtype 6 pointsize 0.5 title name(i) . " before"
END
