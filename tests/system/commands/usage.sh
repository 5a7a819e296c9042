#!/usr/bin/env bash
# usage.sh MINIPOD: what a person types wrong ends with exit 2 and one line on standard error that
# says what was wanted; help and version end with exit 0.
set -u
minipod=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/config
failed=0

# expect EXIT PATTERN WORD...: the exit code, and a pattern in what is printed
expect() {
    local want=$1 pattern=$2 code lines
    shift 2
    "$minipod" "$@" >out 2>err
    code=$?
    lines=$(wc -l <err)
    if [ "$code" -ne "$want" ]; then
        echo "minipod $*: exit $code, want $want: $(head -c 300 err)"
        failed=1
    elif [ "$want" -eq 2 ] && { [ "$lines" -ne 1 ] || [ -s out ]; }; then
        echo "minipod $*: $lines lines of error, $(wc -l <out) of output; want one and none"
        failed=1
    elif ! cat out err | grep -q -e "$pattern"; then
        echo "minipod $*: no '$pattern' in: $(cat out err | head -c 300)"
        failed=1
    fi
}

expect 0 '^usage: minipod COMMAND' --help
expect 0 '^  calibrate ' -h
expect 0 '^minipod [0-9]*\.[0-9]*\.[0-9]*$' --version
expect 2 'a command is missing'
expect 2 "'calibrat' is no command; did you mean calibrate" calibrat
expect 2 "'--batch' is no command" --batch 3

for command in calibrate data explain; do
    expect 0 "^usage: minipod $command " "$command" --help
    expect 0 '^minipod [0-9]' "$command" --version
    expect 2 'there is no such option; did you mean quiet?' "$command" --quite
    expect 2 "'often' is none of auto|on|off" "$command" --progress often
    expect 2 'a value is missing' "$command" --conf
    expect 2 'absent.conf: cannot read: No such file' "$command" --conf absent.conf
done

expect 0 ' recursive_halving  *little data: ' coll --help-all
expect 0 '^  runtime  *share of the time' goodput --help-all
expect 0 '^  conv  *NxHxWxC:RxSxK' kernels --help-all
expect 0 ' --on host  *starts mpirun itself$' scale --help
expect 0 'final learning rate of poly and cosine' train --help-all
expect 0 '^  bert-base  *BERT-Base' train --help-all
expect 0 '`minipod train --help-all` lists all [0-9]* options' train --help
PMI_SIZE=4 PMI_RANK=1 expect 0 "^minipod: warning: 1 rank, but PMI_SIZE says 4: was it started with this MPI's mpirun?\$" \
    train --model mlp --steps 1
printf 'quiet = on\nspeed = 3\n' >bad.conf
expect 2 'bad.conf:2: speed: there is no such option' calibrate --conf bad.conf
expect 2 "unexpected argument 'fast'" calibrate fast
expect 2 'not an option of calibrate' calibrate --classes a,b
expect 2 '/proc/nowhere' calibrate -o /proc/nowhere/host.conf
[ ! -e config ] || { echo "a failed calibrate left files"; failed=1; }

expect 2 'want import, make or info' data
expect 2 "there is no 'frob'" data frob
expect 2 'want import idx|images|list|cifar|text|pairs FROM -o F.h5' data import idx
expect 2 "'csv' is no form of data" data import csv x -o y.h5
expect 2 'needs -o FILE' data make glyphs
expect 2 "'mnist' is not made here" data make mnist -o y.h5
expect 2 '0x1x1' data make glyphs:0x1x1 -o y.h5
expect 2 '/nowhere/y.h5' data make glyphs:8x8x1:10+10 -o /nowhere/y.h5
expect 2 'empty: cannot be read as a folder: No such file' data import idx empty -o y.h5
expect 2 'bad.conf' data info bad.conf
for option in image-size=40 channels=1 convert-colour test-share=0.5 test-folder=x split-by=class on-bad-image=skip input-threads=2; do
    expect 2 "^minipod data: ${option%=*}: of import images, import list.*, not of import idx$" data import idx empty -o y.h5 --$option
    expect 2 "^minipod data: ${option%=*}: of import images, import list.*, not of make$" data make glyphs:8x8x1:10+10 -o y.h5 --$option
done
expect 2 'seed: of make, info, not of import idx$' data import idx empty -o y.h5 --seed 3
for option in classes=a,b origin=here licence=free; do
    expect 2 "${option%=*}: of import idx.*, not of make$" data make glyphs:8x8x1:10+10 -o y.h5 --$option
done
expect 2 'output: of import idx, import images, .*, import pairs, make, make vocab, not of info$' data info y.h5 -o z.h5
MINIPOD_IMAGE_SIZE=40 expect 2 'empty: cannot be read as a folder: No such file' data import idx empty -o y.h5
for output in - /dev/stdout; do
    expect 2 'output: HDF5 cannot go to standard output' data make glyphs:8x8x1:10+10 -o $output
done
[ ! -e - ] || { echo "a file called -"; failed=1; }
[ ! -e y.h5 ] && [ ! -e y.h5.minipod-part ] || { echo "a failed command left y.h5"; failed=1; }

