#include "products/bit_sums.hpp"

#include <algorithm>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define PROXQN_AVX512 __attribute__((target("avx512f,avx512dq")))
#endif

namespace proxqn::products {

#ifdef PROXQN_AVX512
constexpr std::int64_t kItemsAhead = 16;               // each has its bits elsewhere
constexpr std::size_t kFewAdded = 4, kFewSummed = 12;  // columns for which no tables are made

PROXQN_INLINE void prefetch_bits(const std::vector<LabelEights::Dense>& items, std::int64_t i,
                                 std::int64_t first) {
  const auto last = static_cast<std::int64_t>(items.size()) - 1;
  __builtin_prefetch(items[std::min(i + kItemsAhead, last)].bits + first / 16);
}

// The sums of all subsets of x[4]; the bits of a place say which are in.
PROXQN_AVX512 static __m512 subset_sums(const float* x) {
  __m512 sums = _mm512_maskz_mov_ps(0xAAAA, _mm512_set1_ps(x[0]));
  sums = _mm512_mask_add_ps(sums, 0xCCCC, sums, _mm512_set1_ps(x[1]));
  sums = _mm512_mask_add_ps(sums, 0xF0F0, sums, _mm512_set1_ps(x[2]));
  return _mm512_mask_add_ps(sums, 0xFF00, sums, _mm512_set1_ps(x[3]));
}

// --- out[slot] = the weights of the columns that have it -----------------------------------------

PROXQN_AVX512 static void add_masked(const std::vector<LabelEights::Dense>& items,
                                     const float* weights, std::int64_t first, float* out) {
  constexpr int words = 8;  // of 16 slots each, whose sums stay in registers
  for (std::int64_t word = 0; word < kBitRun / 16; word += words) {
    __m512 acc[words];
    for (int k = 0; k < words; ++k) acc[k] = _mm512_setzero_ps();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (word == 0) prefetch_bits(items, i, first);
      const __m512 d = _mm512_set1_ps(weights[items[i].place]);
      const std::uint16_t* bits = items[i].bits + first / 16 + word;
      for (int k = 0; k < words; ++k) acc[k] = _mm512_mask_add_ps(acc[k], bits[k], acc[k], d);
    }
    for (int k = 0; k < words; ++k) _mm512_store_ps(out + 16 * (word + k), acc[k]);
  }
}

#define PROXQN_GFNI __attribute__((target("avx512f,avx512dq,avx512bw,gfni")))

// bytes[slot] = its bits in eight columns: matrices of eight bits squared are turned.
PROXQN_GFNI static void turn_bits(const std::uint16_t* const* columns, std::int64_t first,
                                  std::uint8_t* bytes) {
  __m512i r[8], t[8];
  for (int k = 0; k < 8; ++k) r[k] = _mm512_load_si512(columns[7 - k] + first / 16);
  for (int k = 0; k < 8; k += 2) {
    t[k] = _mm512_unpacklo_epi8(r[k], r[k + 1]);
    t[k + 1] = _mm512_unpackhi_epi8(r[k], r[k + 1]);
  }
  for (int k = 0; k < 8; k += 4)
    for (int h = 0; h < 2; ++h) {
      r[k + 2 * h] = _mm512_unpacklo_epi16(t[k + h], t[k + h + 2]);
      r[k + 2 * h + 1] = _mm512_unpackhi_epi16(t[k + h], t[k + h + 2]);
    }
  const __m512i one_bit_each = _mm512_set1_epi64(0x8040201008040201);
  for (int q = 0; q < 4; ++q) {  // bytes 4q to 4q + 3 of each quarter of a line
    const __m512i both[2] = {_mm512_unpacklo_epi32(r[q], r[q + 4]),
                             _mm512_unpackhi_epi32(r[q], r[q + 4])};
    for (int h = 0; h < 2; ++h) {
      const __m512i turned = _mm512_gf2p8affine_epi64_epi8(one_bit_each, both[h], 0);
      auto* to = reinterpret_cast<__m128i*>(bytes + 32 * q + 16 * h);
      _mm_store_si128(to, _mm512_extracti32x4_epi32(turned, 0));
      _mm_store_si128(to + 8, _mm512_extracti32x4_epi32(turned, 1));
      _mm_store_si128(to + 16, _mm512_extracti32x4_epi32(turned, 2));
      _mm_store_si128(to + 24, _mm512_extracti32x4_epi32(turned, 3));
    }
  }
}

