// The clock by which tables note when rows were last touched, in 32 bits for each row. It counts
// units of the job's progress from a base that moves up with the progress, so that no number of
// examples is too many.
#ifndef CAPSTAN_STORE_TOUCH_CLOCK_H_
#define CAPSTAN_STORE_TOUCH_CLOCK_H_

#include <cstdint>

namespace capstan {

// A plain value. Thread-compatible.
class TouchClock {
 public:
  // Rows expire when they have not been touched for `expiry_examples`; 0: never.
  explicit TouchClock(uint64_t expiry_examples);

  // How many units after its last touch a row expires; 0: never.
  uint64_t expiry() const { return expiry_; }

  // Returns the time of this progress; the first or the last time if it lies outside what 32 bits
  // hold.
  uint32_t TimeAt(uint64_t examples) const;
  // The progress at a time, rounded down to a unit.
  uint64_t ExamplesAt(uint32_t time) const { return (base_ + time) << shift_; }

  // Moves the base up, if the time of this progress comes near the last one. Returns by how many
  // units, most often 0; a multiple of every epoch's length (RowEpochs). The caller lowers all
  // times that it keeps by so much, and sets those that are lower than that to 0: they have expired
  // long ago.
  uint64_t Advance(uint64_t examples);
  // Progress begins at 0 again.
  void Restart() { base_ = 0; }

 private:
  int shift_;  // A unit is 2^shift_ examples.
  uint64_t expiry_;
  uint64_t base_ = 0;  // In units.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_TOUCH_CLOCK_H_
