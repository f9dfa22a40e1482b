#include "chief/shell/curve_file.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "capstan/base/status.h"
#include "chief/shell/growing_file.h"
#include "chief/shell/learning_curve.h"
#include "chief/shell/tensorboard.h"

namespace capstan::chief {
namespace {

class NoCurve : public CurveFile {
 public:
  void Append(const AppendCurve&) override {}
};

class TwoFiles : public CurveFile {
 public:
  TwoFiles(std::unique_ptr<GrowingFile> lines, std::unique_ptr<GrowingFile> events)
      : lines_(std::move(lines)), events_(std::move(events)) {}

  void Append(const AppendCurve& point) override {
    lines_->Append(CurveLines(point));
    events_->Append(tensorboard_.Append(point, absl::Now()));
  }

 private:
  const std::unique_ptr<GrowingFile> lines_, events_;
  TensorBoardEvents tensorboard_;
};

std::string BeginEvents(const std::string& before) {
  return TensorBoardEvents::Begin(before, absl::Now());
}

absl::StatusOr<std::unique_ptr<CurveFile>> OpenInFolder(const std::filesystem::path& folder,
                                                        bool anew) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint.uri: cannot make ", folder.string(), ": ", error.message()));
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<GrowingFile> lines,
                           OpenGrowingFile(folder / kCurveName, anew, UnderCurveHeader));
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<GrowingFile> events,
                           OpenGrowingFile(folder / kEventsName, anew, BeginEvents));
  return std::make_unique<TwoFiles>(std::move(lines), std::move(events));
}

}  // namespace

std::unique_ptr<CurveFile> NewCurveObject(std::unique_ptr<ObjectStore> folder, bool anew,
                                          StoreThread& thread) {
  const std::shared_ptr<ObjectStore> shared = std::move(folder);
  return std::make_unique<TwoFiles>(
      NewGrowingObject(shared, kCurveName, anew, UnderCurveHeader, thread),
      NewGrowingObject(shared, kEventsName, anew, BeginEvents, thread));
}

absl::StatusOr<std::unique_ptr<CurveFile>> OpenCurveFile(const v1::JobSpec& spec, bool anew,
                                                         StoreThread& thread) {
  const std::string& uri = spec.checkpoint().uri();
  if (uri.empty()) return std::make_unique<NoCurve>();
  if (!absl::StartsWith(uri, "s3://")) {
    const std::string path(absl::StripPrefix(uri, "file://"));
    return OpenInFolder(std::filesystem::path(path) / spec.job(), anew);
  }
  CAPSTAN_ASSIGN_OR_RETURN(
      std::unique_ptr<ObjectStore> folder,
      OpenObjectStore(absl::StrCat(absl::StripSuffix(uri, "/"), "/", spec.job())));
  return NewCurveObject(std::move(folder), anew, thread);
}

}  // namespace capstan::chief
