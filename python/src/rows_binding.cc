#include "python/src/rows_binding.h"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace nb = nanobind;

namespace capstan::python {
namespace {

using Shape = std::pair<size_t, size_t>;  // Rows, and the numbers of each.

std::span<const int64_t> PlacesAt(uintptr_t address, size_t count, size_t rows) {
  const std::span places(reinterpret_cast<const int64_t*>(address), count);
  const bool known = std::all_of(places.begin(), places.end(), [rows](int64_t place) {
    return static_cast<uint64_t>(place) < rows;
  });
  if (!known) throw nb::index_error("a place is none of a row");
  return places;
}

void TakeRows(uintptr_t from, const Shape& shape, uintptr_t index, size_t count, uintptr_t to) {
  const auto& [rows, dim] = shape;
  const std::span<const int64_t> places = PlacesAt(index, count, rows);
  const auto* const row = reinterpret_cast<const float*>(from);
  auto* out = reinterpret_cast<float*>(to);
  const nb::gil_scoped_release no_lock;
  for (const int64_t place : places) out = std::copy_n(row + place * dim, dim, out);
}

// Adds `dim` floats. In groups of four, of which every compiler makes one addition: they share no
// memory.
void AddRow(const float* value, size_t dim, float* sum) {
  const auto add_four = [](const float* __restrict from, float* __restrict to) {
    to[0] += from[0];
    to[1] += from[1];
    to[2] += from[2];
    to[3] += from[3];
  };
  size_t i = 0;
  for (; i + 4 <= dim; i += 4) add_four(value + i, sum + i);
  for (; i < dim; ++i) sum[i] += value[i];
}

void AddRows(uintptr_t from, uintptr_t index, size_t count, uintptr_t to, const Shape& shape) {
  const auto& [rows, dim] = shape;
  const std::span<const int64_t> places = PlacesAt(index, count, rows);
  const auto* value = reinterpret_cast<const float*>(from);
  const nb::gil_scoped_release no_lock;
  for (const int64_t place : places) {
    AddRow(value, dim, reinterpret_cast<float*>(to) + place * dim);
    value += dim;
  }
}

}  // namespace

void BindRows(nb::module_& m) {
  m.def("take_rows", &TakeRows, nb::arg("rows"), nb::arg("shape"), nb::arg("places"),
        nb::arg("count"), nb::arg("to"),
        "Copies the row at each place, one behind the other. All are addresses, of float32 and of "
        "int64.");
  m.def("add_rows", &AddRows, nb::arg("values"), nb::arg("places"), nb::arg("count"), nb::arg("to"),
        nb::arg("shape"), "Adds each of the values to the row at its place, in their order.");
}

}  // namespace capstan::python
