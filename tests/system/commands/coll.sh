#!/usr/bin/env bash
# coll.sh MINIPOD: the benchmark of collectives measures what it was asked for, at 1, 2 and 4 ranks and
# in one process; its table, CSV and JSON say the same; it ends with the exit code that it owes.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
columns='size count type redop root time algbw busbw #wrong time algbw busbw #wrong algo mesh clock'
columns+=' ideal frac buffers spread%'
quick=(-n 2 -w 1 --rounds 2 --buffers hot --progress off)

rows() { grep -v '^#' "$1" | awk 'NF > 5'; }
# field FILE N: column N of every row
field() { rows "$1" | awk -v n="$2" '{ print $n }'; }

# is_table NAME: columns in their order, all results right
is_table() {
    local names
    names=$(grep -E '^# +size +count' "$1" | tr -s ' ' | sed 's/^# //; s/ $//')
    [ "$names" = "$columns" ] || fail "$1: columns '$names'"
    rows "$1" | awk 'NF != 20 { exit 1 }' || fail "$1: a row without 20 fields: $(cat "$1")"
    grep -q '^# Out of bounds values : 0 OK$' "$1" || fail "$1: no verdict: $(tail -n 5 "$1")"
    grep -q '^# Avg bus bandwidth    : [0-9.e-]*$' "$1" || fail "$1: no average bus bandwidth"
    grep -q '^# *out-of-place  *in-place$' "$1" || fail "$1: no titles"
    [ "$({ field "$1" 9; field "$1" 13; } | sort -u)" = 0 ] || fail "$1: #wrong is $(field "$1" 9 | sort -u)"
}

# ---- every collective, every algorithm and the MPI library's -----------------------------------

declare -A measured=([1]=allreduce [2]='allreduce alltoall' [4]=allreduce
    [3]='allreduce reduce_scatter allgather broadcast alltoall reduce sendrecv')
for ranks in 1 2 3 4; do
    for collective in ${measured[$ranks]}; do
        out=$collective.$ranks
        on_ranks "$ranks" coll "${quick[@]}" --collective "$collective" --algo all -b 4 -e 8K -f 2048 \
            >"$out" 2>err || fail "$out: exit $?: $(without_banner err)"
        is_table "$out"
        [ "$(field "$out" 14 | sort -u | grep -c -x mpi)" = 1 ] || fail "$out: no row for mpi"
        grep -q '^# Best against mpi' "$out" || fail "$out: ours are not held against mpi"
        [ "$(field "$out" 16 | sort -u)" = wall ] || fail "$out: another clock than the wall's"
        # Of 8K: 2048 elements, or a rank's part of them, as nccl-tests has it.
        case $collective in allreduce | broadcast | reduce | sendrecv) parts=1 ;; *) parts=$ranks ;; esac
        awk '$1 == 8192 { print $2 }' "$out" | sort -u >counts
        count=$(((2048 + parts - 1) / parts)) # the largest part
        [ "$collective" = alltoall ] && count=$((2048 / parts))
        [ "$ranks" = 3 ] && [ "$collective" = alltoall ] || [ "$(cat counts)" = $count ] ||
            fail "$out: count $(cat counts), want $count"
    done
done
grep -q '^# 4 ranks share [0-9]* cores*: ' allreduce.4 || [ "$(nproc)" -ge 4 ] ||
    fail "ranks share cores and nobody says so"

# ---- nccl-tests' spelling of everything, and what is measured then -----------------------------

on_ranks 2 coll --minbytes 1K --maxbytes 3K --stepbytes 1K --iters 3 --warmup_iters 0 --op sum \
    --datatype float --check 1 --per_iter_timing 1 --output_file run.json --csv run.csv \
    --algo ring,mpi --buffers hot --progress off >long 2>err || fail "long names: exit $?: $(without_banner err)"
is_table long
[ "$(field long 1 | tr '\n' ' ')" = "1024 1024 2048 2048 3072 3072 " ] ||
    fail "sizes are $(field long 1 | tr '\n' ' ')"
