#!/usr/bin/env bash
# import_text.sh MINIPOD: `data make vocab`, `data import text` and `data import pairs` on files made here, and on
# what is wrong with such files: one line, exit 2, nothing left behind.
# shellcheck source-path=SCRIPTDIR source=../common.sh
. "$(dirname "$0")/../common.sh"

# taken PATTERN WORK...: exit 0, and a line that matches
taken() {
    "$minipod" data "${@:2}" --progress off >out 2>err || fail "${*:2}: exit $?: $(cat err)"
    cat out err >both
    grep -q -e "$1" both || fail "${*:2}: want '$1': $(cat both)"
}
# refused PATTERN FILE WORK...: and FILE does not come to be
refused() {
    is_refused "$1" "$minipod" data "${@:3}" -o "$2" --progress off
    [ ! -e "$2" ] && [ ! -e "$2.minipod-part" ] || fail "${*:3}: left a file"
}
is_quiet() { [ ! -s err ] || fail "want no warning: $(cat err)"; }

mkdir books
printf 'The low house. It was lower than the new house!\n\nA lower house was low.\n' >books/a.txt
printf 'Low was the house.\nThe new one was lower.\n\n\nIt was low. It was new.\nThe end.\n' >books/b.md
printf 'about the books\n' >books/README.md
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n' >special

# ---- a vocabulary ----------------------------------------------------------------------------

taken '^v.txt: 46 tokens, from 13 different words in 2 files' make vocab books -o v.txt --size 46
[ "$(head -n 5 v.txt)" = "$(cat special)" ] && [ "$(wc -l <v.txt)" -eq 46 ] && [ "$(sort v.txt | uniq -d | wc -l)" -eq 0 ] ||
    fail "vocabulary: $(cat v.txt)"
taken 'ignored: no texts by their names; first books/README.md' make vocab books -o v.txt --size 46
cp v.txt first.txt
taken '46 tokens' make vocab books/b.md books/a.txt -o v.txt --size 46
cmp v.txt first.txt || fail 'the order of files changes the vocabulary'
taken 'warning: all.txt: [0-9]* tokens instead of 1024: no other pair occurs 2 times' make vocab books -o all.txt --size 1K
refused 'make vocab needs --size N, the number of tokens' x.txt make vocab books
refused 'size: a vocabulary of 20 tokens has no room for 5 special tokens and 15 characters, want 31 or more' x.txt make vocab books --size 20
refused 'vocab: of import text, import pairs, not of make vocab' x.txt make vocab books --size 60 --vocab v.txt
refused 'want make vocab FILES -o V.txt, found no files' x.txt make vocab --size 60
is_refused "output: 'books/a.txt' is there and is not a vocabulary" "$minipod" data make vocab books -o books/a.txt --size 60
is_refused "output: 'v.txt' is there and is not an HDF5 file" "$minipod" data import text books -o v.txt --vocab v.txt
: >empty.txt
refused 'empty.txt: empty: no line has a word' x.txt make vocab empty.txt --size 60

# ---- text ------------------------------------------------------------------------------------

text=(import text books -o t.h5 --vocab v.txt)
taken '^train  *3 documents, 4 sentences, 1.3 a document' "${text[@]}" --test-share 0.25
taken '^train  *1 documents, 3 sentences, 3.0 a document' "${text[@]}" --test-files b.md --documents file --sentences split --json t.json
grep -q '"n_train": 3' t.json && grep -q '"n_documents": 1' t.json || fail "json: $(cat t.json)"
taken '^test  *1 documents, 5 sentences' info t.h5
taken 'length: shortest 4, 1 % 4, 25 %' info t.h5
taken '0.00 % .UNK.' info t.h5
taken '^words  *uncased, vocabulary of 46 tokens' info t.h5
taken '^words  *cased' "${text[@]}" --cased
taken 'warning: v.txt: has no tokens with capital letters, so that words with them become .UNK.' "${text[@]}" --cased
# L4: what makes next sentences impossible is told.
taken 'warning: .* documents have .* sentences, fewer than two each: no next sentence' import text books/a.txt -o t.h5 --vocab v.txt
taken 'warning: all text is one document: a random next sentence needs two; give more files' import text books/b.md -o t.h5 --vocab v.txt --documents file
taken 'warning: the test split is empty: --test-share 0.2 of 1 documents; --test-files' import text books/b.md -o t.h5 --vocab v.txt --documents file
# Empty documents are none; a file without a word is refused.
printf '\n\n \t\n\302\240\nlow\nnew\n\n\342\200\213\n\nlow\nnew\n' >blank.txt
taken '^train  *2 documents, 4 sentences' import text blank.txt -o t.h5 --vocab v.txt
refused 'empty.txt: empty: no line has a word; leave it out' x.h5 import text books/a.txt empty.txt --vocab v.txt
printf ' \n\302\255\n\n' >hollow.txt
refused 'hollow.txt: empty: no line has a word' x.h5 import text hollow.txt --vocab v.txt
# Invalid UTF-8: one warning, that counts it and names the first.
printf 'low\nnew \377low\n' >i1.txt && printf '\303\nlow \355\240\200\n' >i2.txt
taken 'warning: i1.txt: line 2, byte 5: invalid UTF-8; 5 bytes of it dropped in all files$' import text i1.txt i2.txt -o t.h5 --vocab v.txt
[ "$(grep -c 'invalid UTF-8' err)" -eq 1 ] || fail "one warning: $(cat err)"
taken 'invalid UTF-8; 5 bytes' make vocab i1.txt i2.txt -o w.txt --size 60
# Lines of megabytes.
head -c 10485760 /dev/zero | tr '\0' x >long.txt
refused 'long.txt: line 1 has more than 8 MiB, want a sentence or a paragraph per line$' x.h5 import text long.txt --vocab v.txt
refused 'long.txt: line 1 has more than 8 MiB' x.txt make vocab long.txt --size 60
{ head -c 2000000 /dev/zero | tr '\0' x; echo; head -c 2000000 /dev/zero | sed 's/\x0/o /g'; } >wide.txt
taken '^train  *2 documents, 2 sentences\|^train  *1 documents, 2 sentences' import text wide.txt -o t.h5 --vocab v.txt
# Other files.
printf '\037\213\010\0\0\0\0\0' >books.gz
refused 'books.gz: this is packed by gzip, want text in UTF-8' x.h5 import text books.gz --vocab v.txt
refused 't.h5: this is HDF5, want text' x.h5 import text t.h5 --vocab v.txt
printf '\377\376a\0b\0' >wide16.txt
refused 'wide16.txt: this is UTF-16: iconv -f UTF-16 -t UTF-8 converts it' x.h5 import text wide16.txt --vocab v.txt
printf 'a\0b\0 \0a\0\n\0' >unmarked.txt
refused 'unmarked.txt: has many bytes that are 0, want text in UTF-8; if this is UTF-16, iconv' x.h5 import text unmarked.txt --vocab v.txt
refused 'nowhere.txt: No such file' x.h5 import text nowhere.txt --vocab v.txt
mkdir none
refused 'none: holds no file that ends in .txt, .text or .md' x.h5 import text none --vocab v.txt
refused 'books/a.txt: stands twice among the files' x.h5 import text books books/a.txt --vocab v.txt
refused "test-files: 'c.txt' is none of the 2 files, and no other file" x.h5 import text books --vocab v.txt --test-files c.txt
refused 'test-files: names all 1 files, want some to train on' x.h5 import text books/a.txt --vocab v.txt --test-files a.txt
refused 'test-share: test-files names the test split' x.h5 import text books --vocab v.txt --test-files a.txt --test-share 0.5
refused 'import text needs --vocab V.txt; minipod data make vocab makes one' x.h5 import text books
refused 'columns: of import pairs, not of import text' x.h5 import text books --vocab v.txt --columns 1,2

