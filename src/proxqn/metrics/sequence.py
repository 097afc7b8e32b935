"""Scores of predicted label sequences: entities, tokens, whole sequences.

The entity scores equal seqeval's, and conlleval's, for the lenient reading; with a ``scheme`` they
equal seqeval's strict mode.  See `proxqn.metrics.entities` for the two readings.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any, Literal

from sklearn.metrics import make_scorer

from proxqn.metrics.entities import Entity, Scheme, extract_entities
from proxqn.metrics.entity_counts import EntityReader

__all__ = [
    "EntityScore",
    "EntityScores",
    "entity_f1_against",
    "entity_f1_score",
    "entity_f1_scorer",
    "entity_precision_score",
    "entity_recall_score",
    "entity_scores",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "token_accuracy_score",
    "token_accuracy_scorer",
]

Labels = Sequence[Sequence[str]]
Average = Literal["micro", "macro", "weighted"]


@dataclass(frozen=True, slots=True)
class EntityScore:
    """Precision, recall and F1 of some entities; 0 where a ratio has nothing below the line.

    Attributes
    ----------
    precision, recall, f1 : float
    support : int
        Entities in the true labels.
    """

    precision: float
    recall: float
    f1: float
    support: int

    @classmethod
    def from_counts(cls, correct: int, predicted: int, support: int) -> EntityScore:
        """Score from the numbers of correct, predicted and true entities."""
        precision = correct / predicted if predicted else 0.0
        recall = correct / support if support else 0.0
        total = precision + recall
        return cls(precision, recall, 2 * precision * recall / total if total else 0.0, support)


@dataclass(frozen=True, slots=True)
class EntityScores:
    """Entity scores, overall and by type; ``print`` shows them as a table.

    Attributes
    ----------
    overall : EntityScore
        All entities counted together (micro average), as conlleval's first line.
    by_type : dict of str to EntityScore
        In alphabetical order.
    token_accuracy, sequence_accuracy : float
        Share of tokens, and of whole sequences, labelled rightly.
    """

    overall: EntityScore
    by_type: dict[str, EntityScore]
    token_accuracy: float
    sequence_accuracy: float

    @property
    def macro(self) -> EntityScore:
        """The plain mean over types."""
        return self._mean([1.0] * len(self.by_type))

    @property
    def weighted(self) -> EntityScore:
        """The mean over types, weighted by their support."""
        return self._mean([float(score.support) for score in self.by_type.values()])

    def _mean(self, weights: list[float]) -> EntityScore:
        total = sum(weights) or 1.0
        pairs = list(zip(self.by_type.values(), weights, strict=True))
        return EntityScore(
            sum(w * score.precision for score, w in pairs) / total,
            sum(w * score.recall for score, w in pairs) / total,
            sum(w * score.f1 for score, w in pairs) / total,
            self.overall.support,
        )

    def __str__(self) -> str:
        rows = [*self.by_type.items(), ("all (micro)", self.overall), ("all (macro)", self.macro)]
        width = max(len(name) for name, _ in rows)
        digits = max(7, len(str(self.overall.support)))
        lines = [f"{'':{width}}  precision  recall      F1  {'support':>{digits}}"]
        lines += [
            f"{name:{width}}  {score.precision:9.4f}  {score.recall:6.4f}  {score.f1:6.4f}"
            f"  {score.support:{digits}d}"
            for name, score in rows
        ]
        lines.insert(-2, "")
        lines += ["", f"token accuracy     {self.token_accuracy:.4f}"]
        lines.append(f"sequence accuracy  {self.sequence_accuracy:.4f}")
        return "\n".join(lines)


def entity_scores(
    y_true: Labels, y_pred: Labels, *, scheme: Scheme | str | None = None
) -> EntityScores:
    """Score predicted entities: right means the same type, beginning and end.

    Parameters
    ----------
    y_true, y_pred : sequences of label sequences
    scheme : Scheme or str, optional
        IOB1, IOB2 or IOBES, followed strictly; conlleval's lenient reading by default.

    Examples
    --------
    >>> y_true = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-PER"]]
    >>> y_pred = [["B-PER", "I-PER", "O", "O"], ["B-LOC", "B-PER"]]
    >>> print(entity_scores(y_true, y_pred))
                 precision  recall      F1  support
    LOC             0.0000  0.0000  0.0000        1
    PER             1.0000  1.0000  1.0000        2
    <BLANKLINE>
    all (micro)     0.6667  0.6667  0.6667        3
    all (macro)     0.5000  0.5000  0.5000        3
    <BLANKLINE>
    token accuracy     0.6667
    sequence accuracy  0.0000
    """
    correct: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    support: Counter[str] = Counter()
    for s, (true, guess) in enumerate(_pairs(y_true, y_pred)):
        true_entities = set(_entities(true, scheme, f"y_true, sequence {s}"))
        guessed_entities = set(_entities(guess, scheme, f"y_pred, sequence {s}"))
        support.update(entity.type for entity in true_entities)
        predicted.update(entity.type for entity in guessed_entities)
        correct.update(entity.type for entity in true_entities & guessed_entities)
    return EntityScores(
        overall=EntityScore.from_counts(correct.total(), predicted.total(), support.total()),
        by_type={
            type_: EntityScore.from_counts(correct[type_], predicted[type_], support[type_])
            for type_ in sorted(support | predicted)
        },
        token_accuracy=token_accuracy_score(y_true, y_pred),
        sequence_accuracy=sequence_accuracy_score(y_true, y_pred),
    )


def _entities(labels: Sequence[str], scheme: Scheme | str | None, where: str) -> list[Entity]:
    try:
        return extract_entities(labels, scheme=scheme)
    except ValueError as error:
        msg = f"{where}, {error}"
        raise ValueError(msg) from None


def entity_precision_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: Average = "micro",
    scheme: Scheme | str | None = None,
) -> float:
    """Share of predicted entities that are right.

    Examples
    --------
    >>> entity_precision_score([["B-X", "O"]], [["B-X", "B-X"]])
    0.5
    """
    return _averaged(y_true, y_pred, average, scheme).precision


def entity_recall_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: Average = "micro",
    scheme: Scheme | str | None = None,
) -> float:
    """Share of true entities that were found.

    Examples
    --------
    >>> entity_recall_score([["B-X", "O"]], [["B-X", "B-X"]])
    1.0
    """
    return _averaged(y_true, y_pred, average, scheme).recall


def entity_f1_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: Average = "micro",
    scheme: Scheme | str | None = None,
) -> float:
    """Harmonic mean of entity precision and recall.

    Examples
    --------
    >>> round(entity_f1_score([["B-X", "O"]], [["B-X", "B-X"]]), 4)
    0.6667
    """
    return _averaged(y_true, y_pred, average, scheme).f1


def entity_f1_against(y_true: Labels) -> Callable[[Labels], float]:
    """Return what scores predictions of the same data by entity F1; the truth is read once.

    Examples
    --------
    >>> f1 = entity_f1_against([["B-X", "O"]])
    >>> f1([["B-X", "O"]]), f1([["O", "O"]])
    (1.0, 0.0)
    """
    reader = EntityReader()
    truth = reader.read(y_true, "y_true")

    def score(y_pred: Labels) -> float:
        deque(_pairs(y_true, y_pred), maxlen=0)  # refuses what does not fit
        found = reader.read(y_pred, "y_pred")
        counts = found.shared_with(truth), found.number, truth.number
        return EntityScore.from_counts(*counts).f1

    return score


def _averaged(
    y_true: Labels, y_pred: Labels, average: str, scheme: Scheme | str | None
) -> EntityScore:
    scores = entity_scores(y_true, y_pred, scheme=scheme)
    match average:
        case "micro":
            return scores.overall
        case "macro":
            return scores.macro
        case "weighted":
            return scores.weighted
    msg = f"expected average to be 'micro', 'macro' or 'weighted', got {average!r}"
    raise ValueError(msg)


def token_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Share of tokens labelled rightly; 0 if there are none.

    Examples
    --------
    >>> token_accuracy_score([["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]])
    0.75
    """
    n_right = n_tokens = 0
    for true, guess in _pairs(y_true, y_pred):
        n_right += sum(map(eq, true, guess))  # of one length
        n_tokens += len(true)
    return n_right / n_tokens if n_tokens else 0.0


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Share of sequences with every token labelled rightly; 0 if there are none.

    Examples
    --------
    >>> sequence_accuracy_score([["A", "B"], ["A", "A"]], [["A", "B"], ["B", "A"]])
    0.5
    """
    right = [list(true) == list(guess) for true, guess in _pairs(y_true, y_pred)]
    return sum(right) / len(right) if right else 0.0


def _pairs(y_true: Labels, y_pred: Labels) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    if len(y_true) != len(y_pred):
        msg = f"expected as many predicted as true sequences, got {len(y_pred)} and {len(y_true)}"
        raise ValueError(msg)
    for s, (true, guess) in enumerate(zip(y_true, y_pred, strict=True)):
        if isinstance(true, str) or isinstance(guess, str):
            msg = f"sequence {s}: expected a list of labels, got a string; wrap it in a list"
            raise TypeError(msg)
        if len(true) != len(guess):
            msg = f"sequence {s}: expected {len(true)} predicted labels, got {len(guess)}"
            raise ValueError(msg)
        yield true, guess


entity_f1_scorer: Any = make_scorer(entity_f1_score)
"""``scoring=entity_f1_scorer`` in scikit-learn's model selection."""
token_accuracy_scorer: Any = make_scorer(token_accuracy_score)
"""``scoring=token_accuracy_scorer`` in scikit-learn's model selection."""
sequence_accuracy_scorer: Any = make_scorer(sequence_accuracy_score)
"""``scoring=sequence_accuracy_scorer`` in scikit-learn's model selection."""
