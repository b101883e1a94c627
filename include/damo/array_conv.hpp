// Convolutions and pooling of Arrays, at once: what ops/conv.hpp has for Variables, which is the manual of both. Operands lie on one device, else
// DeviceError; results are new arrays there. See tests/conv/conv_test.cpp.
#pragma once
#include <damo/array.hpp>
#include <damo/windows.hpp>

namespace damo {

Array conv1d(const Array& x, const Array& w, const ConvOptions& options = {});
Array conv2d(const Array& x, const Array& w, const ConvOptions& options = {});
Array conv3d(const Array& x, const Array& w, const ConvOptions& options = {});
Array conv_transpose1d(const Array& x, const Array& w, const ConvTransposeOptions& options = {});
Array conv_transpose2d(const Array& x, const Array& w, const ConvTransposeOptions& options = {});
Array conv_transpose3d(const Array& x, const Array& w, const ConvTransposeOptions& options = {});
Array max_pool1d(const Array& x, const PerAxis& window, const PoolOptions& options = {});
Array max_pool2d(const Array& x, const PerAxis& window, const PoolOptions& options = {});
Array max_pool3d(const Array& x, const PerAxis& window, const PoolOptions& options = {});
Array avg_pool1d(const Array& x, const PerAxis& window, const AvgPoolOptions& options = {});
Array avg_pool2d(const Array& x, const PerAxis& window, const AvgPoolOptions& options = {});
Array avg_pool3d(const Array& x, const PerAxis& window, const AvgPoolOptions& options = {});
Array global_avg_pool(const Array& x);

}  // namespace damo
