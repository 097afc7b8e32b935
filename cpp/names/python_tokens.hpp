// The features of tokens that are Python's strings, lists of strings, or dicts, to rows of columns.
//
// Nothing lies together in memory, neither the tokens nor the names they hold: everything is asked for
// some steps before it is read, and so the tokens are read in rounds, some hundred names at a time. No
// code of Python runs in here: no object can go away meanwhile.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "names/csr_builder.hpp"
#include "names/name_columns.hpp"
#include "names/name_hash.hpp"
#include "names/python_text.hpp"

namespace proxqn::names {

class TokenRows {
 public:
  // numbers: types beside Python's own of which `float` makes a number without running code of Python.
  TokenRows(NameColumns& columns, bool keep_zeros, std::vector<PyTypeObject*> numbers)
      : columns_(columns), keep_zeros_(keep_zeros), numbers_(std::move(numbers)) {}

  // Read tokens from one on, up to one of an unusual form; returns the first that was not read.
  std::size_t read(PyObject** tokens, std::size_t begin, std::size_t n) {
    constexpr std::size_t far = 16, near = 8;  // tokens ahead
    std::size_t first = begin;                 // of those noted
    for (std::size_t t = begin; t < n; ++t) {
      if (t + far < n) __builtin_prefetch(tokens[t + far]);
      if (t + near < n) fetch_content(tokens[t + near]);
      const bool good = note(tokens[t]);
      if (good && noted_.size() < at_once_ && t + 1 < n) continue;
      const std::size_t n_noted = noted_ends_.size(), n_read = add_noted();
      const bool all_read = good && n_read == n_noted;
      at_once_ =
          all_read ? std::min(2 * at_once_, kNames) : 1;  // else all are noted time and again
      if (!all_read) return first + n_read;
      first = t + 1;
    }
    return n;
  }

