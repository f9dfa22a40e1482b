#include "python/src/step_binding.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>

#include "worker/shell/step_gradients.h"

namespace nb = nanobind;

namespace capstan::worker {

DeclaredModel State::Declare(const std::vector<Declared>& tensors,
                             const std::vector<std::string>& outputs) {
  DeclaredModel model;
  for (const auto& [tensor, role, shape, values] : tensors) {
    v1::DeclaredTensor& out = *model.declaration.add_tensors();
    out.set_name(tensor);
    out.mutable_shape()->Add(shape.begin(), shape.end());
    if (role == "running") out.set_role(v1::TENSOR_ROLE_RUNNING);
    if (role == "frozen") out.set_role(v1::TENSOR_ROLE_FROZEN);
    roles.push_back(out.role());
    sizes.push_back(values.size());
    model.values.insert(model.values.end(), values.data(), values.data() + values.size());
  }
  model.declaration.mutable_outputs()->Add(outputs.begin(), outputs.end());
  return model;
}

void PyStep::Check(const Gradients& rows, const Gradients& tensors) const {
  if (evaluates_) throw nb::value_error("an evaluation has logits, and no gradients");
  if (tensors.size() != state_->sizes.size()) throw nb::value_error("a gradient a tensor, or None");
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] && tensors[i]->size() != state_->sizes[i]) {
      throw nb::value_error("a gradient is of another size than its tensor");
    }
  }
  if (rows.size() != step_->tables.size()) throw nb::value_error("a gradient a table, or None");
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] && rows[i]->size() != step_->tables[i].rows.size()) {
      throw nb::value_error("the gradient of a table's rows is of another size than the rows");
    }
  }
}

std::shared_ptr<RunOnce> PyStep::ResultsOf(double loss_sum, const Gradients& rows,
                                           const Gradients& tensors) const {
  const nb::gil_scoped_release no_lock;
  StepGradients gradients(*step_);
  for (size_t i = 0; i < rows.size(); ++i) {
    gradients.TakeRows(i, rows[i].value_or(std::span<const float>()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i] || state_->roles[i] == v1::TENSOR_ROLE_FROZEN) {
      gradients.TakeZeros(state_->sizes[i]);
    } else if (state_->roles[i] == v1::TENSOR_ROLE_RUNNING) {
      gradients.TakeChange(*tensors[i]);
    } else {
      gradients.Take(*tensors[i]);
    }
  }
  return std::make_shared<RunOnce>(
      [step = step_, gradients = std::move(gradients), loss_sum,
       clip_norm = state_->program.job()->train().clip_norm()]() mutable {
        gradients.Finish(loss_sum, clip_norm);
      });
}

void PyStep::Finish(double loss_sum, const Gradients& rows, const Gradients& tensors) {
  Check(rows, tensors);
  UserSteps::Taken taken = Take();
  const std::shared_ptr<RunOnce> results = ResultsOf(loss_sum, rows, tensors);
  const nb::gil_scoped_release no_lock;
  results->Run();
  state_->program.steps().Finish(std::move(taken));
}

void PyStep::FinishLater(double loss_sum, const Gradients& rows, const Gradients& tensors,
                         nb::object keep) {
  Check(rows, tensors);
  UserSteps::Taken taken = Take();
  const std::shared_ptr<RunOnce> results = ResultsOf(loss_sum, rows, tensors);
  late_ = results;
  kept_ = std::move(keep);
  state_->program.steps().Finish(std::move(taken), [results] { results->Run(); });
}

// The event loop may be busy, or the step's lease gone: then it is done here.
void PyStep::Settle() {
  if (const std::shared_ptr<RunOnce> late = late_) {
    const nb::gil_scoped_release no_lock;
    late->Run();
  }
  late_.reset();
  kept_.reset();
}

void PyStep::FinishLogits(const Floats& logits) {
  if (!evaluates_) throw nb::value_error("this step is to be trained, and has gradients");
  const size_t expected = examples() * state_->program.job()->model().outputs();
  if (logits.size() != expected) throw nb::value_error("predict gives another number of logits");
  UserSteps::Taken taken = Take();
  step_->logits.assign(logits.data(), logits.data() + logits.size());
  state_->program.steps().Finish(std::move(taken));
}

v1::UserCodeError UserError(const std::string& type, const std::string& place,
                            const std::string& message, const std::string& traceback) {
  v1::UserCodeError error;
  error.set_type(type);
  error.set_place(place);
  error.set_message(message);
  error.set_traceback(traceback);
  return error;
}

namespace {

using Arrays = std::vector<std::optional<Floats>>;

// By the address and the number of floats.
using Places = std::vector<std::optional<std::pair<uintptr_t, size_t>>>;

PyStep::Gradients GradientsOf(const Arrays& arrays) {
  PyStep::Gradients gradients(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i]) gradients[i] = std::span(arrays[i]->data(), arrays[i]->size());
  }
  return gradients;
}

PyStep::Gradients GradientsAt(const Places& places) {
  PyStep::Gradients gradients(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    const auto& [address, count] = *places[i];
    if (address == 0 && count > 0) throw nb::value_error("a gradient has no memory");
    gradients[i] = std::span(reinterpret_cast<const float*>(address), count);
  }
  return gradients;
}

