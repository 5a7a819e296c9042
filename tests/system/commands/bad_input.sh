#!/usr/bin/env bash
# bad_input.sh MINIPOD: whatever is wrong with what minipod is given, it ends on all ranks with exit
# 2, says one line that names the thing, what was wanted and what was found, and leaves no file. What
# depends on the ranks is tried alone and on three ranks. So is one of the cases of each reader of words, which
# each rank calls by itself, and of files, whose refusal the ranks must agree on; its other cases, alone.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
limit_s=60 # a hang, however busy this machine is
at_once=3  # cases that run together

n_cases=0

# check NAME EXIT PATTERN WORD...: what a finished case left in NAME/
check() {
    local dir=$1 code=$2 pattern=$3 text what left
    shift 3
    what="$* [$dir]"
    text=$(without_banner "$dir/err")
    if [ "$code" -ne 2 ]; then
        fail "${what:0:200}: exit $code, want 2: ${text:0:3000}"
    elif [[ -z $text || $text = *$'\n'* || -s $dir/out ]]; then
        fail "${what:0:200}: want one line of error and no output: ${text:0:600} $(head -c 200 "$dir/out")"
    elif [[ $text != minipod* ]] || ! grep -q -e "$pattern" <<<"$text"; then
        fail "${what:0:200}: want '$pattern', found '${text:0:400}'"
    fi
    left=$(find "$dir/cwd" -type f)
    [ -z "$left" ] || fail "${what:0:200}: left $left"
}

# run_case DIR RANKS PATTERN WORD...; 0 ranks: without mpirun. In a folder of its own.
run_case() {
    local dir=$1 ranks=$2 pattern=$3 launch=()
    shift 3
    [ "$ranks" -eq 0 ] || launch=(mpirun -n "$ranks" --bind-to none)
    mkdir -p "$dir/cwd"
    (cd "$dir/cwd" && exec timeout "$limit_s" "${launch[@]}" "$minipod" "$@" >../out 2>../err)
    local code=$?
    check "$dir" $code "$pattern" "$@" >"$dir/verdict"
}

