// Texts and lists as Python has them.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

// The object's own UTF-8, which lives as long as the object; nothing for what is no valid text.
inline std::optional<std::string_view> text_of(PyObject* object) {
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

inline bool is_listed(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
