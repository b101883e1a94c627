#include <damo/data_loader.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include <damo/error.hpp>
#include <damo/event.hpp>
#include <damo/host_memory.hpp>
#include <damo/memory.hpp>
#include <damo/stream.hpp>

namespace damo {

struct DataLoader::Data {
  /// Rows in host memory, one after another: the array's own, or a copy.
  struct Table {
    Array array;
    std::vector<std::byte> copy;
    const std::byte* first() const { return copy.empty() ? static_cast<const std::byte*>(array.data()) : copy.data(); }
  };
  std::vector<Table> tables;  // none where there is a reader
  Reader reader;
  std::int64_t count = 0;
  LoaderOptions options;
  Device device;
};

namespace {

/// A number below bound, every one as likely: none is left over from a range that bound does not divide.
std::uint64_t below(std::uint64_t bound, std::mt19937_64& random) {
  const std::uint64_t most = ~std::uint64_t{0} - (~std::uint64_t{0} % bound + 1) % bound;
  std::uint64_t number;
  do number = random();
  while (number > most);
  return number % bound;
}

Shape with_rows(Shape shape, std::int64_t rows) {
  shape[0] = rows;
  return shape;
}

/// Rows on their way to the device: filled on the host, then copied in a stream's order.
class Transfer {
 public:
  Transfer(Device device, const Stream* stream) : device_(device), stream_(stream) {}

  template <class Fill>
  Array make(DType dtype, const Shape& shape, const Fill& fill) const {
    if (device_.is_host()) {
      const Array array = Array::empty(shape, dtype, device_);
      if (array.size() > 0) fill(static_cast<std::byte*>(array.data()));
      return array;
    }
    const std::size_t bytes = static_cast<std::size_t>(shape.size()) * itemsize(dtype);
    DeviceMemory memory(device_, bytes);
    if (bytes == 0) return memory.array(dtype, shape);
    const PinnedMemory staging(bytes, device_);  // given up at the end, handed out again when the copy is done
    fill(static_cast<std::byte*>(staging.data()));
    memory.copy_from_host(staging.data(), bytes, *stream_);
    return memory.array(dtype, shape);
  }

 private:
  Device device_;
  const Stream* stream_;
};

}  // namespace

struct DataLoader::Epoch::Work {
  std::shared_ptr<const Data> data;
  std::vector<std::int64_t> order;
  std::int64_t batches = 0, made = 0, taken = 0;  // made: by whoever makes them
  std::optional<Stream> stream;                   // of a GPU

  struct Made {
    Batch batch;
    std::optional<Event> ready;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Made> waiting;
  std::exception_ptr failure;
  std::jthread thread;  // last: it ends before what it uses

  Made make() {
    const std::int64_t begin = made * data->options.batch, end = std::min(begin + data->options.batch, data->count), rows = end - begin;
    const std::span<const std::int64_t> chosen(order.data() + begin, static_cast<std::size_t>(rows));
    Made made_now;
    if (stream) {  // memory that comes from the pool may still be read by kernels of the default stream
      const Event before(data->device, {.timing = false});
      before.record(Stream::default_of(data->device));
      stream->wait(before);
    }
    const Transfer transfer(data->device, stream ? &*stream : nullptr);
    for (const Data::Table& table : data->tables) {
      const std::size_t row_bytes = table.array.nbytes() / static_cast<std::size_t>(data->count);
      made_now.batch.push_back(transfer.make(table.array.dtype(), with_rows(table.array.shape(), rows), [&](std::byte* to) {
        for (const std::int64_t row : chosen) {
          std::memcpy(to, table.first() + static_cast<std::size_t>(row) * row_bytes, row_bytes);
          to += row_bytes;
        }
      }));
    }
    if (data->reader) {
      for (const Array& array : data->reader(chosen)) {
        if (array.rank() == 0 || array.shape()[0] != rows) throw ShapeError("data loader: the reader gave " + to_string(array.shape()) + " for " + std::to_string(rows) + " rows", "let it give arrays with a row for each of the positions that it is asked for, along axis 0");
        made_now.batch.push_back(array.device() == data->device ? array : transfer.make(array.dtype(), array.shape(), [&](std::byte* to) { array.to_host(to); }));
      }
    }
    if (stream) made_now.ready.emplace(data->device, EventOptions{.timing = false}).record(*stream);
    ++made;  // after a reader's exception the same rows are next
    return made_now;
  }