[ "$(field long 2 | head -n 1)" = 256 ] || fail "1K are $(field long 2 | head -n 1) elements"
[ "$(field long 14 | tr '\n' ' ')" = "ring mpi ring mpi ring mpi " ] || fail "algorithms in disorder"
[ "$(grep -v '^#' long | awk 'NF == 5' | wc -l)" = 18 ] || fail "-I: $(grep -v '^#' long)"
on_ranks 2 coll -b 1K -e 3K -i 1K -n 3 -w 0 -o sum -d float -c 1 -I 1 -J short.json --csv short.csv \
    --algo ring,mpi --buffers hot --progress off >short 2>err || fail "short names: exit $?: $(without_banner err)"
is_table short
[ "$(field short 1)" = "$(field long 1)" ] || fail "short and long names measure differently"
on_ranks 2 coll -c 0 -e 4K "${quick[@]}" >unchecked 2>err || fail "-c 0: exit $?"
[ "$(field unchecked 9)" = N/A ] || fail "-c 0: #wrong is $(field unchecked 9)"
grep -q '^# Out of bounds values : not checked$' unchecked || fail "-c 0 hides it"

# Nothing is not moved faster by anyone.
on_ranks 2 coll -b 0 -e 8 -i 4 "${quick[@]}" --algo ring,mpi >nothing 2>err || fail "size 0: exit $?: $(without_banner err)"
[ "$(field nothing 2 | sort -un | tr '\n' ' ')" = "0 1 2 " ] || fail "size 0: counts $(field nothing 2)"
grep -q '^# Best against mpi, hot, 2 ranks, geometric mean of 2 sizes: [0-9.]*$' nothing || fail "size 0 is held against mpi: $(cat nothing)"
on_ranks 2 coll -b 0 -e 0 "${quick[@]}" --algo ring,mpi >alone 2>err || fail "size 0 alone: exit $?: $(without_banner err)"
grep 'as fast as mpi\|^# Best' alone && fail "size 0 alone is held against mpi"

# The same names in the CSV, and the cells of the table.
names=size_bytes,count,type,redop,root,time_us,algbw_gb_per_s,busbw_gb_per_s,wrong,in_place_time_us
names+=,in_place_algbw_gb_per_s,in_place_busbw_gb_per_s,in_place_wrong,i_min_us,i_max_us,i_p99_us,i_cv_pct,algo,mesh,clock,ideal_us,frac,buffers,spread_pct
is_csv run.csv && [ "$(grep -v '^#' run.csv | head -n 1)" = "$names" ] ||
    fail "CSV: header $(grep -v '^#' run.csv | head -n 1)"
[ "$(grep -v '^#' run.csv | tail -n +2 | cut -d, -f1-13,18- | tr ',' ' ')" = "$(rows long | tr -s ' ' | sed 's/^ //; s/ $//')" ] ||
    fail "CSV: other cells than the table's"
if command -v python3 >/dev/null; then
    python3 - <<'PY' || fail "JSON"
import csv, json
run = json.load(open("run.json"))
table = list(csv.DictReader(line for line in open("run.csv") if not line.startswith("# ")))
assert run["schema"] == "minipod.coll" and run["clock"] == "wall" and run["mesh"] == "2x1", run
assert run["args"]["algo"] == "ring,mpi" and run["header"]["n_ranks"] == 2, run["args"]
assert len(run["rows"]) == len(table) == 6, len(run["rows"])
for i, (row, cells) in enumerate(zip(run["rows"], table)):
    assert row["coll_sn"] == i and row["coll"] == "allreduce" and row["wrong"] == 0, row
    assert row["coll_msg_size_bytes"] == int(cells["size_bytes"]), row
    assert abs(row["coll_exec_time_us"] / float(cells["in_place_time_us"]) - 1) < 1e-2, row
    # Two ranks: the factor is 1.
    assert abs(row["coll_busbw_gbs"] / row["coll_algobw_gbs"] - 1) < 1e-9, row
    assert abs(row["coll_algobw_gbs"] * row["coll_exec_time_us"] * 1e3 / row["coll_msg_size_bytes"] - 1) < 1e-9
    assert len(row["iteration_us"]) == 3 and min(row["iteration_us"]) == row["iteration_min_us"], row
