#!/usr/bin/env bash
# kernels.sh MINIPOD: the benchmark of kernels measures the problems it is given by each kernel that
# runs here; table, CSV and JSON say the same; every row is right.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
columns='impl op shape type packed pick buffers med min p99 gflops peak% gbs copy% err/bound ok'
quick=(-n 2 -w 1 --rounds 2 --progress off)

rows() { grep -v '^#' "$1" | awk 'NF > 5'; }
# field FILE N: column N of every row, each once
field() { rows "$1" | awk -v n="$2" '{ print $n }' | sort -u | tr '\n' ' '; }

# is_table NAME: columns in their order, all results right
is_table() {
    local names
    names=$(grep -E '^# +impl +op' "$1" | tr -s ' ' | sed 's/^# //; s/ $//')
    [ "$names" = "$columns" ] || fail "$1: columns '$names'"
    awk '/^# +impl +op/ { for (i = 2; i <= NF; i++) at[i - 1] = index($0 " ", " " $i " ") + 1 }
        !/^#/ && NF > 5 { for (i = 1; i <= NF; i++) if ((i < 8 || i == 16) && substr($0, at[i], length($i)) != $i) exit 1 }' "$1" ||
        fail "$1: a row is not below its head: $(cat "$1")"
    rows "$1" | awk 'NF != 16 || $15 > 1 || $16 != "yes" { exit 1 }' || fail "$1: a row: $(cat "$1")"
    grep -q '^# Wrong: 0 of [0-9]* rows OK$' "$1" || fail "$1: no verdict: $(tail -n 5 "$1")"
}

cat >tiny.txt <<'TXT'
# tails of every tile, both types, all transposes
gemm 33x17x65 nt c=bf16
gemm 33x17x65 tn f32
gemm 2*33x17x65 tt
gemm 5x7x9 bias relu    # fused
conv 2x9x8x5:3x3x7/2+1
conv 2x9x8x5:1x1x7 f32
conv.fwd 2x9x8x5:3x3x7+1 affine relu_x bias relu sums
conv.dw 2x9x8x5:3x3x7+1 affine
depthwise 2x9x8x5:3x3/2+1
depthwise 2x9x8x37:5x5+2 f32
depthwise.fwd 2x9x8x37:5x5+2 sums
TXT

"$minipod" kernels --shapes tiny.txt --impl ref "${quick[@]}" --buffers hot >ref 2>err || fail "ref: exit $?: $(cat err)"
is_table ref
[ "$(rows ref | wc -l)" = 19 ] || fail "ref: it takes every problem: $(rows ref)"
[ "$(field ref 2)" = "conv.dw conv.dx conv.fwd depthwise.dw depthwise.dx depthwise.fwd gemm " ] || fail "ref: $(field ref 2)"
"$minipod" kernels --shapes tiny.txt "${quick[@]}" --csv run.csv --json run.json >all 2>err || fail "all: exit $?: $(cat err)"
is_table all
rows all | awk '$1 == "sgemm" { n++ } END { exit n == 0 }' || fail "all: no sgemm: $(cat all)"
[ "$(field all 7)" = "cold hot " ] || fail "all: buffers $(field all 7)"
grep -q '^# gemm hot, blas: .* x sgemm ([0-9]*)' all || fail "all: no ratios: $(cat all)"
grep -q '^# gemm hot, picks: [01].[0-9]* of the fastest of ours' all || fail "all: nothing of picks"
grep -q '^# register peak in this run: bf16 [0-9.]* GFLOP/s' all || fail "all: no peak"
names=impl,op,shape,type,packed,pick,buffers,med_us,min_us,p99_us,gflops,peak_pct,gbs,copy_pct,err_over_bound,ok
is_csv run.csv && [ "$(grep -v '^#' run.csv | head -n 1)" = "$names" ] || fail "CSV: header $(grep -v '^#' run.csv | head -n 1)"
if command -v python3 >/dev/null; then
    python3 - <<'PY' || fail "JSON"
import csv, json
run = json.load(open("run.json"))
table = list(csv.DictReader(line for line in open("run.csv") if not line.startswith("# ")))
assert run["schema"] == "minipod.kernels" and run["wrong"] == 0 and run["clock"] == "wall", run
assert run["args"]["shapes"] == "tiny.txt" and run["host"]["peak_bf16_gflop_per_s"] > 0, run["args"]
assert len(run["rows"]) == len(table) > 19, len(run["rows"])
for row, cells in zip(run["rows"], table):
    assert row["impl"] == cells["impl"] and row["shape"] == cells["shape"] and row["ok"] == "yes", row
    assert abs(row["med"] - float(cells["med_us"])) < 1e-9 and row["min"] <= row["med"] <= row["p99"], row
PY
fi

