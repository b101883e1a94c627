// DataLoader: minibatches of arrays' rows, in another order each epoch, made ahead by a thread and copied to the device beside its kernels.
//
//   DataLoader loader({images, labels}, {.batch = 128, .seed = 1});
//   for (std::int64_t epoch = 0; epoch < 10; ++epoch)
//     for (const Batch& batch : loader.epoch(epoch)) train(batch[0], batch[1]);
//
// Row i of a batch is the same row of every array. The order of epoch k follows from seed and k alone, on every machine: a run that is taken
// up again at epoch k sees what it would have seen. A reader of one's own makes rows as they are asked for: DataLoader(count, reader).
//
// Arrays are kept in host memory (a copy unless they lie there in C order). A thread an epoch gathers up to options.prefetch batches ahead into
// pinned memory and copies them on a stream of its own, for which the default stream waits; on a CPU it gathers them in place. What it throws
// is thrown by the loop. Ending the loop early ends the thread. ShapeError for arrays of different lengths or none, OptionError for a batch
// of no rows: a mean of nothing would be NaN. See tests/train/data_loader_test.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <damo/array.hpp>

namespace damo {

struct LoaderOptions {
  std::int64_t batch = 64;              ///< rows
  bool shuffle = true;                  ///< false: in order
  std::uint64_t seed = 0;
  bool drop_last = false;               ///< leave out the last batch where it has fewer rows
  int prefetch = 2;                     ///< batches made ahead, each of which takes memory; 0: no thread
  std::optional<Device> device = {};    ///< where batches lie; default: Device()
};

/// Of each array the rows of one minibatch: (rows, ...).
using Batch = std::vector<Array>;

class DataLoader {
 public:
  /// Makes these rows, in this order, on the host: called by the thread of an epoch, by one at a time in an epoch.
  using Reader = std::function<Batch(std::span<const std::int64_t> rows)>;

  explicit DataLoader(std::vector<Array> arrays, LoaderOptions options = {});
  DataLoader(std::int64_t count, Reader reader, LoaderOptions options = {});

  std::int64_t batches() const;  ///< in an epoch
  /// The rows in the order of that epoch.
  std::vector<std::int64_t> order(std::int64_t epoch) const;

  class Epoch {
   public:
    /// The next batch; none at the end. Throws what the thread threw.
    std::optional<Batch> next();
    std::int64_t size() const;

    class Iterator {
     public:
      const Batch& operator*() const { return *batch_; }
      Iterator& operator++() {
        batch_ = epoch_->next();
        return *this;
      }
      bool operator==(std::default_sentinel_t) const { return !batch_; }

     private:
      friend class Epoch;
      explicit Iterator(Epoch* epoch) : epoch_(epoch), batch_(epoch->next()) {}
      Epoch* epoch_;
      std::optional<Batch> batch_;
    };
    Iterator begin() { return Iterator(this); }
    std::default_sentinel_t end() const { return {}; }

   private:
    friend class DataLoader;
    struct Work;
    explicit Epoch(std::shared_ptr<Work> work) : work_(std::move(work)) {}
    std::shared_ptr<Work> work_;
  };
  Epoch epoch(std::int64_t number) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace damo
