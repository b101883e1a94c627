// trim_loops: loops give what is read of them. Outputs that nothing reads go, with the inputs that only they need; of an output of which only the last rows
// are read (subtensor(y, {-1}), {{-3, {}}}), as many as those are kept, and the loop holds no others but those that its lags need. What a gradient reads
// at each step is kept whole. Positions count from the end in loops that go upwards and from the front in those that go downwards, so they stay right. Linear
// in the graph. See tests/loop/scan_test.cpp.
#pragma once
#include <damo/graph.hpp>

namespace damo {

FunctionGraph trim_loops(FunctionGraph graph);

}  // namespace damo
