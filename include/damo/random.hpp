// Random numbers, in graphs and at once: RandomStream draws Variables, RandomGenerator draws Arrays, under the same names.
//
//   RandomStream random(7);                                    // the seed; its state is a shared variable
//   Variable noisy = x + 0.1 * random.normal(x);               // of x's shape; in the kernel of the sum, no noise in memory
//   Function f = function({x}, {noisy});                       // each call has other numbers, the same in every run of the program
//   Array a = RandomGenerator(7).normal({3, 4});               // what a Function's first call draws first
//
// Draws are numbered as they are asked for. In which order the arguments of a call and the operands of an operator are, C++ leaves open: give draws that stand
// in one expression names in lines before it, f(random.normal({3}), random.normal({3})) may have them in either order.
//
// A number is a function of the state's key (the seed), of the draw's number in the stream and of the element's number in C order:
// Philox4x32-10 (Salmon et al. 2011). So it has the same bits on a GPU and on a CPU, fused or not, whatever the shape of a launch,
// the layout of other arrays, or the dtype of the machine's vectors. Series of Damo's own take the place of the devices' log, sin and
// cos: src/runtime/kernel/prelude/random.h. What follows in the user's own ops rounds as these do.
//
// State. state() is a shared variable, uint64 of two elements: key and counter. Draw i of a stream reads counter + i. A Function that
// draws moves the counter behind its last draw, as an update like the user's own (Options::updates), unless one is given there:
// {{stream.state(), stream.state()}} draws the same again. Two Functions that draw from one stream so have different numbers, in the order of their
// calls. Save state().array() and set() it to go on from there. A RandomGenerator has the same two numbers, and each draw takes one.
//
// Shapes. {3, 4}, or x: that of x at the call, of which nothing else is read. Parameters are numbers, or tensors that broadcast to the shape.
// dtypes: float32 unless told, float16, bfloat16, float64. A 16-bit number is that of float32, rounded.
// Gradients: by low, high, mean, std and what is scaled, with the draw held fast (reparametrised); none by keys; GraphError for those
// by a parameter of gamma and truncated_normal, whose draws are chosen by rejection.
// Errors: OptionError for numbers that make no distribution (low >= high, a negative std, p beyond [0, 1], a shape below 0), where they are known; where they are data the
// functions say what they give. TypeError for dtypes. Cost: about 15 instructions an element for Philox on a GPU, where neighbours share blocks,
// four times as many on a CPU. See tests/function/random_test.cpp and examples/17_monte_carlo.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/shared.hpp>
#include <damo/variable.hpp>

namespace damo {

/// The shape of a draw: extents, or those of a Variable at the call. It carries the line that it was written on, which is the draw's.
class DrawShape {
 public:
  DrawShape(SourceLine where = {__builtin_FILE(), __builtin_LINE()}) : where_(where) {}  ///< one element of rank 0
  DrawShape(Shape shape, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) : shape_(std::move(shape)), where_(where) {}
  DrawShape(std::initializer_list<std::int64_t> extents, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) : shape_(extents), where_(where) {}
  DrawShape(Variable like, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) : like_(std::move(like)), where_(where) {}
  const Shape& shape() const { return shape_; }
  /// Empty where extents are given.
  const Variable& like() const { return like_; }
  SourceLine where() const { return where_; }

