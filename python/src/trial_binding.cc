#include "python/src/trial_binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "python/src/step_binding.h"
#include "python/src/trial.h"
#include "worker/shell/job_facts.h"

namespace nb = nanobind;

namespace capstan::worker {
namespace {

void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw nb::value_error(std::string(status.message()).c_str());
}

// A step of it may live longer.
class PyTrial {
 public:
  explicit PyTrial(const std::string& path) : state_(std::make_shared<State>(std::vector<int>())) {
    auto trial = [&] {
      const nb::gil_scoped_release no_lock;
      return Trial::Open(path, state_->program);
    }();
    ThrowUnlessOk(trial.status());
    trial_ = *std::move(trial);
  }

  Job job() const { return Job(trial_->job()); }

  void Declare(const std::vector<Declared>& tensors, const std::vector<std::string>& outputs) {
    ThrowUnlessOk(trial_->Declare(state_->Declare(tensors, outputs)));
  }

  std::unique_ptr<PyStep> Take(bool held_out) {
    const absl::StatusOr<bool> submitted = [&] {
      const nb::gil_scoped_release no_lock;
      return held_out ? trial_->SubmitHeldOut() : trial_->SubmitTrained();
    }();
    ThrowUnlessOk(submitted.status());
    if (!*submitted) return nullptr;
    return std::make_unique<PyStep>(state_, *state_->program.steps().Take(absl::ZeroDuration()));
  }

 private:
  const std::shared_ptr<State> state_;  // Owned by the trial and its steps.
  std::unique_ptr<Trial> trial_;
};

}  // namespace

void BindTrial(nb::module_& m) {
  nb::class_<PyTrial>(m, "Trial", "Some batches of a job's data, without chief and shards.")
      .def(nb::init<const std::string&>(), nb::arg("path"), "Of a job file.")
      .def_prop_ro("job", &PyTrial::job)
      .def("declare", &PyTrial::Declare, nb::arg("tensors"), nb::arg("outputs"))
      .def(
          "take", [](PyTrial& trial, bool held_out) { return trial.Take(held_out).release(); },
          nb::kw_only(), nb::arg("held_out"), nb::rv_policy::take_ownership,
          "The next step; None: there are no more records.");
}

}  // namespace capstan::worker
