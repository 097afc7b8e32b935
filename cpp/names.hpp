// Which column a feature name stands for: a hash table over names that are one block of bytes.
//
// Names are looked up in pieces, such as "U05:", "the", "/", "NN", and never put together: the hash
// is the polynomial H(b_0 … b_{n-1}) = Σ (b_i + 1) r^{n-1-i} mod 2^64, for which
// H(ab) = H(a) r^|b| + H(b). A text that is part of many names is hashed once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace proxqn {

struct Piece {
  const char* text;
  std::int64_t size;
  std::uint64_t hash, power;  // power: r^size

  Piece() : Piece(std::string_view()) {}
  explicit Piece(std::string_view s)
      : text(s.data()), size(static_cast<std::int64_t>(s.size())), hash(0), power(1) {
    constexpr std::uint64_t r = 0x9E3779B97F4A7C15, r2 = r * r, r3 = r2 * r, r4 = r2 * r2;
    const auto* b = reinterpret_cast<const unsigned char*>(text);
    std::int64_t i = 0;
    for (; i + 4 <= size; i += 4) {  // four at once: a chain of multiplications is what takes time
      hash = hash * r4 + ((b[i] + 1) * r3 + (b[i + 1] + 1) * r2 + (b[i + 2] + 1) * r + (b[i + 3] + 1));
      power *= r4;
    }
    for (; i < size; ++i) {
      hash = hash * r + (b[i] + 1);
      power *= r;
    }
  }
};

// A name in pieces, to which pointers are written one after the other into `piece`.
struct PiecedName {
  const Piece** piece;
  int n = 0;
  std::int64_t size = 0;
  std::uint64_t hash = 0;

  explicit PiecedName(const Piece** room) : piece(room) {}
  void add(const Piece& p) {
    piece[n++] = &p;
    size += p.size;
    hash = hash * p.power + p.hash;
  }
  bool equals(const char* name) const {
    for (int i = 0; i < n; ++i) {
      if (std::memcmp(piece[i]->text, name, piece[i]->size) != 0) return false;
      name += piece[i]->size;
    }
    return true;
  }
};

// Names to be looked up together.
class NameBatch {
 public:
  // The next name, which has at most so many pieces.
  PiecedName& next(std::size_t n_pieces) {
    if (used_ + n_pieces > pieces_.size()) grow(n_pieces);
    names_.emplace_back(pieces_.data() + used_);
    used_ += n_pieces;
    return names_.back();
  }
  bool full() const { return names_.size() >= kEnough; }
  std::size_t size() const { return names_.size(); }
  const PiecedName& operator[](std::size_t i) const { return names_[i]; }
  void clear() {
    names_.clear();
    used_ = 0;
  }

 private:
  static constexpr std::size_t kEnough = 128;

  void grow(std::size_t n_pieces) {
    std::vector<const Piece*> more(2 * pieces_.size() + n_pieces);
    std::copy(pieces_.begin(), pieces_.end(), more.begin());
    for (auto& name : names_) name.piece = more.data() + (name.piece - pieces_.data());
    pieces_.swap(more);
  }
  std::vector<PiecedName> names_;
  std::vector<const Piece*> pieces_;
  std::size_t used_ = 0;
};

class NameTable {
 public:
  // Name j is blob[offsets[j] … offsets[j+1]).
  NameTable(const char* blob, const std::int64_t* offsets, std::int64_t n)
      : blob_(blob), offsets_(offsets) {
    std::uint64_t capacity = 16;
    while (2 * capacity < 3 * static_cast<std::uint64_t>(n)) capacity *= 2;  // at most two thirds full
    slots_.assign(capacity, 0);
    mask_ = capacity - 1;
    for (std::int64_t j = 0; j < n; ++j) {
      const Piece whole(std::string_view(blob + offsets[j], offsets[j + 1] - offsets[j]));
      const Piece* room[1];
      PiecedName name(room);
      name.add(whole);
      std::uint64_t* slot = slot_of(name);
      if (*slot && twin_ < 0) twin_ = j;
      *slot = (mixed(name.hash) & kTag) | static_cast<std::uint64_t>(j + 1);
    }
  }

