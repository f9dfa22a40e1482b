// What capstan_ps.model reads records with, where they are in Parquet files, or are images in tar,
// TFRecord and folders.
#ifndef CAPSTAN_PYTHON_SRC_RECORD_BINDING_H_
#define CAPSTAN_PYTHON_SRC_RECORD_BINDING_H_

#include <nanobind/nanobind.h>

namespace capstan::python {

// Adds the class RecordReader to the module.
void BindRecords(nanobind::module_& m);

}  // namespace capstan::python

#endif  // CAPSTAN_PYTHON_SRC_RECORD_BINDING_H_
