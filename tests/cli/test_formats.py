"""Every file format from the command line: trained on, predicted, evaluated; also by a pipe."""

from __future__ import annotations

import gzip
import json

import pytest

UD = "\t_" * 6
CONLL2003 = (
    "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\nGerman JJ I-NP I-MISC\n\n"
    "-DOCSTART- -X- O O\n\nPeter NNP I-NP I-PER\nBlackburn NNP I-NP I-PER\n\n"
) * 4
CSV = "# a comment\nB-X,dog,N\n\nO,barks,V\nB-X,cat,N\n\n" * 4
CONLLU = (
    "# sent_id = 1\n1-2\tdunno\t_\t_" + UD + "\n1\tdo\tdo\tAUX" + UD + "\n2\tn't\tnot\tPART" + UD
    + "\n2.1\tghost\t_\t_" + UD + "\n3\tknow\tknow\tVERB" + UD + "\n\n"
) * 4  # fmt: skip
CRFSUITE = "@weight:2\nB-X\tw=a\\:b\tsize:0.5\nO\tw=c\n\nO\tw=c\nB-X\tw=d\n\n" * 4
JSONL = (
    json.dumps(
        {"tokens": [{"w": "dog", "n": 2.5}, {"w": "barks", "v": True}], "labels": ["A", "B"]}
    )
    + "\n"
    + json.dumps({"tokens": ["cat", ["runs", "fast"]], "labels": ["A", "B"], "weight": 2})
    + "\n"
) * 4

CASES = {
    "CoNLL-2003": (CONLL2003, "U0:%x[0,0]\nU1:%x[0,1]\nB", [], 20),
    "comma, comments, label first": (
        CSV,
        "U0:%x[0,1]\nU1:%x[-1,1]\nB",
        ["--separator", ",", "--comment", "#", "--label-column", "0"],
        12,
    ),
    "tabs": (CSV.replace(",", "\t").replace("# a comment\n", ""), "U0:%x[0,1]\nB",
             ["--separator", "\\t", "--label-column", "0"], 12),
    "latin-1": ("Café N\nà P\n\n" * 4, "U0:%x[0,0]\nB", ["--encoding", "latin-1"], 8),
    "CoNLL-U": (CONLLU, "U0:%x[0,1]\nB", ["--format", "conllu"], 12),
    "CoNLL-U, lemmas": (CONLLU, "U0:%x[0,1]\nB", ["--format", "conllu", "--label", "LEMMA"], 12),
    "CRFsuite": (CRFSUITE, None, ["--format", "crfsuite"], 16),
    "JSON lines": (JSONL, None, ["--format", "jsonl"], 16),
}  # fmt: skip


def content(case):
    text, template, options, n_tokens = CASES[case]
    return text.encode("latin-1" if case == "latin-1" else "utf-8"), template, options, n_tokens


@pytest.mark.parametrize("case", CASES)
def test_train_predict_and_evaluate(cli, tmp_path, case):
    data, template, options, n_tokens = content(case)
    (tmp_path / "d").write_bytes(data)
    if template is not None:
        (tmp_path / "t").write_text(template)
        options = [*options, "--template", tmp_path / "t"]
    train = ("train", "chain", *options, "--lam", "0.05", "-q")
    done = cli(*train, tmp_path / "d", "-o", tmp_path / "m")
    assert done.exit_code == 0, done.stderr
    done = cli("evaluate", tmp_path / "d", "--model", tmp_path / "m", "--json")  # it remembers how
    scores = json.loads(done.stdout)
    assert scores["token_accuracy"] == 1.0
    predicted = cli("predict", tmp_path / "m", tmp_path / "d").stdout
    labels = [
        label
        for line in predicted.splitlines()
        if line
        for label in (json.loads(line)["predicted"] if case == "JSON lines" else [line])
    ]
    assert len(labels) == n_tokens

    # The same through pipes, packed or not, gives the same bytes.
    for piped in (data, gzip.compress(data)):
        assert cli(*train, "-", "-o", tmp_path / "m2", stdin=piped).exit_code == 0
        assert (tmp_path / "m2").read_bytes() == (tmp_path / "m").read_bytes()
        assert cli("predict", tmp_path / "m", "-", stdin=piped).stdout == predicted
        assert cli("evaluate", "-", "--model", tmp_path / "m", "--json", stdin=piped).stdout == (
            done.stdout
        )


def test_the_predicted_column_comes_last_and_conlleval_reads_it(cli, tmp_path):
    data, template, options, _ = content("comma, comments, label first")
    (tmp_path / "d").write_bytes(data)
    (tmp_path / "t").write_text(template)
    cli("train", "chain", tmp_path / "d", *options, "--template", tmp_path / "t", "--lam", "0.05",
        "-o", tmp_path / "m", "-q")  # fmt: skip
    lines = cli("predict", tmp_path / "m", tmp_path / "d").stdout.splitlines()
    assert lines[:4] == ["B-X,dog,N,B-X", "", "O,barks,V,O", "B-X,cat,N,B-X"]


def test_a_model_from_the_command_line_in_python(cli, tmp_path):
    import proxqn

    data, template, options, _ = content("CoNLL-2003")
    (tmp_path / "d").write_bytes(data)
    (tmp_path / "t").write_text(template)
    cli("train", "chain", tmp_path / "d", *options, "--template", tmp_path / "t", "--lam", "0.05",
        "-o", tmp_path / "m", "-q")  # fmt: skip
    model = proxqn.load(tmp_path / "m")
    rows = [[["EU", "NNP", "I-NP"], ["rejects", "VBZ", "I-VP"], ["German", "JJ", "I-NP"]]]
    assert model.predict(rows)[0].tolist() == ["I-ORG", "O", "I-MISC"]


def test_an_empty_sequence_of_json_has_an_empty_answer(cli, tmp_path):
    (tmp_path / "d").write_text(JSONL)
    cli("train", "chain", tmp_path / "d", "--format", "jsonl", "-o", tmp_path / "m", "-q")
    for more in ((), ("--marginals", "all")):
        done = cli("predict", tmp_path / "m", "-", *more, stdin=b'{"tokens": []}\n')
        assert json.loads(done.stdout) == {"tokens": [], "predicted": []}
