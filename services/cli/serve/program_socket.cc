#include "cli/serve/program_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr absl::Duration kCancelPeriod = absl::Milliseconds(100);  // Between two looks at `cancel`.
constexpr uint32_t kMostParts = 16;                                // The most parts of an answer.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;                 // The most bytes of a part.

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

absl::Status Gone() { return absl::UnavailableError("the program has closed its end"); }

}  // namespace

ProgramSocket::~ProgramSocket() { close(descriptor_); }

absl::StatusOr<ProgramMessage> ProgramSocket::Ask(MessageKind kind,
                                                  std::span<const std::string_view> parts,
                                                  const Patience& patience) {
  std::string head;
  Append(head, kind);
  Append(head, static_cast<uint32_t>(parts.size()));
  for (const std::string_view part : parts) Append(head, uint64_t{part.size()});
  CAPSTAN_RETURN_IF_ERROR(Send(head, patience));
  for (const std::string_view part : parts) CAPSTAN_RETURN_IF_ERROR(Send(part, patience));
  return ReceiveMessage(patience);
}

absl::StatusOr<ProgramMessage> ProgramSocket::ReceiveMessage(const Patience& patience) {
  uint32_t head[2];  // Kind, parts.
  CAPSTAN_RETURN_IF_ERROR(Receive(reinterpret_cast<char*>(head), sizeof head, patience));
  if (head[1] > kMostParts) return absl::InternalError(absl::StrCat(head[1], " parts"));
  ProgramMessage message = {.kind = static_cast<MessageKind>(head[0])};
  std::vector<uint64_t> sizes(head[1]);
  CAPSTAN_RETURN_IF_ERROR(
      Receive(reinterpret_cast<char*>(sizes.data()), sizes.size() * sizeof(uint64_t), patience));
  for (const uint64_t size : sizes) {
    if (size > kMostBytes) return absl::InternalError(absl::StrCat("a part of ", size, " bytes"));
    std::string& part = message.parts.emplace_back(size, '\0');
    CAPSTAN_RETURN_IF_ERROR(Receive(part.data(), size, patience));
  }
  return message;
}

absl::Status ProgramSocket::Send(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      CAPSTAN_RETURN_IF_ERROR(Wait(POLLOUT, patience));
    } else if (errno != EINTR) {
      return Gone();
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramSocket::Receive(char* into, size_t size, const Patience& patience) {
  while (size > 0) {
    const ssize_t got = recv(descriptor_, into, size, MSG_DONTWAIT);
    if (got > 0) {
      into += got;
      size -= static_cast<size_t>(got);
    } else if (got < 0 && errno == EAGAIN) {
      CAPSTAN_RETURN_IF_ERROR(Wait(POLLIN, patience));
    } else if (got == 0 || errno != EINTR) {
      return Gone();
    }
  }
  return absl::OkStatus();
}

absl::Status ProgramSocket::Wait(short events, const Patience& patience) const {
  while (true) {
    if (patience.cancel != nullptr && patience.cancel->HasBeenNotified()) {
      return absl::CancelledError("nobody waits for it any more");
    }
    const absl::Duration left = patience.until - SteadyClock().Now();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("it took too long");
    pollfd waited = {.fd = descriptor_, .events = events, .revents = 0};
    const auto glance = absl::ToInt64Milliseconds(std::min(left, kCancelPeriod)) + 1;
    if (poll(&waited, 1, static_cast<int>(glance)) > 0) return absl::OkStatus();
  }
}

}  // namespace capstan::cli