expect 2 'say what to explain: model program' explain
expect 2 "'modle' cannot be explained; these can: model program" explain modle
expect 2 "there is no 'resnet21'; did you mean resnet20" explain model --model resnet21
for word in width=2 depth=0.5 dropout=0.2 survival=0.8; do
    expect 2 "^minipod train: ${word%=*}: of EfficientNets and vit-tiny, found --model resnet8" train --model resnet8 --"$word"
done
expect 0 'resnet8' explain model --model resnet8 --width 1
expect 2 'resnet50: images are 28x28, need at least 32x32' explain model --model resnet50 --data glyphs
expect 2 '256 is not divisible by the 3 cores' explain program --mesh 3
expect 2 'json: of explain samples, not of explain model$' explain model --json m.json
expect 2 'batch: 20 is more than the [0-9]* training samples' explain samples --model bert-tiny --data phrases:20:2+2 --seq-len 512 --batch 20
expect 2 'masked-lm needs text' explain samples --model bert-tiny --data glyphs
expect 2 'seq-len: ' explain samples --model bert-tiny --seq-len 4
expect 0 '^ *1 .* \[CLS\] .*\[MASK\]{[a-z]*} .*\[SEP\]$' explain samples --model bert-tiny --seq-len 32 --batch 4
expect 0 '^     *2  *[0-9]*  *[0-9]$' explain samples --model mlp --batch 4 --steps 2
expect 0 '^      "labels": \[[0-9]\]$' explain samples --model mlp --data glyphs:2x2x1 --batch 1 --json -
expect 2 'memory: 1M is too little for a batch of 1' explain memory --model mlp --memory 1M
expect 2 '2y2' explain schedule --mesh 2y2
expect 0 ' elements; all ranks verified$' explain schedule --mesh 16x16 --algo torus2d
expect 0 ' elements; not verified: [0-9]* steps in all, at most 2097152 are$' explain schedule --mesh 128x128 --algo torus2d
expect 2 'absent.h5' explain model --data absent.h5
expect 2 'absent.conf' explain machine --machine absent.conf

text=(--model bert-tiny --data phrases:20:4+2 --batch 4 --seq-len 16 --steps 1)
expect 0 '^  samples/s .* of the only step$' train "${text[@]}"
expect 0 '^  tokens/s .* of 16 a sequence$' train "${text[@]}"

MINIPOD_MAX_ISA=mmx expect 2 "MINIPOD_MAX_ISA: 'mmx' is none of" data info x
MINIPOD_PROGRESS=often expect 2 "MINIPOD_PROGRESS: 'often'" data info x

expect 0 'images *8x8x1' data make glyphs:8x8x1:20+10 -o made.h5 --seed 7
expect 0 'train *20' data info made.h5
MINIPOD_SPEED=3 expect 0 'warning: MINIPOD_SPEED in the environment means nothing to minipod; did you mean MINIPOD_SEED?' data info made.h5
MINIPOD_PURPOSE=3 expect 0 'warning: MINIPOD_PURPOSE in the environment means nothing to minipod$' data info made.h5

# ---- typed, and without effect: a warning; of a file and the environment none, for they have other uses, too
small=(train --model mlp --data made.h5 --batch 10 --steps 1 --quiet)
expect 0 '^minipod: warning: --keep 3 has no effect without --out$' "${small[@]}" --keep 3
for option in '--bucket 8M' '--overlap off'; do # shellcheck disable=SC2086
    expect 0 "^minipod: warning: $option has no effect on one rank$" "${small[@]}" $option
done
expect 0 '^minipod: warning: --trust 0.1 has no effect with --optimizer sgd$' "${small[@]}" --trust 0.1
expect 0 '^minipod: warning: --bn-momentum 0.5 has no effect with --model mlp$' "${small[@]}" --bn-momentum 0.5
expect 0 '^minipod: warning: --data-cache 2G has no effect with --data glyphs:8x8x1:20+4$' \
    train --model mlp --data glyphs:8x8x1:20+4 --batch 10 --steps 1 --quiet --data-cache 2G
expect 0 '^  epochs  *0.50  *each drops 6 of 20 samples, which fill no batch of 7$' \
    train --model mlp --data made.h5 --batch 7 --steps 1 --quiet
expect 2 '^minipod train: --batch-size: there is no such option; did you mean batch?' train --batch-size 32
expect 2 '^minipod train: --learning_rate: there is no such option; did you mean lr?' train --learning_rate=1
MINIPOD_NUM_WORKERS=3 expect 0 'MINIPOD_NUM_WORKERS in the environment means nothing to minipod; did you mean MINIPOD_INPUT_THREADS?' \
    "${small[@]}"
expect 0 'default the checkpoint.s; MINIPOD_PRECISION' eval --help-all
expect 0 '^minipod: warning: batch norm of .stage.* has 4 values of a channel to normalize over: 4 samples of 1x1, ' \
    train --model resnet8 --data made.h5 --image-size 4 --batch 4 --steps 1 --quiet
printf 'keep = 3\ntrust = 0.1\n' >uses.conf
MINIPOD_RHO=0.5 expect 0 '' "${small[@]}" --conf uses.conf
[ ! -s err ] || { echo "not typed: $(cat err)"; failed=1; }
exit $failed
