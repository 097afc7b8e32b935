// Feature names to be looked up, in pieces or whole, and their hash.
//
// Names of templates come in pieces, such as "U05:", "the", "/", "NN", and are never put together: the
// hash is the polynomial H(b_0 … b_{n-1}) = Σ (b_i + 1) r^{n-1-i} mod 2^64, for which
// H(ab) = H(a) r^|b| + H(b). A text that is part of many names is hashed once.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/simd.hpp"

namespace proxqn::names {

// r: so small that the terms of eight bytes take three multiplications, so large that no two names of
// up to eight bytes have the same hash.
constexpr std::uint64_t kBase = 251;

struct Piece {
  const char* text;
  std::int64_t size;
  std::uint64_t hash, power;  // power: r^size

  Piece() : Piece(std::string_view()) {}
  explicit Piece(std::string_view s)
      : text(s.data()), size(static_cast<std::int64_t>(s.size())), hash(0), power(1) {
    constexpr std::uint64_t r = kBase, r2 = r * r, r3 = r2 * r, r4 = r2 * r2;
    const auto* b = reinterpret_cast<const unsigned char*>(text);
    std::int64_t i = 0;
    for (; i + 4 <= size; i += 4) {  // four at once: a chain of multiplications is what takes time
      hash =
          hash * r4 + ((b[i] + 1) * r3 + (b[i + 1] + 1) * r2 + (b[i + 2] + 1) * r + (b[i + 3] + 1));
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
  bool equals(const char* name, std::int64_t /*before*/) const {
    for (int i = 0; i < n; ++i) {
      if (std::memcmp(piece[i]->text, name, piece[i]->size) != 0) return false;
      name += piece[i]->size;
    }
    return true;
  }
  void append_to(std::vector<char>& blob) const {
    for (int i = 0; i < n; ++i)
      blob.insert(blob.end(), piece[i]->text, piece[i]->text + piece[i]->size);
  }
};

// Eight bytes, the first of them lowest.
inline std::uint64_t word_at(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// A name in one piece. It is read in words of eight bytes, of which the first holds what is left over,
// 1 to 8 bytes, after bytes of zero: no loop and no branch for the odd bytes, whose number nobody can
// guess. To that end the eight bytes before the text are read, and must be there.
struct WholeName {
  const char* text;
  std::int64_t size;
  std::uint64_t head, hash;

  WholeName() = default;
  // Inlined, for otherwise it would be written and read again at once, which takes as long as the rest.
  PROXQN_INLINE WholeName(const char* text, std::int64_t size)
      : text(text), size(size), head(head_of(text)) {
    hash = terms(head) + kOnes[n_head()];
    for (std::int64_t i = n_head(); i < size; i += 8)
      hash = hash * kPowers[8] + terms(word_at(text + i)) + kOnes[8];
  }
  // Whether this is the name that stands there, with so many bytes before it.
  bool equals(const char* name, std::int64_t before) const {
    if (before < 8) return std::memcmp(text, name, size) == 0;
    if (head_of(name) != head) return false;
    for (std::int64_t i = n_head(); i < size; i += 8)
      if (word_at(text + i) != word_at(name + i)) return false;
    return true;
  }
  void append_to(std::vector<char>& blob) const { blob.insert(blob.end(), text, text + size); }

 private:
  using Nine = std::array<std::uint64_t, 9>;
  static constexpr Nine kPowers = [] {  // r^i
    Nine powers{1};
    for (int i = 1; i < 9; ++i) powers[i] = powers[i - 1] * kBase;
    return powers;
  }();
  static constexpr Nine kOnes = [] {  // the hash of i bytes of zero
    Nine ones{0};
    for (int i = 1; i < 9; ++i) ones[i] = ones[i - 1] + kPowers[i - 1];
    return ones;
  }();

  std::int64_t n_head() const { return size ? ((size - 1) & 7) + 1 : 0; }
  std::uint64_t head_of(const char* name) const {
    const std::int64_t n = n_head();
    return n ? word_at(name + n - 8) & (~std::uint64_t{0} << (64 - 8 * n)) : 0;
  }
  // Σ b_i r^{7-i} over the bytes of a word: all pairs of bytes at once, then pairs of pairs. They fit,
  // as 255 (r + 1) < 2^16 and 255 (r + 1) (r² + 1) < 2^32.
  static std::uint64_t terms(std::uint64_t word) {
    constexpr std::uint64_t bytes = 0x00FF00FF00FF00FF, pairs = 0x0000FFFF0000FFFF;
    const std::uint64_t two = (word & bytes) * kPowers[1] + (word >> 8 & bytes);
    const std::uint64_t four = (two & pairs) * kPowers[2] + (two >> 16 & pairs);
    return (four & 0xFFFFFFFF) * kPowers[4] + (four >> 32);
  }
};

// Names in pieces to be looked up together.
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

}  // namespace proxqn::names
