// Forward and backward in single precision: the recursions of chain.hpp on arrays [Lp/8][stride][8],
// eight labels of a slot together (rows.hpp).
//
// The lanes of a register are labels, not sequences, so that rows are used as they lie. What a
// batch's eight sequences are for is latency: their products with M are independent, and a row of M
// is loaded once for four of them. A position is bound by multiply-adds and by stores, one a cycle, so
// what is computed is stored once: the products end in what their sums are for. They are functions of
// their own because inlined into a loop the compiler would not keep the sums in registers.
//
// Scaling. a_t = exp(x_t - m_t) (a_{t-1} M) / c_{t-1} is divided by its own sum c_t one position
// later, when that is long known. So alpha holds a_t, and products are as small as exp(-2 (max Lambda -
// min Lambda)); forward says so where that or R (chain.hpp) is too much for floats. Losses and pair
// counts are summed in double.
//
// single_chain.hpp includes this once for each kind of processor, in a namespace of its own.

namespace proxqn::PROXQN_TARGET {

// Rows of eight labels: of label y (a multiple of 8) and sequence s of a batch, or any other number.
struct RowsView {
  float* first;
  std::int64_t step;  // from one eight of labels to the next
  PROXQN_INLINE float* at(std::int64_t y, int s) const { return first + y / kLanes * step + s * kLanes; }
};

// Two sequences in sixteen lanes, or one in eight: a reduction over each one's eight, in all of them.
template <class V, class Op>
PROXQN_INLINE V spread(V v, const Op& op) {
  if constexpr (sizeof(V) == sizeof(float16)) {
    v = op(v, __builtin_shuffle(v, word16{4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11}));
    v = op(v, __builtin_shuffle(v, word16{2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13}));
    return op(v, __builtin_shuffle(v, word16{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14}));
  } else {
    v = op(v, __builtin_shuffle(v, word8{4, 5, 6, 7, 0, 1, 2, 3}));
    v = op(v, __builtin_shuffle(v, word8{2, 3, 0, 1, 6, 7, 4, 5}));
    return op(v, __builtin_shuffle(v, word8{1, 0, 3, 2, 5, 4, 7, 6}));
  }
}
template <class V>
PROXQN_INLINE V spread_largest(V v) {
  return spread(v, [](V a, V b) PROXQN_INLINED { return max(a, b); });
}
template <class V>
PROXQN_INLINE V spread_sum(V v) {
  return spread(v, [](V a, V b) PROXQN_INLINED { return a + b; });
}

// Calls body(P, first label) for the eights of labels, P <= 4 of them at a time.
template <class Body>
PROXQN_INLINE void label_tiles(std::int64_t Lp, const Body& body) {
  std::int64_t y = 0;
  for (; y + 4 * kLanes <= Lp; y += 4 * kLanes) body(std::integral_constant<int, 4>{}, y);
  if (Lp - y == 3 * kLanes) body(std::integral_constant<int, 3>{}, y);
  if (Lp - y == 2 * kLanes) body(std::integral_constant<int, 2>{}, y);
  if (Lp - y == 1 * kLanes) body(std::integral_constant<int, 1>{}, y);
}

// Eights of labels in a register, and what is summed together in as many registers as there are.
constexpr int kEights = PROXQN_EIGHTS;
using Wide = std::conditional_t<kEights == 2, float16, float8>;
constexpr int kSideBySide = 4 * kEights, kOuterRows = 4 * kEights;  // sequences; rows of an outer product

// A register from one eight or two, so far apart, and one of its eights.
template <class V, class Eight = float8>
PROXQN_INLINE V side_by_side(const float* first, std::int64_t step) {
  V v;
  if (sizeof v == sizeof(Eight) || step == kLanes) {
    std::memcpy(&v, first, sizeof v);
  } else if constexpr (sizeof v > sizeof(Eight)) {
    const Eight one = load_floats(first), other = load_floats(first + step);
    v = __builtin_shufflevector(one, other, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  return v;
}
template <class V>
PROXQN_INLINE float8 eight_of(V v, int k) {
  if constexpr (sizeof v == sizeof(float8)) return v;
  else if (k == 0) return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
  else return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}

// P eights of labels in as few registers as hold them.
template <int P>
struct Labels {
  Wide wide[P / kEights]{};
  float8 rest[P % kEights]{};  // none, or one

  static PROXQN_INLINE Labels load(const float* row) { return load(row, kLanes); }
  static PROXQN_INLINE Labels load(const float* first, std::int64_t step) {
    Labels x;
    for (int k = 0; k < P / kEights; ++k) x.wide[k] = side_by_side<Wide>(first + k * kEights * step, step);
    for (auto& r : x.rest) r = load_floats(first + (P - 1) * step);
    return x;
  }
  PROXQN_INLINE void add(const Labels& x, float factor) {
    for (int k = 0; k < P / kEights; ++k) wide[k] += x.wide[k] * factor;
    for (int k = 0; k < P % kEights; ++k) rest[k] += x.rest[k] * factor;
  }
  PROXQN_INLINE void add(const Labels& x) {
    for (int k = 0; k < P / kEights; ++k) wide[k] += x.wide[k];
    for (int k = 0; k < P % kEights; ++k) rest[k] += x.rest[k];
  }
  PROXQN_INLINE float8 eight(int p) const {
    return p < P / kEights * kEights ? eight_of(wide[p / kEights], p % kEights) : rest[0];
  }
};

// sum[q] += sum_i in(i, s + q) m[i] for Q sequences. A lone one sums in four chains, as its additions
// have nothing else to wait for.
template <int Q, int P>
PROXQN_INLINE void row_products(RowsView in, int s, const float* m, std::int64_t L,
                                std::int64_t Lp, Labels<P> (&sum)[Q]) {
  constexpr int others = Q == 1 ? 3 : 0;
  Labels<P> other[others][Q];
  auto add = [&](const float* from, std::int64_t i, Labels<P> (&acc)[Q]) PROXQN_INLINED {
    const auto row = Labels<P>::load(m + i * Lp);
    for (int q = 0; q < Q; ++q) acc[q].add(row, from[q * kLanes]);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= L; i += kLanes) {
    const float* from = in.at(i, s);
#pragma GCC unroll 8
    for (int k = 0; k < kLanes; ++k)
      if (const int chain = k % (others + 1); chain == 0) add(from + k, i + k, sum);
      else add(from + k, i + k, other[chain - 1]);
  }
  for (const float* from = in.at(i, s); i < L; ++i) add(from++, i, sum);
  for (int k = 0; k < others; ++k)
    for (int q = 0; q < Q; ++q) sum[q].add(other[k][q]);
}

// The product of `n` sequences' rows with m; done(y, s, its eight) says what is made of it, and
// sums[n][8] gets the sums of that over the eights of labels.
template <class Done>
PROXQN_INLINE void batch_product(RowsView in, const float* m, std::int64_t L, std::int64_t Lp, int n,
                                 float* sums, const Done& done) {
  label_tiles(Lp, [=](auto p, std::int64_t y) PROXQN_INLINED {
    auto some = [=](auto q, int s) PROXQN_INLINED {
      constexpr int Q = q, P = p;
      Labels<P> product[Q];
      row_products<Q, P>(in, s, m + y, L, Lp, product);
#pragma GCC unroll 8
      for (int i = 0; i < Q; ++i) {
        float* sum = sums + (s + i) * kLanes;
        float8 total = y > 0 ? load_floats(sum) : float8{};
#pragma GCC unroll 4
        for (int j = 0; j < P; ++j) total += done(y + j * kLanes, s + i, product[i].eight(j));
        store_floats(sum, total);
      }
    };
    if (n == 1) some(std::integral_constant<int, 1>{}, 0);
    else
      for (int s = 0; s < kLanes; s += kSideBySide) some(std::integral_constant<int, kSideBySide>{}, s);
  });
}

// The same by lists (listed_product.hpp) for eight sequences. These are the lanes then, for an entry is
// of one label, so rows are turned on both sides. work[2 Lp].
template <class Done>
PROXQN_INLINE void batch_product(RowsView in, const ListedProduct<float>& m, std::int64_t L,
                                 std::int64_t Lp, float8* work, float* sums, const Done& done) {
  for (std::int64_t y = 0; y < Lp; y += kLanes) {
    float8 rows[kLanes];
    for (int s = 0; s < kLanes; ++s) rows[s] = load_floats(in.at(y, s));
    transpose8(rows);
    for (int k = 0; k < kLanes; ++k) work[y + k] = rows[k];
  }
  listed_product(work, m, L, work + Lp);
  float8 totals[kLanes] = {};
  for (std::int64_t y = 0; y < Lp; y += kLanes) {
    float8 rows[kLanes];
    for (int k = 0; k < kLanes; ++k) rows[k] = work[Lp + y + k];
    transpose8(rows);
    for (int s = 0; s < kLanes; ++s) totals[s] += done(y, s, rows[s]);
  }
  for (int s = 0; s < kLanes; ++s) store_floats(sums + s * kLanes, totals[s]);
}

// N sequences, and so many eights of labels unless that is 0, have functions of their own: whether the
// compiler makes them of arguments depends on what else is in the unit, and makes a tenth of the time.

// a = (before M) e / c and its sums.
template <int N, int Eights>
PROXQN_KERNEL void forward_product(RowsView before, const Transitions<float>& m, RowsView e,
                                   const float* inverse, std::int64_t L, float8* work, RowsView a,
                                   float* sums) {
  const std::int64_t Lp = Eights ? Eights * kLanes : m.padded_labels;
  const auto done = [=](std::int64_t y, int s, float8 product) PROXQN_INLINED {
    const float8 v = product * (load_floats(e.at(y, s)) * load_floats(inverse + s * kLanes));
    store_floats(a.at(y, s), v);
    return v;
  };
  if (N > 1 && m.listed_forward.pays) batch_product(before, m.listed_forward, L, Lp, work, sums, done);
  else batch_product(before, m.forward.get(), L, Lp, N, sums, done);
}

// beta = v M' and the sums of a beta.
template <int N, int Eights>
PROXQN_KERNEL void backward_product(RowsView v, const Transitions<float>& m, RowsView a, std::int64_t L,
                                    float8* work, RowsView beta, float* sums) {
  const std::int64_t Lp = Eights ? Eights * kLanes : m.padded_labels;
  const auto done = [=](std::int64_t y, int s, float8 product) PROXQN_INLINED {
    store_floats(beta.at(y, s), product);
    return load_floats(a.at(y, s)) * product;
  };
  if (N > 1 && m.listed_backward.pays) batch_product(v, m.listed_backward, L, Lp, work, sums, done);
  else batch_product(v, m.backward.get(), L, Lp, N, sums, done);
}

// G[L][Lp] += sum_t a_t(i) v_t(j) over n tokens, for N rows from i and P eights of labels from y on.
template <int N, int P>
PROXQN_INLINE void outer_tile(RowsView a, std::int64_t i, RowsView v, std::int64_t y, int n,
                              std::int64_t Lp, double* G) {
  Labels<P> sum[N];
  const float* left = a.at(i, 0) + i % kLanes;
  for (int t = 0; t < n; ++t) {
    const auto right = Labels<P>::load(v.at(y, t), v.step);
    for (int k = 0; k < N; ++k) sum[k].add(right, left[t * kLanes + k]);
  }
  for (int k = 0; k < N; ++k)
    for (int p = 0; p < P; ++p) {
      double* g = G + (i + k) * Lp + y + p * kLanes;
      store8(g, load8(g) + widen(sum[k].eight(p)));
    }
}
template <int Eights>
PROXQN_KERNEL void outer_products(RowsView a, RowsView v, int n, std::int64_t L,
                                  std::int64_t padded_labels, double* G) {
  constexpr int few = 4;
  const std::int64_t Lp = Eights ? Eights * kLanes : padded_labels;
  label_tiles(Lp, [&](auto p, std::int64_t y) PROXQN_INLINED {
    constexpr int P = p;
    std::int64_t i = 0;
    for (; i + kOuterRows - few < L; i += kOuterRows) outer_tile<kOuterRows, P>(a, i, v, y, n, Lp, G);
    if (i < L) outer_tile<few, P>(a, i, v, y, n, Lp, G);
  });
}

// Rows of some tokens on both sides of an outer product, and the sums G [Lp][Lp].
template <int P>
struct PairRows {
  RowsView left, right;  // of kPairTokens + 8 tokens
  double* G;
  int n = 0;
  void add(int n_tokens, std::int64_t L, std::int64_t Lp) {
    n += n_tokens;
    if (n >= kPairTokens) flush(L, Lp);
  }
  void flush(std::int64_t L, std::int64_t Lp) {
    outer_products<P>(left, right, n, L, Lp, G);
    n = 0;
  }
};

// One batch of N sequences side by side, N = 8 or 1, with P eights of labels, or any number where P
// is 0.
template <int N, int P>
struct SingleBatch {
  using V = std::conditional_t<N == 1, float8, Wide>;  // the rows of R neighbours
  static constexpr int R = sizeof(V) / sizeof(float8);
  static constexpr std::size_t kFactors = N * kLanes;  // a factor a sequence, in all lanes
  const ChainOf<float>& c;
  const Transitions<float>& m;
  const std::int64_t batch, L = c.n_labels, T = c.length[batch];
  const std::int64_t Lp = P > 0 ? P * kLanes : m.padded_labels;
  const std::int32_t* lengths = c.lane_length + batch * kLanes;
  V real{}, low{};  // real: 1 where the last eight has labels; low: the least x - m_t

  PROXQN_INLINE SingleBatch(const ChainOf<float>& chain, const Transitions<float>& transitions,
                            std::int64_t b)
      : c(chain), m(transitions), batch(b) {
    for (int k = 0; k < R * kLanes; ++k) real[k] = Lp - kLanes + k % kLanes < L;
  }

  static PROXQN_INLINE V get(const float* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static PROXQN_INLINE void put(float* p, V v) { std::memcpy(p, &v, sizeof v); }

  PROXQN_INLINE std::int64_t slot(std::int64_t t) const { return c.first[batch] + t * N; }
  PROXQN_INLINE RowsView rows(const float* array, std::int64_t t) const {
    return {const_cast<float*>(array) + slot(t) * kLanes, c.stride * kLanes};
  }
  template <class Body>
  PROXQN_INLINE void each_row(const Body& body) const {
    for (std::int64_t y = 0; y < Lp; y += kLanes)
      for (int s = 0; s < N; s += R) body(y, s);
  }
  PROXQN_INLINE void fetch(const float* array, std::int64_t t, std::int64_t ahead) const {
    const RowsView lines = rows(array + ahead * kLanes, t);
    for (std::int64_t y = 0; y < Lp; y += kLanes)
      for (int s = 0; s < N; s += 2) __builtin_prefetch(lines.at(y, s), 1);
  }

  // e = exp(x_t - m_t) and high[N][8] = m_t. Where there is no label, x is the first eight's largest.
  PROXQN_INLINE void exponentials(std::int64_t t, std::int64_t ahead, RowsView e, float* high) {
    fetch(c.scores, t, ahead);
    const RowsView scores = rows(c.scores, t);
    for (int s = 0; s < N; s += R) {
      V x[P > 0 ? P : 1], top{};  // x in registers if P > 0, else where e will be
      for (std::int64_t y = 0; y < Lp; y += kLanes) {
        V v = get(scores.at(y, s));
        if (y + kLanes == Lp) v = real > 0.0f ? v : y > 0 ? top : first_label(v);
        if constexpr (P > 0) x[y / kLanes] = v;
        else put(e.at(y, s), v);
        top = y > 0 ? max(top, v) : v;
      }
      top = spread_largest(top);
      put(high + s * kLanes, top);
      for (std::int64_t y = 0; y < Lp; y += P > 0 ? Lp : kLanes) {
        if constexpr (P == 0) x[0] = get(e.at(y, s));
        for (auto& z : x) z -= top, low = min(low, z);
        exp_floats(x);
        for (const auto& z : x) put(e.at(y, s) + (&z - x) * e.step, z);
      }
    }
  }
  static PROXQN_INLINE V first_label(V v) {
    if constexpr (R == 1) return v[0] + V{};
    else return __builtin_shuffle(v, word16{0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8});
  }

  // Writes losses of its sequences; false where the range is unsafe.
  PROXQN_INLINE bool forward(float* work, double* losses) {
    const RowsView e{work, N * kLanes};
    alignas(64) float high[kFactors], inverse[kFactors], sums[kFactors] = {};
    double loss[kLanes] = {}, product[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};  // of some 1 / c_t
    Product<double> normaliser[kLanes];
    V totals{};  // only shows whether any was NaN: max loses them
    exponentials(0, kFetchAhead, e, high);
    each_row([&](std::int64_t y, int s) PROXQN_INLINED {
      const V v = get(e.at(y, s)) * (y + kLanes < Lp ? V{} + 1.0f : real);
      put(rows(c.alpha, 0).at(y, s), v);
      put(sums + s * kLanes, get(sums + s * kLanes) + v);
    });
    for (std::int64_t t = 0; t < T; ++t) {
      fetch(c.alpha, t, kFetchAhead);
      for (int s = 0; s < N; s += R) {
        const V total = spread_sum(get(sums + s * kLanes));
        put(sums + s * kLanes, total);
        put(inverse + s * kLanes, 1.0f / total);
        totals += total;
      }
      for (int s = 0; s < N; ++s) {
        if (t >= lengths[s]) continue;
        product[s] *= inverse[s * kLanes];  // as rounded: so Z is that of the recursion
        double gained = high[s * kLanes];
        if (c.labels) {
          const std::int32_t* label = c.labels + slot(t) + s;
          const std::int64_t at = c.at(*label, slot(t) + s);
          gained -= c.scores[at];
          if (t > 0) gained -= c.transitions[label[-N] * L + *label];
        }
        loss[s] += gained;
      }
      if (t % kFactorsAProduct == kFactorsAProduct - 1 || t + 1 == T)
        for (int s = 0; s < N; ++s) normaliser[s].multiply(std::exchange(product[s], 1.0));
      if (t + 1 == T) break;
      exponentials(t + 1, kFetchAhead, e, high);
      forward_product<N, P>(rows(c.alpha, t), m, e, inverse, L,
                            reinterpret_cast<float8*>(work + N * Lp), rows(c.alpha, t + 1), sums);
    }
    float least = 0.0f, nan = 0.0f;
    for (int k = 0; k < R * kLanes; ++k) least = std::min(least, low[k]), nan += totals[k];
    const double range = std::max(m.range - least, 2.0 * m.range);
    if (!(range <= kSafeFloatRange) || std::isnan(nan)) return false;
    for (int k = 0; k < N; ++k) {
      const std::int64_t n = lengths[k];
      if (n == 0) continue;
      losses[c.lane_sequence[batch * kLanes + k]] =
          loss[k] - normaliser[k].log(0) + (n - 1) * m.largest;
    }
    return true;
  }

  // As chain.hpp's, but the sum of a_t beta_t is divided out of v_t, so that no c_t is needed:
  //   n_t = 1 / sum_y a_t(y) beta_t(y),   v_t = n_t exp(x_t - m_t) beta_t,   beta_{t-1} = M v_t,
  //   P(y_t = y) = n_t a_t(y) beta_t(y),   P(y_t = y, y_{t+1} = y') = n_t a_t(y) M(y, y') v_{t+1}(y').
  PROXQN_INLINE void backward(float* work, PairRows<P>& pairs) {
    const RowsView e{work, N * kLanes}, beta{work + N * Lp, N * kLanes};
    alignas(64) float high[kFactors], sums[kFactors] = {}, factor[kFactors], weight[kFactors] = {};
    for (int s = 0; s < N; ++s)
      if (lengths[s] > 0)
        store_floats(weight + s * kLanes, fill_floats(static_cast<float>(
            c.weights ? c.weights[c.lane_sequence[batch * kLanes + s]] : 1.0)));
    exponentials(T - 1, -kFetchAhead, e, high);
    for (std::int64_t t = T - 1; t >= 0; --t) {
      const RowsView alpha = rows(c.alpha, t);
      fetch(c.alpha, t, -kFetchAhead);
      for (int s = 0; s < N; ++s) {
        if (t + 1 < lengths[s]) continue;  // else the last position of a lane, or past it
        float8 sum{};
        for (std::int64_t y = 0; y < Lp; y += kLanes) {
          store_floats(beta.at(y, s), fill_floats(1.0f));
          sum += load_floats(alpha.at(y, s));
        }
        store_floats(sums + s * kLanes, sum);
      }
      for (int s = 0; s < N; s += R)
        put(factor + s * kLanes, 1.0f / spread_sum(get(sums + s * kLanes)));
      const RowsView left{pairs.left.at(0, pairs.n), pairs.left.step};
      each_row([&](std::int64_t y, int s) PROXQN_INLINED {
        const V a = get(alpha.at(y, s)) * (get(factor + s * kLanes) * get(weight + s * kLanes));
        put(left.at(y, s), a);
        put(alpha.at(y, s), a * get(beta.at(y, s)));
      });
      for (int s = 0; s < N; ++s)
        if (t >= lengths[s]) store_floats(factor + s * kLanes, float8{});
        else if (c.labels) c.alpha[c.at(c.labels[slot(t) + s], slot(t) + s)] -= weight[s * kLanes];
      if (t + 1 < T) pairs.add(N, L, Lp);
      if (t == 0) break;
      const RowsView v{pairs.right.at(0, pairs.n), pairs.right.step};
      each_row([&](std::int64_t y, int s) PROXQN_INLINED {
        put(v.at(y, s), get(e.at(y, s)) * get(beta.at(y, s)) * get(factor + s * kLanes));
      });
      exponentials(t - 1, -kFetchAhead, e, high);
      backward_product<N, P>(v, m, rows(c.alpha, t - 1), L,
                             reinterpret_cast<float8*>(work + 2 * N * Lp), beta, sums);
    }
  }
};

template <int P>
PROXQN_INLINE void forward_singles(const ChainOf<float>& c, const Transitions<float>& m,
                                   std::int64_t chunk, double* losses) {
  auto work = scratch<float>(3 * m.padded_labels * kLanes);
  for (std::int64_t b = c.chunk[chunk]; b < c.chunk[chunk + 1]; ++b)
    c.log_domain[b] = !(c.width[b] == kLanes
                            ? SingleBatch<kLanes, P>(c, m, b).forward(work.get(), losses)
                            : SingleBatch<1, P>(c, m, b).forward(work.get(), losses));
}

template <int P>
PROXQN_INLINE void backward_singles(const ChainOf<float>& c, const Transitions<float>& m,
                                    std::int64_t chunk, double* G) {
  constexpr std::int64_t pair_step = (kPairTokens + kLanes) * kLanes;
  const std::int64_t L = c.n_labels, Lp = m.padded_labels;
  auto work = scratch<float>(4 * Lp * kLanes), sides = scratch<float>(2 * pair_step * Lp / kLanes);
  auto sums = scratch(Lp * Lp);
  PairRows<P> pairs{
      {sides.get(), pair_step}, {sides.get() + pair_step * Lp / kLanes, pair_step}, sums.get()};
  // The last batch first: then what is fetched ahead is needed next, at the end of a batch, too.
  for (std::int64_t b = c.chunk[chunk + 1] - 1; b >= c.chunk[chunk]; --b) {
    if (c.width[b] == kLanes) SingleBatch<kLanes, P>(c, m, b).backward(work.get(), pairs);
    else SingleBatch<1, P>(c, m, b).backward(work.get(), pairs);
  }
  pairs.flush(L, Lp);
  for (std::int64_t i = 0; i < L; ++i)
    for (std::int64_t j = 0; j < L; ++j) G[i * L + j] += m.forward[i * Lp + j] * sums[i * Lp + j];
}

// The number of eights is known to the compiler where it is small.
PROXQN_KERNEL void forward_chunk(const ChainOf<float>& c, const Transitions<float>& m,
                                 std::int64_t chunk, double* losses) {
  switch (m.padded_labels / kLanes) {
    case 2: return forward_singles<2>(c, m, chunk, losses);
    case 3: return forward_singles<3>(c, m, chunk, losses);
    case 4: return forward_singles<4>(c, m, chunk, losses);
    default: return forward_singles<0>(c, m, chunk, losses);
  }
}
PROXQN_KERNEL void backward_chunk(const ChainOf<float>& c, const Transitions<float>& m,
                                  std::int64_t chunk, double* G) {
  switch (m.padded_labels / kLanes) {
    case 2: return backward_singles<2>(c, m, chunk, G);
    case 3: return backward_singles<3>(c, m, chunk, G);
    case 4: return backward_singles<4>(c, m, chunk, G);
    default: return backward_singles<0>(c, m, chunk, G);
  }
}

}  // namespace proxqn::PROXQN_TARGET
