// One process of a program that needs no PyTorch: it speaks as capstan_ps.serving does, or not.
#include "cli/serve/serving_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Its word says what it answers to the model, and to each batch from the second on. To the first
// it answers the logits 0, 1, 2 ...
constexpr char kServes[] = R"(
import os, socket, struct, sys, time
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
word = sys.argv[1]
job, parameters = receive()
if word == "misfit":
    send(5, b"model.py:3: it has no tower deep")
elif word == "babbles":
    send(4, b"logits")
elif word == "many":
    line.sendall(struct.pack("<II", 3, 1000))
elif word == "ends":
    sys.exit(3)
elif word == "job":
    send(5, b"%d of %d" % (len(parameters), job.count(b'"job": "ctr"')))
else:
    send(3)
answered = 0
while True:
    parts = receive()
    examples = len(parts[3]) // 4 - 1
    if answered == 0 or word == "well":
        send(4, struct.pack(f"<{examples}f", *range(examples)))
    elif word == "fails":
        send(5, b"model.py:7: ValueError: no")
    elif word == "short":
        send(4, b"four")
    elif word == "ready":
        send(3)
    elif word == "two":
        send(4, bytes(4 * examples), b"")
    elif word == "dies":
        os._exit(7)
    elif word == "sleeps":
        time.sleep(600)
    answered += 1
)";

class ServingProgramTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<ServingProgram>> Start(const std::string& word) {
    return ServingProgram::Start(absl::StrCat("python3 ", path_, " ", word), model_, cancel_);
  }

  // What becomes of the second batch, which has two examples.
  absl::Status SecondBatch(const std::string& word, absl::Duration patience = absl::Minutes(1)) {
    const auto program = Start(word);
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return program.status();
    EXPECT_THAT(*(*program)->Logits(BatchOf(3, 1), absl::Minutes(1)), ElementsAre(0, 1, 2));
    const absl::Status second = (*program)->Logits(BatchOf(2, 1), patience).status();
    lost_ = (*program)->lost();
    if (word == "dies") how_ = (*program)->HowItEnded();
    return second;
  }

  const DeepFmFolder folder_;
  const FinishedModel model_ = *FinishedModel::Load(folder_.path());
  const TestFolder scratch_;
  const std::string path_ = scratch_.Write("serves.py", kServes);
  absl::Notification cancel_;
  bool lost_ = false;
  std::string how_;
};

TEST_F(ServingProgramTest, AProgramThatAnswersIsAskedAgainAndAgain) {
  EXPECT_EQ(SecondBatch("well"), absl::OkStatus());
  EXPECT_FALSE(lost_);
}

TEST_F(ServingProgramTest, IsGivenTheJobAndAllDenseParameters) {
  EXPECT_EQ(Start("job").status(), absl::FailedPreconditionError(absl::StrCat(
                                       model_.parameters().size() * sizeof(float), " of 1")));
}

TEST_F(ServingProgramTest, ItsOwnWordsSayWhyItFailsAndItGoesOn) {
  EXPECT_EQ(SecondBatch("fails"), absl::InternalError("model.py:7: ValueError: no"));
  EXPECT_FALSE(lost_);
  EXPECT_EQ(Start("misfit").status(),
            absl::FailedPreconditionError("model.py:3: it has no tower deep"));
}

TEST_F(ServingProgramTest, OneThatAnswersWhatAreNoLogitsIsNotSaidToHaveEnded) {
  EXPECT_EQ(SecondBatch("short"),
            absl::UnavailableError("the program has answered this request with 4 bytes of logits, "
                                   "not 8, and is started again"));
  EXPECT_TRUE(lost_);
  for (const char* word : {"ready", "two"}) {
    lost_ = false;
    EXPECT_EQ(SecondBatch(word),
              absl::UnavailableError("the program has answered this request with what are no "
                                     "logits, and is started again"));
    EXPECT_TRUE(lost_);
  }
}

TEST_F(ServingProgramTest, OneThatDiesIsSaidToHaveEnded) {
  EXPECT_EQ(
      SecondBatch("dies"),
      absl::UnavailableError("the program has ended with this request, and is started again"));
  EXPECT_TRUE(lost_);
  EXPECT_EQ(how_, "has ended with exit code 7");
}

TEST_F(ServingProgramTest, OneThatTakesTooLongIsLost) {
  EXPECT_EQ(
      SecondBatch("sleeps", absl::Milliseconds(200)),
      absl::DeadlineExceededError("the program has not answered for 200ms, and is started again"));
  EXPECT_TRUE(lost_);
}

TEST_F(ServingProgramTest, OneThatDoesNotTakeTheModelIsToldByWhatItDid) {
  for (const char* word : {"babbles", "many"}) {
    EXPECT_EQ(Start(word).status(),
              absl::FailedPreconditionError("the program's answer to the model is malformed"));
  }
  const absl::Status ended = Start("ends").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr("has ended with exit code 3 before it had the model"));
}

TEST_F(ServingProgramTest, AStartThatNobodyWaitsForIsCancelled) {
  cancel_.Notify();
  EXPECT_TRUE(absl::IsCancelled(Start("well").status()));
}

}  // namespace
}  // namespace capstan::cli
