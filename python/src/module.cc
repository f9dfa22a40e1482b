// The worker library as a Python module: the program asks for steps, and hands back what came out.
// No thread of ours takes the interpreter's lock, and no call of ours into Python is ever made from
// one; what waits or computes here does so without the lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <signal.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/base/shutdown.h"
#include "capstan/base/version.h"
#include "capstan/model/layout.h"
#include "python/src/client_binding.h"
#include "python/src/image_binding.h"
#include "python/src/job_facts.h"
#include "worker/shell/runtime.h"
#include "worker/shell/step_gradients.h"
#include "worker/shell/user_program.h"

namespace nb = nanobind;

namespace capstan::worker {
namespace {

using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

// What lives as long as the worker or a step of it that the program holds.
struct State {
  Shutdown shutdown{{SIGTERM}};
  UserProgram program{shutdown};
  std::vector<v1::TensorRole> roles;  // As declared.
  std::vector<size_t> sizes;
  std::unique_ptr<Runtime> runtime;  // Last: it uses the others.

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

  using Gradients = std::vector<std::optional<Floats>>;
  void Finish(double loss_sum, const Gradients& rows, const Gradients& tensors);
  void FinishLogits(const Floats& logits);
  void Fail(const v1::UserCodeError& error) {
    state_->program.steps().Fail(Take(), error, [state = state_] { state->shutdown.Request(); });
  }

 private:
  UserSteps::Taken Take() {
    if (!taken_) throw nb::value_error("this step is finished already");
    UserSteps::Taken taken = std::move(*taken_);
    taken_.reset();
    return taken;
  }

  const std::shared_ptr<State> state_;
  const std::shared_ptr<Step> step_;
  std::optional<UserSteps::Taken> taken_;
  const bool evaluates_ = taken_->kind == Computer::Kind::kLogits;
};

void PyStep::Finish(double loss_sum, const Gradients& rows, const Gradients& tensors) {
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
  UserSteps::Taken taken = Take();
  const nb::gil_scoped_release no_lock;
  StepGradients gradients(*step_);
  for (size_t i = 0; i < rows.size(); ++i) {
    gradients.TakeRows(
        i, rows[i] ? std::span(rows[i]->data(), rows[i]->size()) : std::span<const float>());
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i] || state_->roles[i] == v1::TENSOR_ROLE_FROZEN) {
      gradients.TakeZeros(state_->sizes[i]);
    } else if (state_->roles[i] == v1::TENSOR_ROLE_RUNNING) {
      gradients.TakeChange(std::span(tensors[i]->data(), tensors[i]->size()));
    } else {
      gradients.Take(std::span(tensors[i]->data(), tensors[i]->size()));
    }
  }
  gradients.Finish(loss_sum, state_->program.job().train().clip_norm());
  state_->program.steps().Finish(std::move(taken));
}

void PyStep::FinishLogits(const Floats& logits) {
  if (!evaluates_) throw nb::value_error("this step is to be trained, and has gradients");
  const size_t expected = examples() * state_->program.job().model().outputs();
  if (logits.size() != expected) throw nb::value_error("predict gives another number of logits");
  UserSteps::Taken taken = Take();
  step_->logits.assign(logits.data(), logits.data() + logits.size());
  state_->program.steps().Finish(std::move(taken));
}

// A view of memory of the step; `self` keeps it.
template <typename T, typename From>
nb::object View(nb::handle self, const std::vector<From>& from, std::vector<size_t> shape) {
  static_assert(sizeof(T) == sizeof(From));
  auto* const data = const_cast<T*>(reinterpret_cast<const T*>(from.data()));
  return nb::cast(
      nb::ndarray<nb::pytorch, T, nb::device::cpu>(data, shape.size(), shape.data(), self));
}

class PyWorker {
 public:
  PyWorker(const RuntimeOptions& options) : state_(std::make_shared<State>()) {
    auto runtime = Runtime::Start(options, state_->program, state_->shutdown);
    if (!runtime.ok()) throw nb::value_error(std::string(runtime.status().message()).c_str());
    state_->runtime = *std::move(runtime);
  }

