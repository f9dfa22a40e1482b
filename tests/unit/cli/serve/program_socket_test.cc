#include "cli/serve/program_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "capstan/base/clock.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;

constexpr std::string_view kAsked[] = {"abc", ""};
const std::string kAskedBytes("\2\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0abc", 27);

Patience Long() { return {.until = SteadyClock().Now() + absl::Minutes(1)}; }

class ProgramSocketTest : public testing::Test {
 protected:
  ProgramSocketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = std::make_unique<ProgramSocket>(ends[0]);
    program_ = ends[1];
  }
  ~ProgramSocketTest() override { CloseProgram(); }

  void CloseProgram() {
    if (program_ >= 0) close(program_);
    program_ = -1;
  }

  void Answer(std::string_view bytes) const {
    EXPECT_EQ(write(program_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  absl::StatusOr<ProgramMessage> Ask(const Patience& patience) {
    return socket_->Ask(MessageKind::kBatch, kAsked, patience);
  }

  std::unique_ptr<ProgramSocket> socket_;
  int program_ = -1;
};

TEST_F(ProgramSocketTest, AsksInBytesThatTheProgramReadsAndTakesItsAnswer) {
  Answer(std::string_view("\4\0\0\0\2\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0hix", 27));
  const absl::StatusOr<ProgramMessage> answer = Ask(Long());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->kind, MessageKind::kLogits);
  EXPECT_THAT(answer->parts, ElementsAre("hi", "x"));
  std::string asked(64, '\0');
  const ssize_t size = read(program_, asked.data(), asked.size());
  ASSERT_GT(size, 0);
  asked.resize(static_cast<size_t>(size));
  EXPECT_EQ(asked, kAskedBytes);
}

TEST_F(ProgramSocketTest, AMessageMayBeLargerThanWhatASocketHolds) {
  const std::string large(4 << 20, 'x');
  std::thread program([this, size = large.size() + 16] {
    std::string taken(size, '\0');
    EXPECT_EQ(recv(program_, taken.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
    Answer(std::string_view("\3\0\0\0\0\0\0\0", 8));
  });
  const std::string_view parts[] = {large};
  const absl::StatusOr<ProgramMessage> answer = socket_->Ask(MessageKind::kModel, parts, Long());
  program.join();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->kind, MessageKind::kReady);
  EXPECT_TRUE(answer->parts.empty());
}

TEST_F(ProgramSocketTest, AProgramThatIsGoneIsUnavailable) {
  CloseProgram();
  EXPECT_TRUE(absl::IsUnavailable(Ask(Long()).status()));
}

TEST_F(ProgramSocketTest, AnAnswerThatEndsInItsMiddleIsUnavailable) {
  Answer(std::string_view("\4\0\0\0\1\0", 6));
  shutdown(program_, SHUT_WR);
  EXPECT_TRUE(absl::IsUnavailable(Ask(Long()).status()));
}

TEST_F(ProgramSocketTest, WaitsUntilItsPatienceIsOver) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(Ask({.until = SteadyClock().Now()}).status()));
}

TEST_F(ProgramSocketTest, WaitsUntilItIsCancelled) {
  absl::Notification cancel;
  cancel.Notify();
  Patience patience = Long();
  patience.cancel = &cancel;
  EXPECT_TRUE(absl::IsCancelled(Ask(patience).status()));
}

TEST_F(ProgramSocketTest, RefusesWhatNoProgramOfOursSends) {
  Answer(std::string_view("\4\0\0\0\377\0\0\0", 8));
  EXPECT_TRUE(absl::IsInternal(Ask(Long()).status()));
}

TEST_F(ProgramSocketTest, RefusesAPartThatIsLargerThanAnyAnswer) {
  Answer(std::string_view("\4\0\0\0\1\0\0\0\0\0\0\0\0\0\0\1", 16));
  EXPECT_TRUE(absl::IsInternal(Ask(Long()).status()));
}

}  // namespace
}  // namespace capstan::cli
