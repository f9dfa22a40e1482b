// A pool of processes of a program that needs no PyTorch: it speaks as capstan_ps.serving does.
#include "cli/serve/program_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Its logits are 0, 1, 2 ...; the first number of a batch may say what it does instead.
constexpr char kProgram[] = R"(
import os, socket, struct, sys
line = socket.socket(fileno=int(os.environ["CAPSTAN_SERVE"]))
def take(size):
    data = line.recv(size, socket.MSG_WAITALL) if size else b""
    if len(data) < size:
        sys.exit(0)
    return data
def receive():
    kind, count = struct.unpack("<II", take(8))
    return [take(size) for size in struct.unpack(f"<{count}Q", take(8 * count))]
def send(kind, *parts):
    line.sendall(struct.pack(f"<II{len(parts)}Q", kind, len(parts), *map(len, parts)) + b"".join(parts))
receive()
send(3)
while True:
    parts = receive()
    first, = struct.unpack("<f", parts[0][:4])
    examples = len(parts[3]) // 4 - 1
    if first == 100:
        send(5, b"model.py:7: ValueError: no")
    elif first == 101:
        os._exit(7)
    elif first == 102:
        send(4, b"four")
    else:
        send(4, struct.pack(f"<{examples}f", *range(examples)))
)";

class ProgramPoolTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<ProgramPool>> Start(const std::string& command, int processes) {
    const auto tell = [this](const std::string& line) {
      absl::MutexLock lock(&mu_);
      told_.push_back(line);
    };
    return ProgramPool::Start(model_, {.command = command, .processes = processes, .tell = tell});
  }
  absl::StatusOr<std::unique_ptr<ProgramPool>> Start() {
    return Start(absl::StrCat("python3 ", path_), 1);
  }

  std::vector<std::string> told() {
    absl::MutexLock lock(&mu_);
    return told_;
  }

  static Batch WithFirstNumber(float number) {
    Batch batch = BatchOf(/*examples=*/2, /*seed=*/1);
    batch.dense[0] = number;
    return batch;
  }

  const DeepFmFolder folder_;
  const FinishedModel model_ = *FinishedModel::Load(folder_.path());
  const TestFolder scratch_;
  const std::string path_ = scratch_.Write("model.py", kProgram);
  absl::Mutex mu_;
  std::vector<std::string> told_;
};

TEST_F(ProgramPoolTest, GivesWhatTheProgramComputes) {
  const auto pool = Start(absl::StrCat("python3 ", path_), 2);
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_TRUE((*pool)->ready());
  EXPECT_THAT(*(*pool)->Logits(BatchOf(3, 1)), ElementsAre(0, 1, 2));
  EXPECT_THAT(*(*pool)->Logits(BatchOf(0, 1)), IsEmpty());
}

TEST_F(ProgramPoolTest, AProgramThatFailsWithABatchGoesOn) {
  const auto pool = Start();
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ((*pool)->Logits(WithFirstNumber(100)).status(),
            absl::InternalError("model.py:7: ValueError: no"));
  EXPECT_THAT(*(*pool)->Logits(BatchOf(2, 1)), ElementsAre(0, 1));
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(ProgramPoolTest, AProgramThatDiesIsReplacedAndTheNextBatchWaitsForThat) {
  const auto pool = Start();
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_TRUE(absl::IsUnavailable((*pool)->Logits(WithFirstNumber(101)).status()));
  EXPECT_THAT(*(*pool)->Logits(BatchOf(2, 1)), ElementsAre(0, 1));
  EXPECT_THAT(told(), ElementsAre("the program has ended with exit code 7, and is started again"));
}

TEST_F(ProgramPoolTest, AnAnswerOfAnotherSizeIsNone) {
  const auto pool = Start();
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_TRUE(absl::IsUnavailable((*pool)->Logits(WithFirstNumber(102)).status()));
  EXPECT_THAT(*(*pool)->Logits(BatchOf(2, 1)), ElementsAre(0, 1));
}

TEST_F(ProgramPoolTest, AProgramThatEndsBeforeItHasTheModelIsRefused) {
  const auto pool = Start("sh -c 'exit 3'", 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(pool.status()));
  EXPECT_THAT(std::string(pool.status().message()),
              HasSubstr("has ended with exit code 3 before it had the model"));
}

}  // namespace
}  // namespace capstan::cli
