// Options of function(). Defaults are what a user wants; each field says what else it can be.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/module_options.hpp>
#include <damo/rewrite.hpp>

namespace damo {

/// How much one kernel may carry: where a group exceeds one of these fuse_elementwise ends it and starts the next. Within the
/// defaults a fused kernel is at least as fast as one kernel an op (docs/performance.md); larger ones compile longer.
struct FusionLimits {
  int inputs = 40;      ///< array parameters that a kernel reads
  int outputs = 24;     ///< array parameters that it writes
  int cost = 2500;      ///< sum of the rows' costs: instructions an element
  int registers = 200;  ///< of 32 bits, that the values of one element take at once: inputs, outputs and what lies between
};

/// What an input of a Function is where a call does not give it.
struct InputDefault {
  Variable input;
  Array value;
};

struct Options {
  bool fuse = true;                    ///< false: one kernel an op
  /// false: what is computed is what was written, op for op (but for the last bits of products, see fp_contract). Otherwise the rules of docs/rewrites.md apply, which keep values, but for those
  /// that bring them nearer to what the expression means: log(1 + x) becomes log1p(x).
  bool rewrite = true;
  /// Sums and products of floats with several numbers may be regrouped, (x * 3) / 7 into x * (3 / 7): one rounding less, another last bit.
  bool reassociate = false;
  /// A product and the sum that it goes into may be one fused multiply-add, which rounds once, where both are in one generated kernel: nearer to the exact value, another last bit than in two kernels, and
  /// x * x - y * y of equal x and y the rounding error of one product and not 0, of which a root may be NaN. As nvcc, XLA and torch.compile do. false: each rounds by itself in all
  /// kernels that Damo generates for the graph, its loops and its branches; not in libraries' matrix products, nor in RawKernels, whose flags say so ("-fmad=false"). Cost: an instruction more for each pair.
  bool fp_contract = true;
  std::vector<std::string> disable = {};  ///< passes and rules by name, beside those that DAMO_DISABLE names; OptionError for a name that none has
  std::optional<Device> device = {};   ///< default: Device()
  std::string name = {};               ///< for prints, errors and profiles
  /// true: results may share elements with each other and with inputs, and views are not copied. Otherwise no result
  /// shares any, and writing into one changes nothing else.
  bool share_results = false;
  bool allow_unused_inputs = false;    ///< an input that no output needs is an error otherwise
  bool warn_of_unused_inputs = false;  ///< instead of the error a line in the log; with allow_unused_inputs neither
  /// {{rate, Array::scalar(0.1f)}}: inputs that a call by position may leave out at the end of its list, and a call by name anywhere. The Array is shared, not copied.
  std::vector<InputDefault> defaults = {};
  /// On a GPU a call whose layouts were seen before is given to the device as one captured graph, whose addresses are those of
  /// the call. false: kernel by kernel. DAMO_DISABLE=replay says so for all Functions.
  bool replay = true;
  bool profile = false;                ///< record events around every node; calls then wait for the device
  /// New values of shared variables (shared.hpp), which the Function sets when it has computed everything, all at once:
  /// {{w, w - 0.1 * dw}, {b, b - 0.1 * db}}. Each expression reads the values from before the call.
  std::vector<Assignment> updates = {};
  /// Variables and what stands in their place, in the outputs and in the updates' new values: {{x, data * 2}}. All at once
  /// (substitute, rewrite.hpp). Any Variable may be replaced, computed and shared ones too.
  std::vector<Assignment> givens = {};
  /// Inputs whose memory results may have: where a call is given such an Array for good, f(std::move(a)), and nobody else holds it, a result of
  /// its type is written over it, as far as the order of the work allows. Nothing changes for an Array that somebody still holds.
  std::vector<Variable> donate = {};
  /// Results and new values of shared variables are looked at as they are stored, rounded: NaN or an infinity in one is a NotFiniteError (function.hpp) that
  /// names the first op that made such a value of finite ones. Shared variables then keep their values. Cost: a few instructions an element in the kernels that store these values,
  /// one more reading of those that libraries compute, a wait for the device at each call, memory for new values beside the old ones, kept from call to call until
  /// Function::free_memory; donate has no effect. Whatever does not come to a result is not seen.
  bool nan_guard = false;
  std::vector<Pass> passes = {};       ///< the user's rewrites, run after merging duplicates and before fusion
  FusionLimits fusion = {};
  /// Matrix products and convolutions of float32 may round operands to 10 bits of fraction (TF32) where the device multiplies faster so. Not on
  /// the CPU. At first what DAMO_TF32 says.
  bool tf32 = default_tf32();

  static bool default_tf32();
  /// As ModuleOptions::check, for the CUDA C of RawKernels and of Ops: on the CPU accesses out of bounds are found.
  bool check = ModuleOptions::default_check();
};

}  // namespace damo
