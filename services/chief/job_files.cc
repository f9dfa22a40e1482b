#include "chief/job_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/objectstore/object_store.h"
#include "chief/learning_curve.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostCurveBytes = size_t{16} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<JobFiles>> JobFiles::Open(v1::JobSpec spec) {
  auto files = std::unique_ptr<JobFiles>(new JobFiles(std::move(spec)));
  const std::string& uri = files->spec_.checkpoint().uri();
  if (uri.empty()) return files;
  // Refused now, not when the model is to be written.
  CAPSTAN_RETURN_IF_ERROR(OpenObjectStore(uri).status());
  if (absl::StartsWith(uri, "s3://")) {
    files->curve_object_ = CurveHeader();
    return files;
  }
  // A store that can be followed line by line is a folder; the curve is appended to.
  const std::filesystem::path folder =
      std::filesystem::path(std::string(absl::StripPrefix(uri, "file://"))) / files->spec_.job();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint.uri: cannot make ", folder.string(), ": ", error.message()));
  }
  const std::filesystem::path curve = folder / "curve.csv";
  files->curve_.open(curve, std::ios::trunc);
  files->curve_ << CurveHeader() << std::flush;
  if (!files->curve_) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", curve.string(), ": ", std::strerror(errno)));
  }
  return files;
}

void JobFiles::AppendCurve(const chief::AppendCurve& point) {
  if (curve_.is_open()) curve_ << CurveLine(point) << std::flush;
  if (!curve_object_.empty() && curve_object_.size() < kMostCurveBytes) {
    curve_object_ += CurveLine(point);
  }
}

absl::Status JobFiles::WriteManifest(chief::WriteManifest manifest) {
  if (!curve_object_.empty()) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> store,
                             OpenObjectStore(spec_.checkpoint().uri()));
    CAPSTAN_RETURN_IF_ERROR(store->Put(absl::StrCat(spec_.job(), "/curve.csv"), curve_object_));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           OpenObjectStore(manifest.uri));
  manifest.manifest.set_written_by(std::string(Version()));
  return capstan::WriteManifest(*folder, manifest.manifest);
}

}  // namespace capstan::chief
