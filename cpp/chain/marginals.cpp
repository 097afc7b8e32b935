// Marginals of new sequences, one at a time as in tagging.cpp: a sentence is neither laid out nor copied.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clones.hpp"
#include "base/parallel.hpp"
#include "chain/one_sequence.hpp"
#include "chain/tagging.hpp"
#include "chain/token_scores.hpp"

namespace proxqn::chain {

// Room for the longest sequence of a piece.
struct MarginalsRoom {
  AlignedArray<double> scores, alpha, work;
  std::vector<double> inverse;
  std::vector<std::int32_t> labels;  // the first everywhere: the loss is not asked for

  MarginalsRoom(std::int64_t longest, std::int64_t Lp)
      : scores(AlignedArray<double>::zeros(longest * Lp)),
        alpha(AlignedArray<double>::zeros(longest * Lp)), work(AlignedArray<double>::zeros(2 * Lp)),
        inverse(longest), labels(longest, 0) {}
};

// The sequences of a piece; false if X does not fit the weights.
PROXQN_CLONES bool marginals_of_piece(const FeatureWeights& w, const PairFactors& m,
                                      const EndScores& ends, const TokenRows& X,
                                      const std::int64_t* lengths, const Piece& piece,
                                      MarginalsRoom& room, double* out) {
  const std::int64_t L = m.L, Lp = m.Lp;
  std::int64_t token = piece.token;
  for (std::int64_t i = piece.begin; i < piece.end; ++i) {
    const std::int64_t T = lengths[i];
    for (std::int64_t t = 0; t < T; ++t)
      if (!fits(X, token + t, w.n_features)) return false;
    const Rows scores{room.scores.data(), nullptr, Lp}, alpha{room.alpha.data(), nullptr, Lp};
    with_registers([&](auto v) PROXQN_INLINED {
      for (std::int64_t t = 0; t < T; ++t) token_scores<decltype(v)>(w, X, token + t, scores(t));
    });
    for (std::int64_t y = 0; y < L; ++y) scores(0)[y] += ends.first[y];
    for (std::int64_t y = 0; y < L; ++y) scores(T - 1)[y] += ends.last[y];
    Sequence s{T, room.labels.data(), scores, alpha, room.inverse.data(), false};
    sequence_forward(m, s);
    sequence_backward(m, s, 1.0, alpha, nullptr, nullptr, room.work.data());
    for (std::int64_t t = 0; t < T; ++t) std::copy_n(alpha(t), L, out + (token + t) * L);
    token += T;
  }
  return true;
}

void marginals(const FeatureWeights& w, const PairFactors& m, const EndScores& ends,
               const TokenRows& X, const std::int64_t* lengths, std::int64_t n_sequences,
               int n_jobs, double* out) {
  const std::vector<Piece> pieces = in_pieces(lengths, n_sequences, X.n_tokens);
  parallel_for(static_cast<std::int64_t>(pieces.size()), n_jobs, [&](std::int64_t i) {
    MarginalsRoom room(pieces[i].longest, m.Lp);
    if (!marginals_of_piece(w, m, ends, X, lengths, pieces[i], room, out)) refuse();
  });
}

}  // namespace proxqn::chain
