// Rows of a table by their places, for what Python computes with them.
#ifndef CAPSTAN_PYTHON_SRC_ROWS_BINDING_H_
#define CAPSTAN_PYTHON_SRC_ROWS_BINDING_H_

#include <nanobind/nanobind.h>

namespace capstan::python {

// Adds take_rows and add_rows to the module.
void BindRows(nanobind::module_& m);

}  // namespace capstan::python

#endif  // CAPSTAN_PYTHON_SRC_ROWS_BINDING_H_
