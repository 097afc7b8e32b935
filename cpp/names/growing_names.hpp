// A vocabulary that still grows: names get columns in the order in which they first occur, and are
// counted. It is kept as it will be stored, one block of bytes and where each name begins in it.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "names/name_columns.hpp"
#include "names/name_hash.hpp"
#include "names/name_table.hpp"

namespace proxqn::names {

class GrowingNames : public NameColumns {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(counts_.size()); }
  const std::vector<char>& blob() const { return blob_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }

  // The column of a name, a new one where it has none, and so many occurrences more.
  template <class Name>
  std::int32_t number(const Name& name, std::int64_t count) {
    std::int32_t column = table_.find(name);
    if (column < 0) column = add(name);
    counts_[column] += count;
    return column;
  }

  void look_up(const std::vector<WholeName>& names, NameSearch& search) override {
    number_all(names, search);
  }
  void look_up(const NameBatch& names, NameSearch& search) override { number_all(names, search); }

 private:
  template <class Names>
  void number_all(const Names& names, NameSearch& search) {
    table_.find(names, search);
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::int32_t& column = search.columns[i];
      if (column < 0) column = number(names[i], 0);  // by now another of them may have added it
      ++counts_[column];
    }
  }

  template <class Name>
  std::int32_t add(const Name& name) {
    if (size() == INT32_MAX) throw std::length_error("more feature names than 32-bit columns");
    name.append_to(blob_);
    offsets_.push_back(static_cast<std::int64_t>(blob_.size()));
    counts_.push_back(0);
    hashes_.push_back(name.hash);
    table_.add_last(blob_.data(), offsets_.data(), hashes_);
    return static_cast<std::int32_t>(size() - 1);
  }

  std::vector<char> blob_;
  std::vector<std::int64_t> offsets_{0};  // [n + 1]
  std::vector<std::int64_t> counts_;      // [n]
  std::vector<std::uint64_t> hashes_;     // [n] so that a larger table needs no name
  NameTable table_{nullptr, offsets_.data(), 0};
};

}  // namespace proxqn::names
