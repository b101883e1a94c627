#include "runtime/kernel/joined_kernel.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {
namespace {

bool have_equal_dtypes(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Scalar& x, const Scalar& y) { return x.dtype() == y.dtype(); });
}

bool are_equal(const Scalar& a, const Scalar& b) {
  std::uint64_t x = 0, y = 0;
  a.store(&x);
  b.store(&y);
  return a.dtype() == b.dtype() && x == y;
}

Array on_device(std::size_t bytes, Backend& backend) { return Array::empty({static_cast<std::int64_t>(bytes)}, uint8, Device(&backend)); }

}  // namespace

bool have_one_text(const KernelSpec& a, const KernelSpec& b) {
  return a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.stores == b.stores && a.guarded == b.guarded && a.values == b.values && a.tables == b.tables && a.rows == b.rows && a.ordinals == b.ordinals &&
         a.overrides.empty() && b.overrides.empty() && have_equal_dtypes(a.numbers, b.numbers) &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(), are_equal) && a.steps == b.steps;
}

Layout JoinedKernel::layout_of(const SpecKernel& kernel, const Geometry& geometry, bool in_place) {
  Layout layout = kernel.layout_of(geometry, in_place);
  layout.joined = layout.is_flat();
  if (layout.joined) layout.digits.clear();  // members have numbers of their own
  return layout;
}

JoinedKernel::JoinedKernel(SpecKernel& kernel, std::span<const Member> members, bool in_place, const void* flag) : kernel_(kernel), flag_(flag) {
  places_.resize(members.size());
  std::vector<std::size_t> single;  // of one element: served by whatever layout there is, element 0 being the same in all
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Geometry geometry(members[i].space, members[i].arrays);
    const Layout layout = layout_of(kernel, geometry, in_place);
    if (geometry.count == 0) continue;
    if (geometry.count == 1) {
      single.push_back(i);
    } else if (layout.joined) {
      add(i, members[i], geometry, layout);
    } else {
      places_[i] = {.at = apart_.size(), .is_apart = true};
      BoundKernel& bound = apart_.emplace_back(kernel, members[i].spec->numbers);
      bound.bind(members[i].space, members[i].arrays, in_place);
      bound.set_flag(flag);
    }
  }
  for (std::size_t i : single) {
    const Geometry geometry(members[i].space, members[i].arrays);
    add(i, members[i], geometry, launches_.empty() ? layout_of(kernel, geometry, in_place) : Layout(launches_[0].layout));
  }
  for (Launch& launch : launches_) finish(launch);
}

void JoinedKernel::foresee(SpecKernel& kernel, std::span<const Member> members, bool in_place, const WantKernel& want) {
  std::optional<Layout> single;
  bool is_served = false;
  for (const Member& member : members) {
    const Geometry geometry(member.space, member.arrays);
    if (geometry.count == 0) continue;
    Layout layout = layout_of(kernel, geometry, in_place);
    is_served |= geometry.count > 1 && layout.joined;
    if (geometry.count > 1) want(kernel, layout, geometry.count);
    else if (!single) single = std::move(layout);
  }
  if (single && !is_served) want(kernel, *single, 1);
}

void JoinedKernel::add(std::size_t number, const Member& member, const Geometry& geometry, const Layout& layout) {
  auto found = std::find_if(launches_.begin(), launches_.end(), [&](const Launch& launch) { return launch.layout == layout; });
  const Dialect& dialect = kernel_.backend().dialect();
  const Work work = dialect.work(kernel_.spec_of(layout), layout, geometry, processors_of(kernel_.backend().limits()));
  if (found == launches_.end()) {
    launches_.push_back({.layout = layout, .config = work.launches[0].config, .begins = {0}});
    found = launches_.end() - 1;
    found->code = kernel_.variant(layout, geometry.count).kernels[0].get();
  }
  places_[number] = {.launch = static_cast<int>(found - launches_.begin()), .at = found->blocks.size()};
  found->blocks.emplace_back(*member.spec, layout, geometry, dialect.vector_width(kernel_.spec_of(layout), layout), work);
  found->begins.push_back(found->begins.back() + work.launches[0].config.grid[0]);
  found->bytes += bytes_of(kernel_.spec(), geometry);
}

