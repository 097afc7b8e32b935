// Names in Python's objects to columns of a matrix, by names.hpp: for new data of a fitted model.
//
// What a name is, is said by Template.expand and expand_item in Python, and these are what the tests
// compare with. Here only the usual forms are read; for anything else, and for all that is wrong with
// the data, the functions give None, and the slow way in Python reads it or says what is wrong.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <deque>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "names.hpp"

using namespace nb::literals;
using proxqn::FoundRows;
using proxqn::NameBatch;
using proxqn::Piece;
using proxqn::PiecedName;

// The object's own UTF-8, which lives as long as the object; nothing for what is no valid text.
static std::optional<std::string_view> text_of(PyObject* object) {
  if (!PyUnicode_CheckExact(object)) return std::nullopt;
  if (PyUnicode_IS_COMPACT_ASCII(object))
    return std::string_view(static_cast<const char*>(PyUnicode_DATA(object)),
                            static_cast<std::size_t>(PyUnicode_GET_LENGTH(object)));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(text, static_cast<std::size_t>(size));
}

static bool is_listed(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

static nb::object to_python(FoundRows&& found) {
  nb::object values = nb::none();
  if (!found.values.empty()) values = nb::cast(to_numpy(std::move(found.values)));
  return nb::make_tuple(to_numpy(std::move(found.columns)), values,
                        to_numpy(std::move(found.start)), found.n_unseen);
}

// One %x, %t or %m: which text of which token.
struct Command {
  std::size_t source;
  std::int64_t row;
  bool absolute;
  std::vector<Piece> markers;  // at the distances 1, 2, … beyond the end that it can reach
};
struct PieceTemplate {
  std::vector<Piece> literals;  // one more than commands
  std::vector<Command> commands;
};

// Templates made ready; each source is a column of the data, or what a command makes of it.
class TemplateKernel {
 public:
  // templates: [(literals, [(source, row, absolute, markers), …]), …]
  explicit TemplateKernel(nb::list templates) {
    for (nb::handle given : templates) {
      const auto literals = nb::cast<std::vector<std::string>>(given[0]);
      PieceTemplate made;
      for (const auto& literal : literals) made.literals.push_back(keep(literal));
      for (nb::handle command : given[1]) {
        Command c{nb::cast<std::size_t>(command[0]), nb::cast<std::int64_t>(command[1]),
                  nb::cast<bool>(command[2]), {}};
        for (const auto& marker : nb::cast<std::vector<std::string>>(command[3]))
          c.markers.push_back(keep(marker));
        expect(static_cast<std::int64_t>(c.markers.size()) >= std::abs(c.row),
               "a marker for every distance expected");
        n_sources_ = std::max(n_sources_, c.source + 1);
        made.commands.push_back(std::move(c));
      }
      expect(made.literals.size() == made.commands.size() + 1, "one more literal than commands");
      templates_.push_back(std::move(made));
    }
  }

  // sources: [(column, results)], results being a dict from texts to texts, or None. No code of
  // Python runs in here: nothing it holds can be changed meanwhile.
  nb::object find(const proxqn::NameTable& table, nb::list sequences, nb::list sources,
                  bool skip_first_tokens) const {
    expect(sources.size() >= n_sources_, "a source is missing");
    FoundRows found;
    std::vector<std::vector<Piece>> texts(sources.size());
    NameBatch names;
    std::vector<std::int64_t> columns;
    for (nb::handle sequence : sequences) {
      if (!is_listed(sequence.ptr())) return nb::none();
      for (std::size_t k = 0; k < sources.size(); ++k)
        if (!read(sequence.ptr(), sources[k], texts[k])) return nb::none();
      const auto length = static_cast<std::int64_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
      std::int64_t begin = 0;  // of the tokens whose names are in the batch
      for (std::int64_t t = 0; t < length; ++t) {
        if (t > 0 || !skip_first_tokens)
          for (const auto& one : templates_) spell(one, texts, t, length, names);
        if (!names.full() && t + 1 < length) continue;
        table.find(names, columns);
        const std::int64_t* column = columns.data();
        for (; begin <= t; ++begin) {
          if (begin > 0 || !skip_first_tokens)
            for (std::size_t k = 0; k < templates_.size(); ++k) found.add(*column++, 1.0);
          found.end_row();
        }
        names.clear();
      }
    }
    return to_python(std::move(found));
  }

 private:
  Piece keep(const std::string& text) {
    kept_.push_back(text);
    return Piece(kept_.back());
  }

  // The texts of one source at all tokens of a sequence.
  static bool read(PyObject* sequence, nb::handle source, std::vector<Piece>& texts) {
    const auto column = nb::cast<Py_ssize_t>(source[0]);
    const nb::object results = source[1];
    expect(results.is_none() || PyDict_Check(results.ptr()), "results must be a dict, or None");
    texts.clear();
    PyObject** rows = PySequence_Fast_ITEMS(sequence);
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(sequence);
    for (Py_ssize_t t = 0; t < length; ++t) {
      if (!is_listed(rows[t]) || PySequence_Fast_GET_SIZE(rows[t]) <= column) return false;
      PyObject* cell = PySequence_Fast_GET_ITEM(rows[t], column);
      if (!PyUnicode_CheckExact(cell)) return false;
      if (!results.is_none() && !(cell = PyDict_GetItem(results.ptr(), cell))) return false;
      const auto text = text_of(cell);
      if (!text) return false;
      texts.emplace_back(*text);
    }
    return true;
  }

  static void spell(const PieceTemplate& t, const std::vector<std::vector<Piece>>& texts,
                    std::int64_t token, std::int64_t length, NameBatch& names) {
    PiecedName& name = names.next(2 * t.commands.size() + 1);
    name.add(t.literals[0]);
    for (std::size_t k = 0; k < t.commands.size(); ++k) {
      const Command& c = t.commands[k];
      const std::int64_t at =
          !c.absolute ? token + c.row : c.row > 0 ? c.row - 1 : length + c.row;
      if (at >= 0 && at < length) name.add(texts[c.source][at]);
      else name.add(c.markers[at < 0 ? -at - 1 : at - length]);
      if (t.literals[k + 1].size) name.add(t.literals[k + 1]);  // the last one seldom has any text
    }
  }

  std::deque<std::string> kept_;  // does not move what it holds
  std::vector<PieceTemplate> templates_;
  std::size_t n_sources_ = 0;
};

// Number of columns of the rows of all sequences, which must be lists or tuples of one size; None
// where they are not.
static nb::object row_width(nb::list sequences) {
  Py_ssize_t width = -1;
  for (nb::handle sequence : sequences) {
    if (!is_listed(sequence.ptr())) return nb::none();
    PyObject** rows = PySequence_Fast_ITEMS(sequence.ptr());
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(sequence.ptr());
    for (Py_ssize_t t = 0; t < length; ++t) {
      if (!is_listed(rows[t])) return nb::none();
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(rows[t]);
      if (width >= 0 && size != width) return nb::none();
      width = size;
    }
  }
  if (width < 0) return nb::none();
  return nb::int_(width);
}

// The features of some tokens, each a string, a list of strings, or a dict of strings and numbers.
class Items {
 public:
  // False where the item is none of these.
  bool read(PyObject* item) {
    const bool good = add_item(item);
    ends_.push_back(values_.size());
    return good;
  }
  bool full() const { return values_.size() >= kNames; }

  // Look all of them up, and start anew.
  void find(const proxqn::NameTable& table, FoundRows& found) {
    static const Piece colon{std::string_view(":")};
    const Piece* piece = texts_.data();
    for (const bool pair : pairs_) {
      PiecedName& name = names_.next(3);
      name.add(*piece++);
      if (!pair) continue;
      name.add(colon);
      name.add(*piece++);
    }
    table.find(names_, columns_);
    names_.clear();
    std::size_t i = 0;
    for (const std::size_t end : ends_) {
      for (; i < end; ++i) found.add(columns_[i], values_[i]);
      found.end_row();
    }
    texts_.clear();
    pairs_.clear();
    values_.clear();
    ends_.clear();
  }

 private:
  static constexpr std::size_t kNames = 128;  // looked up at once

  bool add_item(PyObject* item) {
    if (PyUnicode_CheckExact(item)) return add(item, nullptr, 1.0);
    if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) {
      PyObject** parts = PySequence_Fast_ITEMS(item);
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
      for (Py_ssize_t i = 0; i < n; ++i)
        if (!add(parts[i], nullptr, 1.0)) return false;
      return true;
    }
    if (!PyDict_CheckExact(item)) return false;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(item, &at, &key, &value);)
      if (!add_pair(key, value)) return false;
    return true;
  }

  bool add(PyObject* name, PyObject* inner, double value) {
    const auto text = text_of(name);
    if (!text) return false;
    texts_.emplace_back(*text);
    if (inner) {
      const auto rest = text_of(inner);
      if (!rest) return false;
      texts_.emplace_back(*rest);
    }
    pairs_.push_back(inner != nullptr);
    values_.push_back(value);
    return true;
  }

  bool add_pair(PyObject* key, PyObject* value) {
    if (PyUnicode_CheckExact(value)) return add(key, value, 1.0);
    if (!PyFloat_Check(value) && !PyLong_CheckExact(value) && !PyBool_Check(value)) return false;
    const double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    if (!std::isfinite(number) || !PyUnicode_CheckExact(key)) return false;
    return number == 0.0 || add(key, nullptr, number);
  }

  std::vector<Piece> texts_;         // a name, or the two around a colon
  std::vector<std::uint8_t> pairs_;  // which of these
  std::vector<double> values_;
  std::vector<std::size_t> ends_;  // of the tokens
  NameBatch names_;
  std::vector<std::int64_t> columns_;
};

