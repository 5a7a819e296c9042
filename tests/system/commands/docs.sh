#!/bin/bash
# README, the pages in doc/ and that of bench/results against the tree and the program: links lead somewhere, files that are
# named are there, the options in a command line are options of that command, what `explain` is shown to
# print it prints.
#   docs.sh MINIPOD
# shellcheck source=tests/system/common.sh
root=$(realpath "$(dirname "$0")/../../..")
source "$root/tests/system/common.sh"
pages=("$root"/README.md "$root"/doc/*.md "$root"/bench/results/README.md)

# The headings of page $1 as GitHub names their anchors.
anchors() {
    awk '/^    /{next} /^#+ /{sub(/^#+ /, ""); print tolower($0)}' "$1" |
        sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

n_links=0
for page in "${pages[@]}"; do
    while read -r link; do
        n_links=$((n_links + 1))
        file=${link%%#*}
        target=$page
        [ -n "$file" ] && target=$(dirname "$page")/$file
        if [ ! -e "$target" ]; then
            fail "${page#"$root"/}: ]($link) leads nowhere"
        elif [[ $link == *'#'* ]] && ! anchors "$target" | grep -qx -e "${link#*#}"; then
            fail "${page#"$root"/}: ]($link): no such heading"
        fi
    done < <(grep -o '](\([^)]*\))' "$page" | sed -e 's/^](//' -e 's/)$//' | grep -v '^https\?:')
done

# What stands alone between backticks and begins with a folder of the tree, braces and stars as in a shell.
n_files=0
for page in "${pages[@]}"; do
    while read -r path; do
        n_files=$((n_files + 1))
        for one in $(cd "$root" && eval "echo $path"); do
            [ -e "$root/$one" ] || fail "${page#"$root"/} names $path, and there is no $one"
        done
    done < <(grep -v '^    ' "$page" | grep -o '`[^` ]*`' | tr -d '`' |
        grep -E '^(kernels|collectives|runtime|models|bench|tests|doc)/[A-Za-z0-9_./{},*-]*$' | sort -u)
done

commands=$("$minipod" --help | awk '/^  [a-z]/{print $1}')
declare -A help
n_options=0
for page in "${pages[@]}"; do
    while read -r command options; do
        grep -qx -e "$command" <<<"$commands" || {
            fail "${page#"$root"/}: minipod has no command $command"
            continue
        }
        [ -n "${help[$command]:-}" ] || help[$command]=$("$minipod" "$command" --help-all)
        for option in $options; do
            n_options=$((n_options + 1))
            grep -q -e "^ .*${option}[ ,]" <<<"${help[$command]} " ||
                fail "${page#"$root"/}: minipod $command has no option $option"
        done
    done < <(sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$page" | grep -E '^    ' | sed -e 's/ #.*//' |
        grep -oE '(^| )minipod [a-z].*' | sed -e 's/ -- /\nminipod /g' |
        awk '{line = $2; for (i = 3; i <= NF; i++) if ($i ~ /^--?[a-zA-Z]/) line = line " " $i; print line}')
done

# After "    $ minipod explain ..." everything that is indented, or an empty line within it, is its output.
n_shown=0
for page in "${pages[@]}"; do
    while read -r line; do
        n_shown=$((n_shown + 1))
        sed -n "$line"'s/^    \$ minipod/"$minipod"/p' "$page" >command
        awk -v from="$line" 'NR > from {
            if (/^    /) { for (; empty; empty--) print ""; print substr($0, 5) }
            else if ($0 == "") empty++
            else exit }' "$page" >shown
        (source ./command) >printed 2>&1
        diff shown printed >differs || fail "${page#"$root"/}:$line: is not what is printed: $(cat differs)"
    done < <(grep -n '^    \$ minipod explain' "$page" | cut -d: -f1)
done

# A page that is read as nothing would pass all of the above.
found="$n_links links, $n_files files, $n_options options, $n_shown outputs"
if [ "$n_links" -lt 20 ] || [ "$n_files" -lt 30 ] || [ "$n_options" -lt 100 ] || [ "$n_shown" -lt 2 ]; then
    fail "found too few: $found"
fi
echo "$found"
exit "$failed"
