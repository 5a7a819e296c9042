#!/usr/bin/env bash
# import_images.sh MINIPOD MAKE_IMAGE: folders of JPEG and PNG files with all that is odd in them: each bad file is
# named in one line, refused or skipped as asked, and never crashes the import.
# shellcheck source-path=SCRIPTDIR source=../common.sh
make_image=$(realpath "$2")
. "$(dirname "$0")/../common.sh"

# image FILE HxW KIND
image() { "$make_image" "$@" || fail "cannot make $1"; }
# refused PATTERN FOLDER [OPTION...]: one line on standard error, exit 2, no file
refused() {
    is_refused "$1" "$minipod" data import images "${@:2}" -o x.h5 --image-size 24 --progress off
    [ ! -e x.h5 ] && [ ! -e x.h5.minipod-part ] || fail "${*:2}: left a file"
}
# taken N PATTERN FOLDER [OPTION...]: N images, exit 0, and a line that matches
taken() {
    local n=$1 pattern=$2 code
    shift 2
    "$minipod" data import images "$@" -o x.h5 --image-size 24 --progress off >out 2>err
    code=$?
    [ "$code" -eq 0 ] || fail "$*: exit $code: $(cat err)"
    cat out err >both
    grep -q -e "^$n of [0-9]* images imported" both || fail "$*: want $n images: $(cat both)"
    grep -q -e "$pattern" both || fail "$*: want '$pattern': $(cat both)"
    rm -f x.h5
}

mkdir -p good/cat good/dog
for i in 1 2 3 4 5; do
    image good/cat/$((2 * i)).jpg $((20 + 4 * i))x48 rgb
    image good/dog/$((2 * i + 1)).JPG 32x$((20 + 9 * i)) rgb
done
echo licence >good/LICENSE
taken 10 '10 resized to 24x24' good
taken 10 'test  *2$' good/
taken 10 'class  *1: dog, 3 train, 2 test' good --test-share 0.4 --split-by class
taken 10 'images  *24x24x1 ' good --channels 1 --input-threads 3

# The same images are the same file, whenever and by however many threads.
for threads in 1 3; do
    rm -f same.h5
    "$minipod" data import images good -o same.h5 --image-size 64 --input-threads $threads --quiet >out 2>err ||
        fail "$threads threads: $(cat err)"
    [ -e first.h5 ] || { cp same.h5 first.h5 && sleep 1.1; }
done
cmp first.h5 same.h5 || fail "another time, another file"

# One bad thing is refused, or skipped as asked: which ones there are the unit test has.
half() { head -c $(($(stat -c %s "$1") / 2)) "$1"; }
cp -r good bad && half good/cat/2.jpg >bad/cat/5x.jpg
refused 'bad/cat/5x.jpg: Premature end of JPEG file' bad --on-bad-image refuse --input-threads 2
taken 10 'warning: bad/cat/5x.jpg: Premature end of JPEG file.*; left out' bad --on-bad-image skip
image bad/cat/5x.jpg 32x32 grey && image bad/dog/6x.png 30x40 png-16
taken 12 '1 grey, made colour; first cat/5x.jpg' bad --convert-colour

refused 'nowhere: cannot be read as a folder: No such file' nowhere
mkdir -p split/train split/validation
cp -r good/cat good/dog split/train
cp -r good/cat split/validation
refused "split: has a folder 'train' but none 'test' for the test; there are 'validation' (5 images): --test-folder takes one" split
taken 15 'class  *0: cat, 5 train, 5 test' split --test-folder validation
refused "test-folder: good has no folder 'train'" good --test-folder nowhere
refused "test-share: split is split by its folders 'train' and 'validation'" split --test-folder validation --test-share 0.4
refused "split-by: split is split" split --test-folder validation --split-by class
MINIPOD_TEST_FOLDER=nowhere taken 10 'test  *2$' good
MINIPOD_TEST_SHARE=0.4 taken 15 'test  *5$' split --test-folder validation
refused "split: 'train' is the folder 'train'" split --test-folder train
# What was imported is trained on and evaluated, smaller than it is stored; the weights do not depend on
# who makes the batches, nor on what is kept in memory.
"$minipod" data import images good -o good.h5 --image-size 24 --quiet >/dev/null || fail 'no good.h5'
run=(--model mlp --data good.h5 --image-size 16x12 --batch 4 --progress off)
weights() {
    "$minipod" train "${run[@]}" --augment rrc+flip --steps 5 --out run "$@" >out 2>err ||
        fail "train $*: $(cat err)"
    awk '$1 == "weights" { print $2 }' out
}
want=$(weights)
[ -n "$want" ] || fail "no weights in $(cat out)"
for other in '--input-threads 0' '--input-threads 3' '--prefetch 0' '--data-cache 0 --input-threads 2'; do
    # shellcheck disable=SC2086 # words
    got=$(weights $other)
    [ "$got" = "$want" ] || fail "weights $got with $other, $want without"