// A view of memory of the step, for NumPy by the buffer protocol and for PyTorch by DLPack; `self`
// keeps it. What is empty has an address, too: PyTorch 1.13 never lets go of the owner of memory
// whose address is null, and so the step would stay for ever.
template <typename T, typename From>
nb::object View(nb::handle self, const std::vector<From>& from, std::vector<size_t> shape) {
  static_assert(sizeof(T) == sizeof(From));
  static const From nothing{};
  const From* const begin = from.empty() ? &nothing : from.data();
  auto* const data = const_cast<T*>(reinterpret_cast<const T*>(begin));
  return nb::cast(
      nb::ndarray<nb::array_api, T, nb::device::cpu>(data, shape.size(), shape.data(), self));
}

}  // namespace

void BindSteps(nb::module_& m) {
  nb::class_<PyStep>(m, "Step")
      .def_prop_ro("evaluates", &PyStep::evaluates)
      .def_prop_ro("examples", &PyStep::examples)
      .def_prop_ro("stream", &PyStep::stream)
      .def_prop_ro("seq", &PyStep::seq)
      .def_prop_ro(
          "gradient_norm", [](PyStep& of) { return of.settled().gradient_norm; },
          "Of a step that is finished: the length of the gradient, before it was clipped.")
      .def_prop_ro(
          "nonfinite", [](PyStep& of) { return of.settled().nonfinite; },
          "Likewise: whether NaN or infinity is in the loss or the gradient.")
      .def("labels",
           [](nb::handle self) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const Batch& batch = *of.step().batch;
             return View<float>(self, batch.labels, {of.examples(), batch.label_count});
           })
      .def("weights",
           [](nb::handle self) -> nb::object {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const std::vector<float>& weights = of.step().batch->weights;
             return weights.empty() ? nb::none() : View<float>(self, weights, {weights.size()});
           })
      .def("numbers",
           [](nb::handle self) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             return View<float>(self, of.step().batch->dense,
                                {of.examples(), of.step().batch->dense_width});
           })
      .def("offsets",
           [](nb::handle self) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             return View<int32_t>(self, of.step().batch->offsets, {of.examples() + 1});
           })
      .def("feature_offsets",
           [](nb::handle self, size_t feature) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             return View<int32_t>(self, of.step().batch->features.at(feature).offsets,
                                  {of.examples() + 1});
           })
      .def("feature_weights",
           [](nb::handle self, size_t feature) -> nb::object {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const std::vector<float>& weights = of.step().batch->features.at(feature).weights;
             return weights.empty() ? nb::none() : View<float>(self, weights, {weights.size()});
           })
      .def("index",
           [](nb::handle self, size_t table) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const std::vector<uint32_t>& index = of.step().tables.at(table).keys.index;
             return View<int32_t>(self, index, {index.size()});
           })
      .def(
          "feature_begin",
          [](const PyStep& of, size_t feature) { return of.step().feature_begin.at(feature); },
          "Where a feature's keys begin in its table's index.")
      .def(
          "negatives",
          [](nb::handle self) -> nb::object {
            const PyStep& of = nb::cast<const PyStep&>(self);
            const Negatives& drawn = of.step().batch->negatives;
            if (drawn.keys.empty()) return nb::none();
            return nb::make_tuple(
                drawn.feature, of.step().negatives_begin,
                View<float>(self, drawn.log_shares, {drawn.log_shares.size()}),
                View<float>(self, drawn.record_log_shares, {drawn.record_log_shares.size()}));
          },
          "None, or the place of their feature, where they begin in its table's index, the "
          "logarithm of the share of each, and of the key that each record has itself.")
      .def("keys",
           [](nb::handle self, size_t table) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const std::vector<uint64_t>& unique = of.step().tables.at(table).keys.unique;
             return View<int64_t>(self, unique, {unique.size()});
           })
      .def("values",
           [](nb::handle self) -> nb::object {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const std::vector<float>& values = of.step().batch->values;
             return values.empty() ? nb::none() : View<float>(self, values, {values.size()});
           })
      .def("rows",
           [](nb::handle self, size_t table) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const StepTable& from = of.step().tables.at(table);
             const size_t count = from.keys.unique.size();
             const size_t width = count == 0 ? 0 : from.rows.size() / count;
             return View<float>(self, from.rows, {count, width});
           })
      .def("parameters",
           [](nb::handle self) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             return View<float>(self, of.step().parameters, {of.step().parameters.size()});
           })
      .def(
          "finish",
          [](PyStep& step, double loss_sum, const Arrays& rows, const Arrays& tensors) {
            step.Finish(loss_sum, GradientsOf(rows), GradientsOf(tensors));
          },
          nb::arg("loss_sum"), nb::arg("rows"), nb::arg("tensors"))
      .def(
          "finish_at",
          [](PyStep& step, double loss_sum, const Places& rows, const Places& tensors,
             nb::object keep) {
            step.FinishLater(loss_sum, GradientsAt(rows), GradientsAt(tensors), std::move(keep));
          },
          nb::arg("loss_sum"), nb::arg("rows"), nb::arg("tensors"), nb::arg("keep"),
          "As finish, of floats by their address and number, which the worker reads until "
          "settle(); `keep`: what their memory belongs to.")
      .def("settle", &PyStep::Settle,
           "Waits until the worker has read what finish_at told it of, which may change then.")
      .def("finish_logits", &PyStep::FinishLogits, nb::arg("logits"))
      .def(
          "fail",
          [](PyStep& step, const std::string& type, const std::string& place,
             const std::string& message, const std::string& traceback) {
            step.Fail(UserError(type, place, message, traceback));
          },
          nb::arg("type"), nb::arg("place"), nb::arg("message"), nb::arg("traceback"),
          "The program has failed at this step. The worker gives back what it holds, and ends.");
}

}  // namespace capstan::worker