queue() {
    n_cases=$((n_cases + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
    run_case "$work/case$n_cases" "$@" &
}

# PATTERN WORD...: alone, and on three ranks
both() {
    queue 0 "$@"
    queue 3 "$@"
}
alone() { queue 0 "$@"; }
ranks() { queue 3 "$@"; }

# ---- what the cases are given ----------------------------------------------------------------

mkdir in && cd in || exit 1
size=glyphs:8x8x1:60+30
short=(--model mlp --batch 12 --steps 2 --progress off)

be32() { # the number as four bytes, the highest first
    local hex
    hex=$(printf '%08x' "$1")
    printf '%b' "\\x${hex:0:2}\\x${hex:2:2}\\x${hex:4:2}\\x${hex:6:2}"
}
# idx_pair NAME N CLASSES: N images of 4x4, labels 0 to CLASSES-1 in turn
idx_pair() {
    local i
    { be32 $((0x803)); be32 "$2"; be32 4; be32 4; head -c $((16 * $2)) /dev/urandom; } \
        >"$1-images-idx3-ubyte"
    { be32 $((0x801)); be32 "$2"; for ((i = 0; i < $2; i++)); do printf '%b' "\\x0$((i % $3))"; done; } \
        >"$1-labels-idx1-ubyte"
}
make() { "$minipod" "$@" >made.log 2>&1 || { cat made.log; fail "cannot prepare: $*"; exit 1; }; }

make data make "$size" -o good.h5
mkdir small && idx_pair small/train 24 3 && idx_pair small/t10k 12 3
make data import idx small -o three.h5
make train --data "$size" "${short[@]}" --out run
mv run/checkpoint mlp
rm -r run
half() { head -c $(($(stat -c %s "$1") / 2)) "$1"; }
# over FILE OFFSET TEXT COPY: COPY is FILE with TEXT written over its bytes from OFFSET on
over() { cp "$1" "$4" && printf '%b' "$3" | dd of="$4" bs=1 seek="$2" conv=notrunc status=none; }
half good.h5 >half.h5
step=step-000000002
cp -r mlp/$step half_index && half mlp/$step/index.h5 >half_index/index.h5
cp -r mlp/$step no_shard && rm no_shard/shard-0000.h5
cp -r mlp/$step no_manifest && rm no_manifest/manifest.json && mkdir in_part && cp -r mlp/$step in_part/$step.part
cp -r mlp flipped && over mlp/$step/shard-0000.h5 5000 xyz flipped/$step/shard-0000.h5
mkdir none none/checkpoint
: >empty
mkfifo pipe
ln -s good.conf link
echo 'no HDF5' >text.h5
sed 's/minipod_dataset/minipod_datasex/' good.h5 >layout.h5
cp good.h5 corrupt.h5
size_of=$(stat -c %s good.h5)
# Noise in the middle, which belongs to the training images.
head -c 512 /dev/urandom | dd of=corrupt.h5 bs=1 seek=$((size_of / 2)) conv=notrunc status=none
printf 'batch = 12\nspeed = 3\n' >unknown.conf
printf 'batch = 12\n\nlr = fast\n' >value.conf
printf 'batch\n' >form.conf
printf 'name = x\n' >bad_machine.conf
printf 'batch = 12\n' >good.conf
printf '# mine\ngem 8x8x8\n' >shapes.txt
long=$(head -c 5000 /dev/zero | tr '\0' x)
digits=$(head -c 3000 /dev/zero | tr '\0' 9)
cd .. || exit 1
in=$work/in
data=(--data "$size")

# ---- words -----------------------------------------------------------------------------------

alone "'trian' is no command; did you mean train" trian
alone 'a command is missing'
alone "'' is no command" ''
alone '--bach: there is no such option; did you mean batch' train --bach 3
alone "'$(head -c 30 <<<"$long")" train "$long"
both '--xxxxx.*: there is no such option' train "--$long"
alone "'sgdd' is none of sgd|lars" train --optimizer sgdd
alone "'f16' is none of bf16|bf16-conv|f32" train --precision f16
alone "'stage[0-9a-z/]*' has 1 value of a channel to normalize over: 1 sample of 1x1, by --batch 24, mesh 1x1, --accumulate 24" \
    train --model resnet8 --data $size --image-size 4 --batch 24 --accumulate 24
queue 3 "has 1 value of a channel" train --model resnet8 --data $size --image-size 4 --batch 3
alone "'nan' is not a finite number" train --lr nan
alone "'inf' is not a finite number" train --target inf
alone "target: wants a value after 'accuracy=', such as accuracy=0.9" train --target accuracy=
alone '1e999.* is not a finite number' train --lr 1e999
alone '-1 is not within 0 to' train --target -1
alone 'target: accuracy is at most 1, found 1.5' train --target 1.5
alone '-3 is not within 1 to' train --batch -3
alone '99999999999999999999 is not within' train --batch 99999999999999999999
alone 'at most 4095' train --steps "$digits$digits"
alone "--model: 'xxx.*has 5000 bytes, at most" train --model "$long"
alone "--bucket: '4Q' is not a size" train --bucket 4Q
alone '--conf: the value is empty' train --conf ''
alone '--data: the value is empty' train --data ''
alone '--model: the value is empty' train --model ''
alone '--out: the value is empty' train --out ''
alone "--batch: '' is not a whole number" train --batch ''
alone 'a value is missing behind it' train --batch
alone '-b: a value is missing behind it' coll -b -e 4
alone "there is no 'resnet21'; did you mean resnet20" train --batch 12 --model resnet21
alone 'unexpected argument' train fast
alone 'dropout: -0.5 is neither -1' train --batch 12 --dropout -0.5
alone 'survival: -0.25 is neither -1' train --batch 12 --survival -0.25
alone 'not an option of eval' eval --lr 3
alone 'which checkpoint' eval
alone "--minbytes: '4X' is not a size" coll --minbytes 4X
alone 'minbytes: 8M is more than maxbytes, 4M' coll -b 8M -e 4M
alone 'stepbytes: stepfactor is given too' coll -i 4K -f 2
alone 'minbytes, maxbytes: more than 10000 rows' coll -i 4
alone 'one for each size from 1 to 16M, type, operation and root' coll --on sim --machine tpu-v3 --mesh 2x32x32 --collective broadcast -r -1 -b 1 -e 16M
alone "datatype: 'int9' is none of int8, uint8" coll -d int9
alone "algo: 'foo' is no algorithm of allreduce" coll --algo ring,foo
alone "algo: 'ring' is there twice" coll --algo ring,torus2d,ring
alone "algo: all has no others beside it, found 'torus2d,all'" coll --algo torus2d,all
"$minipod" explain machine --machine tpu-v4 | sed '/^chips_[xyz]/s/=.*/= 1048576/' >endless.conf
alone '1000000 ranks with [0-9]* steps of ring each need about' coll --on sim --machine "$PWD/endless.conf" \
    --mesh 100x100x100 --algo ring -e 4K
alone 'mesh 17x16x16: tpu-v4 has 16 chips along dimension 0' coll --on sim --machine tpu-v4 \
    --mesh 17x16x16 --algo ring -e 4K
alone "op: 'mean' is none of sum, prod, max, min, avg, all" coll -o mean
alone "collective: 'all-reduce' is none of all_reduce" coll --collective all-reduce
alone 'ngpus: 2, want 1: a rank is one core' coll -g 2
alone "--on: 'gpu' is none of auto" coll --on gpu
alone 'on: host is for scale' coll --on host
alone "rules: 'fastest' is no algorithm of allreduce" coll --algo fastest
queue 3 'algo: torus2d refuses allreduce of 4K: the group is longer than 1 in fewer' coll --algo torus2d,mpi
both 'mesh: 5x2 has 10 cores, but there [a-z]* [13] rank' coll --mesh 5x2
both 'node: 2 ranks a node do not divide [13] ranks' coll --node 2
alone 'buffers: too many of 4096 bytes would be needed' coll --buffers cold -e 4K
both 'too many of 4096 bytes .* wants a time at every size' \
    coll --autotune r.conf --buffers cold -b 4K -e 256M -f 65536
queue 0 'buffers: on local none are cold' coll --on local --buffers cold
queue 3 'on: local is one process, found 3 ranks' coll --on local
queue 0 'machine: --on sim wants one, like --machine [a-z]' coll --on sim
queue 0 'machine: this host was not measured yet: run minipod calibrate' coll --on sim --machine host
queue 0 'machine: this host was not measured yet: run minipod calibrate' simulate --mesh 2 --model mlp --batch 64
queue 0 'mesh 2wx2: on tpu-v3 dimension 0 does not wrap' coll --on sim --machine tpu-v3 --mesh 2wx2
alone 'machine: tpu-v3 is for --on sim' coll --machine tpu-v3
alone 'autotune: --algo 0-:ring is not a list of algorithms' coll --autotune r.conf --algo 0-:ring
alone 'chunk: --autotune tries several' coll --autotune r.conf --chunk 64K
alone "rules: a chunk of 0 bytes for 'ring'" coll --algo ring@0
alone "rules: flat moves no blocks in chunks, found '@1K'" coll --algo flat@1K
both '/in: cannot write a file: it is a directory' coll --autotune "$in"
both 'nowhere: cannot read\|nowhere: No such\|nowhere' coll --algo @nowhere
queue 3 'algo: mpi refuses allreduce of 4K: MPI has no such element type' coll -d exact --algo mpi
queue 0 'algo: mpi refuses allreduce of 4K: it runs on the ranks of a job only' coll --on local --algo mpi
alone "shapes 'resnet5': neither a file nor one of all, gemm" kernels --shapes resnet5
alone 'shapes: nowhere/s.txt: cannot read: No such file' kernels --shapes nowhere/s.txt
alone "shapes.txt:2: 'gem' is none of gemm|conv" kernels --shapes "$in/shapes.txt"
alone "problem: gemm takes no word 'fast'" kernels gemm 8x8x8 fast
alone "problem: gemm: '8x8' has 2 numbers, need 3" kernels gemm 8x8
alone 'operands of gemm 1000000x1000000x1 bf16 need about [0-9.e+]* GB of memory, this host has [0-9.e+]* GB' kernels gemm 1000000x1000000x1
alone "impl: there is no kernel 'sgem'; did you mean 'sgemm'" kernels gemm 8x8x8 --impl sgem
alone "family: none of 1 problems is of 'conv'" kernels gemm 8x8x8 --family conv
alone "'maybe' is none of on|off|both" kernels --packed maybe
alone 'trace: timeline.json goes into --out' train "${data[@]}" "${short[@]}" --trace

# ---- the mesh, the batch ---------------------------------------------------------------------

alone '--mesh: the value is empty' train --mesh ''
both 'mesh: 2x2 has 4 cores, but there [a-z]* [13] rank' train --mesh 2x2
alone "mesh '0x2'" train --mesh 0x2
alone "mesh '2x'" train --mesh 2x
alone "mesh 'big'" train --mesh big
alone "mesh '1x1x1x1x1'" train --mesh 1x1x1x1x1
alone 'mesh.*99999x99999' train --mesh 99999x99999
queue 3 'batch: 10 is not divisible by the 3 cores' train --batch 10
both 'batch: 600 is more than the 60 training samples' train "${data[@]}" --model mlp --batch 600
alone 'epochs: 0.001 epochs of 5 steps are no step' train "${data[@]}" --model mlp --batch 12 --epochs 0.001
alone 'steps: .*1000000000000' train "${data[@]}" --model mlp --batch 12 --steps 1000000000000
alone 'algo: .*shrub' train --batch 12 --algo shrub
alone 'algo: .*spiral' train --batch 12 --algo allreduce:0-:spiral
alone 'algo: .*from 4096 to 2048 is empty' train --batch 12 --algo 'allreduce:4K-2K:tree'

# ---- files -----------------------------------------------------------------------------------

ranks 'absent.conf: cannot read: No such file' train --conf absent.conf
ranks 'unknown.conf:2: speed: there is no such option' train --conf "$in/good.conf" --conf "$in/unknown.conf"
alone "value.conf:3: lr: 'fast' is not a finite number" train --conf "$in/value.conf"
alone 'form.conf:1: neither' train --conf "$in/form.conf"
alone '/in: cannot read: Is a directory' train --conf "$in"
ranks 'absent.conf' train "${data[@]}" "${short[@]}" --machine absent.conf
alone "impl: there is no kernel 'blsa'; did you mean 'blas'" train "${data[@]}" "${short[@]}" --impl gemm,blsa
alone 'machine: tpu-v3 is not this host: minipod simulate' train "${data[@]}" "${short[@]}" --machine tpu-v3
alone 'bad_machine.conf' train "${data[@]}" "${short[@]}" --machine "$in/bad_machine.conf"
ranks 'empty/below' train "${data[@]}" "${short[@]}" --out "$in/empty/below"
ranks 'nowhere/t.csv: cannot write: No such file' train "${data[@]}" "${short[@]}" --csv nowhere/t.csv
alone '/in: cannot write a file: it is a directory' train "${data[@]}" "${short[@]}" --json "$in"
alone 'link: cannot write a file: it is a symbolic link' train "${data[@]}" "${short[@]}" --json "$in/link"
alone "json: '-' is standard output, which csv takes" train "${data[@]}" "${short[@]}" --csv - --json -
ranks 'nowhere/t.csv: cannot write: No such file' eval "${data[@]}" "${short[@]:0:4}" --resume "$in/mlp" --csv nowhere/t.csv
alone 'nowhere/t.csv: cannot write: No such file' calibrate -o here.conf --csv nowhere/t.csv
alone 'nowhere/here.conf: cannot write: No such file' calibrate -o nowhere/here.conf
alone 'nowhere/t.json: cannot write: No such file' data info "$in/good.h5" --json nowhere/t.json

# ---- data sets -------------------------------------------------------------------------------

ranks 'absent.h5: No such file' train --data absent.h5 --batch 12 --out o
alone '/in: is a folder with a file of HDF5 in it: --data .*/in/corrupt.h5' train --data "$in" --batch 12 --out o
ranks 'pipe: is no regular file' train --data "$in/pipe" --batch 12
alone 'text.h5: this is a text file: ' train --data "$in/text.h5" "${short[@]}" --out o
alone 'empty: this is an empty file' train --data "$in/empty" "${short[@]}"
ranks 'half.h5: cut short' train --data "$in/half.h5" "${short[@]}"
alone 'small: this is IDX: minipod data import idx .*/in/small -o F.h5 first$' train --data "$in/small" "${short[@]}"
alone 'god.h5: No such file or directory; did you mean .*/in/good.h5?$' train --data "$in/god.h5" "${short[@]}"
ranks 'corrupt.h5' train --data "$in/corrupt.h5" "${short[@]}" --out o
alone "layout.h5: damaged (" train --data "$in/layout.h5" "${short[@]}"
alone "index.h5: is of a checkpoint" eval --batch 12 --data "$in/mlp/$step/index.h5" --resume "$in/mlp"
ranks '8x8, need at least 32x32' train "${data[@]}" --model resnet50 --batch 12
alone '5 channels, at most 4' train --data glyphs:8x8x5:60+30 "${short[@]}"
alone "glyphs: size '8x8' has 2 extents" train --data glyphs:8x8 "${short[@]}"
alone 'at most 1073741824 bytes' train --data glyphs:99999x99999x3 "${short[@]}"
alone 'training samples: 0 is not within' train --data glyphs:8x8x1:0+0 "${short[@]}"

# ---- checkpoints -----------------------------------------------------------------------------

for command in train eval; do
    agree=ranks # on what is in a shard, or beside it
    [ "$command" = train ] || agree=alone # the same reader
    run=("$command" "${data[@]}" --model mlp --batch 12)
    alone 'absent.h5: No such file' "${run[@]}" --resume absent.h5
    "$agree" 'in/none/checkpoint: holds no checkpoint' "${run[@]}" --resume "$in/none"
    alone 'in/small: holds no checkpoint' "${run[@]}" --resume "$in/small"
    alone 'text.h5: is no checkpoint' "${run[@]}" --resume "$in/text.h5"
    alone 'good.h5: is no checkpoint' "${run[@]}" --resume "$in/good.h5"
    "$agree" 'half_index/index.h5: has [0-9]* bytes, the manifest says' "${run[@]}" --resume "$in/half_index"
    "$agree" 'no_shard/shard-0000.h5: No such file' "${run[@]}" --resume "$in/no_shard/index.h5"
    alone 'no_manifest: holds no checkpoint' "${run[@]}" --resume "$in/no_manifest"
    alone "$step.part: is a checkpoint that was not finished" "${run[@]}" --resume "$in/in_part/$step.part"
    alone 'in_part: holds no checkpoint' "${run[@]}" --resume "$in/in_part"
    "$agree" 'flipped/.*/shard-0000.h5: damaged: its CRC-32 is' "${run[@]}" --resume "$in/flipped"
    "$agree" "mlp/$step: is a checkpoint of model 'mlp', this run has 'resnet8'" \
        "$command" "${data[@]}" --model resnet8 --batch 12 --resume "$in/mlp"
done
ranks "three.h5: class 0 is '0', and was 'ring' in training: its 3 classes cannot be matched with the 10 of the checkpoint by their names" \
    train --data "$in/three.h5" --model mlp --batch 12 --resume "$in/mlp"
alone "three.h5: class 0 is '0', and was 'ring' in training: its 3 classes cannot be matched with the 10 of the checkpoint by their names" \
    eval --data "$in/three.h5" --model mlp --batch 12 --resume "$in/mlp"
alone "mlp/$step: is a checkpoint of optimizer 'sgd', this run has 'lars'" \
    train "${data[@]}" "${short[@]}" --optimizer lars --resume "$in/mlp"
ranks 'mlp has 2 steps, the run ends after 2' train "${data[@]}" "${short[@]}" --resume "$in/mlp" --out o

# ---- the environment -------------------------------------------------------------------------

export MINIPOD_BATCH=many
both "MINIPOD_BATCH: 'many' is not a whole number" train
unset MINIPOD_BATCH
export MINIPOD_PRECISION=f8
alone "MINIPOD_PRECISION: 'f8' is none of" eval --resume x
unset MINIPOD_PRECISION
export MINIPOD_DATA=
alone 'MINIPOD_DATA: the value is empty' train
unset MINIPOD_DATA
export MINIPOD_MAX_ISA=mmx
alone "MINIPOD_MAX_ISA: 'mmx' is none of" train
unset MINIPOD_MAX_ISA

# ---- IDX -------------------------------------------------------------------------------------

# idx_case PATTERN FOLDER: an import of that folder
idx_case() { alone "$1" data import idx "$in/$2" -o y.h5; }
# variant NAME: a copy of the good folder, to be spoiled by the lines that follow
variant() { cp -r "$in/small" "$in/$1" && cd "$in/$1" || exit 1; }
images=train-images-idx3-ubyte labels=train-labels-idx1-ubyte

variant truncated && half $images >x && mv x $images
variant header && head -c 9 $images >x && mv x $images
variant nothing && : >$images
variant magic && over $images 2 '\x0d' x && mv x $images
variant count && over $labels 4 '\x00\x00\x00\x17' x && mv x $labels && truncate -s -1 $labels
variant labels && over $labels 10 '\x07' x && mv x $labels
variant trailing && echo more >>$labels
variant missing && rm t10k-images-idx3-ubyte
variant zipped && gzip $images && half $images.gz >x && mv x $images.gz
variant garbled && gzip $images && printf '\xff\xff\xff\xff' | dd of=$images.gz bs=1 seek=100 conv=notrunc status=none
variant folder && rm $images && mkdir $images
cd "$work" || exit 1
idx_case 'train-images.*truncated' truncated
idx_case 'train-images.*truncated' header
idx_case 'train-images.*truncated' nothing
idx_case 'train-images.*magic is 0x00000d03, need 0x000008' magic
idx_case '24 images.*23 labels\|23 labels.*24 images' count
alone 'label.* 7' data import idx "$in/labels" -o y.h5 --classes a,b,c
alone "classes: 0 and 2 are both called 'a'" data import idx "$in/small" -o y.h5 --classes a,b,a
idx_case 'train-labels.*behind\|train-labels.*more' trailing
idx_case 'missing: no file t10k-images' missing
idx_case 'train-images.*gz: ' zipped
idx_case 'train-images.*gz: incorrect data check' garbled
idx_case 'no file train-images-idx3-ubyte, plain or .gz; wanted are' folder
idx_case 'absent: cannot be read as a folder: No such file' absent
alone 'small/below/y.h5\|empty/y.h5' data import idx "$in/small" -o "$in/empty/y.h5"

# ---- images (more in import_images.sh) -------------------------------------------------------

alone 'import images needs --image-size, like 64' data import images "$in" -o y.h5
alone "image-size: '64x' is" data import images "$in" -o y.h5 --image-size 64x
alone "image-size: '0' is" data import images "$in" -o y.h5 --image-size 0
alone "image-size: '99999' has more than 16384 pixels a side" data import images "$in" -o y.h5 \
    --image-size 99999 --on-bad-image skip
alone 'classes: of import idx, not of import images' data import images "$in" -o y.h5 \
    --image-size 8 --classes a,b
alone "'pardon' is none of refuse|skip" data import images "$in" -o y.h5 --on-bad-image pardon
alone "'tiff' is no form of data; there are idx, images, list, cifar, text and pairs" data import tiff "$in" -o y.h5

queue 3 'data: runs alone, found 3 ranks' data info "$in/good.h5"

wait
cat "$work"/case*/verdict
grep -q FAILED "$work"/case*/verdict && failed=1
echo "$n_cases runs"
exit "$failed"
