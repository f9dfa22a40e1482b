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
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/exit_code.h"
#include "capstan/base/log.h"
#include "capstan/base/version.h"
#include "capstan/metrics/cgroup.h"
#include "capstan/process/flags.h"
#include "capstan/process/heaps.h"
#include "google/protobuf/util/json_util.h"
#include "python/src/client_binding.h"
#include "python/src/record_binding.h"
#include "python/src/rows_binding.h"
#include "python/src/step_binding.h"
#include "python/src/trial_binding.h"
#include "worker/shell/job_facts.h"
#include "worker/shell/runtime.h"
#include "worker/shell/user_program.h"

namespace nb = nanobind;

namespace capstan::worker {
namespace {

// Of the job.json of an exported model.
Job JobFromJson(const std::string& text) {
  v1::JobSpec spec;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of later versions.
  if (!google::protobuf::util::JsonStringToMessage(text, &spec, options).ok()) {
    throw nb::value_error("job.json: not a job");
  }
  return Job(spec);
}

class PyWorker {
 public:
  PyWorker(const RuntimeOptions& options)
      : state_(std::make_shared<State>(std::vector<int>{SIGTERM})) {
    // The gradients and activations of a step are freed and allocated anew by the next one; were
    // their memory given back each time, the kernel would clear it again, at 5 % of a step.
    KeepFreeBytes(KeptBytesFor(metrics::UsableMemoryBytes()));
    auto runtime = Runtime::Start(options, state_->program, state_->shutdown);
    if (!runtime.ok()) throw nb::value_error(std::string(runtime.status().message()).c_str());
    state_->runtime = *std::move(runtime);
    state_->guard =
        std::make_unique<HangGuard>(state_->program, state_->shutdown, *state_->runtime);
  }

  std::optional<Job> AwaitJob(double seconds) {
    const nb::gil_scoped_release no_lock;
    const std::optional<v1::JobSpec> job = state_->program.AwaitJob(absl::Seconds(seconds));
    return job ? std::make_optional<Job>(*job) : std::nullopt;
  }

  void Declare(const std::vector<Declared>& tensors, const std::vector<std::string>& outputs,
               const std::map<std::string, std::string>& facts, const std::string& name) {
    DeclaredModel model = state_->Declare(tensors, outputs);
    model.declaration.set_declared_by(name);
    for (const auto& [key, value] : facts) (*model.declaration.mutable_facts())[key] = value;
    state_->program.Declare(std::move(model));
  }

  void Fail(const v1::UserCodeError& error) {
    state_->program.Fail(error);
    Stop();
  }

  std::unique_ptr<PyStep> Take(double seconds) {
    std::optional<UserSteps::Taken> taken;
    {
      const nb::gil_scoped_release no_lock;
      taken = state_->program.steps().Take(absl::Seconds(seconds));
    }
    return taken ? std::make_unique<PyStep>(state_, *std::move(taken)) : nullptr;
  }

  // For a thread beside the program's, which tells where that hangs.
  bool AwaitHang(double seconds) {
    const nb::gil_scoped_release no_lock;
    return state_->guard->watch().AwaitQuestion(absl::Seconds(seconds));
  }
  void TellHang(const std::string& place, const std::string& stack) {
    state_->guard->watch().Answer(place, stack);
  }

  bool over() const { return state_->program.steps().closed(); }
  void Stop() { state_->shutdown.Request(); }

  // How the process is to end, once the worker has: its exit code.
  int End() {
    const nb::gil_scoped_release no_lock;
    const absl::Status end = state_->runtime->Wait();
    state_->guard->Stop();
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
  using capstan::worker::Job;
  using capstan::worker::Label;
  using capstan::worker::PyWorker;
  using capstan::worker::UserError;

  // Programs may keep views of a step's memory for as long as they like, also at their end.
  nb::set_leak_warnings(false);
  m.attr("version") = std::string(capstan::Version());
  m.def("address_mistake", &capstan::AddressMistake, nb::arg("address"),
        "What is wrong with an address that is to be host:port; empty: nothing.");
  capstan::python::BindClient(m);
  capstan::python::BindRecords(m);
  capstan::python::BindRows(m);

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
      .def_static(
          "from_json", [](const std::string& text) { return capstan::worker::JobFromJson(text); },
          nb::arg("text"), "Of the job.json of an exported model.")
      .def_ro("name", &Job::name)
      .def_ro("program", &Job::program, "model.user")
      .def_ro("seed", &Job::seed)
      .def_ro("fields", &Job::fields, "Keys a record has; 0: none, or a varying number.")
      .def_ro("numbers", &Job::numbers, "Numbers a record has.")
      .def_ro("features", &Job::features, "Those of data.features.")
      .def_ro("tables", &Job::tables, "The names of the tables.")
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

  capstan::worker::BindSteps(m);
  capstan::worker::BindTrial(m);

  nb::class_<PyWorker>(m, "Worker")
      .def(
          "__init__",
          [](PyWorker* self, const std::string& chief, const std::string& name,
             const std::string& host, int health_port, int metrics_port,
             const std::string& ports_file, const std::string& log_format, const std::string& tls,
             double chief_deadline, double drain) {
            new (self) PyWorker({.chief = chief,
                                 .name = name,
                                 .host = host,
                                 .service = {.health_port = health_port,
                                             .metrics_port = metrics_port,
                                             .ports_file = ports_file,
                                             .log_format = log_format,
                                             .tls = tls},
                                 .chief_deadline = absl::Seconds(chief_deadline),
                                 .drain = absl::Seconds(drain)});
          },
          nb::kw_only(), nb::arg("chief"), nb::arg("name"), nb::arg("host"), nb::arg("health_port"),
          nb::arg("metrics_port"), nb::arg("ports_file"), nb::arg("log_format"), nb::arg("tls"),
          nb::arg("chief_deadline"), nb::arg("drain"))
      .def("await_job", &PyWorker::AwaitJob, nb::arg("seconds"))
      .def("declare", &PyWorker::Declare, nb::arg("tensors"), nb::arg("outputs"), nb::arg("facts"),
           nb::arg("name"))
      .def(
          "take", [](PyWorker& worker, double seconds) { return worker.Take(seconds).release(); },
          nb::arg("seconds"), nb::rv_policy::take_ownership)
      .def("await_hang", &PyWorker::AwaitHang, nb::arg("seconds"),
           "Whether a step hangs, of which it is to be told where.")
      .def("tell_hang", &PyWorker::TellHang, nb::arg("place"), nb::arg("stack"))
      .def(
          "fail",
          [](PyWorker& worker, const std::string& type, const std::string& place,
             const std::string& message) { worker.Fail(UserError(type, place, message, "")); },
          nb::arg("type"), nb::arg("place"), nb::arg("message"),
          "The program has failed before it has declared its model. The worker ends.")
      .def_prop_ro("over", &PyWorker::over)
      .def("stop", &PyWorker::Stop)
      .def("end", &PyWorker::End);
}
