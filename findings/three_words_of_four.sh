#!/usr/bin/env bash
# BLEU: a sentence of three words, compared with itself, gets 0, 100 and 1e-77.
#
# Version: sacrebleu 2.6.0, nltk 3.10.4.
# Expected: a sentence that equals its reference has the best score.
# Seen: below four words there is no four-gram. sacreBLEU's corpus score is 0, its sentence score,
#   with the same arguments, 100; NLTK gives 1.2e-77, which prints as 0.00, though its warning
#   speaks of "counts of overlaps". From four words on all give the full score.
# Output seen: "she walks home": corpus 0.0, sentence 100.0, NLTK 1.2e-77
# Why it matters: summaries of a day are short ("home, work, home"). The mean over days then
#   measures how long the sentences are, and the two scores of one package order two models
#   differently.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages=(sacrebleu==2.6.0 nltk==3.10.4)
if command -v uv >/dev/null; then
  uv venv --quiet --python "$(command -v python3)" venv
  uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
  python3 -m venv venv
  venv/bin/python -m pip install --quiet "${packages[@]}"
fi

venv/bin/python -W ignore - <<'PYTHON'
import sacrebleu
from nltk.translate.bleu_score import sentence_bleu


def scores(sentence):
    """Corpus and sentence score of sacreBLEU, score of NLTK, of a sentence with itself."""
    corpus = sacrebleu.corpus_bleu([sentence], [[sentence]]).score
    single = sacrebleu.sentence_bleu(sentence, [sentence]).score
    return corpus, single, sentence_bleu([sentence.split()], sentence.split())


for sentence in ("home", "she walks", "she walks home"):
    corpus, single, nltk = scores(sentence)
    print(f"{sentence!r}: {corpus} {single:.1f} {nltk:.2g}")
    assert corpus == 0 and round(single, 6) == 100 and 0 < nltk < 1e-70
corpus, single, nltk = scores("she walks home now")
assert round(corpus, 6) == round(single, 6) == 100 and nltk == 1
PYTHON
