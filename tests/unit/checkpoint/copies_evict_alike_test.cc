// A copy of a partition, as a move, a backup or a checkpoint makes it, admits, expires and evicts
// what its original does, although the two hold their rows in different orders and have swept
// different ones of those that have expired.
#include <cstring>

#include "capstan/base/hash.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/small_partition.h"

namespace capstan {
namespace {

constexpr uint64_t kExpiry = 3000;
constexpr size_t kMinCandidates = 4096;  // The table may keep so many, however few rows it has.

struct Limits {
  uint64_t byte_budget = 0;
  uint64_t keys = 0;   // That are drawn from,
  size_t at_once = 0;  // by each push.
  uint64_t seed = 0;
};

v1::JobSpec JobOf(const Limits& limits) {
  v1::JobSpec job = SmallJob();
  v1::TableSpec* table = job.mutable_tables(0);
  table->set_expire_after_examples(kExpiry);
  table->set_byte_budget(limits.byte_budget);
  table->set_admission_count(2);
  return job;
}

Table& TableOf(PartitionStore& store) { return *store.FindTable(TableId{1}); }

// What is decided by: the rows that have not expired, bit by bit, and the candidates.
struct Facts {
  std::vector<std::vector<uint32_t>> rows;
  std::vector<std::pair<uint64_t, uint32_t>> candidates;
  size_t counted = 0;
  bool operator==(const Facts&) const = default;
};

Facts FactsOf(const Table& table) {
  Facts facts;
  table.ForEachRow([&](const RowState& row) {
    if (table.progress_examples() > row.touched_examples + kExpiry) return;
    std::vector<uint32_t> bits(3 + row.state.size());
    bits[0] = static_cast<uint32_t>(row.key);
    bits[1] = row.frequency;
    bits[2] = static_cast<uint32_t>(row.touched_examples);
    std::memcpy(&bits[3], row.state.data(), row.state.size() * sizeof(float));
    facts.rows.push_back(std::move(bits));
  });
  table.ForEachCandidate([&](const Candidate& candidate) {
    facts.candidates.emplace_back(candidate.key, candidate.seen);
  });
  facts.counted = table.counted_rows();
  return facts;
}

// An original that is trained, and copies of it that are trained alike.
class Family {
 public:
  explicit Family(const Limits& limits) : limits_(limits), job_(JobOf(limits)) {
    members_.push_back(*PartitionStore::Create(job_, LayoutOf(job_), PartitionIndex{1}));
  }

  const Table& original() { return TableOf(*members_[0]); }

  void Push(uint64_t push) {
    const uint64_t draw = Draw(limits_.seed, push, 0);
    progress_ += draw % 16 == 0 ? kExpiry / 2 : draw % 100;
    keys_.resize(limits_.at_once);
    for (uint64_t i = 0; i < keys_.size(); ++i) {
      const uint64_t bits = Draw(limits_.seed + 1, push, i);
      keys_[i] = (bits >> 8) % (bits % 4 == 0 ? limits_.keys / 10 : limits_.keys);
    }
    values_.resize(2 * keys_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>(Unit(Draw(limits_.seed + 2, push, i)) - 0.5);
    }
    RowGradients gradient;
    gradient.keys = keys_;
    gradient.values = values_;
    for (const auto& member : members_) {
      TableOf(*member).Apply({&gradient, 1}, {.progress_examples = progress_});
    }
  }

  // One more, of any of them; the fourth takes the place of the second, and so on.
  void Copy(uint64_t moment) {
    const uint64_t draw = Draw(limits_.seed + 3, moment, 0);
    Join(*DecodePartition(EncodePartition(*members_[draw % members_.size()], Options("")), job_,
                          LayoutOf(job_), PartitionIndex{1}));
  }

  // A checkpoint of the original, to which CopyByChanges() goes on.
  void Save() { whole_ = SaveOriginal(""); }
  void CopyByChanges() {
    if (whole_.empty() || !original().changes_known()) return;
    DecodedPartition copy = *DecodePartition(whole_, job_, LayoutOf(job_), PartitionIndex{1});
    ASSERT_TRUE(ApplyDelta(SaveOriginal("100-a"), job_, "100-a", copy).ok());
    whole_.clear();
    ++copies_by_changes_;
    Join(std::move(copy));
  }
  int copies_by_changes() const { return copies_by_changes_; }

  void ExpectAlike(uint64_t push) {
    const Facts facts = FactsOf(original());
    for (size_t i = 1; i < members_.size(); ++i) {
      const Facts copy = FactsOf(TableOf(*members_[i]));
      ASSERT_EQ(copy.rows.size(), facts.rows.size()) << "copy " << i << " after push " << push;
      ASSERT_EQ(copy.candidates.size(), facts.candidates.size())
          << "copy " << i << " after push " << push;
      ASSERT_EQ(copy.counted, facts.counted) << "copy " << i << " after push " << push;
      ASSERT_TRUE(copy == facts) << "copy " << i << " after push " << push;
    }
  }

 private:
  static PartitionFileOptions Options(const std::string& parent) {
    return {.partition_count = 2, .timeline = 5, .parent = parent};
  }
  std::string SaveOriginal(const std::string& parent) {
    std::string file = EncodePartition(*members_[0], Options(parent));
    members_[0]->Mark(/*changes_only=*/false);
    members_[0]->SettleMark(/*safe=*/true);
    return file;
  }
  void Join(DecodedPartition copy) {
    if (members_.size() == 4) members_.erase(members_.begin() + 1);
    members_.push_back(std::move(copy.store));
  }

  const Limits limits_;
  const v1::JobSpec job_;
  std::vector<std::unique_ptr<PartitionStore>> members_;
  std::string whole_;
  std::vector<uint64_t> keys_;  // Of the last push.
  std::vector<float> values_;
  uint64_t progress_ = 0;
  int copies_by_changes_ = 0;
};

void TrainAlike(Family& family, uint64_t seed, uint64_t pushes) {
  for (uint64_t push = 0; push < pushes; ++push) {
    family.Push(push);
    ASSERT_NO_FATAL_FAILURE(family.ExpectAlike(push));
    const uint64_t draw = Draw(seed + 4, push, 0) % 24;
    if (draw == 0) family.Copy(push);
    if (draw == 1) family.Save();
    if (draw == 2) family.CopyByChanges();
  }
}

TEST(CopiesEvictAlikeTest, RowsAreEvictedAndExpireAtTheSameMomentsInEveryCopy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Limits limits = {.byte_budget = 40'000, .keys = 1500, .at_once = 40, .seed = 100 * seed};
    Family family(limits);
    ASSERT_NO_FATAL_FAILURE(TrainAlike(family, limits.seed, /*pushes=*/400)) << "seed " << seed;
    EXPECT_GT(family.original().counters().evicted, 0u);
    EXPECT_GT(family.original().counters().expired, 0u);
    EXPECT_GT(family.copies_by_changes(), 0);
  }
}

// So many rows that they, not the least number, bound the candidates.
TEST(CopiesEvictAlikeTest, CandidatesAreForgottenAtTheSameMomentsInEveryCopy) {
  const Limits limits = {.byte_budget = 4 << 20, .keys = 40'000, .at_once = 2500, .seed = 7};
  Family family(limits);
  ASSERT_NO_FATAL_FAILURE(TrainAlike(family, limits.seed, /*pushes=*/150));
  EXPECT_GT(family.original().row_count(), kMinCandidates);
}

}  // namespace
}  // namespace capstan