  std::optional<Job> AwaitJob(double seconds) {
    const nb::gil_scoped_release no_lock;
    const std::optional<v1::JobSpec> job = state_->program.AwaitJob(absl::Seconds(seconds));
    return job ? std::make_optional<Job>(*job) : std::nullopt;
  }

  using Declared = std::tuple<std::string, std::string, std::vector<uint32_t>, Floats>;
  void Declare(const std::vector<Declared>& tensors, const std::vector<std::string>& outputs,
               const std::map<std::string, std::string>& facts, const std::string& name) {
    DeclaredModel model;
    model.declaration.set_declared_by(name);
    for (const auto& [tensor, role, shape, values] : tensors) {
      v1::DeclaredTensor& out = *model.declaration.add_tensors();
      out.set_name(tensor);
      out.mutable_shape()->Add(shape.begin(), shape.end());
      if (role == "running") out.set_role(v1::TENSOR_ROLE_RUNNING);
      if (role == "frozen") out.set_role(v1::TENSOR_ROLE_FROZEN);
      state_->roles.push_back(out.role());
      state_->sizes.push_back(values.size());
      model.values.insert(model.values.end(), values.data(), values.data() + values.size());
    }
    model.declaration.mutable_outputs()->Add(outputs.begin(), outputs.end());
    for (const auto& [key, value] : facts) (*model.declaration.mutable_facts())[key] = value;
    state_->program.Declare(std::move(model));
  }

  std::unique_ptr<PyStep> Take(double seconds) {
    std::optional<UserSteps::Taken> taken;
    {
      const nb::gil_scoped_release no_lock;
      taken = state_->program.steps().Take(absl::Seconds(seconds));
    }
    return taken ? std::make_unique<PyStep>(state_, *std::move(taken)) : nullptr;
  }

  bool over() const { return state_->program.steps().closed(); }
  void Stop() { state_->shutdown.Request(); }

  // How the process is to end, once the worker has: its exit code.
  int End() {
    const nb::gil_scoped_release no_lock;
    const absl::Status end = state_->runtime->Wait();
    if (!end.ok()) log::Error(std::string(end.message()));
    return ExitCodeOf(end);
  }

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace
}  // namespace capstan::worker

