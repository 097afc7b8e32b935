// The features of tokens that are Python's strings, lists of strings, or dicts, to rows of columns.
//
// Nothing lies together in memory, neither the tokens nor the names they hold: everything is asked for
// some steps before it is read. No code of Python runs in here: no object can go away meanwhile.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "names/csr_builder.hpp"
#include "names/name_hash.hpp"
#include "names/name_table.hpp"
#include "names/python_text.hpp"

namespace proxqn::names {

// The names of some tokens, to be looked up together.
class PythonTokens {
 public:
  // Note the names of an item; false where it has another form.
  bool note(PyObject* item) {
    const bool good = note_item(item);
    ends_.push_back(given_.size());
    return good;
  }
  bool full() const { return given_.size() >= kNames; }

  // Look up what was noted, and start anew; false where one of them is no valid text.
  bool find(const NameTable& table, CsrBuilder& found) {
    if (!read()) return false;
    table.find(names_, search_);
    if (!all_ones_)
      for (const Given& given : given_) values_.push_back(given.value);
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      found.add_row(search_.columns.data() + begin, all_ones_ ? nullptr : values_.data() + begin,
                    end - begin);
      begin = end;
    }
    given_.clear();
    ends_.clear();
    values_.clear();
    all_ones_ = true;
    return true;
  }

 private:
  static constexpr std::size_t kNames = 256;  // looked up at once
  static constexpr std::size_t kAhead = 32;   // names

  struct Given {
    PyObject *name, *inner;  // inner: what stands behind a colon, or null
    double value;
  };

  // Room for so many names more.
  Given* make_room(Py_ssize_t n) {
    given_.resize(given_.size() + static_cast<std::size_t>(n));
    return given_.data() + given_.size() - n;
  }

  bool note_item(PyObject* item) {
    if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) {
      PyObject** parts = PySequence_Fast_ITEMS(item);
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
      Given* given = make_room(n);
      for (Py_ssize_t i = 0; i < n; ++i) given[i] = {parts[i], nullptr, 1.0};
      return true;
    }
    if (PyDict_CheckExact(item)) return note_dict(item);
    if (!PyUnicode_CheckExact(item)) return false;
    *make_room(1) = {item, nullptr, 1.0};
    return true;
  }

  bool note_dict(PyObject* item) {
    Given* given = make_room(PyDict_GET_SIZE(item));
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(item, &at, &key, &value);) {
      if (PyUnicode_CheckExact(value)) {
        *given++ = {key, value, 1.0};
        continue;
      }
      const std::optional<double> number = number_of(value);
      if (!number || !PyUnicode_CheckExact(key)) return false;
      *given = {key, nullptr, *number};
      given += *number != 0.0;
      all_ones_ &= *number == 1.0 || *number == 0.0;
    }
    given_.resize(static_cast<std::size_t>(given - given_.data()));  // zeros are left out
    return true;
  }

  static std::optional<double> number_of(PyObject* value) {
    double number = 0.0;
    if (PyFloat_Check(value)) {
      number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value) || PyBool_Check(value)) {
      number = PyLong_AsDouble(value);
      if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return std::nullopt;
      }
    } else {
      return std::nullopt;
    }
    if (!std::isfinite(number)) return std::nullopt;
    return number;
  }

  bool read() {
    const std::size_t n = given_.size();
    const Given* given = given_.data();
    names_.resize(n);
    n_joined_ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      fetch(given[std::min(i + kAhead, n - 1)].name);
      PyObject* name = given[i].name;
      if (given[i].inner || !PyUnicode_CheckExact(name) || !PyUnicode_IS_COMPACT_ASCII(name)) {
        if (!join(name, given[i].inner, names_[i])) return false;
        continue;
      }
      // The eight bytes before the text are the object's own.
      const auto* text = reinterpret_cast<const char*>(reinterpret_cast<PyASCIIObject*>(name) + 1);
      names_[i] = WholeName(text, PyUnicode_GET_LENGTH(name));
    }
    return true;
  }

  // Ask for a string's head and text: strings lie anywhere in memory.
  static void fetch(PyObject* text) {
    __builtin_prefetch(text);
    __builtin_prefetch(reinterpret_cast<const char*>(text) + 63);
  }

  bool join(PyObject* given, PyObject* inner, WholeName& name) {
    const auto text = text_of(given);
    const auto rest = inner ? text_of(inner) : std::string_view();
    if (!text || !rest) return false;
    if (n_joined_ == joined_.size()) joined_.emplace_back();
    std::string& whole = joined_[n_joined_++];
    whole.assign(8, ' ').append(*text);
    if (inner) whole.append(1, ':').append(*rest);
    name = WholeName(whole.data() + 8, static_cast<std::int64_t>(whole.size()) - 8);
    return true;
  }

  std::vector<Given> given_;
  std::vector<std::size_t> ends_;  // of the tokens
  std::vector<double> values_;     // of the names given, where not all are 1
  bool all_ones_ = true;
  std::vector<WholeName> names_;
  std::deque<std::string> joined_;  // names that are no object's text, after eight bytes
  std::size_t n_joined_ = 0;
  NameSearch search_;
};

// Ask for what an item holds.
inline void fetch_content(PyObject* item) {
  const void* content = nullptr;
  if (PyList_CheckExact(item)) content = PySequence_Fast_ITEMS(item);
  else if (PyDict_CheckExact(item)) content = reinterpret_cast<PyDictObject*>(item)->ma_keys;
  else return;
  for (int line = 0; line < 4; ++line)
    __builtin_prefetch(static_cast<const char*>(content) + 64 * line);
}

// The rows of all items, or nothing where one has another form or holds what is no valid text.
inline std::optional<CsrBuilder> find_items(const NameTable& names,
                                            const std::vector<PyObject*>& items) {
  constexpr std::size_t far = 16, near = 8;  // items ahead
  CsrBuilder found;
  PythonTokens some;
  found.start.reserve(items.size() + 1);
  for (std::size_t t = 0; t < items.size(); ++t) {
    if (t + far < items.size()) __builtin_prefetch(items[t + far]);
    if (t + near < items.size()) fetch_content(items[t + near]);
    if (!some.note(items[t])) return std::nullopt;
    if (some.full() && !some.find(names, found)) return std::nullopt;
  }
  if (!some.find(names, found)) return std::nullopt;
  return found;
}

}  // namespace proxqn::names
