#!/bin/bash
# minipod report: one page of runs that needs no other file.
#   report.sh MINIPOD
# shellcheck source=tests/system/common.sh
source "$(dirname "$0")/../common.sh"
train=(train --model mlp --data glyphs:8x8x1:400+100 --batch 50 --epochs 3 --quiet)

"$minipod" "${train[@]}" --target 0.2 --out 'a <b>&' >/dev/null || fail "the first run"
"$minipod" "${train[@]}" --lr 0.05 --out plain >/dev/null || fail "the second run"
"$minipod" report 'a <b>&' plain -o both.html || fail "report of two runs: exit $?"

python3 - <<'PYTHON' || fail "the page is not what the runs left"
import json
from html.parser import HTMLParser

class Page(HTMLParser):
    void = {"meta", "link", "br"}
    def __init__(self):
        super().__init__()
        self.open, self.rows, self.cell, self.n_svg = [], [], None, 0
    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            outside = value and ("://" in value or value.startswith("//"))
            assert name.startswith("xmlns") or not outside, (tag, name, value)
            assert tag not in ("script", "img", "link"), tag
        self.n_svg += tag == "svg"
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag not in self.void:
            self.open.append(tag)
    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None

page = Page()
page.feed(open("both.html").read())
page.close()
assert not page.open, page.open
rows = {row[0]: row[1:] for row in page.rows}
a, plain = (json.load(open(f"{name}/run.json")) for name in ("a <b>&", "plain"))
assert rows[""] == ["a <b>&", "plain"], rows[""]
assert rows["metric, last"] == [f"{a['eval_accuracy']:.4f}", f"{plain['eval_accuracy']:.4f}"], rows["metric, last"]
assert rows["step, median, ms"] == [f"{1e3 * a['step_s']:.3f}", f"{1e3 * plain['step_s']:.3f}"]
assert rows["metric, target"] == ["0.2000", "-"], rows["metric, target"]
assert rows["metric"] == ["accuracy", "accuracy"], rows["metric"]
assert rows["lr"] == ["0.1", "0.05"] and rows["target"] == ["0.2", "0"], rows
assert "batch" not in rows, "a setting that does not differ is shown"
import shutil
assert page.n_svg == (6 if shutil.which("gnuplot") else 0), page.n_svg
PYTHON

# Without gnuplot, without the files that may lack.
mkdir bin
ln -s "$(command -v mpirun)" bin/
rm plain/steps.csv plain/goodput.json
PATH=$work/bin "$minipod" report plain -o tables.html 2>said || fail "report without gnuplot"
grep -q 'no plots: gnuplot is not installed' said || fail "report without gnuplot says $(cat said)"
grep -q '<h2>Accuracy' tables.html && fail "a page without plots has their headings"
grep -q '<td>plain\|<th>plain' tables.html || fail "report without gnuplot has no table"
"$minipod" report plain -o less.html || fail "report of a run without steps.csv"

# A folder's % is no format, a target that was missed is drawn, losses that cannot be cost one plot;
# gnuplot has nothing to say of a single evaluation.
"$minipod" "${train[@]}" --epochs 1 --target 0.99 --out '100%' >/dev/null
sed -i 's/,[0-9.]*,\([0-9.]*\)$/,nan,\1/' '100%/steps.csv'
"$minipod" report '100%' -o odd.html >said 2>&1 || fail "report of an odd run: $(cat said)"
! grep -qv ': no plots: gnuplot is not installed ' said || fail "report of an odd run says $(cat said)"
[ "$(grep -o '<svg' odd.html | wc -l)" -eq 5 ] || ! command -v gnuplot >/dev/null || fail "report of an odd run: plots"

# Values that are all alike have a range of their own: one sample right of three, one loss, one step.
"$minipod" train --model mlp --data glyphs:8x8x1:100+3 --batch 10 --epochs 2 --quiet --out alike >/dev/null
sed -i 's/,[0-9.]*,\([0-9.]*\)$/,1.5,\1/' alike/steps.csv
"$minipod" report alike -o alike.html >said 2>&1 || fail "report of equal values: $(cat said)"
! grep -qv ': no plots: gnuplot is not installed ' said || fail "report of equal values says $(cat said)"

# What the table warns of stands on the page, with where and when the run was.
python3 - <<'PYTHON'
import json
run = json.load(open("alike/run.json"))
run["cautions"] = ["ranks share <1> core"]
json.dump(run, open("alike/run.json", "w"))
PYTHON
"$minipod" report alike -o cautions.html || fail "report with a caution"
grep -q '<li>alike: ranks share &lt;1&gt; core</li>' cautions.html || fail "the caution is not on the page"
grep -q "<tr><th>host</th><td>$(hostname)</td>" cautions.html || fail "the host is not on the page"
grep -q "<tr><th>ended</th><td>$(date -u +%Y)-" cautions.html || fail "the date is not on the page"

# A run that was killed, or is no run, is told and left out; the page is of the others.
"$minipod" "${train[@]}" --out killed --fault kill:rank=0,step=5 >/dev/null 2>&1
"$minipod" report killed plain absent -o others.html >said 2>&1
[ $? -eq 2 ] || fail "report of a killed run: exit $?"
grep -q 'killed: was killed before its end, and has no results; skipped$' said && grep -q 'absent/run.json: is not there' said ||
    fail "report of a killed run: $(cat said)"
grep -q '<td>plain\|<th>plain' others.html && ! grep -q '<td>killed\|<th>killed' others.html || fail "report of a killed run: the page"

refuses() { is_refused "$1" "$minipod" report "${@:2}"; }
refuses 'which runs?'
refuses 'plain/: stands twice among the runs: it is the same folder as plain$' plain plain/ -o x.html
refuses 'killed: was killed before its end' killed -o x.html
refuses 'output: want a file' plain
refuses 'absent/run.json: is not there' absent -o x.html
refuses "output: 'plain/run.json' will be a page of minipod, want a name in .html" plain -o plain/run.json
echo '{' >plain/run.json
refuses 'plain/run.json: is no record of a run' plain -o x.html
refuses "output: 'x.pdf' will be a page of minipod, want a name in .html" alike -o x.pdf
[ ! -e x.pdf ] || fail "a page with a wrong suffix was written"
[ ! -e x.html ] || fail "a report that was refused left a page"
exit "$failed"