// Ask for the strings of a list: they lie anywhere in memory.
static void fetch(PyObject* item) {
  if (!PyList_CheckExact(item)) return;
  PyObject** parts = PySequence_Fast_ITEMS(item);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(item);
  for (Py_ssize_t i = 0; i < n; ++i) {
    __builtin_prefetch(parts[i]);
    __builtin_prefetch(reinterpret_cast<const char*>(parts[i]) + 63);  // where its text may end
  }
}

static nb::object find_items(const proxqn::NameTable& names, nb::list sequences) {
  FoundRows found;
  Items some;
  for (nb::handle sequence : sequences) {
    if (!is_listed(sequence.ptr())) return nb::none();
    PyObject** items = PySequence_Fast_ITEMS(sequence.ptr());
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(sequence.ptr());
    for (Py_ssize_t t = 0; t < length; ++t) {
      if (t + 1 < length) fetch(items[t + 1]);
      if (!some.read(items[t])) return nb::none();
      if (some.full()) some.find(names, found);
    }
  }
  some.find(names, found);
  return to_python(std::move(found));
}

class NamesKernel : public proxqn::NameTable {
 public:
  NamesKernel(Array<const std::uint8_t> blob, Array<const std::int64_t> offsets)
      : NameTable(reinterpret_cast<const char*>(blob.data()), offsets.data(), checked(blob, offsets)),
        blob_(blob), offsets_(offsets) {}