done
[ "$(weights --augment crop)" != "$want" ] || fail 'crop and rrc+flip are the same'
[ "$(weights --crop-area 0.9)" != "$want" ] || fail 'crop-area does nothing'
"$minipod" eval "${run[@]}" --resume run >out 2>err || fail "eval: $(cat err)"
# The predictions lead to the files, and name the classes.
"$minipod" eval "${run[@]}" --resume run --predictions p.csv >out 2>err || fail "predictions: $(cat err)"
head -1 p.csv | grep -q '^index,label,answer,label_name,answer_name,file,logit0,logit1$' || fail "p.csv: $(head -1 p.csv)"
sed 1d p.csv | cut -d, -f1,2,4,6 >rows
printf '%s\n' 0,0,cat,cat/10.jpg 1,1,dog,dog/11.JPG | cmp -s - rows || fail "p.csv: $(cat p.csv)"
"$minipod" explain model --model mlp --data good.h5 --image-size 16x12 >out 2>err
grep -q 'images 16x12x3, 2 classes (good)' out || fail "explain: $(cat out err)"
"$minipod" explain model --model resnet50 --image-size 64 >out 2>err
grep -q 'images 64x64x3, 1000 classes' out || fail "explain: $(cat out err)"
# Drawing large images takes longer than training on a corner of them, and the table says so.
"$minipod" train --model mlp --data glyphs:96x96x3:64+16 --image-size 4 --batch 32 --steps 6 \
    --progress off >out 2>err || fail "train: $(cat err)"
# A rank that may run on one core only is also told how to get more.
grep -Eq '^ *input .*the largest share: (each rank may run on [0-9]+ cores?: mpirun --bind-to none, then )?try more --input-threads' out || fail "input: $(grep input out)"
# ---- eval on folders: by class, and without labels ----

"$minipod" data import images good -o seen.h5 --image-size 24 --quiet >out 2>&1 &&
    "$minipod" train --model mlp --data seen.h5 --batch 4 --steps 2 --out run --progress off --quiet >out 2>&1 ||
    fail "a run to evaluate: $(cat out)"
mkdir flat one && cp good/cat/2.jpg good/dog/3.JPG good/cat/10.jpg flat && cp -r good/dog one
cp good/cat/2.jpg 'flat/12#.Jpg' && mkdir flat/13.jpg && touch flat/notes.txt || fail 'no folder'
"$minipod" eval --resume run --data good --predictions own.csv >out 2>err && grep -q '^  mlp  *good  *1  *2  *10 ' out ||
    fail "eval on a folder: $(cat out err)"
"$minipod" eval --resume run --data one --predictions one.csv >out 2>err &&
    [ "$(cut -d, -f2,4 one.csv | sort | uniq -c | xargs)" = '5 1,dog 1 label,label_name' ] ||
    fail "eval on a folder of one class: $(cat out err one.csv)"
"$minipod" eval --resume run --data flat --predictions flat.csv >out 2>err && grep -q '^  mlp .*  -  *-  ' out &&
    [ "$(cut -d, -f1,2,4,6 flat.csv | xargs)" = 'index,label,label_name,file 0,,,2.jpg 1,,,3.JPG 2,,,10.jpg 3,,,12#.Jpg' ] &&
    grep -q '^3,.*,"12#.Jpg",' flat.csv ||
    fail "eval on a folder without labels: $(cat out err flat.csv)"
for image in cat/2.jpg dog/3.JPG; do # the same answers, wherever it stands
    [ "$(grep "$image" own.csv | cut -d, -f3,7-)" = "$(grep ",${image#*/}," flat.csv | cut -d, -f3,7-)" ] ||
        fail "$image: $(grep "${image#*/}" own.csv flat.csv)"
done
# eval_refused PATTERN FOLDER: one line, exit 2
eval_refused() {
    "$minipod" eval --resume run --data "$2" >out 2>err
    [ $? -eq 2 ] && [ "$(grep -vc warning err)" -eq 1 ] && grep -q -e "$1" err || fail "eval on $2: $(cat out err)"
}
eval_refused 'flat: its images stand in no folders of classes' flat
printf 'RIFF1234WEBPVP8 ' >flat/14.webp
eval_refused '1 of 5 images cannot be used; first flat/14.webp: a WebP image: convert it' flat
half good/dog/3.JPG >one/dog/5x.jpg
eval_refused '1 of 6 images cannot be used; first one/dog/5x.jpg: ' one

exit "$failed"
