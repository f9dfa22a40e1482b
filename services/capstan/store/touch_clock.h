// When rows were last touched, in 32 bits a row: units of the job's progress, counted from a base
// that moves up with it, so that no number of examples is too many.
#ifndef CAPSTAN_STORE_TOUCH_CLOCK_H_
#define CAPSTAN_STORE_TOUCH_CLOCK_H_

#include <cstdint>

namespace capstan {

// A plain value. Thread-compatible.
class TouchClock {
 public:
  // Rows expire when they have not been touched for so many examples; 0: never.
  explicit TouchClock(uint64_t expiry_examples);

  // The units after which a row has expired; 0: never.
  uint64_t expiry() const { return expiry_; }

  // The time of this progress; the first or the last one where it lies outside what 32 bits hold.
  uint32_t TimeAt(uint64_t examples) const;
  // The progress at a time, rounded down to a unit.
  uint64_t ExamplesAt(uint32_t time) const { return (base_ + time) << shift_; }

  // Moves the base up, well before the time of this progress is the last one. Returns by how much:
  // all times that are kept become so much less, and those that are as old as that 0, for they have
  // expired long ago. It is a multiple of every epoch (RowEpochs). Most often it is 0.
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
