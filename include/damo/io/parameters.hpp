// A model's parameters on disk: shared variables, saved and loaded under their names.
//
//   save("model.safetensors", {w, b});        // names from shared("w", ...)
//   load("model.safetensors", {w, b});        // into the variables, wherever they live
//
// The name's end chooses the format: .safetensors or .npz (no bfloat16, no 8-bit floats). Saving replaces a file as a whole (io/npy.hpp): one that breaks off
// leaves the old one. Loading looks at everything first: a name that the file lacks, one that nothing here is called by, another dtype or
// shape are one FileError that lists them all, and then no variable has changed. GraphError for two variables of one name, or one without.
//
// Threads. A file has the values of one moment, all variables' together, as a call of a Function that reads them would: between two calls that
// update them, also while another thread trains. That thread waits for nothing but a value that is being written in place, and while the file is
// written its calls put new values into buffers of their own. Loading waits for calls that update the variables, and sets all at one moment; calls that run keep what they began with.
// See tests/io/parameters_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <string>

#include <damo/io/file_error.hpp>
#include <damo/shared.hpp>

namespace damo {

void save(const std::string& path, std::span<const Shared> parameters);
inline void save(const std::string& path, std::initializer_list<Shared> parameters) { save(path, std::span(parameters.begin(), parameters.size())); }

void load(const std::string& path, std::span<const Shared> parameters);
inline void load(const std::string& path, std::initializer_list<Shared> parameters) { load(path, std::span(parameters.begin(), parameters.size())); }

}  // namespace damo
