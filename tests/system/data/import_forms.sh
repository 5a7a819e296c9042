#!/usr/bin/env bash
# import_forms.sh MINIPOD MAKE_IMAGE: `data import list` and `data import cifar` on files made here: what is
# whole comes in with its labels, and each fault is named in one line, with exit 2 and no file.
# shellcheck source-path=SCRIPTDIR source=../common.sh
make_image=$(realpath "$2")
. "$(dirname "$0")/../common.sh"

# taken PATTERN WHAT...: exit 0, and a line that matches
taken() {
    local pattern=$1
    shift
    "$minipod" data import -o x.h5 --progress off "$@" >out 2>err || fail "$*: exit $?: $(cat err)"
    cat out err >both
    grep -q -e "$pattern" both || fail "$*: want '$pattern': $(cat both)"
    rm -f x.h5
}
# refused PATTERN WHAT...
refused() {
    is_refused "$1" "$minipod" data import -o x.h5 --progress off "${@:2}"
    [ ! -e x.h5 ] && [ ! -e x.h5.minipod-part ] || fail "${*:2}: left a file"
}

# ---- list ------------------------------------------------------------------------------------

mkdir -p set/pictures
for i in 1 2 3 4 5 6; do "$make_image" "set/pictures/$i.jpg" 30x40 rgb || fail 'no image'; done
"$make_image" 'set/pictures/a, b.png' 30x40 png || fail 'no image'
list=(list set/labels.csv --image-size 24)
rows() { printf '%s\n' "$@" >set/labels.csv; }
plain=(pictures/1.jpg,cat pictures/2.jpg,dog pictures/3.jpg,cat pictures/4.jpg,dog pictures/5.jpg,dog)

rows "${plain[@]}"
taken 'class *1: dog, 2 train, 1 test' "${list[@]}"
taken 'class *0: cat, 1 train, 1 test' "${list[@]}" --test-share 0.5 --split-by class
taken 'class *1: dog, 2 train, 1 test' list "$PWD/set/labels.csv" --image-size 24
# A header in any order, quotes, a mark of UTF-8 and the line ends of a spreadsheet.
printf '\xef\xbb\xbfid,Label,filename\r\n1,"the ""cat""",pictures/1.jpg\r\n2,dog,"pictures/a, b.png"\r\n' >set/labels.csv
taken 'class *1: the "cat", 1 train, 0 test' "${list[@]}" --test-share 0.5
rows file,label,split pictures/1.jpg,cat,train pictures/2.jpg,dog,train pictures/3.jpg,cat,test pictures/4.jpg,dog,val
taken "neither training nor test, left out: 'val' (1 images)" "${list[@]}"
taken 'class *1: dog, 1 train, 1 test' "${list[@]}" --test-folder val
refused 'test-share: set/labels.csv is split by its column' "${list[@]}" --test-share 0.5
refused "no row has the split 'tset'; there are 'test' (1 images), 'val' (1 images): --test-folder test" \
    "${list[@]}" --test-folder tset
rows pictures/{1,2,3,4,5}.jpg,10 pictures/6.jpg,9
taken 'classes are in the order of their numbers: 9 before 10' "${list[@]}"
refused 'test-folder: set/labels.csv has no column' "${list[@]}" --test-folder val
rows "${plain[@]}" pictures/1.jpg,dog
refused "'pictures/1.jpg' stands in two rows, need one" "${list[@]}"
rows "${plain[@]}" pictures/nowhere.jpg,dog
refused 'set/pictures/nowhere.jpg: cannot be read: No such file.*--on-bad-image skip' "${list[@]}"
taken '^5 of 6 images imported, 1 left out' "${list[@]}" --on-bad-image skip
# A name of two lines does not make two of a warning, and a warning is on one.
rows pictures/{1,2,3}.jpg,dog $'pictures/5.jpg,"a\ncat"' pictures/6.jpg,dog
taken "warning: class 'a cat' has no image to test" "${list[@]}"
rows "${plain[@]}" pictures/6.jpg
refused 'labels.csv: line 6 has 1 fields, need 2' "${list[@]}"
rows "${plain[@]}" pictures/6.jpg,
refused 'labels.csv: line 6: the label is empty' "${list[@]}"
rows "${plain[@]}" '"pictures/6.jpg,dog'
refused 'labels.csv: line [67]: a quote that does not end' "${list[@]}"
rows 'pictures/1.jpg;cat'
refused 'line 1 has 1 fields joined by commas, want file,label or' "${list[@]}"
: >set/labels.csv
refused 'line 1 has 0 fields' "${list[@]}"
# What a row has too many of, or a header twice or not, would be read as another column.
rows file,label "${plain[@]}" pictures/6.jpg,big,brown,dog
refused 'labels.csv: line 7 has 4 fields, the first row has 2: a name with a comma needs quotes' "${list[@]}"
rows file,label "${plain[@]}" pictures/6.jpg,dog,,
taken '^6 of 6 images imported' "${list[@]}"
rows file,label,Label pictures/1.jpg,cat,x pictures/2.jpg,dog,y
refused "labels.csv: line 1: two columns are called 'Label'" "${list[@]}"
rows name,label "${plain[@]}"
refused "labels.csv: line 1 has a column 'label' and none of the files: call it 'file'" "${list[@]}" --on-bad-image skip
printf 'file,label\npictures/1.jpg,cat\0x\npictures/2.jpg,dog\n' >set/labels.csv
refused 'labels.csv: byte 29 is 0, want text in UTF-8' "${list[@]}"
rows file,label
refused 'set/labels.csv: has no rows of images, want file,label' "${list[@]}"
rows file,label,split pictures/1.jpg,cat,train pictures/2.jpg,dog,train
refused "set/labels.csv: no row has the split 'test'; without a column of splits --test-share" "${list[@]}"
rows "${plain[@]}"
refused "output: 'set/labels.csv' is there and is not an HDF5 file: move it away, or take another name" "${list[@]}" -o set/labels.csv
refused "output: 'set/pictures/2.jpg' is there and is not an HDF5 file" "${list[@]}" -o set/pictures/2.jpg
[ -s set/labels.csv ] && [ -s set/pictures/2.jpg ] || fail 'an import destroyed what it reads'
refused 'import list needs --image-size' list set/labels.csv

