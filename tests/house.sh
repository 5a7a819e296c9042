#!/bin/bash
# The table of folders in doc/developing.md against the tree: every folder with files is a row, every row
# is a folder, and every #include from one folder of a layer into another is in the row's last column.
#   house.sh ROOT
# shellcheck disable=SC2016 # backticks of the page
set -u
cd "$1" || exit 2
layers="kernels collectives runtime models bench"

# All #includes of the tree as "FOLDER FOLDER FILE", and all folders as "FOLDER".
tree() {
    # shellcheck disable=SC2086 # one word a layer
    find $layers -type f ! -name CMakeLists.txt ! -path '*/__pycache__/*' | sed 's|/[^/]*$||' | sort -u
    # shellcheck disable=SC2086
    grep -rHo --include='*.[ch]' --include='*.inc' --include='*.def' '^ *# *include *"[^"]*"' $layers |
        sed -E 's|^(.*)/([^/:]*):.*"(.*)/[^/]*"$|\1 \3 \1/\2|' | sort -u
}

# check PAGE: prints each fault and returns how many there are
check() {
    awk '
        FILENAME == ARGV[1] && /^\| `(kernels|collectives|runtime|models|bench)[`\/]/ {
            n = split($0, cell, / *\| */)
            folder = cell[2]
            gsub(/`/, "", folder)
            layer = folder
            sub(/\/.*/, "", layer)
            row[folder] = 1
            allowed[folder] = " " cell[4] ","
            above[folder] = before[layer]
            before[layer] = before[layer] " " folder ","
            next
        }
        FILENAME == ARGV[1] { next }
        NF == 1 {
            is[$1] = 1
            if (!($1 in row)) { print "no row of the folder " $1; faults++ }
            next
        }
        {
            from = to = $1
            sub(/\/.*/, "", from)
            if ($1 == $2 || index($2 "/", from "/") != 1) next
            short = $2 == from ? $2 : substr($2, length(from) + 2)
            list = allowed[$1]
            if (index(list, " " short ",")) next
            if (list ~ /^ all above/ && index(above[$1], " " $2 ",") &&
                !index(list ",", " but " short ",")) next
            print $3 " includes " $2 ", which its row does not allow"
            faults++
        }
        END {
            for (folder in row) if (!(folder in is)) { print "a row of " folder ", which is no folder"; faults++ }
            exit faults > 0
        }' "$1" "$facts"
}

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
facts=$work/facts
tree >"$facts"
failed=0
check doc/developing.md || failed=1

# A page without a row, with a row too many, or without an arrow has to fail.
grep -v '^| `kernels/gemm`' doc/developing.md >"$work/short"
sed 's/^\(| `kernels\)\/gemm`/\1\/attic` | nothing | |\n&/' doc/developing.md >"$work/long"
sed 's/^\(| `kernels\/conv` .*\), gemm |$/\1 |/' doc/developing.md >"$work/narrow"
for page in short long narrow; do
    if check "$work/$page" >/dev/null; then
        echo "the $page page passes"
        failed=1
    fi
done
wc -l <"$facts" | sed 's/$/ folders and includes/'
exit $failed
