// The loops in which the models spend their time, compiled once for each instruction set. Inputs
// and outputs are plain memory: matrices are row-major, with `stride` floats from one row to the
// next.
//
// All kernels allocate nothing, and add in an order that depends only on sizes, never on addresses,
// so that equal input gives bit-equal results.
#ifndef CAPSTAN_MODEL_KERNELS_KERNELS_H_
#define CAPSTAN_MODEL_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace capstan::kernels {

// Scratch memory of a product: two packed operands.
inline constexpr ptrdiff_t kScratchFloats = (640 + 1024) * 320 + 64;

// The longest supported embedding of a factorization machine.
inline constexpr ptrdiff_t kMaxFmDim = 512;

struct Operand {
  const float* data;
  ptrdiff_t stride;
  bool transposed;
};

// c [rows x columns] += a [rows x depth] * b [depth x columns]; an operand that is `transposed` is
// stored transposed.
struct Product {
  ptrdiff_t rows, columns, depth;
  Operand a, b;
  float* c;
  ptrdiff_t c_stride;
  float* scratch;  // kScratchFloats, aligned to 64 bytes.
};

// Embeddings of `examples` records with up to `fields` keys each, side by side in a row of
// `features`. A field that a record lacks is 0, keys beyond `fields` are ignored.
struct FieldRows {
  ptrdiff_t examples, fields, dim;
  const uint32_t* offsets;
  const uint32_t* index;
  const float* values;  // Null if all are 1.
  // The rows of the distinct keys; for Scatter their gradients, to which it adds.
  const float* rows;
  ptrdiff_t row_stride;
  const float* features;
  ptrdiff_t feature_stride;
};

// Factorization machine over the embeddings of each record's keys.
struct FmBatch {
  ptrdiff_t examples, dim;
  const uint32_t* offsets;
  const uint32_t* index;
  const float* values;  // Null if all are 1.
  const float* rows;
  ptrdiff_t row_stride;
  float* sums;  // [examples x dim]: written by FmForward, read by FmBackward.
};

// The bags of one feature: the rows of an example's keys are pooled into one vector, their sum or
// mean.
struct BagRows {
  ptrdiff_t examples, width;
  const uint32_t* offsets;
  const uint32_t* index;
  const float* weights;  // The factor of each key's row; null if all are 1.
  bool mean;             // The sum is divided by that of the weights, and is 0 if that is 0.
  const float* rows;     // The first pooled column of the distinct keys' rows. Only for Pool.
  ptrdiff_t row_stride;
  const float* gradient;  // The gradients of the pooled vectors. Only for Unpool.
  ptrdiff_t pooled_stride;
};

struct Kernels {
  const char* name;
  void (*multiply)(const Product& product);

  // y[i] += dot(row i of a, x).
  void (*row_dots)(const float* a, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns,
                   const float* x, float* y, ptrdiff_t y_stride);
  // y[j] += sum over i of a[i, j] * x[i]; without x: column sums.
  void (*column_sums)(const float* a, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns,
                      const float* x, ptrdiff_t x_stride, float* y);
  // c[i, j] += x[i] * y[j].
  void (*outer)(const float* x, ptrdiff_t x_stride, const float* y, ptrdiff_t rows,
                ptrdiff_t columns, float* c, ptrdiff_t stride);
  // c = max(0, c).
  void (*relu)(float* c, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns);
  // c[i, j] = 0 where y[i, j] <= 0.
  void (*relu_gradient)(float* c, const float* y, ptrdiff_t stride, ptrdiff_t rows,
                        ptrdiff_t columns);

  void (*gather)(const FieldRows& f, float* features);
  void (*scatter)(const FieldRows& f, float* row_gradients);
  void (*fm_forward)(const FmBatch& f, float* logits);
  // Adds to `row_gradients`, whose rows are `row_stride` apart.
  void (*fm_backward)(const FmBatch& f, const float* logit_gradient, float* row_gradients);
  // Writes the vector of each example; zeros if it has no key.
  void (*pool)(const BagRows& b, float* pooled);
  // Adds the gradients of the rows, derived from those of the vectors, to `row_gradients`, whose
  // rows are `row_stride` apart.
  void (*unpool)(const BagRows& b, float* row_gradients);
};

extern const Kernels kBaseline;
#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
#endif

// Returns the fastest kernels that this CPU can run.
const Kernels& Best();

// Returns the kernels with this name ("baseline", "avx2", "avx512"), or null if the name is unknown
// or this CPU cannot run them.
const Kernels* Find(const char* name);

}  // namespace capstan::kernels

#endif  // CAPSTAN_MODEL_KERNELS_KERNELS_H_