# ---- CIFAR -----------------------------------------------------------------------------------

# images LABELS... >FILE: an image each, red 200, green 100, blue 50
plane() { head -c 1024 /dev/zero | tr '\0' "$1"; }
pixels=$(plane '\310' >red; plane d >green; plane 2 >blue; cat red green blue >pixels; echo pixels)
images() {
    local label
    # shellcheck disable=SC2059 # octal bytes
    for label; do printf "$label" && cat "$pixels"; done
}
mkdir -p cifar-10-batches-bin cifar-100-binary
for i in 1 2 3 4 5; do images "\\$i" '\11' >cifar-10-batches-bin/data_batch_$i.bin; done
images '\0' '\1' '\2' >cifar-10-batches-bin/test_batch.bin
printf '%s\n' airplane automobile bird cat deer dog frog horse ship truck '' >cifar-10-batches-bin/batches.meta.txt
images '\0\143' '\23\1' >cifar-100-binary/train.bin
images '\1\2' >cifar-100-binary/test.bin
for i in $(seq 0 99); do echo "fine$i"; done >cifar-100-binary/fine_label_names.txt
for i in $(seq 0 19); do echo "coarse$i"; done >cifar-100-binary/coarse_label_names.txt

taken 'class *9: truck, 5 train, 0 test' cifar cifar-10-batches-bin
taken 'channel *0: mean 0.78431,' cifar cifar-10-batches-bin
taken 'channel *2: mean 0.19608,' cifar cifar-10-batches-bin
taken 'warning: cifar-10-batches-bin: 6 of 6 files have not as many .*; data_batch_1.bin has 2 instead of 10000' cifar cifar-10-batches-bin
taken 'class *99: fine99, 1 train, 0 test' cifar cifar-100-binary
taken 'class *19: coarse19, 1 train, 0 test' cifar cifar-100-binary --labels coarse
refused 'labels: CIFAR-10 has one label' cifar cifar-10-batches-bin --labels coarse
tar -czf cifar-10-binary.tar.gz cifar-10-batches-bin
tar -cf plain.tar cifar-100-binary
taken 'class *9: truck, 5 train, 0 test' cifar cifar-10-binary.tar.gz
# A file that is there and is no data set is not replaced: here by one of those that are read.
cp -r cifar-10-batches-bin spared
"$minipod" data import cifar spared -o spared/data_batch_1.bin >out 2>err
[ $? -eq 2 ] && [ "$(cat err)" = "minipod data: output: 'spared/data_batch_1.bin' is there and is not an HDF5 file: move it away, or take another name" ] &&
    cmp spared/data_batch_1.bin cifar-10-batches-bin/data_batch_1.bin || fail "over its input: $(cat err)"
taken 'class *99: fine99, 1 train, 0 test' cifar plain.tar
"$minipod" data import cifar cifar-10-binary.tar.gz -o a.h5 --quiet >out 2>err && "$minipod" data import cifar cifar-10-batches-bin \
    -o b.h5 --quiet >out 2>err || fail "cifar: $(cat err)"
"$minipod" train --model mlp --data a.h5 --steps 1 --batch 4 --progress off >out 2>err || fail "train: $(cat err)"

head -c 300 cifar-10-binary.tar.gz >cut.tar.gz
refused 'cut.tar.gz: truncated' cifar cut.tar.gz
head -c 3000 plain.tar >cut.tar
refused 'cut.tar: truncated: the tar archive has no end' cifar cut.tar
refused 'set/labels.csv: no tar archive' cifar set/labels.csv
refused 'set: no file of CIFAR-10' cifar set
refused '\.: holds no file of CIFAR; import ./cifar-10-batches-bin' cifar .
refused 'nowhere: No such file' cifar nowhere
broken() { rm -rf broken && cp -r cifar-10-batches-bin broken; }
broken && rm broken/data_batch_3.bin
refused 'broken: no data_batch_3.bin, which CIFAR-10 has' cifar broken
broken && head -c 5000 broken/data_batch_1.bin >broken/x && mv broken/x broken/data_batch_1.bin
refused 'broken: data_batch_1.bin has 5000 bytes, which is no whole number of records of 3073' cifar broken
broken && images '\12' >broken/test_batch.bin
refused 'broken: test_batch.bin: label 0 is 10, need 0 to 9' cifar broken
broken && echo zebra >>broken/batches.meta.txt
refused 'broken: batches.meta.txt has 11 names, need 10' cifar broken
broken && rm broken/batches.meta.txt
taken 'warning: broken: no batches.meta.txt: classes are named by number' cifar broken
mkdir python && touch python/data_batch_1
refused 'python: holds the Python version of CIFAR-10, need the binary version' cifar python
exit "$failed"