  // A name that stands there twice, or -1.
  std::int64_t twin() const { return twin_; }

  // The column of a name, or -1.
  std::int64_t find(const PiecedName& name) const {
    return static_cast<std::int64_t>(*const_cast<NameTable*>(this)->slot_of(name) & ~kTag) - 1;
  }

  // The columns of some names. A name is three reads from memory, each at a place that the
  // one before tells: they are asked for in rounds, so that those of all names are under way together.
  void find(const NameBatch& names, std::vector<std::int64_t>& columns) const {
    const std::size_t n = names.size();
    columns.resize(n);
    for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(&slots_[mixed(names[i].hash) & mask_]);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = candidate(names[i]);
      __builtin_prefetch(offsets_ + columns[i]);
    }
    for (std::size_t i = 0; i < n; ++i) __builtin_prefetch(blob_ + offsets_[columns[i]]);
    for (std::size_t i = 0; i < n; ++i) columns[i] = find(names[i]);
  }

 private:
  static constexpr std::uint64_t kTag = ~std::uint64_t{0} << 32;  // of the hash; below it, column + 1

  static std::uint64_t mixed(std::uint64_t h) {  // the polynomial's low bits are weak
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53;
    return h ^ (h >> 33);
  }
  // Where the search will look first, if there is anything.
  std::int64_t candidate(const PiecedName& name) const {
    const std::uint64_t column = slots_[mixed(name.hash) & mask_] & ~kTag;
    return column ? static_cast<std::int64_t>(column) - 1 : 0;
  }
  // Where the name stands, or the free place where it would.
  std::uint64_t* slot_of(const PiecedName& name) {
    const std::uint64_t hash = mixed(name.hash);
    for (std::uint64_t i = hash & mask_;; i = (i + 1) & mask_) {
      const std::uint64_t slot = slots_[i];
      if (!slot) return &slots_[i];
      if ((slot ^ hash) & kTag) continue;
      const auto j = static_cast<std::int64_t>(slot & ~kTag) - 1;
      if (offsets_[j + 1] - offsets_[j] == name.size && name.equals(blob_ + offsets_[j]))
        return &slots_[i];
    }
  }

  const char* blob_;
  const std::int64_t* offsets_;
  std::vector<std::uint64_t> slots_;
  std::uint64_t mask_;
  std::int64_t twin_ = -1;
};

// Rows of columns as they are found: a CSR matrix with sorted rows, in which a column that a token
// has twice has the sum of its values.
struct FoundRows {
  std::vector<std::int32_t> columns;
  std::vector<double> values;  // empty while all are 1
  std::vector<std::int64_t> start{0};  // [n_rows + 1]
  std::int64_t n_unseen = 0;

  void add(std::int64_t column, double value) {
    if (column < 0) {
      ++n_unseen;
      return;
    }
    if (value != 1.0 && values.empty()) values.assign(columns.size(), 1.0);
    columns.push_back(static_cast<std::int32_t>(column));
    if (has_values_ || value != 1.0) {
      has_values_ = true;
      values.push_back(value);
    }
  }

  void end_row() {
    const auto begin = static_cast<std::size_t>(start.back());
    const std::size_t n = columns.size() - begin;
    std::int32_t* c = columns.data() + begin;
    if (!has_values_) {
      std::sort(c, c + n);
      if (std::adjacent_find(c, c + n) != c + n) {
        values.assign(columns.size(), 1.0);
        has_values_ = true;
      }
    }
    if (has_values_) sort_with_values(begin);
    start.push_back(static_cast<std::int64_t>(columns.size()));
  }

 private:
  void sort_with_values(std::size_t begin) {
    row_.clear();
    for (std::size_t e = begin; e < columns.size(); ++e) row_.push_back({columns[e], values[e]});
    std::stable_sort(row_.begin(), row_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    columns.resize(begin);
    values.resize(begin);
    for (const auto& [column, value] : row_) {
      if (columns.size() > begin && columns.back() == column) {
        values.back() += value;
      } else {
        columns.push_back(column);
        values.push_back(value);
      }
    }
  }

  bool has_values_ = false;
  std::vector<std::pair<std::int32_t, double>> row_;
};

}  // namespace proxqn