PROXQN_GFNI static void add_chosen(const std::vector<LabelEights::Dense>& items,
                                   const float* weights, std::int64_t first, float* out) {
  const auto n = static_cast<std::int64_t>(items.size());
  alignas(64) std::uint8_t bytes[kBitRun];
  for (std::int64_t i = 0; i < n; i += 8) {
    const std::uint16_t* columns[8];
    float w[8];
    for (int k = 0; k < 8; ++k) {
      const auto& item = items[std::min(i + k, n - 1)];
      columns[k] = item.bits;
      w[k] = i + k < n ? weights[item.place] : 0.0f;
      prefetch_bits(items, i + k, first);
    }
    turn_bits(columns, first, bytes);
    const __m512 low = subset_sums(w), high = subset_sums(w + 4);
    for (std::int64_t s = 0; s < kBitRun; s += 16) {
      const __m512i x = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<__m128i*>(bytes + s)));
      const __m512 sum = _mm512_add_ps(_mm512_permutexvar_ps(x, low),
                                       _mm512_permutexvar_ps(_mm512_srli_epi32(x, 4), high));
      _mm512_store_ps(out + s, i == 0 ? sum : _mm512_add_ps(_mm512_load_ps(out + s), sum));
    }
  }
}

void add_bits(const std::vector<LabelEights::Dense>& items, const float* weights,
              std::int64_t first, float* out) {
  static const bool can_turn = __builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512bw");
  if (can_turn && items.size() >= kFewAdded) add_chosen(items, weights, first, out);
  else add_masked(items, weights, first, out);
}

// --- sums[row of its eight][8] += the values of the slots that a column has ----------------------

PROXQN_AVX512 static void sum_masked(const std::vector<LabelEights::Dense>& items,
                                     const std::int32_t* row, std::int64_t first,
                                     const float* values, double* sums) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint16_t* bits = items[i].bits + first / 16;
    prefetch_bits(items, i, first);
    __m512 even = _mm512_setzero_ps(), odd = even;  // two chains of additions
    for (std::int64_t k = 0; k < kBitRun / 16; k += 2) {
      even = _mm512_mask_add_ps(even, bits[k], even, _mm512_load_ps(values + 16 * k));
      odd = _mm512_mask_add_ps(odd, bits[k + 1], odd, _mm512_load_ps(values + 16 * k + 16));
    }
    const __m512 both = _mm512_add_ps(even, odd);
    const __m512d wide = _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(both)),
                                       _mm512_cvtps_pd(_mm512_extractf32x8_ps(both, 1)));
    const std::int64_t place = items[i].place;
    sums[row[place / kLanes] * kLanes + place % kLanes] += _mm512_reduce_add_pd(wide);
  }
}

// Sixteen registers as a matrix of words: rows become columns.
PROXQN_AVX512 static void transpose16(__m512i* r) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; ++k) {
      r[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + k + 2]);
      r[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + k + 2]);
    }
  for (int j = 0; j < 4; ++j) {
    const __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(a, c, 0x88);
    t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
    t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
  std::copy(t, t + 16, r);
}

PROXQN_AVX512 static void sum_chosen(const std::vector<LabelEights::Dense>& items,
                                     const std::int32_t* row, std::int64_t first,
                                     const float* values, double* sums) {
  alignas(64) float tables[kBitRun / 4][16];
  for (std::int64_t q = 0; q < kBitRun / 4; ++q)
    _mm512_store_ps(tables[q], subset_sums(values + 4 * q));
  const auto n = static_cast<std::int64_t>(items.size());
  for (std::int64_t i = 0; i < n; i += 16) {
    __m512i words[16];  // after turning: 32 slots of sixteen columns
    for (int k = 0; k < 16; ++k) {
      words[k] = _mm512_load_si512(items[std::min(i + k, n - 1)].bits + first / 16);
      prefetch_bits(items, i + k, first);
    }
    transpose16(words);
    __m512 acc[4];  // four chains of additions
    for (auto& sum : acc) sum = _mm512_setzero_ps();
    for (int b = 0; b < 16; ++b)
      for (int k = 0; k < 8; ++k) {
        const __m512i which = _mm512_srli_epi32(words[b], 4 * k);
        acc[k % 4] = _mm512_add_ps(acc[k % 4],
                                   _mm512_permutexvar_ps(which, _mm512_load_ps(tables[8 * b + k])));
      }
    alignas(64) float found[16];
    _mm512_store_ps(found,
                    _mm512_add_ps(_mm512_add_ps(acc[0], acc[1]), _mm512_add_ps(acc[2], acc[3])));
    for (int k = 0; k < std::min<std::int64_t>(16, n - i); ++k) {
      const std::int64_t place = items[i + k].place;
      sums[row[place / kLanes] * kLanes + place % kLanes] += found[k];
    }
  }
}

void sum_bits(const std::vector<LabelEights::Dense>& items, const std::int32_t* row,
              std::int64_t first, const float* values, double* sums) {
  if (items.size() >= kFewSummed) sum_chosen(items, row, first, values, sums);
  else sum_masked(items, row, first, values, sums);
}
#else
void add_bits(const std::vector<LabelEights::Dense>&, const float*, std::int64_t, float*) {}
void sum_bits(const std::vector<LabelEights::Dense>&, const std::int32_t*, std::int64_t,
              const float*, double*) {}
#endif

}  // namespace proxqn::products
