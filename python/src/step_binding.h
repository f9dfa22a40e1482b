// Steps as objects of Python, and what lives as long as they do.
#ifndef CAPSTAN_PYTHON_SRC_STEP_BINDING_H_
#define CAPSTAN_PYTHON_SRC_STEP_BINDING_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/base/run_once.h"
#include "capstan/base/shutdown.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "python/src/hang_guard.h"
#include "worker/shell/model_source.h"
#include "worker/shell/runtime.h"
#include "worker/shell/step.h"
#include "worker/shell/user_compute.h"
#include "worker/shell/user_program.h"

namespace capstan::worker {

using Floats = nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>;

// By its name: role ("trained", "running", "frozen"), shape and values.
using Declared = std::tuple<std::string, std::string, std::vector<uint32_t>, Floats>;

// What lives as long as the worker or a step of it that the program holds.
struct State {
  // The worker ends in good order at these signals.
  explicit State(std::vector<int> signals) : shutdown(std::move(signals)) {}

  // What the program declares of its model, whose roles and sizes are kept.
  DeclaredModel Declare(const std::vector<Declared>& tensors,
                        const std::vector<std::string>& outputs);

  Shutdown shutdown;
  UserProgram program{shutdown};
  std::vector<v1::TensorRole> roles;  // As declared.
  std::vector<size_t> sizes;
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<HangGuard> guard;  // Last: it uses the others.

  ~State() {
    shutdown.Request();
    program.steps().Close();
  }
};

// One step that the program has taken. Its arrays are views of the worker's memory, each of which
// keeps it.
class PyStep {
 public:
  PyStep(std::shared_ptr<State> state, UserSteps::Taken taken)
      : state_(std::move(state)), step_(taken.step), taken_(std::move(taken)) {}
  PyStep(const PyStep&) = delete;
  PyStep& operator=(const PyStep&) = delete;
  ~PyStep() {
    Settle();
    if (!taken_) return;
    v1::UserCodeError error;
    error.set_type("StepDropped");
    error.set_place("capstan_ps");
    error.set_message("a step was taken, and neither finished nor failed");
    Fail(error);
  }

  bool evaluates() const { return evaluates_; }
  size_t examples() const { return step_->batch->examples(); }
  uint64_t stream() const { return step_->stream.value; }
  uint64_t seq() const { return step_->seq; }
  const Step& step() const { return *step_; }
  const Step& settled() {  // Of what came out of it.
    Settle();
    return *step_;
  }

  // A gradient a table, and a gradient a tensor, or what has become of one that is running; none:
  // zeros.
  using Gradients = std::vector<std::optional<std::span<const float>>>;
  void Finish(double loss_sum, const Gradients& rows, const Gradients& tensors);
  // As Finish(), but that the gradients are read by the worker's event loop, or else by Settle().
  // They must stay as they are until Settle(); `keep` holds their memory as long.
  void FinishLater(double loss_sum, const Gradients& rows, const Gradients& tensors,
                   nanobind::object keep);
  // Returns when nobody reads gradients of this step any more.
  void Settle();
  void FinishLogits(const Floats& logits);
  void Fail(const v1::UserCodeError& error) {
    // If the step is no longer the program's, the guard ends the process.
    (void)state_->program.steps().Fail(Take(), error,
                                       [state = state_] { state->shutdown.Request(); });
  }

 private:
  // Throws where they do not fit the step.
  void Check(const Gradients& rows, const Gradients& tensors) const;
  // Writes what is not trained, and returns what writes the rest.
  std::shared_ptr<RunOnce> ResultsOf(double loss_sum, const Gradients& rows,
                                     const Gradients& tensors) const;
  UserSteps::Taken Take() {
    if (!taken_) throw nanobind::value_error("this step is finished already");
    UserSteps::Taken taken = std::move(*taken_);
    taken_.reset();
    return taken;
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Step> step_;
  std::optional<UserSteps::Taken> taken_;
  std::shared_ptr<RunOnce> late_;  // Shared with the event loop, until Settle().
  nanobind::object kept_;          // Until then.
  const bool evaluates_ = taken_->kind == Computer::Kind::kLogits;
};

v1::UserCodeError UserError(const std::string& type, const std::string& place,
                            const std::string& message, const std::string& traceback);

// The class Step of the module.
void BindSteps(nanobind::module_& m);

}  // namespace capstan::worker

#endif  // CAPSTAN_PYTHON_SRC_STEP_BINDING_H_