PY
fi

# ---- as scripts of nccl-tests call it and read it --------------------------------------------------

# read_as_nccl FILE: rows, and the mean of busbw in place, by nccl-tests' columns
read_as_nccl() {
    awk '$1 ~ /^[0-9]+$/ { if ($9 + $13 != 0 || $8 !~ /^[0-9.]+$/ || $12 !~ /^[0-9.]+$/) exit 1; n++ }
        /^# Out of bounds values : 0 OK$/ { ok = 1 } /Avg bus bandwidth/ { avg = $NF }
        END { if (!ok || avg !~ /^[0-9.e-]+$/) exit 1; print n }' "$1"
}
grep -q '^# nThread 1 nGpus 1 minBytes 1024 maxBytes 3072 step: 1024(bytes) warmup iters: 0 iters: 3 agg iters: 1 validate: 1 graph: 0$' long ||
    fail "no first line of nccl-tests: $(head -n 2 long)"
on_ranks 3 coll --collective all_reduce_perf -b 8 -e 1K -f 16 -g 1 -t 1 -c 2 -z 1 -a 1 -m 1 -p 1 -G 0 -T 0 -R 1 -C 0 \
    -d int8,half,double -o max,avg --algo tree,mpi "${quick[@]}" >nccl 2>err || fail "as nccl-tests: $(without_banner err)"
[ "$(read_as_nccl nccl)" = 24 ] || fail "read as nccl-tests' output: $(cat nccl)"
[ "$(field nccl 3 | sort -u | tr '\n' ' ') $(field nccl 4 | sort -u | tr '\n' ' ')" = 'double half int8  avg max ' ] ||
    fail "types and operations: $(cat nccl)"
on_ranks 2 coll --collective reduce_perf -r -1 -b 1K -e 1K -d all -o all --algo all "${quick[@]}" --matrix on >every 2>err ||
    fail "every type: $(without_banner err)"
grep -q '^# Out of bounds values : 0 OK$' every && [ -z "$(rows every)" ] || fail "every type: $(cat every)"
awk 'length > 100 && /GB\/s|^#   / { exit 1 }' every || fail "the matrix is too wide: $(cat every)"
"$minipod" coll --on local --mesh 3 --collective all-reduce >out 2>err && fail "a collective of no name"
"$minipod" coll --on local --mesh 3 --algo all -d all -o all -b 1K -e 1K "${quick[@]}" >every 2>err || fail "all of all: $(cat err)"
read_as_nccl every >/dev/null || fail "all of all: $(cat every)"

# ---- cold buffers, one process, rules ----------------------------------------------------------

on_ranks 2 coll --algo ring,mpi -b 16M -e 16M -n 2 --rounds 1 --progress off >cold 2>err ||
    fail "cold: exit $?: $(without_banner err)"
is_table cold
[ "$(field cold 19 | tr '\n' ' ')" = "hot hot cold cold " ] || fail "buffers: $(field cold 19)"
"$minipod" coll --on local --mesh 4x3 --algo all "${quick[@]}" -e 64K >local 2>err ||
    fail "local: exit $?: $(cat err)"
is_table local
grep -q '^# all ranks are in one process' local || fail "local: whose time it is stays unsaid"
grep -q '^# mpi refuses: ' local || fail "local: mpi is left out in silence"
"$minipod" coll --on local --mesh 4x4 --algo 'allreduce:0-8K:tree;8K-:ring' "${quick[@]}" -e 64K >rules 2>err ||
    fail "rules: exit $?: $(cat err)"
[ "$(field rules 14 | tr '\n' ' ')" = "tree ring ring " ] || fail "rules: $(field rules 14)"