NB_MODULE(_capstan, m) {
  using capstan::worker::Feature;
  using capstan::worker::Floats;
  using capstan::worker::Job;
  using capstan::worker::Label;
  using capstan::worker::PyStep;
  using capstan::worker::PyWorker;
  using capstan::worker::StepTable;
  using capstan::worker::View;

  // Programs may keep views of a step's memory for as long as they like, also at their end.
  nb::set_leak_warnings(false);
  m.attr("version") = std::string(capstan::Version());
  capstan::python::BindClient(m);
  capstan::python::BindImages(m);

  nb::class_<Feature>(m, "Feature", "Keys of a record that mean one thing.")
      .def_ro("name", &Feature::name)
      .def_ro("table", &Feature::table, "Its place among the job's tables.")
      .def_ro("many", &Feature::many, "A record has any number of them.")
      .def_ro("most", &Feature::most, "The most that a record has, where it has many.")
      .def_ro("pooling", &Feature::pooling, "sum, mean or none")
      .def_ro("weighted", &Feature::weighted, "Each key has a weight.");

  nb::class_<Label>(m, "Label", "One of data.schema.labels.")
      .def_ro("name", &Label::name)
      .def_ro("weight", &Label::weight, "By what its loss is multiplied.")
      .def_ro("loss", &Label::loss, "logistic or squared");

  nb::class_<Job>(m, "Job", "The job, as far as a program needs it to build its model.")
      .def_static("from_json", &capstan::worker::JobFromJson, nb::arg("text"),
                  "Of the job.json of an exported model.")
      .def_ro("name", &Job::name)
      .def_ro("program", &Job::program, "model.user")
      .def_ro("seed", &Job::seed)
      .def_ro("fields", &Job::fields, "Keys a record has; 0: none, or a varying number.")
      .def_ro("numbers", &Job::numbers, "Numbers a record has.")
      .def_ro("features", &Job::features, "Those of data.features.")
      .def_ro("dims", &Job::dims, "Of the rows of each table; empty: the data have no keys.")
      .def_ro("dim", &Job::dim, "Of an embedding of the only table; 0: the data have no keys.")
      .def_ro("outputs", &Job::outputs, "Logits an example.")
      .def_ro("labels", &Job::labels, "Those of data.schema.labels; empty: there is one.")
      .def_ro("loss", &Job::loss,
              "Of a label that has none of its own: logistic, softmax or squared.")
      .def_ro("image", &Job::image, "Height and width, where records are images.")
      .def_ro("channels", &Job::channels,
              "Of such an image: 3 with red, green and blue, 1 if grey.")
      .def_ro("batch_size", &Job::batch_size)
      .def_ro("sum_loss", &Job::sum_loss, "train.gradient: sum")
      .def_ro("step_threads", &Job::step_threads)
      .def_ro("synchronous", &Job::synchronous)
      .def_ro("evaluates", &Job::evaluates, "There are records that are held out.");

  nb::class_<PyStep>(m, "Step")
      .def_prop_ro("evaluates", &PyStep::evaluates)
      .def_prop_ro("examples", &PyStep::examples)
      .def_prop_ro("stream", &PyStep::stream)
      .def_prop_ro("seq", &PyStep::seq)
      .def("labels",
           [](nb::handle self) {
             const PyStep& of = nb::cast<const PyStep&>(self);
             const capstan::Batch& batch = *of.step().batch;
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
            const capstan::Negatives& drawn = of.step().batch->negatives;
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
      .def("finish", &PyStep::Finish, nb::arg("loss_sum"), nb::arg("rows"), nb::arg("tensors"))
      .def("finish_logits", &PyStep::FinishLogits, nb::arg("logits"))
      .def(
          "fail",
          [](PyStep& step, const std::string& type, const std::string& place,
             const std::string& message, const std::string& traceback) {
            capstan::v1::UserCodeError error;
            error.set_type(type);
            error.set_place(place);
            error.set_message(message);
            error.set_traceback(traceback);
            step.Fail(error);
          },
          nb::arg("type"), nb::arg("place"), nb::arg("message"), nb::arg("traceback"),
          "The program has failed at this step. The worker gives back what it holds, and ends.");

  nb::class_<PyWorker>(m, "Worker")
      .def(
          "__init__",
          [](PyWorker* self, const std::string& chief, const std::string& name,
             const std::string& host, int health_port, int metrics_port,
             const std::string& ports_file, const std::string& log_format, const std::string& tls,
             double chief_deadline) {
            new (self) PyWorker({.chief = chief,
                                 .name = name,
                                 .host = host,
                                 .service = {.health_port = health_port,
                                             .metrics_port = metrics_port,
                                             .ports_file = ports_file,
                                             .log_format = log_format,
                                             .tls = tls},
                                 .chief_deadline = absl::Seconds(chief_deadline)});
          },
          nb::kw_only(), nb::arg("chief"), nb::arg("name"), nb::arg("host"), nb::arg("health_port"),
          nb::arg("metrics_port"), nb::arg("ports_file"), nb::arg("log_format"), nb::arg("tls"),
          nb::arg("chief_deadline"))
      .def("await_job", &PyWorker::AwaitJob, nb::arg("seconds"))
      .def("declare", &PyWorker::Declare, nb::arg("tensors"), nb::arg("outputs"), nb::arg("facts"),
           nb::arg("name"))
      .def(
          "take", [](PyWorker& worker, double seconds) { return worker.Take(seconds).release(); },
          nb::arg("seconds"), nb::rv_policy::take_ownership)
      .def_prop_ro("over", &PyWorker::over)
      .def("stop", &PyWorker::Stop)
      .def("end", &PyWorker::End);
}
