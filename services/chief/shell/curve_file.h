// The learning curve, <checkpoint uri>/<job>/curve.csv. In a folder it is appended to line by line,
// so that it can be followed; in an object store the whole object is written anew every few
// seconds.
#ifndef CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_
#define CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/job.pb.h"
#include "chief/shell/store_thread.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

// Thread-compatible.
class CurveFile {
 public:
  virtual ~CurveFile() = default;
  virtual void Append(const AppendCurve& point) = 0;
};

// Goes on with the curve that is there, unless `anew`. Does nothing without a checkpoint uri.
// `thread` must outlive it. INVALID_ARGUMENT: the uri is not usable, or the file cannot be written.
absl::StatusOr<std::unique_ptr<CurveFile>> OpenCurveFile(const v1::JobSpec& spec, bool anew,
                                                         StoreThread& thread);

// The same in a store, below `folder`. The last points are written when `thread` ends.
std::unique_ptr<CurveFile> NewCurveObject(std::unique_ptr<ObjectStore> folder, bool anew,
                                          StoreThread& thread);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_