# The bytes of what sgemm multiplies: float32 on both sides.
"$minipod" kernels gemm 64x64x64 c=bf16 --impl sgemm "${quick[@]}" --buffers hot >sgemm 2>err || fail "sgemm: $(cat err)"
rows sgemm | awk '{ bytes = 1e3 * $13 * $8; if (bytes < 0.99 * 49152 || bytes > 1.01 * 49152) exit 1 }' || fail "sgemm: $(rows sgemm)"
grep -q '^# sgemm: OpenBLAS on the same numbers as float32' sgemm || fail "sgemm: what it is: $(cat sgemm)"

# Attention has no peer and no copy.
printf '%s\n' 'attention 2x33x3x20' 'attention 2x33x3x20 f32 causal drop' >attention.txt
"$minipod" kernels --shapes attention.txt "${quick[@]}" --buffers hot --impl avx512_bf16,avx512,avx2,ref >attention 2>err || fail "attention: exit $?: $(cat err)"
is_table attention
[ "$(field attention 2)" = "attention.bwd attention.fwd " ] || fail "attention: $(rows attention)"

# What is bound by memory: every function of every family, once for each type it knows.
for type in bf16 f32; do
    printf '%s\n' "pointwise 33x37 $type" "norm 33x37 $type" "layernorm 33x37 $type" "gate 33x37 $type" "activation 33x37 $type" "embed 33x37 $type" "vocab_loss 33x1037x37 $type" "reduce 33x37 $type" "pool 2x9x9x37:3x3/2+1 $type" \
        "combine 33x37 $type" >vectors.txt
    [ $type = bf16 ] || printf '%s\n' 'softmax 33x10' 'update 33x37' >>vectors.txt
    "$minipod" kernels --shapes vectors.txt "${quick[@]}" --buffers hot >$type 2>err || fail "$type: exit $?: $(cat err)"
    is_table $type
    rows $type | awk '$1 == "memcpy" { n++ } END { exit n == 0 }' || fail "$type: no copy: $(cat $type)"
    "$minipod" kernels --shapes vectors.txt "${quick[@]}" --buffers hot --impl ref >$type.ref 2>err || fail "$type: exit $?: $(cat err)"
done
# In float32 that is all functions of these families in --help-all, in bf16 those that take it if no type is given.
"$minipod" kernels --help-all | sed -n '/^problems: /,/^words: /p' |
    awk -F '[ |]+' '/^  [a-z]/ { family = $2 } /^   / { for (i = 2; i <= NF; i++) if ($i) print family "." $i }' |
    grep -E "^($(cut -d ' ' -f 1 vectors.txt | paste -s -d '|'))\." | sort >f32.want
sed 's/ f32$//' vectors.txt >untyped.txt
"$minipod" kernels --shapes untyped.txt "${quick[@]}" --buffers hot --impl ref >untyped 2>err || fail "untyped: exit $?: $(cat err)"
rows untyped | awk '$4 == "bf16" { print $2 }' | sort -u >bf16.want
for type in f32 bf16; do
    field $type.ref 2 | xargs -n 1 >got
    [ -s $type.want ] && cmp -s $type.want got ||
        fail "$type: want $(wc -l <$type.want) functions, found $(wc -l <got): $(diff $type.want got)"
done

# A family alone is all of its functions, in float32 those that take nothing else, unless a type was typed.
"$minipod" kernels "${quick[@]}" --buffers hot reduce 33x17 >family 2>err || fail "reduce: exit $?: $(cat err)"
is_table family
[ "$(rows family | awk '$1 == "memcpy" { print $2, $4 }' | sort | tr '\n' ' ')" = "reduce.col_sum bf16 reduce.sum_sq f32 reduce.sum_sq_wide f32 " ] || fail "reduce: $(rows family)"
"$minipod" kernels "${quick[@]}" --buffers hot norm.fold 33x17 >named 2>err || fail "norm.fold: exit $?: $(cat err)"
[ "$(field named 2)$(field named 4)" = "norm.fold f32 " ] || fail "norm.fold: $(rows named)"

