// The clock by which tables record when rows were last touched, in 32 bits per row. It counts units
// of the job's progress from a base that increases with the progress, so that the number of
// examples is not limited.
#ifndef CAPSTAN_STORE_TOUCH_CLOCK_H_
#define CAPSTAN_STORE_TOUCH_CLOCK_H_

#include <cstdint>

namespace capstan {

// A value type. Thread-compatible.
class TouchClock {
 public:
  // Rows expire when they have not been touched for `expiry_examples`; 0: never.
  explicit TouchClock(uint64_t expiry_examples);

  // How many units after its last touch a row expires; 0: never.
  uint64_t expiry() const { return expiry_; }

  // Returns the time at this progress, clamped to the first or the last time that 32 bits can hold.
  uint32_t TimeAt(uint64_t examples) const;
  // Returns the progress at a time, rounded down to a unit.
  uint64_t ExamplesAt(uint32_t time) const { return (base_ + time) << shift_; }

  // Increases the base if the time at this progress is near the last one. Returns by how many
  // units, most often 0; it is a multiple of every epoch's length (RowEpochs). The caller must
  // decrease all times that it keeps by that number, and set those that are lower to 0: they have
  // expired long ago.
  uint64_t Advance(uint64_t examples);
  // The progress begins at 0 again.
  void Restart() { base_ = 0; }

 private:
  int shift_;  // A unit is 2^shift_ examples.
  uint64_t expiry_;
  uint64_t base_ = 0;  // In units.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_TOUCH_CLOCK_H_