  // Add a token whose features others have spelt out; false where one is no plain text.
  bool add(PyObject* names, const double* values) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
      given_.push_back({nullptr, PyList_GET_ITEM(names, i), nullptr, values[i]});
      all_ones_ &= values[i] == 1.0;
    }
    const bool good = spell(given_.size()) == given_.size();
    if (good) add_rows({given_.size()});
    forget();
    return good;
  }

  CsrBuilder rows;

 private:
  static constexpr std::size_t kNames = 256;  // looked up at once, if all goes well
  static constexpr int kDeepest = 8;          // dicts in dicts

  struct Noted {
    PyObject *key, *value;  // no value: a name alone
  };
  struct Given {
    const std::string* prefix;  // or null
    PyObject *name, *inner;     // inner: what stands behind a colon, or null
    double value;
  };
  struct Parts {
    std::string_view prefix, name, inner;
  };

  // --- first round: pointers to what tokens hold ---

  // Ask for what a token holds.
  static void fetch_content(PyObject* token) {
    const void* content = nullptr;
    if (PyList_CheckExact(token)) content = PySequence_Fast_ITEMS(token);
    else if (PyDict_CheckExact(token)) content = reinterpret_cast<PyDictObject*>(token)->ma_keys;
    else return;
    for (int line = 0; line < 4; ++line)
      __builtin_prefetch(static_cast<const char*>(content) + 64 * line);
  }

  // Ask for a string's head and text: strings lie anywhere in memory.
  static void fetch(PyObject* text) {
    __builtin_prefetch(text);
    __builtin_prefetch(reinterpret_cast<const char*>(text) + 63);
  }

  // Note what a token holds; false where it has another form.
  bool note(PyObject* token) {
    if (PyDict_CheckExact(token)) {
      PyObject *key = nullptr, *value = nullptr;
      for (Py_ssize_t at = 0; PyDict_Next(token, &at, &key, &value);) note(key, value);
    } else if (PyList_CheckExact(token) || PyTuple_CheckExact(token)) {
      PyObject** names = PySequence_Fast_ITEMS(token);
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(token);
      for (Py_ssize_t i = 0; i < n; ++i) note(names[i], nullptr);
    } else if (PyUnicode_CheckExact(token)) {
      note(token, nullptr);
    } else {
      return false;
    }
    noted_ends_.push_back(noted_.size());
    return true;
  }
  void note(PyObject* key, PyObject* value) {
    noted_.push_back({key, value});
    fetch(key);
    if (value) fetch(value);
  }

  // --- second round: which features these are ---

  // Add the rows of the tokens noted; returns how many there are before one of an unusual form.
  std::size_t add_noted() {
    std::size_t begin = 0, n_good = 0;
    for (const std::size_t end : noted_ends_) {
      const std::size_t before = given_.size();
      bool good = true;
      for (; good && begin < end; ++begin) good = give(nullptr, noted_[begin], 0);
      if (!good) {
        given_.resize(before);
        break;
      }
      ends_.push_back(given_.size());
      ++n_good;
    }
    const std::size_t n_spelt = spell(given_.size());
    while (n_good > 0 && ends_[n_good - 1] > n_spelt) --n_good;
    ends_.resize(n_good);
    add_rows(ends_);
    forget();
    return n_good;
  }

  void forget() {
    noted_.clear();
    noted_ends_.clear();
    given_.clear();
    ends_.clear();
    prefixes_.clear();
    all_ones_ = true;
  }

  // What a key and its value stand for; false where they are unusual, or wrong.
  bool give(const std::string* prefix, const Noted& noted, int depth) {
    const auto [key, value] = noted;
    if (!value || PyUnicode_CheckExact(value)) {
      given_.push_back({prefix, key, value, 1.0});
      return true;
    }
    if (PyDict_CheckExact(value) || PyList_CheckExact(value))
      return depth < kDeepest && give_nested(prefix, key, value, depth + 1);
    const std::optional<double> number = number_of(value);
    if (!number || !PyUnicode_CheckExact(key)) return false;
    if (*number == 0.0 && !keep_zeros_) return true;
    all_ones_ &= *number == 1.0;
    given_.push_back({prefix, key, nullptr, *number});
    return true;
  }

  bool give_nested(const std::string* prefix, PyObject* key, PyObject* inner, int depth) {
    const auto text = text_of(key);
    if (!text) return false;
    std::string& longer = prefixes_.emplace_back(prefix ? *prefix : std::string());
    longer.append(*text).append(1, ':');
    if (PyList_CheckExact(inner)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inner); ++i)
        given_.push_back({&longer, PyList_GET_ITEM(inner, i), nullptr, 1.0});
      return true;
    }
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(inner, &at, &name, &value);)
      if (!give(&longer, {name, value}, depth)) return false;
    return true;
  }

  std::optional<double> number_of(PyObject* value) const {
    if (value == Py_True) return 1.0;
    if (value == Py_False) return 0.0;
    double number = 0.0;
    if (PyFloat_Check(value)) {
      number = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value)) {
      number = PyLong_AsDouble(value);
      if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return std::nullopt;
      }
    } else if (std::find(numbers_.begin(), numbers_.end(), Py_TYPE(value)) != numbers_.end()) {
      PyObject* made = PyNumber_Float(value);
      if (!made) {
        PyErr_Clear();
        return std::nullopt;
      }
      number = PyFloat_AS_DOUBLE(made);
      Py_DECREF(made);
    } else {
      return std::nullopt;
    }
    if (!std::isfinite(number)) return std::nullopt;
    return number;
  }

  // --- third round: their names ---

  // Make names of the first n features given; returns how many there are before one that is no text.
  // They are hashed when all are written: to read at once what was just written takes time.
  std::size_t spell(std::size_t n) {
    std::size_t n_bytes = 8, n_spelt = 0;  // names are read from eight bytes before them on
    parts_.resize(n);
    for (; n_spelt < n; ++n_spelt) {
      const Given& given = given_[n_spelt];
      const auto name = text_of(given.name);
      const auto inner = given.inner ? text_of(given.inner) : std::string_view();
      if (!name || !inner) break;
      parts_[n_spelt] = {given.prefix ? *given.prefix : std::string_view(), *name, *inner};
      n_bytes += parts_[n_spelt].prefix.size() + name->size() + 1 + inner->size();
    }
    if (n_bytes > room_.size()) room_.resize(2 * n_bytes);
    char* room = room_.data() + 8;
    for (std::size_t i = 0; i < n_spelt; ++i) {
      // The eight bytes before the text of an ASCII string are the object's own.
      const Given& given = given_[i];
      if (!given.prefix && !given.inner && PyUnicode_IS_COMPACT_ASCII(given.name)) continue;
      char* begin = room;
      room = put(parts_[i].prefix, room);
      room = put(parts_[i].name, room);
      if (given.inner) {
        *room++ = ':';
        room = put(parts_[i].inner, room);
      }
      parts_[i].name = std::string_view(begin, room - begin);
    }
    names_.resize(n_spelt);
    for (std::size_t i = 0; i < n_spelt; ++i)
      names_[i] =
          WholeName(parts_[i].name.data(), static_cast<std::int64_t>(parts_[i].name.size()));
    return n_spelt;
  }

  static char* put(std::string_view text, char* room) {
    return room + text.copy(room, text.size());  // which takes no text, too, unlike memcpy
  }

  // --- last round: their columns ---

  void add_rows(const std::vector<std::size_t>& ends) {
    names_.resize(ends.empty() ? 0 : ends.back());
    columns_.look_up(names_, search_);
    values_.clear();
    if (!all_ones_)
      for (std::size_t i = 0; i < names_.size(); ++i) values_.push_back(given_[i].value);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      rows.add_row(search_.columns.data() + begin, all_ones_ ? nullptr : values_.data() + begin,
                   end - begin);
      begin = end;
    }
  }

  NameColumns& columns_;
  bool keep_zeros_;
  std::vector<PyTypeObject*> numbers_;
  std::size_t at_once_ = kNames;
  std::vector<Noted> noted_;
  std::vector<Given> given_;
  std::vector<std::size_t> noted_ends_, ends_;  // of the tokens
  std::deque<std::string> prefixes_;            // does not move what it holds
  bool all_ones_ = true;
  std::vector<Parts> parts_;
  std::vector<char> room_;
  std::vector<WholeName> names_;
  std::vector<double> values_;  // of the names, where not all are 1
  NameSearch search_;
};

}  // namespace proxqn::names
