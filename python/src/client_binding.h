// What capstan_ps.client is made of: a job as a program sees it that is no part of it.
#ifndef CAPSTAN_PYTHON_SRC_CLIENT_BINDING_H_
#define CAPSTAN_PYTHON_SRC_CLIENT_BINDING_H_

#include <nanobind/nanobind.h>

namespace capstan::python {

// Adds the class JobClient to the module.
void BindClient(nanobind::module_& m);

}  // namespace capstan::python

#endif  // CAPSTAN_PYTHON_SRC_CLIENT_BINDING_H_
