// The connection to a user's program that serves: messages of arrays, one request and one answer at
// a time.
//
// A message is, little-endian: uint32 kind, uint32 parts, uint64 bytes of each part, and the parts
// one behind the other. python/capstan_ps/serving.py has the other end.
//
//   asked    model: job.json, all dense parameters (float32)
//   answered ready: nothing | failed: why, one line
//   asked    batch: see ProgramBatch
//   answered logits: float32, model.outputs an example | failed: why, one line
#ifndef CAPSTAN_CLI_SERVE_PROGRAM_SOCKET_H_
#define CAPSTAN_CLI_SERVE_PROGRAM_SOCKET_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace capstan::cli {

enum class MessageKind : uint32_t { kModel = 1, kBatch = 2, kReady = 3, kLogits = 4, kFailed = 5 };

struct ProgramMessage {
  MessageKind kind;
  std::vector<std::string> parts;
};

// How long a call waits.
struct Patience {
  absl::Time until;                            // A time of SteadyClock.
  const absl::Notification* cancel = nullptr;  // If notified, the wait ends as well.
};

// After an error the connection cannot be used any more. Thread-compatible.
class ProgramSocket {
 public:
  // `descriptor` is that of a stream socket, which this object closes.
  explicit ProgramSocket(int descriptor) : descriptor_(descriptor) {}
  ~ProgramSocket();
  ProgramSocket(const ProgramSocket&) = delete;

  // Sends a message, and returns the answer. UNAVAILABLE: the other end is closed.
  // DEADLINE_EXCEEDED: it was not answered by patience.until. CANCELLED: patience.cancel was
  // notified. INTERNAL: the answer is malformed.
  absl::StatusOr<ProgramMessage> Ask(MessageKind kind, std::span<const std::string_view> parts,
                                     const Patience& patience);

 private:
  absl::Status Send(std::string_view bytes, const Patience& patience);
  absl::Status Receive(char* into, size_t size, const Patience& patience);
  absl::StatusOr<ProgramMessage> ReceiveMessage(const Patience& patience);
  absl::Status Wait(short events, const Patience& patience) const;

  const int descriptor_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_PROGRAM_SOCKET_H_
