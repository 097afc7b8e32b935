// Names in Python's objects to columns of a matrix: those of a fitted model, or those of a vocabulary that
// grows.
//
// What a name is, is said by Template.expand and expand_item in Python, and these are what the tests
// compare with. Here only the usual forms are read; anything else, and all that is wrong with the data,
// is left to Python, which reads it or says what is wrong.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "names/csr_builder.hpp"
#include "names/growing_names.hpp"
#include "names/name_columns.hpp"
#include "names/name_hash.hpp"
#include "names/name_table.hpp"
#include "names/python_text.hpp"
#include "names/python_tokens.hpp"
#include "python/arrays.hpp"

namespace proxqn::python {

using namespace nb::literals;
using names::CsrBuilder;
using names::NameBatch;
using names::Piece;
using names::PiecedName;

// Lists of anything: what is in them is looked at when it is read.
using AnyList = nb::typed<nb::list, nb::any>;
// columns, values (none where all are 1), the start of each row, and how many names are not there
using FoundArrays = std::tuple<Array<std::int32_t>, std::optional<Array<double>>,
                               Array<std::int64_t>, std::int64_t>;
static FoundArrays to_numpy(CsrBuilder&& found) {
  std::optional<Array<double>> values;
  if (!found.values.empty()) values = to_numpy(std::move(found.values));
  return {to_numpy(std::move(found.columns)), values, to_numpy(std::move(found.start)),
          found.n_unseen};
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
  explicit TemplateKernel(AnyList templates) {
    for (nb::handle given : templates) {
      const auto literals = nb::cast<std::vector<std::string>>(given[0]);
      PieceTemplate made;
      for (const auto& literal : literals) made.literals.push_back(keep(literal));
      for (nb::handle command : given[1]) {
        Command c{nb::cast<std::size_t>(command[0]),
                  nb::cast<std::int64_t>(command[1]),
                  nb::cast<bool>(command[2]),
                  {}};
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
  std::optional<FoundArrays> find(names::NameColumns& table, nb::list sequences, nb::list sources,
                                  bool skip_first_tokens) const {
    expect(sources.size() >= n_sources_, "a source is missing");
    if (!all_plain(sequences, sources)) return std::nullopt;  // before a name is taken up
    CsrBuilder found;
    std::vector<std::vector<Piece>> texts(sources.size());
    NameBatch names;
    names::NameSearch search;
    for (nb::handle sequence : sequences) {
      for (std::size_t k = 0; k < sources.size(); ++k)
        expect(read(sequence.ptr(), sources[k], texts[k]), "the texts have changed");
      const auto length = static_cast<std::int64_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
      std::int64_t begin = 0;  // of the tokens whose names are in the batch
      for (std::int64_t t = 0; t < length; ++t) {
        if (t > 0 || !skip_first_tokens)
          for (const auto& one : templates_) spell(one, texts, t, length, names);
        if (!names.full() && t + 1 < length) continue;
        table.look_up(names, search);
        const std::int32_t* columns = search.columns.data();
        for (; begin <= t; ++begin) {
          const std::size_t n = begin > 0 || !skip_first_tokens ? templates_.size() : 0;
          found.add_row(columns, nullptr, n);
          columns += n;
        }
        names.clear();
      }
    }
    return to_numpy(std::move(found));
  }

 private:
  Piece keep(const std::string& text) {
    kept_.push_back(text);
    return Piece(kept_.back());
  }

  static bool all_plain(nb::list sequences, nb::list sources) {
    std::vector<Piece> texts;
    for (nb::handle sequence : sequences) {
      if (!is_listed(sequence.ptr())) return false;
      for (nb::handle source : sources)
        if (!read(sequence.ptr(), source, texts)) return false;
    }
    return true;
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
      const std::int64_t at = !c.absolute ? token + c.row : c.row > 0 ? c.row - 1 : length + c.row;
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
static std::optional<Py_ssize_t> row_width(AnyList sequences) {
  Py_ssize_t width = -1;
  for (nb::handle sequence : sequences) {
    if (!is_listed(sequence.ptr())) return std::nullopt;
    PyObject** rows = PySequence_Fast_ITEMS(sequence.ptr());
    const Py_ssize_t length = PySequence_Fast_GET_SIZE(sequence.ptr());
    for (Py_ssize_t t = 0; t < length; ++t) {
      if (!is_listed(rows[t])) return std::nullopt;
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(rows[t]);
      if (width >= 0 && size != width) return std::nullopt;
      width = size;
    }
  }
  if (width < 0) return std::nullopt;
  return width;
}

// Tokens to rows, and these to NumPy at the end; the names must outlive it.
class TokenRows : public names::TokenRows {
 public:
  using Types = nb::typed<nb::tuple, nb::type_object, nb::ellipsis>;
  TokenRows(names::NameColumns& columns, bool keep_zeros, Types numbers)
      : names::TokenRows(columns, keep_zeros, types(numbers)), numbers_(numbers) {}
  std::size_t read(AnyList tokens, std::size_t begin) {
    return names::TokenRows::read(PySequence_Fast_ITEMS(tokens.ptr()), begin, tokens.size());
  }
  bool add(nb::typed<nb::list, nb::str> names, Array<const double> values) {
    expect(names.size() == values.shape(0), "expected a value for every name");
    return names::TokenRows::add(names.ptr(), values.data());
  }
  FoundArrays arrays() { return to_numpy(std::exchange(rows, CsrBuilder())); }

 private:
  static std::vector<PyTypeObject*> types(nb::tuple given) {
    std::vector<PyTypeObject*> found;
    for (nb::handle type : given) {
      expect(PyType_Check(type.ptr()), "numbers must be types");
      found.push_back(reinterpret_cast<PyTypeObject*>(type.ptr()));
    }
    return found;
  }
  nb::tuple numbers_;  // keeps the types alive
};

class NamesKernel : public names::NameColumns, public names::NameTable {
 public:
  NamesKernel(Array<const std::uint8_t> blob, Array<const std::int64_t> offsets)
      : NameTable(reinterpret_cast<const char*>(blob.data()), offsets.data(),
                  checked(blob, offsets)),
        blob_(blob), offsets_(offsets) {}

  // Columns of the names, or None where one of them is no valid text.
  std::optional<Array<std::int64_t>> find_names(nb::typed<nb::list, nb::str> names) const {
    std::vector<std::int64_t> columns;
    columns.reserve(names.size());
    for (nb::handle given : names) {
      const auto text = text_of(given.ptr());
      if (!text) return std::nullopt;
      const Piece whole(*text);
      const Piece* room[1];
      PiecedName name(room);
      name.add(whole);
      columns.push_back(find(name));
    }
    return to_numpy(std::move(columns));
  }

  void look_up(const std::vector<names::WholeName>& names, names::NameSearch& search) override {
    find(names, search);
  }
  void look_up(const names::NameBatch& names, names::NameSearch& search) override {
    find(names, search);
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

class GrowingNamesKernel : public names::GrowingNames {
 public:
  // The columns of names, each with so many occurrences more; None, and nothing done, where one of them
  // is no valid text.
  std::optional<Array<std::int64_t>> add(nb::typed<nb::list, nb::str> names,
                                         Array<const std::int64_t> counts) {
    expect(names.size() == counts.shape(0), "expected a count for every name");
    for (nb::handle given : names)
      if (!text_of(given.ptr())) return std::nullopt;
    std::vector<std::int64_t> columns;
    columns.reserve(names.size());
    std::string room;
    for (nb::handle given : names) {
      room.assign(8, ' ').append(*text_of(given.ptr()));  // eight bytes before are read, too
      const names::WholeName name(room.data() + 8, static_cast<std::int64_t>(room.size()) - 8);
      columns.push_back(number(name, counts(columns.size())));
    }
    return to_numpy(std::move(columns));
  }
  // Blob, offsets and counts.
  std::tuple<Array<std::uint8_t>, Array<std::int64_t>, Array<std::int64_t>> arrays() const {
    return {to_numpy(std::vector<std::uint8_t>(blob().begin(), blob().end())),
            to_numpy(std::vector<std::int64_t>(offsets())),
            to_numpy(std::vector<std::int64_t>(counts()))};
  }
};

void bind_names(nb::module_& m) {
  nb::class_<names::NameColumns>(m, "NameColumns", "Known names, or growing ones.");
  nb::class_<NamesKernel, names::NameColumns>(m, "Names")
      .def(nb::init<Array<const std::uint8_t>, Array<const std::int64_t>>(), "blob"_a, "offsets"_a)
      .def("twin", &NamesKernel::twin)
      .def("find", &NamesKernel::find_names, "names"_a);
  nb::class_<GrowingNamesKernel, names::NameColumns>(m, "GrowingNames")
      .def(nb::init<>())
      .def("__len__", &GrowingNamesKernel::size)
      .def("add", &GrowingNamesKernel::add, "names"_a, "counts"_a)
      .def("arrays", &GrowingNamesKernel::arrays);
  nb::class_<TokenRows>(m, "TokenRows")
      .def(nb::init<names::NameColumns&, bool, TokenRows::Types>(), "names"_a,
           "keep_zeros"_a = false, "numbers"_a = nb::tuple(), nb::keep_alive<1, 2>())
      .def("read", &TokenRows::read, "tokens"_a, "begin"_a)
      .def("add", &TokenRows::add, "names"_a, "values"_a)
      .def("arrays", &TokenRows::arrays);
  nb::class_<TemplateKernel>(m, "Templates")
      .def(nb::init<AnyList>(), "templates"_a)
      .def(
          "find",
          [](const TemplateKernel& t, names::NameColumns& names, AnyList s, AnyList sources,
             bool skip) { return t.find(names, s, sources, skip); },
          "names"_a, "sequences"_a, "sources"_a, "skip_first_tokens"_a);
  m.def("row_width", &row_width, "sequences"_a,
        "Columns of the rows of all sequences, if one number.");
}

}  // namespace proxqn::python