# A ring of 4 with 70 GB/s and 1 us a hop would take 1 MiB round in 11.2 us; tpu-v3 leaves it a line.
"$minipod" coll --on sim --machine tpu-v3 --mesh 4 --algo all -b 1M -e 1M --json sim.json --progress off >sim 2>err ||
    fail "sim: exit $?: $(cat err)"
[ "$(grep -E '^# +size +count' sim | tr -s ' ' | sed 's/^# //; s/ $//')" = "$columns busiest busy% events events/s" ] ||
    fail "sim: columns $(grep -E '^# +size' sim)"
[ "$(field sim 16 | sort -u)" = virtual ] || fail "sim: clock $(field sim 16)"
[ "$(field sim 17 | sort -u)" = 14.98 ] || fail "sim: ideal of 1 MiB over a link of 70 GB/s: $(field sim 17)"
rows sim | awk '$18 > 1.0005 || $18 < 0.01 { exit 1 }' || fail "sim: frac $(field sim 18)"
grep -q 'clock virtual, machine tpu-v3$' sim || fail "sim: whose time it is stays unsaid"
grep -q '"buffers": "hot"' sim.json && fail "sim: buffers in the JSON"
grep -q '"busiest_link": "dimension 0' sim.json || fail "sim: no busiest link in the JSON"

# A torus takes the same time however it is turned.
turned() { "$minipod" coll --on sim --machine tpu-v4 --mesh "$1" --algo "$2" -b 1M -e 1M --progress off 2>err | awk '/^ / { print $6 }'; }
for torus in '2x4x8 torus2d 8x4x2 4x8x2' '4x16 bucket 16x4' '4x8 torus2d 8x4'; do
    read -r mesh algo others <<<"$torus"
    for other in $others; do
        [ "$(turned "$mesh" "$algo")" = "$(turned "$other" "$algo")" ] || fail "$algo: $mesh and $other take different times"
    done
done

# What would do nothing there, or share what no pod's cores share; but not what a file says to all runs.
sim=(coll --on sim --machine tpu-v3 --mesh 2x2x2 -e 4K --progress off)
# refuses LINE WORD...
refuses() { is_refused "^minipod coll: $1\$" "$minipod" "${@:2}"; }
refuses 'check: --on sim moves no data that could be wrong' "${sim[@]}" -c 1
refuses 'ngpus: 2, want 1: a rank is one core; start more of them with mpirun -n' coll --on local -g 2
refuses "datatype: 'f8' is none of int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, exact, all" \
    coll --on local -d float,f8
refuses 'op: max of exact: exact elements have sums alone' coll --on local -d exact -o max
refuses 'root: allreduce has none' coll --on local -r 1
refuses 'root: 4 is no rank of 4' coll --on local --mesh 2x2 --collective broadcast -r 4
refuses 'per-iter-timing: --on sim has one time for all iterations' "${sim[@]}" -I
MINIPOD_PER_ITER_TIMING=on "$minipod" "${sim[@]}" >out 2>err && ! grep -q '^#.*iteration' out ||
    fail "MINIPOD_PER_ITER_TIMING: $(cat out err)"
# Ranks of a host share its memory, as in a run, unless nodes are said to be smaller.
"$minipod" explain machine --machine tpu-v3 | sed 's/^clock = .*/clock = wall/; s/^name = .*/name = made/' >made.conf
made=(coll --on sim --machine made.conf --mesh 2x2 -b 1M -e 1M --algo direct --progress off)
"$minipod" "${made[@]}" >out 2>err || fail "direct on a host: $(cat err)"
refuses 'algo: direct refuses allreduce of 1M: no ranks share memory' "${made[@]}" --node 1
# By the rules that training on a pod goes by.
"$minipod" "${sim[@]}" -b 1K >out 2>err && [ "$(grep -v '^#' out | awk '{ print $14 }' | sort -u)" = torus2d ] ||
    fail "rules of a pod: $(cat out err)"
