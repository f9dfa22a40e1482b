// A trial of a job as a class of Python.
#ifndef CAPSTAN_PYTHON_SRC_TRIAL_BINDING_H_
#define CAPSTAN_PYTHON_SRC_TRIAL_BINDING_H_

#include <nanobind/nanobind.h>

namespace capstan::worker {

// The class Trial of the module.
void BindTrial(nanobind::module_& m);

}  // namespace capstan::worker

#endif  // CAPSTAN_PYTHON_SRC_TRIAL_BINDING_H_
