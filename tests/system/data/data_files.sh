#!/usr/bin/env bash
# data_files.sh MINIPOD SOURCE: files of data sets, by whomever they were written or are being written, and
# what is given as one and is something else.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# says PATTERN WORD...
says() { is_refused "$1" "$minipod" "${@:2}"; }

# ---- one writer at a time ----

make=(data make glyphs:32x32x3:2000+50 -o one.h5)
busy='one.h5: cannot write: another process is writing it$'
"$minipod" "${make[@]}" --quiet >first 2>&1 &
writer=$!
until [ -s one.h5.minipod-part ] || ! kill -0 $writer; do sleep 0.02; done
kill -STOP $writer # it cannot end before it is asked
says "$busy" "${make[@]}"
says "$busy" simulate --mesh 2x2x2 --model mlp --batch 64 --csv one.h5
kill -CONT $writer
wait $writer || fail "the first of two writers: $(cat first)"
[ ! -e one.h5.minipod-part ] && "$minipod" data info one.h5 >out 2>&1 || fail "two writers: $(ls) $(cat out)"
rm one.h5
"$minipod" "${make[@]}" --quiet >first 2>&1 &
writer=$!
until [ -s one.h5.minipod-part ] || ! kill -0 $writer; do sleep 0.02; done
kill -KILL $writer
wait $writer 2>/dev/null
"$minipod" data make glyphs:8x8x1:60+30 -o one.h5 >out 2>&1 && [ ! -e one.h5.minipod-part ] ||
    fail "after a writer was killed: $(cat out)"

# ---- what is no data set ----

be() { printf '%b' "$1" >"$2"; }
mkdir -p photos/cat cifar run/checkpoint
be '\0377\0330\0377\0340xxxx' photos/cat/1.jpg
head -c 30730 /dev/zero >cifar/data_batch_1.bin
be '\0\0\x08\x01\0\0\0\x01\x07' labels-idx1-ubyte && gzip labels-idx1-ubyte
be 'PK\x03\x04\x14\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0x.npy' x.npz
echo 'label,pixel0' >x.csv && tar -cf x.tar x.csv && gzip -k x.tar
says 'labels-idx1-ubyte.gz: this is IDX: minipod data import idx FOLDER -o F.h5 first' data info labels-idx1-ubyte.gz
says 'photos: this is a JPEG image: minipod data import images photos -o F.h5 --image-size N first' data info photos
says "cifar: this is CIFAR's binary form: minipod data import cifar cifar -o F.h5 first" data info cifar
says 'x.npz: this is an archive of numpy arrays' data info x.npz
says 'x.csv: this is a text file' data info x.csv
says 'x.tar.gz: this is a tar archive: unpack it' data info x.tar.gz
says 'run: is the folder of a run' data info run
says 'mnist: No such file or directory; .* made data: glyphs' data info mnist
says 'one.h6: No such file or directory; did you mean one.h5?' data info one.h6

# ---- what h5py writes ----

python=/usr/bin/python3
$python -c 'import h5py' 2>/dev/null || { echo 'skipped: python3-h5py is not here'; exit $failed; }

# The script of the page, as it stands there, and what comes of it.
awk '/^    import h5py/{on=1} on{if(/^[^ ]/)exit; sub(/^    /, ""); print}' "$2/doc/datasets.md" >own.py
$python own.py && "$minipod" data info mine.h5 >out 2>&1 && grep -q 'class     1: dog, ' out &&
    "$minipod" train --model mlp --data mine.h5 --batch 16 --epochs 1 --progress off >out 2>&1 ||
    fail "the script of doc/datasets.md: $(tail -3 out)"

cat >make.py <<'END'
import h5py, numpy as np

def make(name, shape, image=lambda x: x, label=lambda y: y, **how):
    with h5py.File(name, "w") as f:
        for split, n in ("train", 20), ("test", 8):
            x = np.zeros((n, *shape), "u1")
            x[::2] = 255
            f.create_dataset(split + "/images", data=image(x), **how)
            f[split + "/labels"] = label(np.arange(n) % 2)

