// What gives names their columns: a table of those that are known, or one that takes up new ones.
#pragma once
#include <vector>

#include "names/name_hash.hpp"
#include "names/name_table.hpp"

namespace proxqn::names {

class NameColumns {
 public:
  virtual ~NameColumns() = default;
  // Writes the names' columns to the search, -1 for those that have none.
  virtual void look_up(const std::vector<WholeName>& names, NameSearch& search) = 0;
  virtual void look_up(const NameBatch& names, NameSearch& search) = 0;
};

}  // namespace proxqn::names
