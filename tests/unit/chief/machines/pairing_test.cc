#include "chief/machines/pairing.h"

#include <gtest/gtest.h>

namespace capstan::chief {
namespace {

constexpr absl::Time kPairingStart = absl::UnixEpoch();
constexpr absl::Duration kPairingMoment = absl::Seconds(1);

TEST(PairingTest, WhatLacksABackupIsGivenOneAMomentAfterTheShardsHaveChanged) {
  Pairing pairing(kPairingMoment);
  pairing.See({0, 1}, /*unpaired=*/8, kPairingStart);
  EXPECT_FALSE(pairing.Due(kPairingStart));
  pairing.See({0, 1, 2}, 8, kPairingStart + absl::Milliseconds(900));
  EXPECT_FALSE(pairing.Due(kPairingStart + kPairingMoment)) << "others may come in a moment";
  EXPECT_TRUE(pairing.Due(kPairingStart + 2 * kPairingMoment));
}

TEST(PairingTest, ItIsDueUntilEverythingHasABackup) {
  Pairing pairing(kPairingMoment);
  pairing.See({0, 1}, 8, kPairingStart);
  pairing.OnPlanned();
  pairing.See({0, 1}, 3, kPairingStart + kPairingMoment);
  EXPECT_TRUE(pairing.Due(kPairingStart + kPairingMoment))
      << "fewer than before is no change to wait for";
  pairing.See({0, 1}, 0, kPairingStart + 2 * kPairingMoment);
  EXPECT_FALSE(pairing.Due(kPairingStart + absl::Hours(1)));
}

TEST(PairingTest, BackupsAreSpreadOnceOverThoseThatHaveCome) {
  Pairing pairing(kPairingMoment);
  pairing.See({0, 1}, 0, kPairingStart);
  pairing.OnPlanned();
  pairing.See({0, 1, 2}, 0, kPairingStart + kPairingMoment);
  EXPECT_TRUE(pairing.spreads());
  EXPECT_TRUE(pairing.Due(kPairingStart + 2 * kPairingMoment));
  pairing.OnPlanned();
  EXPECT_FALSE(pairing.spreads());
  EXPECT_FALSE(pairing.Due(kPairingStart + absl::Hours(1)));
}

TEST(PairingTest, BackupsAreSpreadAgainWhereThePlanHasNotBeenCarriedOut) {
  Pairing pairing(kPairingMoment);
  pairing.See({0, 1, 2}, 0, kPairingStart);
  pairing.OnPlanned();
  pairing.SpreadAnew();
  EXPECT_TRUE(pairing.spreads());
  EXPECT_TRUE(pairing.Due(kPairingStart + kPairingMoment));
}

TEST(PairingTest, OneShardAloneHasNobodyToBackItUp) {
  Pairing pairing(kPairingMoment);
  pairing.See({0}, 8, kPairingStart);
  EXPECT_TRUE(pairing.alone());
  EXPECT_FALSE(pairing.Due(kPairingStart + absl::Hours(1)));
}

}  // namespace
}  // namespace capstan::chief
