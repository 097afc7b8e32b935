#include "products/list_sums.hpp"

#include <algorithm>
#include <cstring>

#include "base/aligned_array.hpp"
#include "base/parallel.hpp"

namespace proxqn::products {

constexpr std::int64_t kListTerms = 1024;  // of a float: a column with more in a part is frequent,
constexpr std::int64_t kListedRun = 512;   // and its sums go to doubles after so many slots
constexpr std::int64_t kCopiedSlots = 64;  // whose rows are copied at a time; a run is whole copies

ListedColumns::ListedColumns(const Features& f, std::int64_t stride_, std::int64_t n_labels_,
                             std::int64_t scalar, const OutOfReach& out)
    : n_labels(n_labels_), Lp(row_length(n_labels, kLine / scalar)), stride(stride_),
      n_parts(parts_of(stride, f.lists.n_columns)),
      columns(f.lists.columns, f.lists.columns + f.lists.n_columns) {
  std::int64_t n_all = 0, n_wanted = 0;
  for (std::int64_t i = 0; i < f.lists.n_columns; ++i) {
    const std::int32_t c = columns[i];
    const std::int64_t n = f.start[c + 1] - f.start[c];
    n_all += n;
    n_wanted += out.columns[c] ? 0 : n;
    if (scalar > 4 || n <= n_parts * kListTerms) continue;
    frequent.push_back(c);
    frequent_place.push_back(i);
  }
  pays = 2 * n_wanted > n_all;
}

// sums[column][Lp] += the rows [.][Lp] of the slots [first, last), K registers V from label y on
template <int K, class V, class S>
PROXQN_INLINE void add_to_listed(const TokenLists& x, const S* rows, std::int64_t first,
                                 std::int64_t last, std::int64_t Lp, std::int64_t y, S* sums) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  for (std::int64_t s = first; s < last; ++s) {
    const std::int64_t list = x.slot_list ? x.slot_list[s] : s;
    if (list < 0) continue;
    V r[K];
    std::memcpy(r, rows + (s - first) * Lp + y, sizeof r);
    const std::uint16_t* end = x.places + x.start[list + 1];
    for (const std::uint16_t* p = x.places + x.start[list]; p < end; ++p)
      for (int k = 0; k < K; ++k) add_to(sums + *p * Lp + y + lanes * k, r[k]);
  }
}

template <class V, class S>
PROXQN_INLINE void sum_listed_slots(const TokenLists& lists, const ListedColumns& x,
                                    const SlotRows<S>& rows, std::int64_t first, std::int64_t last,
                                    S* sums, double* frequent) {
  constexpr std::int64_t lanes = sizeof(V) / sizeof(S);
  const std::int64_t Lp = x.Lp;
  const auto n_frequent = static_cast<std::int64_t>(x.frequent.size());
  std::fill(sums, sums + x.columns.size() * Lp, S(0));
  std::fill(frequent, frequent + n_frequent * Lp, 0.0);
  AlignedArray<S> copy(kCopiedSlots * Lp);
  for (std::int64_t begin = first; begin < last; begin += kCopiedSlots) {
    const std::int64_t end = std::min(last, begin + kCopiedSlots);
    copy_rows(rows, begin, end, x.n_labels, Lp, copy.data());
    for (std::int64_t y = 0; y < Lp; y += 4 * lanes) {
      auto add = [&](auto k) PROXQN_INLINED {
        add_to_listed<decltype(k)::value, V>(lists, copy.data(), begin, end, Lp, y, sums);
      };
      const std::int64_t left = (Lp - y) / lanes;
      if (left >= 4) add(std::integral_constant<int, 4>());
      else if (left == 3) add(std::integral_constant<int, 3>());
      else if (left == 2) add(std::integral_constant<int, 2>());
      else add(std::integral_constant<int, 1>());
    }
    if ((end - first) % kListedRun != 0 && end != last) continue;
    for (std::int64_t i = 0; i < n_frequent; ++i)
      for (std::int64_t y = 0; y < Lp; y += kLanes) {
        S* from = sums + x.frequent_place[i] * Lp + y;
        double* total = frequent + i * Lp + y;
        store8(total, load8(total) + load8(from));
        std::fill(from, from + kLanes, S(0));
      }
  }
}

PROXQN_CLONES void sum_listed_part(const TokenLists& lists, const ListedColumns& x,
                                   const SlotRows<float>& rows, std::int64_t first,
                                   std::int64_t last, float* sums, double* frequent) {
  if (x.Lp == kLanes) sum_listed_slots<float8>(lists, x, rows, first, last, sums, frequent);
  else sum_listed_slots<float16>(lists, x, rows, first, last, sums, frequent);
}
PROXQN_CLONES void sum_listed_part(const TokenLists& lists, const ListedColumns& x,
                                   const SlotRows<double>& rows, std::int64_t first,
                                   std::int64_t last, double* sums, double* frequent) {
  sum_listed_slots<double8>(lists, x, rows, first, last, sums, frequent);
}

template <class S>
ListedSums<S> sum_listed(const Features& f, const ListedColumns& x, const SlotRows<S>& rows,
                         int n_jobs) {
  ListedSums<S> out{PartSums<double>(x.frequent, x.n_parts, x.Lp),
                    PartSums<S>(x.columns, x.n_parts, x.Lp)};
  const std::int64_t n_runs = (x.stride + kListedRun - 1) / kListedRun;
  parallel_for(x.n_parts, n_jobs, [&](std::int64_t part) {
    const std::int64_t first = part * n_runs / x.n_parts * kListedRun;
    const std::int64_t last = std::min(x.stride, (part + 1) * n_runs / x.n_parts * kListedRun);
    may_throw([&] {
      sum_listed_part(f.lists, x, rows, first, last, out.all.part(part), out.frequent.part(part));
    });
  });
  return out;
}

template ListedSums<float> sum_listed(const Features&, const ListedColumns&, const SlotRows<float>&,
                                      int);
template ListedSums<double> sum_listed(const Features&, const ListedColumns&,
                                       const SlotRows<double>&, int);

}  // namespace proxqn::products