# ---- vocabularies that are none --------------------------------------------------------------

vocab_case() { refused "$1" x.h5 import text books --vocab bad.txt; }
grep -v MASK v.txt >bad.txt && vocab_case 'bad.txt: lines 1 to 45 have no \[MASK\]; want \[PAD\]'
{ cat v.txt; echo '##e'; } >bad.txt && vocab_case "bad.txt: line 47: '##e' is in line .* too, want it once"
{ cat special; echo; echo a; } >bad.txt && vocab_case 'bad.txt: line 6 is empty, want a token'
: >bad.txt && vocab_case 'bad.txt: has 0 tokens, want 1 to'
{ cat special; printf 'a\377\n'; } >bad.txt && vocab_case 'bad.txt: line 6, byte 2: invalid UTF-8, byte ff'
rm bad.txt && vocab_case 'bad.txt: cannot read: No such file'
{ cat special; printf 'Low\nlow\n'; } >upper.txt
taken 'warning: upper.txt: has tokens with capital letters, which lower-case words never match; --cased' import text books -o t.h5 --vocab upper.txt

# ---- pairs -----------------------------------------------------------------------------------

printf 'low house\tniedriges Haus\tby me\nnew house\tneues Haus\tby me\n' >p.tsv
printf 'the end\tdas Ende\tby me\n' >q.tsv
taken '^p.txt: ' make vocab p.tsv -o p.txt --size 70
taken '^train  *2 pairs' import pairs p.tsv -o p.h5 --vocab p.txt --test-files q.tsv
taken '^test  *target: ' info p.h5
taken '^train  *source: ' import pairs p.tsv -o p.h5 --vocab p.txt --columns 2,1 --test-share 0.5
pairs_case() { refused "$1" x.h5 import pairs bad.tsv --vocab p.txt "${@:2}"; }
printf 'low\thigh\nnew house\nlow\thigh\n' >bad.tsv
pairs_case 'bad.tsv: line 2: has 1 fields separated by tabs, want a sentence in field 2 (--columns)'
pairs_case 'bad.tsv: line 1: has 2 fields separated by tabs, want a sentence in field 3' --columns 1,3
printf 'low\thigh\nnew\t \n' >bad.tsv && pairs_case 'bad.tsv: line 2: field 2 has no words, want a sentence'
printf 'low\thigh\n\nnew\told\n' >bad.tsv && pairs_case 'bad.tsv: line 2 is empty, want a pair'
: >bad.tsv && pairs_case 'bad.tsv: empty: no line has a word'
pairs_case "columns: '1' is one number, want two" --columns 1
pairs_case "columns: '1,1' names one column twice" --columns 1,1
pairs_case "columns: '1,2,3' is more than two numbers" --columns 1,2,3
pairs_case 'columns: 0 is not within 1 to 1000' --columns 0,1
pairs_case 'documents: of import text, not of import pairs' --documents file

# ---- text and images are not mixed up --------------------------------------------------------

is_refused 'p: has text, image-classification needs images and labels: ' "$minipod" train --model mlp --data p.h5 --steps 1
cp p.h5 cut.h5 && truncate -s 3000 cut.h5
is_refused 'cut.h5: ' "$minipod" data info cut.h5
taken 'kind  *pairs' info p.h5
is_quiet
exit "$failed"