# What no kernel takes is named, and who refuses it and why.
# none PATTERN WORD...: exit 2 and a line that matches
none() {
    local pattern=$1 code
    shift
    "$minipod" kernels "${quick[@]}" "$@" >out 2>err
    code=$?
    [ "$code" -eq 2 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q -e "$pattern" err || fail "$*: exit $code, want '$pattern': $(cat err)"
}
MINIPOD_MAX_ISA=ref none '^minipod kernels: no kernel takes gemm 3x5x7 bf16 c=bf16 bias relu: .*; blas: the library fuses nothing.*; ref: only with --impl ref' \
    gemm 3x5x7 c=bf16 bias relu
MINIPOD_MAX_ISA=ref none 'pointwise.add 3x5 bf16: .*avx2: this CPU lacks its instructions; ref: only with' pointwise.add 3x5
none 'no kernel takes conv.fwd 2x9x8x5:3x3x7+1 bf16: none of its kernels is called blas$' --impl blas conv 2x9x8x5:3x3x7+1
none 'reduce.sum_sq 33x17 bf16: .*avx2: takes float32 alone' reduce.sum_sq 33x17 bf16
printf 'gemm 3x5x7 relu\ngemm 3x5x7 bias\n' >two.txt
none 'any of 2 problems; the first is gemm 3x5x7 bf16 relu: blas: the library fuses nothing' --impl blas --shapes two.txt

# Beside others that some kernel takes it is named as well; what --impl leaves out is counted.
printf '%s\n' 'gemm 3x5x7' 'gemm 3x5x7 relu' 'gemm 3x5x7 bias f32' 'conv 2x9x8x5:3x3x7' >some.txt
"$minipod" kernels "${quick[@]}" --buffers hot --impl blas --shapes some.txt --csv some.csv >some 2>err || fail "some: exit $?: $(cat err)"
is_table some
grep '^# no kernel takes\|^# left out' some >got
printf '# no kernel takes gemm 3x5x7 %s: blas: the library fuses nothing and takes no packed operand\n' 'bf16 relu' 'f32 bias' >want
echo '# left out: 3 problems, of whose kernels none is called blas' >>want
cmp -s want got || fail "some: $(diff want got)"
grep -q '^# no kernel takes gemm 3x5x7 f32 bias: ' some.csv || fail "some: its CSV: $(cat some.csv)"

# Picks are held to the fastest of ours. A copy does less than any of them and is none.
"$minipod" kernels "${quick[@]}" --buffers hot gate.swish_grad 300x100 >picks 2>err || fail "picks: exit $?: $(cat err)"
want=$(rows picks | awk '$1 ~ /^memcpy/ { next } !best || $8 < best { best = $8 } $6 == "*" { pick = $8 }
    END { printf "%.2f", best / pick }')
got=$(sed -n 's/^# gate.swish_grad hot, picks: \([0-9.]*\) of the fastest of ours.*/\1/p' picks)
awk -v a="${got:-9}" -v b="$want" 'BEGIN { exit (a - b) ^ 2 > 0.0005 }' || fail "picks: $got, by the rows $want: $(cat picks)"

# One problem on the command line, chosen functions, no check.
"$minipod" kernels "${quick[@]}" --buffers hot --family conv.dx,gemm --impl gemm conv 2x9x8x5:3x3x7+1 >one 2>err ||
    fail "one: exit $?: $(cat err)"
is_table one
[ "$(field one 2)$(field one 3)" = "conv.dx 2x9x8x5:3x3x7+1 " ] || fail "one: $(rows one)"
"$minipod" kernels "${quick[@]}" --buffers hot -c 0 gemm 8x8x8 >unchecked 2>err || fail "-c 0: exit $?: $(cat err)"
grep -q '^# Wrong: not checked$' unchecked || fail "-c 0 hides it"
MINIPOD_MAX_ISA=ref "$minipod" kernels "${quick[@]}" --buffers hot gemm 8x8x8 >capped 2>err || fail "capped: exit $?: $(cat err)"
grep -q 'peak in this run: bf16 [0-9.]* GFLOP/s (scalar)' capped || fail "capped: $(cat capped)"

# eval picks kernels by the machine file, as train does: what the file's rates ask for is what --impl names.
"$minipod" train --model mlp --data glyphs:8x8x1:64+32 --batch 32 --steps 1 --precision f32 --out run >out 2>err || fail "train: $(cat err)"
for kind in narrow short small large; do echo "kernel_rate = gemm.f32.$kind avx2_6x16 9e6"; done |
    sed '1i name = host\nclock = wall' >avx2.conf
"$minipod" eval --resume run --machine avx2.conf --predictions by-file >out 2>err &&
    "$minipod" eval --resume run --impl avx2_6x16 --predictions by-name >out 2>err &&
    "$minipod" eval --resume run --impl blas --predictions other >out 2>err || fail "eval: $(cat err)"
cmp -s by-file by-name || fail "eval: not the kernels of the machine file"
! grep -qw avx2 /proc/cpuinfo || ! cmp -s by-file other || fail "eval: the kernels make no difference"
"$minipod" eval --resume run --machine tpu-v3 >out 2>err
[ $? -eq 2 ] && grep -q '^minipod eval: machine: tpu-v3 is not this host: minipod simulate$' err || fail "eval on a pod: $(cat err)"

# Why a kernel is never picked that nobody has measured.
printf '%s\n' 'name = host' 'clock = wall' 'kernel_rate = gemm.f32.large avx2_6x16 0' >zero.conf
"$minipod" explain kernels --model mlp --machine zero.conf >out 2>err || fail "explain: $(cat err)"
! grep -qw avx2 /proc/cpuinfo ||
    grep -Eq '^ *gemm.f32.large +avx2_6x16 +- +applies; no rate measured \(minipod calibrate\), so .* is preferred$' out ||
    fail "no rate: $(grep f32.large out)"
[ "$(grep -c 'ref .*no rate' out)" -eq 0 ] || fail "the reference needs no rate: $(cat out)"

[ "$failed" = 0 ] && echo "kernels are measured, checked and told alike"
exit "$failed"