make("bare.h5", (8, 8, 3))
make("lzf.h5", (8, 8, 3), compression="lzf")
make("nchw.h5", (3, 8, 8))
make("unit.h5", (8, 8, 3), lambda x: (x / 255).astype("f4"))
make("hot.h5", (8, 8, 3), label=lambda y: np.eye(2)[y])
make("names.h5", (8, 8, 3), label=lambda y: np.array([b"cat", b"dog"])[y])
make("twice.h5", (8, 8, 3))
with h5py.File("twice.h5", "a") as f:
    f.attrs["class_names"] = ["cat", "cat"]
make("far.h5", (8, 8, 3), label=lambda y: y + 2**40)
make("big.h5", (8, 8, 3), label=lambda y: y.astype(">i8"))
make("many.h5", (8, 8, 3), label=lambda y: 20000 * y)
bytes_ = bytearray(open("one.h5", "rb").read())
bytes_[8] = 9
open("later.h5", "wb").write(bytes_)
END
$python make.py || fail 'cannot prepare h5py files'
"$minipod" data info bare.h5 >out 2>&1 && grep -q 'name      bare' out && grep -q 'channel   2: mean 0.50000, std 0.50000' out &&
    grep -q 'class     1: 1, 10 train, 4 test' out || fail "four arrays and no attribute: $(cat out)"
"$minipod" data info big.h5 >out 2>&1 || fail "labels of another byte order: $(cat out)"
# 20,001 names are more than an attribute holds: a checkpoint has them all the same.
"$minipod" train --model mlp --data many.h5 --batch 20 --steps 1 --progress off --out many >out 2>&1 &&
    "$minipod" eval --resume many --predictions many.csv >out 2>&1 &&
    [ "$(sed 1d many.csv | cut -d, -f2,4 | sort -u | xargs)" = '0,0 20000,20000' ] &&
    $python -c 'import glob, h5py; f = h5py.File(glob.glob("many/checkpoint/step-*/index.h5")[0]); assert len(f["class_names"]) == 20001' ||
    fail "a checkpoint of 20,001 classes: $(tail -3 out)"
says "'/train/images' is packed by the filter lzf (32000)" data info lzf.h5
says "'/train/images' is 20x3x8x8, which looks like N,C,H,W" data info nchw.h5
says "has type f32, need u8; its first values run from 0 to 1: (255 \* x)" data info unit.h5
says "'/train/labels' has 2 dimensions (20x2) of type f64, need 1 of integers: y.argmax(1)" data info hot.h5
says "'/train/labels' has 1 dimensions (20) of type string, need 1 of integers: np.unique" data info names.h5
says "twice.h5: classes 0 and 1 are both called 'cat'" data info twice.h5
says "the label of row 0 is 2147483647 or more, need 0 to" data info far.h5
says 'later.h5: of a later version of HDF5' data info later.h5

# Open for writing elsewhere: until standard input ends.
"$minipod" train --model mlp --data one.h5 --batch 20 --steps 1 --progress off --out taken >out 2>&1 || fail "$(cat out)"
hold='import h5py, sys; f = [h5py.File(x, "a") for x in sys.argv[1:]]; print(flush=True); sys.stdin.read()'
coproc $python -c "$hold" one.h5 taken/checkpoint/step-*/index.h5
read -r -u "${COPROC[0]}"
says 'one.h5: another process has it open for writing (HDF5_USE_FILE_LOCKING' data info one.h5
says 'index.h5: another process has it open for writing' eval --resume taken --data bare.h5
eval "exec ${COPROC[1]}>&-"
wait "$COPROC_PID"
"$minipod" data info one.h5 >out 2>&1 || fail "after h5py: $(cat out)"

exit $failed
