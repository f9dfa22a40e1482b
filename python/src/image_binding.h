// What capstan_ps.model reads images with, where they are in tar, TFRecord and folders.
#ifndef CAPSTAN_PYTHON_SRC_IMAGE_BINDING_H_
#define CAPSTAN_PYTHON_SRC_IMAGE_BINDING_H_

#include <nanobind/nanobind.h>

namespace capstan::python {

// Adds the class ImageReader to the module.
void BindImages(nanobind::module_& m);

}  // namespace capstan::python

#endif  // CAPSTAN_PYTHON_SRC_IMAGE_BINDING_H_
