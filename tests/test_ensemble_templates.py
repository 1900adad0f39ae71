"""Templates of an ensemble: what counts as a parameter, in files of many kinds, and what else stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tailrace.ensemble import Ensemble, EnsembleError, MemberError, pest
from tailrace.ensemble.templates import parse_text, read_template

from tests.ensembles import table_of, write_ensemble

pytestmark = pytest.mark.fast

VALUES = {"k": 0.5, "n": 3, "member": 9}
FILES = {
    "json": ('{"k": {k:.2e}, "n": {n}, "o": {}, "in": {"m": {member}}}', '{"k": 5.00e-01, "n": 3, "o": {}, "in": {"m": 9}}'),
    "minified json": ('{"a":{"b":{k}},"c":[{n}]}', '{"a":{"b":0.5},"c":[3]}'),
    "namelist": ("&heat\n  k = {k:.3e} ! {unit: m/s}\n  n = {n}\n/\n", "&heat\n  k = 5.000e-01 ! {unit: m/s}\n  n = 3\n/\n"),
    "double braces": ("{{unit: m/s}} {{k}}\n", "{{unit: m/s}} {0.5}\n"),
    "yaml": ("flow: {rate: 1, name: {n}, list: {a: {b: 2}}}\n", "flow: {rate: 1, name: 3, list: {a: {b: 2}}}\n"),
    "latex": ("\\frac{{k}}{2} \\ref{fig:heads} \\text{two words}", "\\frac{0.5}{2} \\ref{fig:heads} \\text{two words}"),
    "program": ('awk { print $1 } f() { return {n}; } "${HOME}x" {0} {,}', None),
    "blank in a format": ("{k: .2e}", " 5.00e-01"),
}


@pytest.mark.parametrize("name", FILES)
def test_only_names_of_parameters_count(name: str) -> None:
    text, expected = FILES[name]
    if expected is None:
        with pytest.raises(EnsembleError, match="'HOME' is no parameter"):
            parse_text(text, ["k", "n"], "run.sh")
        text, expected = text.replace("{HOME}", "HOME"), 'awk { print $1 } f() { return 3; } "$HOMEx" {0} {,}'
    filled = parse_text(text, ["k", "n"], name).fill(VALUES)
    assert filled == expected
    if "json" in name:
        json.loads(filled)


@pytest.mark.parametrize("word", ["{document}", "{kk:.4e}", "{kk:10}", "{kk:>8}"])
def test_a_word_that_is_no_parameter_is_an_error_with_its_line_and_remedy(tmp_path: Path, word: str) -> None:
    (tmp_path / "paper.tpl").write_text(f"k = {{k}}\n\\begin{word}\n")
    with pytest.raises(EnsembleError) as raised:
        read_template(tmp_path / "paper.tpl", ["k"], target="paper.tex")
    said = str(raised.value)
    assert f"paper.tpl: line 2: {word}: " in said
    assert "is no parameter" in said
    assert '`templates = { "paper.tex" = { file = "paper.tpl", marks = ["<<", ">>"] } }`' in said


def test_a_value_that_cannot_be_formatted_is_the_members_failure() -> None:
    with pytest.raises(MemberError, match=r"format '\.2e'"):
        parse_text("{k:.2e}", ["k"], "a.json").fill({"k": "x"})


def test_other_marks_leave_all_braces_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "paper.tpl").write_text("\\begin{document} {value} <<value:.1f>> << way >> <<1>>\n")
    path = write_ensemble(tmp_path, ["good"], "timeout_s = 600\nlinger_s = 60")
    given = '"paper.tex" = { file = "paper.tpl", marks = ["<<", ">>"] }'
    plain = path.read_text()
    path.write_text(plain + f'[templates]\n{given}\n[keep]\nfiles = ["paper.tex"]\n')
    ensemble = Ensemble(path)
    ensemble.run()
    assert table_of(ensemble.folder.out)[0]["reason"] == ""
    made = ensemble.folder.kept / "000000" / "paper.tex"
    assert made.read_text() == "\\begin{document} {value} 0.5 << way >> <<1>>\n"
    path.write_text(path.read_text().replace('["<<", ">>"]', '["<<1", ">>"]'))
    with pytest.raises(EnsembleError, match=r"changed since its members ran: templates: paper\.tex"):
        Ensemble(path).run(resume=True)
    for marks, said in (
        ('["<<"]', "must be the texts before and after"),
        ('["", ">"]', "must be the texts"),
        ('"<<"', "list of strings"),
    ):
        path.write_text(plain + f'[templates]\n"paper.tex" = {{ file = "paper.tpl", marks = {marks} }}\n')
        with pytest.raises(EnsembleError, match=said):
            Ensemble(path)
    path.write_text(plain + '[templates]\n"paper.tex" = { file = "paper.tpl", mark = ["<", ">"] }\n')
    with pytest.raises(EnsembleError, match="did you mean `marks`"):
        Ensemble(path)


def test_a_pest_template_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.tpl"
    path.write_text("ptf ~\n~ k        ~~  s  ~ end\nplain {k}\n")
    text = read_template(path, ["k", "s"])
    assert text.fill({"k": 1.23456789e-7, "s": 1 / 3}) == "1.2345679e-70.33333 end\nplain {k}\n"
    assert text.fill({"k": -12345678901234567.0, "s": 2}).splitlines()[0].endswith("      2 end")
    with pytest.raises(MemberError, match=r"k = -1.5e-300 does not fit into 3 characters"):
        pest.fitted(-1.5e-300, 3, "k", "in.tpl")
    with pytest.raises(EnsembleError, match=r"in\.tpl: 's' is no parameter: parameters are k"):
        read_template(path, ["k"])
