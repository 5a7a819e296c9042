#!/usr/bin/env bash
# weights.sh MINIPOD SOURCE: bench/peers/weights.py writes a checkpoint's weights under PyTorch's names and
# makes a checkpoint of them, whose logits are those of the first and which training resumes from.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
python=/usr/bin/python3
weights=("$python" "$2/bench/peers/weights.py")
$python -c 'import h5py' 2>/dev/null || { echo 'skipped: python3-h5py is not here'; exit 0; }

run=(--data glyphs:16x16x3:40+20 --batch 20 --progress off --quiet --optimizer adamw --lr 1e-3)
for model in resnet8 efficientnet-b0-32; do
    "$minipod" train --model $model "${run[@]}" --steps 2 --ema 0.9 --out $model >out 2>&1 &&
        "$minipod" train --model $model "${run[@]}" --steps 1 --seed 2 --out like-$model >out 2>&1 &&
        "${weights[@]}" export $model -o $model.safetensors >out 2>&1 &&
        "${weights[@]}" import $model.safetensors --like like-$model -o from-$model >out 2>&1 ||
        fail "$model: $(cat out)"
    "$minipod" eval --resume $model --ema 0 --predictions a.csv >out 2>&1 &&
        "$minipod" eval --resume from-$model --seed 1 --predictions b.csv >out 2>&1 || fail "$model: eval: $(cat out)"
    cmp a.csv b.csv || fail "$model: other logits after a round trip"
done
"$minipod" train --model resnet8 "${run[@]}" --seed 2 --steps 2 --resume from-resnet8 >out 2>&1 ||
    fail "train --resume: $(cat out)"
"${weights[@]}" export resnet8 --ema -o ema.safetensors >out 2>&1 && ! cmp -s ema.safetensors resnet8.safetensors ||
    fail "moving averages: $(cat out)"

$python - <<'END' || fail 'names or layout of resnet8.safetensors'
import json, struct
file = open("resnet8.safetensors", "rb").read()
n = struct.unpack("<Q", file[:8])[0]
header = json.loads(file[8:8 + n])
conv = header["stages.stage2.unit1.shortcut.conv.weight"]
assert conv["shape"] == [32, 16, 1, 1] and conv["dtype"] == "F32", conv
assert header["stem.conv.norm.running_var"]["shape"] == [16] and header["logits.weight"]["shape"] == [10, 64]
assert n % 8 == 0 and max(x["data_offsets"][1] for k, x in header.items() if k[0] != "_") == len(file) - 8 - n
END

# refused PATTERN WORD...: exit 2 and one line
refused() {
    local pattern=$1 code
    shift
    "${weights[@]}" "$@" >out 2>&1
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <out)" -eq 1 ] && grep -q -e "$pattern" out && [ ! -e other ] ||
        fail "$*: exit $code, want 2 and '$pattern': $(cat out)"
}
head -c 1000 resnet8.safetensors >cut.safetensors
refused 'not the network of efficientnet-b0-32: lacks .*; has stages.stage1.unit1.conv1.conv.weight' \
    import resnet8.safetensors --like efficientnet-b0-32 -o other
refused 'cut.safetensors: no .safetensors file' import cut.safetensors --like resnet8 -o other
refused 'from-resnet8: is there already' import resnet8.safetensors --like resnet8 -o from-resnet8
refused 'No such file' export absent -o other
refused 'resnet8.safetensors: no HDF5 file' export resnet8.safetensors -o other
"$minipod" data make glyphs:8x8x1:20+10 -o set.h5 >out 2>&1 || fail "data make: $(cat out)"
refused 'set.h5: no index of a checkpoint' export set.h5 -o other
"${weights[@]}" export resnet8/checkpoint/latest -o latest.safetensors >out 2>&1 && cmp latest.safetensors resnet8.safetensors ||
    fail "by the pointer: $(cat out)"
rm resnet8/checkpoint/step-*/shard-0000.h5
refused "is not finite; are all shards beside index.h5" export resnet8 -o other
exit "$failed"
