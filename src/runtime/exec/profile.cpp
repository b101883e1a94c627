#include "runtime/exec/profile.hpp"

#include <algorithm>

#include "runtime/copy_speed.hpp"
#include "runtime/exec/nvtx.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

ProfileRecorder::ProfileRecorder(const Program& program) : rows_(program.nodes().size()) {}

void ProfileRecorder::begin(Clock& clock, const Program& program, int node) {
  clock.began_milliseconds = milliseconds();
  if (nvtx::is_there()) nvtx::push(program.describe(node).c_str());
  clock.start.record(clock.stream);
}

void ProfileRecorder::end(const Clock& clock, int node, const std::vector<Cell>& cells, const Program& program) {
  clock.stop.record(clock.stream);
  clock.stop.synchronize();
  if (nvtx::is_there()) nvtx::pop();
  const double milliseconds = clock.stop.milliseconds_since(clock.start);
  const ProgramNode& plan = program.nodes()[static_cast<std::size_t>(node)];
  std::vector<int> touched = plan.inputs;
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  touched.insert(touched.end(), plan.outputs.begin(), plan.outputs.end());
  std::uint64_t bytes = 0;
  for (int cell : touched) bytes += distinct_bytes(cells[static_cast<std::size_t>(cell)]);
  for (const ProgramOverwrite& overwrite : plan.overwrites) {  // a copy reads the old values and writes them
    const int output = plan.outputs[static_cast<std::size_t>(overwrite.output)];
    if (program.copies_first(plan, overwrite)) bytes += 2 * distinct_bytes(cells[static_cast<std::size_t>(output)]);
  }
  for (int input : plan.placed) bytes -= 2 * distinct_bytes(cells[static_cast<std::size_t>(plan.inputs[static_cast<std::size_t>(input)])]);  // neither read nor written
  const std::lock_guard lock(mutex_);
  Row& row = rows_[static_cast<std::size_t>(node)];
  ++row.calls;
  row.milliseconds += milliseconds;
  row.bytes += bytes;
  if (spans_.size() == Profile::kSpans) spans_.pop_front();
  spans_.push_back({static_cast<std::size_t>(node), calls_, clock.began_milliseconds, milliseconds});
}

void ProfileRecorder::called(double milliseconds) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  total_milliseconds_ += milliseconds;
}

Profile ProfileRecorder::profile(const Program& program) const {
  const std::lock_guard lock(mutex_);
  Profile profile;
  profile.device = program.device().name();
  profile.calls = calls_;
  profile.milliseconds = total_milliseconds_;
  profile.copy_bytes_per_second = copy_speed(program.device());
  std::vector<std::size_t> row_of(rows_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ProgramNode& node = program.nodes()[i];
    if (node.is_view) continue;
    row_of[i] = profile.rows.size();
    profile.rows.push_back({node.apply.op().name(), to_string(node.apply.where()), rows_[i].calls, rows_[i].milliseconds, rows_[i].bytes});
  }
  for (ProfileSpan span : spans_) {
    span.row = row_of[span.row];
    profile.spans.push_back(span);
  }
  return profile;
}

std::uint64_t distinct_bytes(const Cell& cell) {
  std::uint64_t elements = 1;
  for (int axis = 0; axis < cell.shape().rank(); ++axis) {
    if (cell.strides()[axis] != 0) elements *= static_cast<std::uint64_t>(cell.shape()[axis]);
    else if (cell.shape()[axis] == 0) elements = 0;
  }
  return elements * itemsize(cell.dtype());
}

}  // namespace damo
