"""What is claimed of each of `pgt.improvements.IMPROVEMENTS`, in our words, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What a document says of an improvement.

    The source is "1" to "10", the improvements document's proposals; "avoid", its list of things to
    avoid; "list", its list of things to do; "original", a part of the summarizer (chapter 17);
    "sets", one of the temporal-sets notebook (chapter 18); empty for the plain model.
    """

    title: str  # for tables and figures
    source: str = ""
    says: str = ""  # empty when nothing is claimed


CLAIMS: dict[str, Claim] = {
    "plain": Claim("PGT as it is"),
    "relative_bias": Claim(
        "relative position bias", "1", "better than absolute positions; crucial for sequences"
    ),
    "geglu": Claim("GeGLU", "2", "better than a plain feed-forward network of the same size"),
    "post_norm": Claim("post-norm", "3", "worse: less stable than pre-norm"),
    "multi_scale_time": Claim(
        "multi-scale time", "4", "cyclic and discrete times together are better"
    ),
    "adaptive_embeddings": Claim(
        "adaptive embeddings, frequent ones wide", "5", "better than one width for all"
    ),
    "adaptive_reversed": Claim(
        "adaptive embeddings, rare ones wide", "5", "rare locations need more capacity"
    ),
    "cross_attention": Claim(
        "cross-attention between modalities", "6", "better than concatenation"
    ),
    "experts": Claim("four experts", "7", "habit and exploration get their own experts"),
    "recent_and_first": Claim(
        "bias to recent and first visits", "8", "the last few visits and the first matter most"
    ),
    "focal": Claim("focal loss", "9", "better under class imbalance"),
    "balanced": Claim("class-balanced loss", "9", "better under class imbalance"),
    "no_smoothing": Claim("no label smoothing", "9", "worse: overconfident"),
    "more_smoothing": Claim("label smoothing 0.1", "9", "better: less overconfident"),
    "many_heads": Claim("four output heads of low rank", "10", "better than one linear layer"),
    "mixture_of_softmaxes": Claim(
        "mixture of softmaxes", "10", "better for distributions with several modes"
    ),
    "adaptive_softmax": Claim("adaptive softmax", "10", "better for large vocabularies"),
    "temperature": Claim("learned temperature", "10", "better calibrated"),
    "rope": Claim(
        "rotary positions (RoPE)", "avoid", "made for long sequences; does not help here"
    ),
    "four_layers": Claim("four layers", "avoid", "four are probably best; deeper is to be avoided"),
    "augmented": Claim(
        "cropped copies of the windows (not heavy)",
        "avoid",
        "heavy augmentation shifts the distribution",
    ),
    "all_five": Claim("the definite list together", "list", "what should definitely be done"),
    "bilstm": Claim(
        "bidirectional LSTM as encoder", "original", "slower and weaker than a Transformer"
    ),
    "additive": Claim("additive attention in the pointer", "original"),
    "coverage": Claim("coverage in the pointer", "original", "the position bias takes its place"),
    "causal": Claim("causal attention", "sets", "no visit may see a later one"),
}
