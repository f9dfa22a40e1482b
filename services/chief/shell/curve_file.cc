#include "chief/shell/curve_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/object_store.h"
#include "chief/shell/learning_curve.h"

namespace capstan::chief {
namespace {

constexpr char kName[] = "curve.csv";
constexpr absl::Duration kWriteEvery = absl::Seconds(5);

// Empty if there is none.
std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Puts the curve of another version under this one's header, wholly or not at all.
absl::Status GoOnWith(const std::string& curve, const std::filesystem::path& folder) {
  const std::string text = UnderCurveHeader(curve);
  if (text == curve) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store,
                           OpenObjectStore(folder.string()));
  return store->Put(kName, text);
}

class NoCurve : public CurveFile {
 public:
  void Append(const AppendCurve&) override {}
};

// Whole lines reach the file at once.
class FolderCurve : public CurveFile {
 public:
  static absl::StatusOr<std::unique_ptr<CurveFile>> Open(const std::filesystem::path& folder,
                                                         bool anew) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat("checkpoint.uri: cannot make ", folder.string(), ": ", error.message()));
    }
    auto curve = std::make_unique<FolderCurve>();
    const std::filesystem::path path = folder / kName;
    const std::string before = anew ? "" : Contents(path);
    if (!before.empty()) CAPSTAN_RETURN_IF_ERROR(GoOnWith(before, folder));
    curve->file_.open(path, before.empty() ? std::ios::trunc : std::ios::app);
    if (before.empty()) curve->file_ << CurveHeader() << std::flush;
    if (curve->file_) return curve;
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path.string(), ": ", std::strerror(errno)));
  }

  void Append(const AppendCurve& point) override { file_ << CurveLines(point) << std::flush; }

 private:
  std::ofstream file_;
};

// A curve has some hundred lines per order of magnitude of time: it is kept whole. Thread-safe;
// Write by one thread at a time.
class CurveObject {
 public:
  CurveObject(std::unique_ptr<ObjectStore> folder, std::string text)
      : folder_(std::move(folder)), text_(std::move(text)) {}

  // Returns whether it is time to write.
  bool Append(const std::string& line) {
    absl::MutexLock lock(&mu_);
    absl::StrAppend(&text_, line);
    const absl::Time now = SteadyClock().Now();
    if (now < next_write_) return false;
    next_write_ = now + kWriteEvery;
    return true;
  }

  void Write() {
    std::string text;
    {
      absl::MutexLock lock(&mu_);
      if (text_.size() == written_) return;
      text = text_;
    }
    const absl::Status status = folder_->Put(kName, text);
    if (!status.ok()) log::Warn("the learning curve cannot be written", {{"error", status}});
    absl::MutexLock lock(&mu_);
    if (status.ok()) written_ = text.size();
  }

 private:
  const std::unique_ptr<ObjectStore> folder_;
  absl::Mutex mu_;
  std::string text_ ABSL_GUARDED_BY(mu_);
  size_t written_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time next_write_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

class ObjectCurve : public CurveFile {
 public:
  ObjectCurve(std::shared_ptr<CurveObject> object, StoreThread& thread)
      : object_(std::move(object)), thread_(thread) {}
  // What is not written yet is written by the thread before it ends, unless it is full.
  ~ObjectCurve() override { PostWrite(); }

  void Append(const AppendCurve& point) override {
    if (object_->Append(CurveLines(point))) PostWrite();
  }

 private:
  void PostWrite() {
    thread_.Post([object = object_] { object->Write(); });
  }

  const std::shared_ptr<CurveObject> object_;  // Also of the writes that wait for the thread.
  StoreThread& thread_;
};

}  // namespace

std::unique_ptr<CurveFile> NewCurveObject(std::unique_ptr<ObjectStore> folder, bool anew,
                                          StoreThread& thread) {
  absl::StatusOr<std::string> text = anew ? absl::NotFoundError("") : folder->Get(kName);
  auto object =
      std::make_shared<CurveObject>(std::move(folder), UnderCurveHeader(text.value_or("")));
  return std::make_unique<ObjectCurve>(std::move(object), thread);
}

absl::StatusOr<std::unique_ptr<CurveFile>> OpenCurveFile(const v1::JobSpec& spec, bool anew,
                                                         StoreThread& thread) {
  const std::string& uri = spec.checkpoint().uri();
  if (uri.empty()) return std::make_unique<NoCurve>();
  if (!absl::StartsWith(uri, "s3://")) {
    const std::string path(absl::StripPrefix(uri, "file://"));
    return FolderCurve::Open(std::filesystem::path(path) / spec.job(), anew);
  }
  CAPSTAN_ASSIGN_OR_RETURN(
      std::unique_ptr<ObjectStore> folder,
      OpenObjectStore(absl::StrCat(absl::StripSuffix(uri, "/"), "/", spec.job())));
  return NewCurveObject(std::move(folder), anew, thread);
}

}  // namespace capstan::chief