void JoinedKernel::finish(Launch& launch) {
  Backend& backend = kernel_.backend();
  const std::size_t members = launch.blocks.size();
  for (ArgumentBlock& block : launch.blocks) {
    block.set_streams(backend.dialect().streams(launch.bytes));
    if (kernel_.spec().has_guards()) block.set_flag(flag_);
  }
  launch.config.grid = {launch.begins.back()};
  check_launch(*launch.code, launch.config);
  launch.code->block_bytes.store(2 * sizeof(void*), std::memory_order_relaxed);
  launch.addresses.assign(members * static_cast<std::size_t>(kernel_.spec().parameter_count()), nullptr);
  for (std::size_t i = 0; i < members; ++i) launch.map.insert(launch.map.end(), static_cast<std::size_t>(launch.begins[i + 1] - launch.begins[i]), static_cast<std::uint32_t>(i));
  if (is_host(backend)) return;
  launch.map_there = on_device(launch.map.size() * sizeof(std::uint32_t), backend);
  backend.copy(launch.map_there.data(), launch.map.data(), launch.map_there.nbytes(), CopyKind::kHostToDevice, nullptr);
}

void JoinedKernel::set_pointer(std::size_t member, int parameter, const void* address) {
  const Place& place = places_[member];
  if (place.is_apart) return apart_[place.at].set_pointer(parameter, address);
  if (place.launch < 0) return;
  Launch& launch = launches_[static_cast<std::size_t>(place.launch)];
  const void*& known = launch.addresses[place.at * static_cast<std::size_t>(kernel_.spec().parameter_count()) + static_cast<std::size_t>(parameter)];
  if (known == address) return;
  known = address;
  launch.blocks[place.at].set_pointer(parameter, address);
  launch.is_current = false;
}

/// Whether the table had to be written.
bool JoinedKernel::send(Launch& launch, void* stream) {
  if (launch.is_current) return false;
  Backend& backend = kernel_.backend();
  CaptureScope* const capture = current_capture(backend);
  std::swap(launch.table, launch.other);
  if (launch.table && !capture && launch.table->addresses == launch.addresses) {
    launch.is_current = true;
    return false;
  }
  if (!launch.table || capture) launch.table = std::make_shared<Table>();
  launch.table->addresses.clear();  // until it is there
  if (capture) capture->holds().hold(launch.table);
  else if (WorkLog* log = is_host(backend) ? current_log(backend) : nullptr) log->flush_for_other_work();  // a launch that waits there would find the new table
  const std::size_t members = launch.blocks.size(), entry = launch.blocks[0].size() + sizeof(std::int64_t);
  std::vector<std::byte>& bytes = launch.table->bytes;
  bytes.resize((members + 1) * entry);
  for (std::size_t i = 0; i <= members; ++i) std::memcpy(&bytes[(i + 1) * entry - sizeof(std::int64_t)], &launch.begins[i], sizeof(std::int64_t));
  for (std::size_t i = 0; i < members; ++i) {
    launch.blocks[i].set_fast();
    std::memcpy(&bytes[i * entry], launch.blocks[i].data(), launch.blocks[i].size());
  }
  if (!is_host(backend)) {
    if (!launch.table->there) launch.table->there = on_device(bytes.size(), backend);
    backend.copy(launch.table->there.data(), bytes.data(), bytes.size(), CopyKind::kHostToDevice, stream);
  }
  launch.table->addresses = launch.addresses;
  launch.is_current = true;
  return true;
}

bool JoinedKernel::launch(void* stream) {
  Backend& backend = kernel_.backend();
  bool was_written = false;
  for (Launch& launch : launches_) {
    was_written |= send(launch, stream);
    const Table& table = *launch.table;
    const void* joined[] = {table.there ? table.there.data() : table.bytes.data(), launch.map_there ? launch.map_there.data() : launch.map.data()};
    void* arguments[] = {joined};
    backend.launches.fetch_add(1, std::memory_order_relaxed);
    backend.launch(*launch.code, launch.config, arguments, stream);
  }
  for (BoundKernel& alone : apart_) alone.launch(stream);
  return was_written;
}

}  // namespace damo
