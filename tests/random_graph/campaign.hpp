// The command line of random graphs: `test_random_graph campaign --device cpu --first 0 --count 1000`.
#pragma once

namespace damo::testing {

/// Each graph runs in a child process, so that what crashes or hangs is a failure like any other and the next graphs run
/// all the same. Failures are made smaller and printed as programs. The exit status: 0 if there were none.
int campaign(int count, char** arguments);

}  // namespace damo::testing