  void run(const std::stop_token& stop) {
    try {
      while (made < batches) {
        Made next = make();
        std::unique_lock lock(mutex);
        waiting.push_back(std::move(next));
        changed.notify_all();
        while (!stop.stop_requested() && waiting.size() >= static_cast<std::size_t>(data->options.prefetch)) changed.wait(lock);
        if (stop.stop_requested()) return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      changed.notify_all();
    }
  }

  ~Work() {
    {
      const std::lock_guard lock(mutex);
      thread.request_stop();
    }
    changed.notify_all();
  }
};

DataLoader::DataLoader(std::int64_t count, Reader reader, LoaderOptions options) {
  const Device device = options.device ? *options.device : Device();
  if (options.batch < 1) throw OptionError("data loader: a batch has one row and more, this one " + std::to_string(options.batch));
  if (options.prefetch < 0) throw OptionError("data loader: prefetch is 0 and more, this one " + std::to_string(options.prefetch));
  if (count < 1) throw ShapeError("data loader: there are no rows to make batches of", "give it at least one");
  if (options.drop_last && count < options.batch) {
    throw OptionError("data loader: an epoch of " + std::to_string(count) + " rows has no batch of " + std::to_string(options.batch), "drop_last = false keeps the last, smaller one");
  }
  data_ = std::make_shared<const Data>(Data{{}, std::move(reader), count, std::move(options), device});
}

DataLoader::DataLoader(std::vector<Array> arrays, LoaderOptions options) {
  if (arrays.empty()) throw ShapeError("data loader: there are no arrays to make batches of", "give at least one: DataLoader({images, labels})");
  for (const Array& array : arrays) {
    if (!array) throw TypeError("data loader: an Array is empty", "check it with if (array)");
    if (array.rank() == 0) throw ShapeError("data loader: " + describe(array) + " has no rows", "batches are made along axis 0: reshape it");
    if (array.shape()[0] != arrays[0].shape()[0]) {
      throw ShapeError("data loader: arrays have as many rows as the first, " + to_string(arrays[0].shape()) + "; this one is " + to_string(array.shape()), "slice the longer one, or batch them apart");
    }
  }
  *this = DataLoader(arrays[0].shape()[0], Reader(), std::move(options));
  const auto data = std::make_shared<Data>(*data_);
  for (const Array& array : arrays) {
    Data::Table& table = data->tables.emplace_back(array.contiguous());
    if (array.device().is_host() || array.nbytes() == 0) continue;
    table.copy.resize(array.nbytes());
    array.to_host(table.copy.data());
  }
  data_ = data;
}

std::int64_t DataLoader::batches() const {
  const std::int64_t batch = data_->options.batch;
  return data_->options.drop_last ? data_->count / batch : data_->count / batch + (data_->count % batch != 0);
}

std::vector<std::int64_t> DataLoader::order(std::int64_t epoch) const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(data_->count));
  std::iota(order.begin(), order.end(), 0);
  if (!data_->options.shuffle) return order;
  std::seed_seq seeds{data_->options.seed, data_->options.seed >> 32, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(epoch) >> 32};
  std::mt19937_64 random(seeds);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i, random)]);  // Fisher, Yates
  return order;
}

DataLoader::Epoch DataLoader::epoch(std::int64_t number) const {
  if (data_->tables.empty() && !data_->reader) throw TypeError("data loader: there are neither arrays nor a reader", "give a function that reads rows");
  const auto work = std::make_shared<Epoch::Work>();
  work->data = data_;
  work->order = order(number);
  work->batches = batches();
  if (!data_->device.is_host()) work->stream.emplace(data_->device);
  try {
    if (data_->options.prefetch > 0) work->thread = std::jthread([work = work.get()](const std::stop_token& stop) { work->run(stop); });
  } catch (const std::system_error& error) {
    throw DeviceError(std::string("data loader: there is no thread to be had: ") + error.what(), "prefetch = 0 needs none");
  }
  return Epoch(work);
}

std::int64_t DataLoader::Epoch::size() const { return work_->batches; }

std::optional<Batch> DataLoader::Epoch::next() {
  Work& work = *work_;
  if (work.taken == work.batches) return std::nullopt;
  std::optional<Work::Made> made;
  if (work.data->options.prefetch == 0) {
    made = work.make();
  } else {
    std::unique_lock lock(work.mutex);
    work.changed.wait(lock, [&] { return !work.waiting.empty() || work.failure; });
    if (work.waiting.empty()) std::rethrow_exception(work.failure);
    made = std::move(work.waiting.front());
    work.waiting.pop_front();
    work.changed.notify_all();
  }
  ++work.taken;
  if (made->ready) Stream::default_of(work.data->device).wait(*made->ready);
  return std::move(made->batch);
}

}  // namespace damo
