// The loops that the models spend their time in, compiled once for each instruction set. Plain
// memory in and out: matrices are row-major, `stride` floats from one row to the next.
//
// All kernels allocate nothing, and add in an order that depends on sizes only, never on addresses,
// so that the same input gives the same bits.
#ifndef CAPSTAN_MODEL_KERNELS_KERNELS_H_
#define CAPSTAN_MODEL_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace capstan::kernels {

// Scratch memory of a product: two packed operands.
inline constexpr ptrdiff_t kScratchFloats = (640 + 1024) * 320 + 64;

// Longest embedding of a factorization machine.
inline constexpr ptrdiff_t kMaxFmDim = 512;

struct Operand {
  const float* data;
  ptrdiff_t stride;
  bool transposed;
};

// c [rows x columns] += a [rows x depth] * b [depth x columns]; an operand that is `transposed`
// lies in memory the other way round.
struct Product {
  ptrdiff_t rows, columns, depth;
  Operand a, b;
  float* c;
  ptrdiff_t c_stride;
  float* scratch;  // kScratchFloats, aligned to 64 bytes.
};

// Embeddings of `examples` records with up to `fields` keys each, side by side in a row of
// `features`. A field that a record lacks is 0, keys beyond `fields` are left out.
struct FieldRows {
  ptrdiff_t examples, fields, dim;
  const uint32_t* offsets;
  const uint32_t* index;
  const float* values;  // nullptr: all 1.
  // The rows of the distinct keys; for Scatter their gradients, which are added to.
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
  const float* values;  // nullptr: all 1.
  const float* rows;
  ptrdiff_t row_stride;
  float* sums;  // [examples x dim]: written by FmForward, read by FmBackward.
};

// The bags of one feature: the keys of an example, whose rows become one vector, their sum or mean.
struct BagRows {
  ptrdiff_t examples, width;
  const uint32_t* offsets;
  const uint32_t* index;
  const float* weights;  // By what each key's row is multiplied; nullptr: all 1.
  bool mean;             // The sum is divided by that of the weights, and is 0 where that is 0.
  const float* rows;  // The first column that is pooled of the distinct keys' rows. Only for Pool.
  ptrdiff_t row_stride;
  const float* gradient;  // What the pooled vectors have. Only for Unpool.
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
  // Writes the vector of each example; zeros where it has no key.
  void (*pool)(const BagRows& b, float* pooled);
  // Adds to `row_gradients`, whose rows are `row_stride` apart, what the vectors' gradients are for
  // the rows.
  void (*unpool)(const BagRows& b, float* row_gradients);
};

extern const Kernels kBaseline;
#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
#endif

// Returns the fastest kernels that this CPU can run.
const Kernels& Best();

// Returns the kernels of a name ("baseline", "avx2", "avx512"), or nullptr if the name is unknown
// or this CPU cannot run them.
const Kernels* Find(const char* name);

}  // namespace capstan::kernels

#endif  // CAPSTAN_MODEL_KERNELS_KERNELS_H_