  // Columns of the names, or None where one of them is no valid text.
  nb::object find_names(nb::list names) const {
    std::vector<std::int64_t> columns;
    columns.reserve(names.size());
    for (nb::handle given : names) {
      const auto text = text_of(given.ptr());
      if (!text) return nb::none();
      const Piece whole(*text);
      const Piece* room[1];
      PiecedName name(room);
      name.add(whole);
      columns.push_back(find(name));
    }
    return nb::cast(to_numpy(std::move(columns)));
  }

 private:
  static std::int64_t checked(const Array<const std::uint8_t>& blob,
                              const Array<const std::int64_t>& offsets) {
    const auto n = static_cast<std::int64_t>(offsets.shape(0)) - 1;
    expect(n >= 0 && n < INT32_MAX, "expected n_names + 1 offsets");
    expect(offsets(0) == 0 && offsets(n) == static_cast<std::int64_t>(blob.shape(0)),
           "offsets must rise from 0 to the size of the blob");
    for (std::int64_t j = 0; j < n; ++j) expect(offsets(j) <= offsets(j + 1), "offsets must rise");
    return n;
  }
  Array<const std::uint8_t> blob_;
  Array<const std::int64_t> offsets_;
};

void bind_names(nb::module_& m) {
  nb::class_<NamesKernel>(m, "Names")
      .def(nb::init<Array<const std::uint8_t>, Array<const std::int64_t>>(), "blob"_a, "offsets"_a)
      .def("twin", &NamesKernel::twin)
      .def("find", &NamesKernel::find_names, "names"_a)
      .def("find_items", [](const NamesKernel& names, nb::list s) { return find_items(names, s); },
           "sequences"_a);
  nb::class_<TemplateKernel>(m, "Templates")
      .def(nb::init<nb::list>(), "templates"_a)
      .def("find",
           [](const TemplateKernel& t, const NamesKernel& names, nb::list s, nb::list sources,
              bool skip) { return t.find(names, s, sources, skip); },
           "names"_a, "sequences"_a, "sources"_a, "skip_first_tokens"_a);
  m.def("row_width", &row_width, "sequences"_a, "Columns of the rows of all sequences, if one number.");
}
