// The states of workers and shards as reported by the chief (WorkerStatus.state and
// ShardStatus.state). Metrics, dashboards and users' programs rely on these texts.
#ifndef CAPSTAN_BASE_MEMBER_STATES_H_
#define CAPSTAN_BASE_MEMBER_STATES_H_

#include <array>

namespace capstan {

namespace worker_state {

inline constexpr const char* kActive = "active";
inline constexpr const char* kIdle = "idle";
inline constexpr const char* kStuck = "stuck";  // It has waited for its data for too long.
inline constexpr const char* kDraining = "draining";
inline constexpr const char* kSilent = "silent";  // Several heartbeats are missing.
inline constexpr const char* kLost = "lost";
inline constexpr const char* kParked = "parked";  // The job has ended.
inline constexpr std::array kAll = {kActive, kIdle, kStuck, kDraining, kSilent, kLost, kParked};

}  // namespace worker_state

namespace shard_state {

inline constexpr const char* kServing = "serving";
inline constexpr const char* kJoining = "joining";      // No view names it yet.
inline constexpr const char* kRestoring = "restoring";  // It loads a checkpoint.
inline constexpr const char* kDraining = "draining";
inline constexpr const char* kLost = "lost";
inline constexpr std::array kAll = {kServing, kJoining, kRestoring, kDraining, kLost};

}  // namespace shard_state

}  // namespace capstan

#endif  // CAPSTAN_BASE_MEMBER_STATES_H_
