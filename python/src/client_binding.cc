#include "python/src/client_binding.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/client/address_resolver.h"
#include "capstan/client/job_client.h"
#include "capstan/consistency/stream_ledger.h"
#include "python/src/message_object.h"

namespace nb = nanobind;

namespace capstan::python {
namespace {

using Keys = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
using Gradient = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// One push of a session is under way at a time: those before it are settled, or never come again.
StreamPush NameOf(uint64_t session, uint64_t seq) {
  return {
      .stream = StreamId::Session(session), .seq = seq, .generation = {1, 1}, .low_watermark = seq};
}

PyObject* TypeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return PyExc_ValueError;
    case absl::StatusCode::kNotFound:
      return PyExc_LookupError;
    case absl::StatusCode::kPermissionDenied:
      return PyExc_PermissionError;
    case absl::StatusCode::kUnavailable:
      return PyExc_ConnectionError;
    default:
      return PyExc_RuntimeError;
  }
}

// What Python code has raised while a call is under way. What it is not meant to raise, such as
// KeyboardInterrupt, is raised again by Check, and ends the call (Interrupted).
absl::Status StatusOf(nb::python_error& raised) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kNotFound, absl::StatusCode::kPermissionDenied,
        absl::StatusCode::kUnavailable}) {
    if (raised.matches(TypeOf(code))) return {code, nb::str(raised.value()).c_str()};
  }
  raised.restore();
  return absl::CancelledError("interrupted");
}

// Raises what the status says, or what a signal's handler has raised during the call.
void Check(const absl::Status& status) {
  if (status.ok()) return;
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(TypeOf(status.code()), std::string(status.message()).c_str());
  }
  throw nb::python_error();
}

// Without the interpreter's lock; what it raises is raised with it.
template <typename Call>
auto Unlocked(Call call) {
  auto result = [&call] {
    const nb::gil_scoped_release no_lock;
    return call();
  }();
  Check(result.status());
  return *std::move(result);
}

// Whether Ctrl-C has been pressed, or something else has raised.
bool Interrupted() {
  const nb::gil_scoped_acquire lock;
  return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
}

// An object of Python that knows where processes are reached: `resolve(address)`, whose
// ConnectionError, LookupError and PermissionError are told as those of the peer, and
// `forget(address)`.
class PyAddressResolver : public AddressResolver {
 public:
  explicit PyAddressResolver(nb::object python) : python_(std::move(python)) {}

  absl::StatusOr<std::string> Resolve(const std::string& address) override {
    const nb::gil_scoped_acquire lock;
    if (PyErr_Occurred() != nullptr) return absl::CancelledError("interrupted");
    try {
      return nb::cast<std::string>(python_.attr("resolve")(address));
    } catch (nb::python_error& raised) {
      return StatusOf(raised);
    }
  }

  void Forget(const std::string& address) override {
    const nb::gil_scoped_acquire lock;
    if (PyErr_Occurred() != nullptr) return;
    try {
      python_.attr("forget")(address);
    } catch (nb::python_error& raised) {
      raised.restore();
    }
  }

 private:
  const nb::object python_;
};

Values ArrayOf(std::vector<float> values) {
  auto kept = std::make_unique<std::vector<float>>(std::move(values));
  float* const data = kept->data();
  const size_t size = kept->size();
  const nb::capsule owner(kept.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<float>*>(vector);
  });
  return Values(data, {size}, owner);
}

class PyJobClient {
 public:
  // `resolver` None: every address is dialled as it is.
  PyJobClient(const std::string& chief, const std::string& tls, double chief_patience,
              double pull_patience, nb::object resolver) {
    JobClientOptions options{.chief = chief,
                             .tls = tls,
                             .chief_patience = absl::Seconds(chief_patience),
                             .pull_patience = absl::Seconds(pull_patience),
                             .interrupted = Interrupted};
    if (!resolver.is_none()) {
      options.resolver = std::make_unique<PyAddressResolver>(std::move(resolver));
    }
    auto client = JobClient::Create(std::move(options));
    Check(client.status());
    client_ = *std::move(client);
  }

  nb::object Status() {
    return ObjectOf(Unlocked([this] { return client_->Status(); }));
  }
  nb::object Describe() {
    return ObjectOf(Unlocked([this] { return client_->Describe(); }));
  }
  Values PullRows(const std::string& table, const Keys& keys) {
    return ArrayOf(Unlocked([this, &table, keys = absl::MakeSpan(keys.data(), keys.size())] {
      return client_->PullRows(table, keys);
    }));
  }
  // Rows: of each table its name, its keys, and its gradients, flat.
  uint64_t PushRows(uint64_t session, uint64_t seq,
                    const std::vector<std::tuple<std::string, Keys, Gradient>>& tables) {
    std::vector<TableGradients> all;
    for (const auto& [table, keys, values] : tables) {
      all.push_back({table, absl::MakeSpan(keys.data(), keys.size()),
                     absl::MakeSpan(values.data(), values.size())});
    }
    return Unlocked([&] { return client_->PushRows(NameOf(session, seq), all); });
  }
  uint64_t PushTensor(uint64_t session, uint64_t seq, const std::string& tensor,
                      const Gradient& gradient) {
    return Unlocked([&, values = absl::MakeSpan(gradient.data(), gradient.size())] {
      return client_->PushTensor(NameOf(session, seq), tensor, values);
    });
  }
  void CheckTensor(const std::string& tensor, const Gradient& gradient) {
    const auto values = absl::MakeSpan(gradient.data(), gradient.size());
    const auto check = [&] {
      const nb::gil_scoped_release no_lock;
      return client_->CheckTensor(tensor, values);
    };
    Check(check());
  }
  Values PullTensor(const std::string& tensor) {
    return ArrayOf(Unlocked([this, &tensor] { return client_->PullTensor(tensor); }));
  }

 private:
  std::unique_ptr<JobClient> client_;
};

}  // namespace

void BindClient(nb::module_& m) {
  nb::class_<PyJobClient>(m, "JobClient", "A job as a program sees it that is no part of it.")
      .def(nb::init<const std::string&, const std::string&, double, double, nb::object>(),
           nb::kw_only(), nb::arg("chief"), nb::arg("tls"), nb::arg("chief_patience"),
           nb::arg("pull_patience"), nb::arg("resolver") = nb::none())
      .def("status", &PyJobClient::Status)
      .def("describe", &PyJobClient::Describe)
      .def("pull_rows", &PyJobClient::PullRows, nb::arg("table"), nb::arg("keys"),
           "Flat: the rows one after another.")
      .def("pull_tensor", &PyJobClient::PullTensor, nb::arg("tensor"), "Flat.")
      .def("push_rows", &PyJobClient::PushRows, nb::arg("session"), nb::arg("seq"),
           nb::arg("tables"), "The timeline. Gradients are flat: the rows one after another.")
      .def("push_tensor", &PyJobClient::PushTensor, nb::arg("session"), nb::arg("seq"),
           nb::arg("tensor"), nb::arg("gradient"), "The timeline.")
      .def("check_tensor", &PyJobClient::CheckTensor, nb::arg("tensor"), nb::arg("gradient"),
           "Raises what push_tensor would raise for its gradient, and pushes nothing.");
}

}  // namespace capstan::python
