// Labels of new sequences under given weights: scores and the best path in one go.
//
// One sequence at a time and eight labels to a register, where forward_backward.hpp has eight sequences: rows
// of [Lp] doubles, the labels side by side. So nothing is laid out or sorted, a token's scores never
// leave the first cache, and one sentence costs no more a token than a corpus.
//
// The recursion keeps only the values of the best paths, 2 L² operations a token; where they came
// from is asked again on the way back, of one label a token: L operations.
#pragma once
#include <cstdint>

#include "base/aligned_array.hpp"
#include "base/simd.hpp"

namespace proxqn::chain {

// The weights of the features that have any, in rows: weights [start[r], start[r+1]) are those of row
// r. Row 0 is empty, for the features without a weight.
//
// Where it does not cost much memory the rows are dense as well: to add three registers of mostly
// zeros is faster than to guess how many weights a feature has (7 ns a weight, most of it wrong
// guesses). A sum of zeros more is the same sum.
struct FeatureWeights {
  std::int64_t L, Lp, n_features, n_rows;
  const std::int32_t* row;    // [n_features]
  const std::int64_t* start;  // [n_rows + 1]
  const std::int32_t* label;  // ascending within a row
  const double* value;
  const double* dense;  // [n_rows][Lp], or null

  FeatureWeights(std::int64_t n_labels, std::int64_t n_features, std::int64_t n_rows,
                 const std::int32_t* row, const std::int64_t* start, const std::int32_t* label,
                 const double* value)
      : L(n_labels), Lp(whole_eights(n_labels)), n_features(n_features), n_rows(n_rows), row(row),
        start(start), label(label), value(value), dense(nullptr) {}

  // The rows in dense form, to which `dense` may point; empty where that takes too much memory.
  AlignedArray<double> in_dense_rows() const;
};

// A CSR matrix, one row a token.
struct TokenRows {
  std::int64_t n_tokens, n_entries;
  const std::int64_t* start;    // [n_tokens + 1]
  const std::int32_t* feature;  // [n_entries]
  const double* value;          // [n_entries], or null where all are 1
};

// Transitions in rows of [Lp]: by the label before, and by the label after, where the padding can
// never win.
struct PaddedTransitions {
  std::int64_t L, Lp;
  AlignedArray<double> from, into;  // from[i][j] and into[j][i] = Lambda(i, j)
  PaddedTransitions(const double* lambda, std::int64_t n_labels);
};

struct PairFactors;  // one_sequence.hpp

// What is added to the scores of a sequence's first and last token, [L] each.
struct EndScores {
  const double *first, *last;
};

// path[n_tokens]: the labels of each sequence's best labelling; ties go to the smaller label.
void tag(const FeatureWeights& w, const PaddedTransitions& m, const EndScores& ends,
         const TokenRows& X, const std::int64_t* lengths, std::int64_t n_sequences, int n_jobs,
         std::int32_t* path);

// marginals[n_tokens][L]: P(y_t = y) of each sequence.
void marginals(const FeatureWeights& w, const PairFactors& m, const EndScores& ends,
               const TokenRows& X, const std::int64_t* lengths, std::int64_t n_sequences,
               int n_jobs, double* out);

// Between rows of labels, one a token, and the layout of layout.hpp, [L][stride], by the token of each
// slot, -1 for none: slot by slot, so that whole cache lines are written, or read.

void slot_scores(const FeatureWeights& w, const TokenRows& X, const std::int64_t* token,
                 std::int64_t stride, int n_jobs, double* out);

void rows_of_slots(const double* array, std::int64_t L, std::int64_t stride,
                   const std::int64_t* token, double* out);

}  // namespace proxqn::chain