refuses 'node: the cores of tpu-v3 share no memory' "${sim[@]}" --node 2
MINIPOD_CHECK=on "$minipod" "${sim[@]}" -c 0 >out 2>err || fail "-c 0: $(cat err)"
MINIPOD_CHECK=on "$minipod" "${sim[@]}" >out 2>err || fail "MINIPOD_CHECK: $(cat err)"
"$minipod" "${sim[@]}" --csv alone.csv >out 2>err || fail "sim: $(cat err)"
echo 'node = 3' >nodes.conf
"$minipod" "${sim[@]}" --conf nodes.conf --csv nodes.csv >out 2>err || fail "node in a file: $(cat err)"
MINIPOD_NODE=2 "$minipod" "${sim[@]}" --csv node.csv >out 2>err || fail "MINIPOD_NODE: $(cat err)"
# times CSV: what is simulated, without how fast
times() { awk -F, '/^#/ { next } { print $1, $6, $14, $15 }' "$1"; }
for file in nodes node; do
    [ "$(times $file.csv)" = "$(times alone.csv)" ] || fail "$file: another time: $(cat $file.csv alone.csv)"
done

# ---- rules for something else than what is measured ---------------------------------------------

# warned PATTERN WORD...: with one line
warned() {
    local pattern=$1
    shift
    "$minipod" "$@" >out 2>err || fail "$*: exit $?: $(cat err)"
    [ "$(wc -l <err)" -eq 1 ] && grep -q "^minipod: warning: algo: $pattern" err || fail "$*: $(cat err)"
}
gather=(coll --on local --mesh 2x2 --collective allgather -b 2K -e 4K -f 2 "${quick[@]}")
warned 'no rule is for allgather of 4096 bytes, which goes by direct (the largest of 2 that go by no rule)$' \
    "${gather[@]}" --algo allreduce:ring
echo 'allreduce:ring' >other.conf
warned 'no rule is for allgather of 4096 bytes' "${gather[@]}" --algo @other.conf
warned 'direct refuses (no ranks share memory): allreduce of 4096 bytes goes by [a-z0-9_]*$' "${sim[@]}" -b 4K --algo 0-:direct
for algo in rules allgather:ring; do
    "$minipod" "${gather[@]}" --algo $algo >out 2>err && [ ! -s err ] || fail "--algo $algo: $(cat err)"
done

# ---- rules from measurements, and back --------------------------------------------------------

"$minipod" coll --on sim --machine tpu-v4 --mesh 4x4 --autotune tuned.conf -b 64 -e 16M --progress off >tuned 2>err ||
    fail "autotune: exit $?: $(cat err)"
grep -q '@128K' tuned || fail "autotune: no chunks were tried"
grep -q '^# [0-9]* algorithms at 10 sizes\.$' tuned.conf || fail "autotune: rounds or buffers of a simulation: $(cat tuned.conf)"
[ "$(grep -v '^#' tuned.conf | grep -c '^allreduce:0-')" = 1 ] || fail "autotune: $(cat tuned.conf)"
[ "$(grep -c '^# [0-9]*[KM]*: .* us, next .* us, default' tuned.conf)" = 10 ] || fail "autotune: $(cat tuned.conf)"
"$minipod" coll --on sim --machine tpu-v4 --mesh 4x4 --algo @tuned.conf -b 64 -e 16M --progress off >ruled 2>err ||
    fail "autotune: its rules: exit $?: $(cat err)"
# No more than 5 % behind the fastest, at any size.
awk 'FNR == NR && NF > 20 { if (!($1 in best) || $6 < best[$1]) best[$1] = $6; next }
     NF > 20 { n++; if ($6 > 1.051 * best[$1]) exit 1 } END { if (n != 10) exit 1 }' \
    <(rows tuned) <(rows ruled) || fail "autotune: its rules are slow: $(cat ruled)"
"$minipod" explain schedule --mesh 4x4 --algo @tuned.conf >/dev/null || fail "autotune: not for explain"
on_ranks 2 coll --autotune own.conf --algo ring,mpi "${quick[@]}" -e 64K >tuned 2>err || fail "autotune: exit $?"
[ "$(grep -v '^#' own.conf | tr -d '\n')" = "allreduce:0-:ring" ] || fail "autotune: $(cat own.conf)"

