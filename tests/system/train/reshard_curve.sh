#!/usr/bin/env bash
# reshard_curve.sh MINIPOD: a run that goes on on another mesh learns as if it had stayed. Half of a run on
# 4 ranks, gone on with on 1, 2 and 4: the loss of each of the next 20 steps equals that of the run
# that was not disturbed within rounding, and the accuracy at the end differs by no more than seeds do.
# By hand: POD_CURVE_SEEDS='1 2 3 4 5' POD_CURVE_MODELS='mlp resnet8' reshard_curve.sh MINIPOD
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"
seeds=${POD_CURVE_SEEDS:-1 2 3 4 5}
steps=160
half=$((steps / 2))

# What all ranks hold alike: batch norm over all cores, so that a mesh changes nothing but rounding.
settings() {
    echo "train --model $1 --data glyphs:12x12x1:1200+1000 --batch 24 --precision f32 --steps $steps --eval-every 0
        --optimizer adamw --lr 0.004 --lr-schedule cosine --bn-group $2 --shard-update --progress off --quiet"
}

# trains NAME MODEL RANKS SEED WORD...
trains() {
    local name=$1 model=$2 ranks=$3 seed=$4
    shift 4
    # shellcheck disable=SC2046
    on_ranks "$ranks" $(settings "$model" "$ranks") --seed "$seed" --out "$name" "$@" >out 2>&1 ||
        fail "$name: $(tail -3 out)"
}
accuracy() { grep -o '"eval_accuracy": [^,]*' "$1/run.json" | grep -o '[0-9.e-]*$'; }

# losses DIR FIRST LAST: "step loss" a line
losses() { grep '^[0-9]' "$1/steps.csv" | awk -F, -v a="$2" -v b="$3" '$1 >= a && $1 <= b { print $1, $(NF - 1) }'; }

# The largest relative difference of loss over the 20 steps behind the resume.
apart() {
    paste <(losses "$1" $((half + 1)) $((half + 20))) <(losses "$2" $((half + 1)) $((half + 20))) |
        awk '{ d = ($2 - $4) / $2; if (d < 0) d = -d; if (d > most) most = d; n += $1 == $3 }
            END { print (n == 20 ? most + 0 : "rows:" n) }'
}

for model in ${POD_CURVE_MODELS:-mlp resnet8}; do
    all=
    for seed in $seeds; do
        trains "$model-$seed" "$model" 4 "$seed"
        all="$all $(accuracy "$model-$seed")"
    done
    # What seeds do: two standard deviations of a difference of two runs, at least a sample or two.
    bound=$(tr ' ' '\n' <<<"$all" | awk 'NF { n++; s += $1; q += $1 * $1 }
        END {
            v = n > 1 ? (q - s * s / n) / (n - 1) : 0
            b = 2 * sqrt(2 * (v > 0 ? v : 0))
            print (b > 0.002 ? b : 0.002)
        }')
    first=${seeds%% *}
    rm -rf part # the schedule is the whole run's: what is behind the half is removed
    trains part "$model" 4 "$first" --checkpoint-every $half --keep-every $half
    rm -r part/checkpoint/step-*$steps part/checkpoint/latest
    for ranks in 1 2 4; do
        trains on "$model" $ranks "$first" --resume part
        got=$(apart "$model-$first" on)
        awk -v d="$got" 'BEGIN { exit !(d != "" && d + 0 == d && d <= 1e-3) }' ||
            fail "$model on $ranks ranks: losses of the next 20 steps are $got apart"
        awk -v a="$(accuracy "$model-$first")" -v b="$(accuracy on)" -v bound="$bound" \
            'BEGIN { d = a - b; if (d < 0) d = -d; exit !(b != "" && d <= bound) }' ||
            fail "$model on $ranks ranks: accuracy $(accuracy on), within $bound of $(accuracy "$model-$first")"
        echo "$model, gone on on $ranks ranks: losses within $got, accuracy $(accuracy on); undisturbed" \
            "$(accuracy "$model-$first"), seeds:$all"
        rm -rf on
    done
done
exit $failed
