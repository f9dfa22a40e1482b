// Writes the learning curve below <checkpoint uri>/<job>: curve.csv, and an event file for
// TensorBoard (chief/shell/tensorboard.h).
#ifndef CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_
#define CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/job.pb.h"
#include "chief/shell/store_thread.h"
#include "chief/state/chief_actions.h"

namespace capstan::chief {

inline constexpr char kCurveName[] = "curve.csv";
// TensorBoard reads all files whose names begin with "events.out.tfevents".
inline constexpr char kEventsName[] = "events.out.tfevents.1.capstan";

// Thread-compatible.
class CurveFile {
 public:
  virtual ~CurveFile() = default;
  virtual void Append(const AppendCurve& point) = 0;
};

// Returns a curve that continues the stored one, or replaces it if `anew`. Without a checkpoint uri
// its Append does nothing. `thread` must outlive it. INVALID_ARGUMENT: the uri cannot be used, or
// the files cannot be read or written.
absl::StatusOr<std::unique_ptr<CurveFile>> OpenCurveFile(const v1::JobSpec& spec, bool anew,
                                                         StoreThread& thread);

// The same for an object store, below `folder`. The last points are written when `thread` is
// destroyed at the latest.
std::unique_ptr<CurveFile> NewCurveObject(std::unique_ptr<ObjectStore> folder, bool anew,
                                          StoreThread& thread);

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_SHELL_CURVE_FILE_H_