 private:
  Shape shape_;
  Variable like_;
  SourceLine where_;
};

/// What draws of graphs come from. Copies are the same stream. Thread-safe.
class RandomStream {
 public:
  /// A stream of its own with a shared variable of that name on the device.
  explicit RandomStream(std::uint64_t seed, Device device = Device(), std::string name = "random", SourceLine where = {__builtin_FILE(), __builtin_LINE()});
  /// Of any uint64 (2,) Variable: key and counter. Nothing moves it: next_state() is the state behind all draws so far.
  explicit RandomStream(const Variable& state, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

  const Variable& state() const;
  Variable next_state() const;
  /// A stream whose numbers have nothing to do with this one's: its key is a number of this one's key and of how many were split off
  /// before. Of a stream with a shared state alone; GraphError for others.
  RandomStream split(SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const;

  /// Whole words, evenly spread. dtype: uint32 or uint64.
  Variable bits(const DrawShape& shape, DType dtype = uint32) const;
  /// Evenly spread over [low, high): multiples of 2^-24 of the interval, of float64 2^-53, of float16 2^-11, of bfloat16 2^-8; rounded to
  /// 16 bits high itself may come out where low is not 0. Where low >= high, or their distance is not finite, at the call, low.
  Variable uniform(const DrawShape& shape, const Operand& low = 0, const Operand& high = 1, DType dtype = float32) const;
  /// Box and Muller's method: up to 6.8 standard deviations from the mean, of float64 9.5; within 3 ulp of it in float32 and float64.
  Variable normal(const DrawShape& shape, const Operand& mean = 0, const Operand& std = 1, DType dtype = float32) const;
  /// The normal distribution between low and high, both in standard deviations from the mean: exact in every tail, by rejection. NaN where low > high at the call.
  Variable truncated_normal(const DrawShape& shape, const Operand& low, const Operand& high, const Operand& mean = 0, const Operand& std = 1, DType dtype = float32) const;
  /// Of mean `scale`, resolved to 2^-33 of the probability at both ends.
  Variable exponential(const DrawShape& shape, const Operand& scale = 1, DType dtype = float32) const;
  /// -log of an exponential number.
  Variable gumbel(const DrawShape& shape, DType dtype = float32) const;
  /// Marsaglia and Tsang's method. NaN of a shape parameter that is not positive at the call.
  Variable gamma(const DrawShape& shape, const Operand& alpha, const Operand& scale = 1, DType dtype = float32) const;
  /// int64. Of a rate up to 2^60; -1 of a negative one or NaN at the call.
  Variable poisson(const DrawShape& shape, const Operand& rate) const;
  /// bool: true with probability p, to 32 bits; at the call p is taken as the nearest of 0 and 1 where it is beyond them, NaN as 0.
  Variable bernoulli(const DrawShape& shape, const Operand& p = 0.5) const;
  /// Integers from low to high - 1, all with exactly the same probability. dtype: integers that hold both.
  Variable randint(const DrawShape& shape, std::int64_t low, std::int64_t high, DType dtype = int64) const;
  /// int64: a class for each row of logits (d0..dn), without the axis, with probability softmax(logits): the greatest of logits + gumbel. In one kernel.
  Variable categorical(const Operand& logits, int axis = -1) const;
  /// Likewise from probabilities, which need not sum to 1: the greatest of p / exponential. A class of probability 0 is not drawn unless all are 0.
  Variable categorical_of(const Operand& probabilities, int axis = -1) const;
  /// int64, from 0 to n - 1: with replacement all alike, or with the probabilities p, one for each; without replacement no number twice, with p each next one among
  /// those that are left. OptionError for probabilities that are negative or do not sum to 1, for more numbers than there are, or have a probability above 0.
  /// Cost: with p and replacement n exponential numbers a draw, in no memory; without replacement a sort of n words.
  Variable choice(std::int64_t n, const DrawShape& shape, bool replace = true, const std::vector<double>& p = {}) const;
  /// int64: 0 to n - 1 in an order of which all are alike, but for two of 2^64 words being the same.
  Variable permutation(std::int64_t n, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) const;
  /// x's slices along the axis in such an order.
  Variable permutation(const Operand& x, int axis = 0) const;
  /// x with elements dropped with probability p, the others times 1 / (1 - p). The mask is in no memory: the gradient draws it again. x: floating.
  Variable dropout(const Operand& x, double p = 0.5) const;

 private:
  friend class StreamWorld;  // src/ops/random/random_stream.cpp
  struct Data;
  std::shared_ptr<Data> data_;
};

/// What draws of Arrays come from: a value of two numbers. Not for two threads at once.
class RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t seed, Device device = Device()) : key_(seed), device_(device) {}
  /// That goes on where another one was.
  RandomGenerator(std::uint64_t key, std::uint64_t counter, Device device) : key_(key), counter_(counter), device_(device) {}

  std::uint64_t key() const { return key_; }
  /// How many draws were made.
  std::uint64_t counter() const { return counter_; }
  Device device() const { return device_; }
  RandomGenerator split();

  // As RandomStream's.
  Array bits(const Shape& shape, DType dtype = uint32);
  Array uniform(const Shape& shape, const ArrayOperand& low = 0, const ArrayOperand& high = 1, DType dtype = float32);
  Array normal(const Shape& shape, const ArrayOperand& mean = 0, const ArrayOperand& std = 1, DType dtype = float32);
  Array truncated_normal(const Shape& shape, const ArrayOperand& low, const ArrayOperand& high, const ArrayOperand& mean = 0, const ArrayOperand& std = 1, DType dtype = float32);
  Array exponential(const Shape& shape, const ArrayOperand& scale = 1, DType dtype = float32);
  Array gumbel(const Shape& shape, DType dtype = float32);
  Array gamma(const Shape& shape, const ArrayOperand& alpha, const ArrayOperand& scale = 1, DType dtype = float32);
  Array poisson(const Shape& shape, const ArrayOperand& rate);
  Array bernoulli(const Shape& shape, const ArrayOperand& p = 0.5);
  Array randint(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = int64);
  Array categorical(const Array& logits, int axis = -1);
  Array categorical_of(const Array& probabilities, int axis = -1);
  Array choice(std::int64_t n, const Shape& shape, bool replace = true, const std::vector<double>& p = {});
  Array permutation(std::int64_t n);
  Array permutation(const Array& x, int axis = 0);
  Array dropout(const Array& x, double p = 0.5);

 private:
  friend class GeneratorWorld;  // src/ops/random/random_generator.cpp
  std::uint64_t key_ = 0, counter_ = 0, splits_ = 0;
  Device device_;
};

/// random.dropout(x, p).
inline Variable dropout(const Operand& x, double p, const RandomStream& random) { return random.dropout(x, p); }
inline Array dropout(const Array& x, double p, RandomGenerator& random) { return random.dropout(x, p); }

}  // namespace damo
