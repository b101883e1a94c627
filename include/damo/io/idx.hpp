// IDX: the files of MNIST and its kin, one array of big-endian numbers each, most often compressed by gzip.
//
//   Array images = idx::load("train-images-idx3-ubyte.gz");             // uint8 (60000, 28, 28)
//   auto [train_images, train_labels, test_images, test_labels] = idx::load_set("/usr/share/datasets/fashion-mnist");
//
// dtypes: uint8, int8, int16, int32, float32, float64; saving another is a TypeError. What is compressed is seen from its first bytes when
// read, and asked for by a name that ends in .gz when saved; both need a build with zlib. Members of gzip that follow each other are one text, as zlib reads
// them; other bytes behind the last one are refused, as those behind a plain file's elements are. FileError for a file that does not fit its head,
// before memory is taken for its elements (a compressed one grows as it is read). Written whole or not at all, as io/npy.hpp says.
// See tests/io/idx_test.cpp.
#pragma once
#include <string>

#include <damo/array.hpp>
#include <damo/io/file_error.hpp>

namespace damo::idx {

Array load(const std::string& path, Device device = Device());
void save(const std::string& path, const Array& array);

/// Pictures (count, height, width) of uint8 and labels (count,) of int64.
struct Set {
  Array train_images, train_labels, test_images, test_labels;
};
/// The four files of a folder under MNIST's names (train-images-idx3-ubyte and so on, each with or without .gz); FileError names what is missing.
Set load_set(const std::string& folder, Device device = Device());

}  // namespace damo::idx
