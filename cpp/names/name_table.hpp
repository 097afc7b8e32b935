// Which column a feature name stands for: a hash table over names that are one block of bytes.
//
// The table is in groups of eight places. A group's word holds a byte of the hash of each, 0 where the
// place is free, and the eight are compared at once: a name that is not there is one read, from an
// array that is small enough for the cache, and nearly every byte that agrees is the name.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "names/name_hash.hpp"

namespace proxqn::names {

// Where a name is looked for, and as what.
struct NameKey {
  std::uint64_t group, tag;

  NameKey() = default;
  NameKey(std::uint64_t hash, int bits) {
    hash = (hash ^ (hash >> 32)) * 0xFF51AFD7ED558CCD;  // the polynomial's low bits are weak
    group = hash >> (64 - bits);
    tag = hash >> (56 - bits) & 0xFF;
    tag += !tag;
  }
};

struct Candidate {
  std::size_t name, at;  // at: first a place of the table, then a column
};

// Columns of names that are looked up together, -1 for those that are not there; and the room for it.
struct NameSearch {
  std::vector<std::int32_t> columns;
  std::vector<NameKey> keys;
  std::vector<Candidate> candidates;

  void make_room(std::size_t n) {
    columns.assign(n, -1);
    if (keys.size() >= n) return;
    keys.resize(n);
    candidates.resize(n);
  }
};

class NameTable {
 public:
  // Name j is blob[offsets[j] … offsets[j+1]).
  NameTable(const char* blob, const std::int64_t* offsets, std::int64_t n)
      : blob_(blob), offsets_(offsets) {
    make_room(n);
    for (std::int64_t j = 0; j < n; ++j) {
      const Piece whole(std::string_view(blob + offsets[j], offsets[j + 1] - offsets[j]));
      const Piece* room[1];
      PiecedName name(room);
      name.add(whole);
      if (find(name) < 0) insert(NameKey(name.hash, bits_), j);
      else if (twin_ < 0) twin_ = j;
    }
  }

  // A name that stands there twice, or -1.
  std::int64_t twin() const { return twin_; }

  // Take up the last of the names, which is new: they may lie elsewhere now. hashes: those of all.
  void add_last(const char* blob, const std::int64_t* offsets,
                const std::vector<std::uint64_t>& hashes) {
    blob_ = blob;
    offsets_ = offsets;
    const auto n = static_cast<std::int64_t>(hashes.size());
    std::int64_t j = n - 1;
    if (make_room(n)) j = 0;
    for (; j < n; ++j) insert(NameKey(hashes[j], bits_), j);
  }

  // The column of a name, or -1.
  template <class Name>
  std::int32_t find(const Name& name) const {
    const NameKey key(name.hash, bits_);
    for (std::size_t group = key.group;; group = next(group)) {
      const std::uint64_t tags = tags_[group];
      for (std::uint64_t places = matches(tags, key.tag); places; places &= places - 1) {
        const std::int32_t j = columns_[place(group, places)];
        if (is(name, j)) return j;
      }
      if (!is_full(tags)) return -1;
    }
  }

  // The columns of some names. A name is four reads from memory, each at a place that the one before
  // tells: they are made in rounds, so that those of all names are under way together. Whether a name
  // is there nobody can guess, so no branch asks.
  template <class Names>
  void find(const Names& names, NameSearch& search) const {
    const std::size_t n = names.size();
    search.make_room(n);
    NameKey* keys = search.keys.data();
    Candidate* candidates = search.candidates.data();
    const std::uint64_t* groups =
        tags_.data();  // to the compiler, what is written could be members
    const std::int32_t* columns = columns_.data();
    const int bits = bits_;
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = NameKey(names[i].hash, bits);
      __builtin_prefetch(groups + keys[i].group);
    }
    std::size_t n_candidates = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t tags = groups[keys[i].group];
      const std::uint64_t places = matches(tags, keys[i].tag);
      const std::size_t at = place(keys[i].group, places);
      __builtin_prefetch(columns + at);
      candidates[n_candidates] = {i, at};
      n_candidates += (places != 0) | is_full(tags);
    }
    for (std::size_t k = 0; k < n_candidates; ++k) {
      candidates[k].at = columns[candidates[k].at];
      __builtin_prefetch(offsets_ + candidates[k].at);
    }
    for (std::size_t k = 0; k < n_candidates; ++k)
      __builtin_prefetch(blob_ + offsets_[candidates[k].at]);
    for (std::size_t k = 0; k < n_candidates; ++k) {
      const auto [i, j] = candidates[k];
      search.columns[i] = is(names[i], j) ? static_cast<std::int32_t>(j) : find(names[i]);
    }
  }

 private:
  static constexpr std::uint64_t kFew =
      3;  // names a group in the mean, at most: then 1 of 80 is full
  static constexpr std::uint64_t kLow = 0x0101010101010101, kHigh = 0x8080808080808080;

  // The high bits of the bytes that are the tag; above the lowest there may be wrong ones.
  static std::uint64_t matches(std::uint64_t tags, std::uint64_t tag) {
    const std::uint64_t differ = tags ^ (tag * kLow);
    return (differ - kLow) & ~differ & kHigh;
  }
  static bool is_full(std::uint64_t tags) { return tags >> 56; }  // they are filled from below
  static std::size_t place(std::size_t group, std::uint64_t places) {
    return 8 * group + __builtin_ctzll(places | std::uint64_t{1} << 63) / 8;
  }
  std::size_t next(std::size_t group) const { return (group + 1) & (tags_.size() - 1); }

  template <class Name>
  bool is(const Name& name, std::int64_t j) const {
    const std::int64_t begin = offsets_[j];
    return offsets_[j + 1] - begin == name.size && name.equals(blob_ + begin, begin);
  }

  // Whether the table had to grow for so many names: it is empty then.
  bool make_room(std::int64_t n) {
    if (!tags_.empty() && static_cast<std::uint64_t>(n) <= kFew << bits_) return false;
    while (kFew << bits_ < static_cast<std::uint64_t>(n)) ++bits_;
    tags_.assign(std::size_t{1} << bits_, 0);
    columns_.assign(8 * tags_.size(), 0);
    return true;
  }

  void insert(const NameKey& key, std::int64_t j) {
    std::size_t group = key.group;
    while (is_full(tags_[group])) group = next(group);
    const int taken = (std::bit_width(tags_[group]) + 7) / 8;
    tags_[group] |= key.tag << 8 * taken;
    columns_[8 * group + taken] = static_cast<std::int32_t>(j);
  }

  const char* blob_;
  const std::int64_t* offsets_;
  int bits_ = 1;                       // of the hash, for the group
  std::vector<std::uint64_t> tags_;    // [n_groups], a byte a place
  std::vector<std::int32_t> columns_;  // [n_groups][8]
  std::int64_t twin_ = -1;
};

}  // namespace proxqn::names