# Rules come from each host's own disk: all ranks end alike where one has others, or none.
mkdir here there
echo 'allreduce:ring' >here/r.conf
echo 'allreduce:tree' >there/r.conf
# on_two WANTED: on two ranks, in these two folders
on_two() {
    # shellcheck disable=SC2016 # the ranks expand it
    timeout 30 mpirun --bind-to none -n 2 sh -c 'cd "$0/$([ "$OMPI_COMM_WORLD_RANK" = 0 ] && echo here || echo there)" && exec "$@"' \
        "$work" "$minipod" coll --algo @r.conf "${quick[@]}" -e 4K >out 2>err
    local code=$?
    [ $code -eq 2 ] && without_banner err | grep -q "$1" || fail "two hosts: exit $code: $(without_banner err)"
}
on_two '^minipod coll: algo: the rules: rank 1 differs from rank 0$'
rm there/r.conf
on_two '^minipod coll: rank 1: algo: r.conf: No such file'

# The sum that is the same in any order; MPI has no such type.
on_ranks 2 coll -d exact --algo direct,tree "${quick[@]}" -e 64K >exact 2>err || fail "exact: $(without_banner err)"
is_table exact
[ "$(field exact 2 | head -n 1)" = 256 ] || fail "exact: $(field exact 2 | head -n 1) elements in 4K"

# Of all algorithms those that this host has no memory for are left out. The root's schedule is half as long
# as the others'.
if [ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)" -lt $((28 << 20)) ]; then
    "$minipod" coll --on sim --machine multipod --mesh 2x128x32 --collective broadcast --algo all -b 1M -e 1M \
        --progress off >all 2>err || fail "without those too large: exit $?: $(cat err)"
    grep -q '^# scatter_ring refuses: 8192 ranks with [0-9]* steps of scatter_ring each need about [0-9.]* GB of memory' all ||
        fail "scatter_ring is not left out: $(cat all)"
    [ "$(grep -c ' tree *[0-9]' all)" -eq 1 ] || fail "tree is left out, too: $(cat all)"
fi

# Nor is anything begun that a node has no memory for, shared or not: that is told with what to do.
# too_large PATTERN WORD...: two ranks with the largest buffers
too_large() {
    local pattern=$1 code
    shift
    on_ranks 2 coll --algo ring -b 16G -e 16G --buffers hot "$@" "${quick[@]}" >out 2>err
    code=$?
    [ $code -eq 2 ] && [ ! -s out ] || fail "too large: exit $code, want 2: $(without_banner err | cat out -)"
    without_banner err | grep -q "^minipod coll: maxbytes: $pattern" || fail "too large: $(without_banner err)"
}
if [ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)" -lt $((32 << 20)) ]; then
    too_large '2 ranks of a node with buffers of 17.2 GB each need about 68.7 GB of memory, this host has '
fi

# ---- exit codes --------------------------------------------------------------------------------

on_ranks 2 coll --algo ring,mpi -e 4K "${quick[@]}" --min-busbw 1e5 >slow 2>err
[ $? -eq 1 ] || fail "--min-busbw: another exit than 1"
without_banner err | grep -q '^minipod coll: ring, hot: average bus bandwidth .* GB/s, --min-busbw wants 100000; slowest at 4096 bytes' ||
    fail "--min-busbw: $(without_banner err)"
without_banner err | grep -q 'coll: mpi' && fail "--min-busbw: the peer is held to it"
"$minipod" coll --on sim --machine tpu-v3 --mesh 2x2x2 --algo ring -b 1M -e 1M --min-busbw 1e5 >slow 2>err
[ $? -eq 1 ] && grep -q '^minipod coll: ring, simulated: average bus bandwidth' err || fail "--min-busbw on sim: $(cat err)"
on_ranks 2 coll --algo ring -e 4K "${quick[@]}" --min-busbw 1e-6 >fast 2>err || fail "--min-busbw 1e-6: exit $?"

[ "$failed" -eq 0 ] && echo "coll: all as it should be"
exit "$failed"
