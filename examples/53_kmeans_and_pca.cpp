// The digits without their labels. PCA: the directions of most variance, by power iteration, each taken out of the covariance when it is found.
// k-means (Lloyd 1982): each picture goes to its nearest centre, each centre to the mean of its pictures; a round is one call, which updates
// the centres. The sums of each cluster's pictures come from an op of our own, a class with make_thunk. The same from scikit-learn: variance
// shares 14.89, 13.62, 11.79, 8.41 %, and from the first ten pictures as centres an inertia of 4561.95.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
#include <map>

#include "support/digits.hpp"
#include "support/pipeline.hpp"
using namespace damo;

/// images float32 (n, d), cluster int64 (n,) from 0 to k - 1 -> the sums of each cluster's images (k, d), and how many they are (k,), both float32. One block a cluster
/// goes through all images, so a sum is added up in the images' order and is the same bits at each call.
class ClusterSums final : public Op {
 public:
  explicit ClusterSums(std::int64_t clusters) : clusters_(clusters) {}
  std::string name() const override { return "cluster_sums"; }
  Props props() const override { return {{"clusters", clusters_}}; }
  Apply make_node(Inputs in) const override {
    in.require_count(2);
    require_dtype(in.at(0), float32);
    require_dtype(in.at(1), int64);
    const Variable images = contiguous(in.at(0)), cluster = contiguous(in.at(1));
    return {*this, {images, cluster}, {{float32, {clusters_, images.dims()[1]}}, {float32, {clusters_}}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{{clusters_, in[0][1]}, {clusters_}}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Kernel kernel = context.compile(R"(
      extern "C" __global__ void cluster_sums(const float* images, const long long* cluster, float* sums, float* sizes, int n, int d) {
        for (int column = threadIdx.x; column < d; column += blockDim.x) {
          float sum = 0;
          int size = 0;
          for (int i = 0; i < n; ++i) {
            if (cluster[i] == blockIdx.x) sum += images[(long long)i * d + column], ++size;
          }
          sums[blockIdx.x * d + column] = sum;
          if (column == 0) sizes[blockIdx.x] = size;
        }
      })",
                                          "cluster_sums");
    Cell &images = context.storage(node.input(0)), &cluster = context.storage(node.input(1));
    Cell &sums = context.storage(node.output(0)), &sizes = context.storage(node.output(1));
    return [=, clusters = static_cast<int>(clusters_), &images, &cluster, &sums, &sizes] {
      kernel.launch({.grid = {clusters}, .block = {64}}, images, cluster, sums, sizes, static_cast<int>(images.shape()[0]), static_cast<int>(images.shape()[1]));
    };
  }

 private:
  std::int64_t clusters_;
};

int main(int count, char** arguments) {
  const examples::Arguments run = examples::arguments_of(count, arguments);
  const examples::Digits digits = examples::load_digits();
  const std::int64_t n = digits.count(), pixels = examples::Digits::kPixels, clusters = 10, components = 4;
  const Shared images = shared("images", Array::from(digits.images, {n, pixels}));
  bool right = true;

  // PCA.
  const Variable centred = images - mean(images, 0);
  const Shared covariance = shared("covariance", Array(function({}, {dot(transpose(centred), centred) / static_cast<double>(n - 1)})()));
  nn::Init init(run.seed);
  const Shared direction = init.normal("direction", {pixels}, 1);
  const Variable image = dot(covariance, direction), length = norm(image);
  const Function iterate = function({}, {length}, {.name = "iterate", .updates = {{direction, image / length}}});
  const Function take_out = function({}, {}, {.name = "take_out", .updates = {{covariance, covariance - length * outer(direction, direction)}}});
  const double total = Array(function({}, {sum(var(images, 0, false, 1))})()).item().as_double();
  const double expected[] = {0.14890594, 0.13618771, 0.11794594, 0.08409979};
  std::vector<Array> directions;
  for (std::int64_t c = 0; c < components; ++c) {
    direction.set(init.normal("start", {pixels}, 1).array());
    double variance = 0;
    for (int i = 0; i < 300; ++i) variance = Array(iterate()).item().as_double();
    directions.push_back(direction.array());
    take_out();
    std::cout << "component " << c + 1 << ": " << 100 * variance / total << " % of the variance\n";
    right = right && std::abs(variance / total - expected[c]) < 1e-5;
  }

  // k-means.
  const Shared centres = shared("centres", images.array().slice({{0, clusters}}));
  const Variable distances = sum(sqr(images), 1, keepdims) - 2.0 * dot(images, transpose(centres)) + sum(sqr(centres), 1);
  const Variable nearest = argmin(distances, 1);
  const std::vector<Variable> of_cluster = make_op<ClusterSums>(clusters).outputs({images, nearest});
  const Variable size = expand_dims(of_cluster[1], 1), moved = where(gt(size, 0), of_cluster[0] / maximum(size, 1), centres);
  const Function round = function({}, {sum(min(distances, 1)), nearest, sum(sqr(moved - centres))}, {.name = "round", .updates = {{centres, moved}}});
  std::vector<double> inertias;
  std::vector<std::int64_t> cluster;
  for (double change = 1; change > 0 && inertias.size() < 100;) {
    const auto [inertia, labels, moves] = round.call<3>();
    inertias.push_back(inertia.item().as_double());
    cluster = labels.to_vector<std::int64_t>();
    change = moves.item().as_double();
  }
  right = right && std::abs(inertias.back() / 4561.95 - 1) < 1e-3;
  std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
  std::map<std::int64_t, int> most;
  for (std::size_t i = 0; i < cluster.size(); ++i) most[cluster[i]] = std::max(most[cluster[i]], ++counts[{cluster[i], digits.labels[i]}]);
  int pure = 0;
  for (const auto& [c, number] : most) pure += number;
  std::cout << inertias.size() << " rounds, inertia " << inertias.back() << ", " << 100.0 * pure / static_cast<double>(n) << " % are of their cluster's commonest digit, " << examples::seconds() << " s\n";

  // The pictures in the plane of the first two directions, coloured by cluster.
  const std::vector<double> across = dot(images.array(), directions[0]).to_doubles(), up = dot(images.array(), directions[1]).to_doubles();
  Chart chart("The digits: clusters in the plane of two components", "first component", "second");
  for (std::int64_t c = 0; c < clusters; ++c) {
    std::vector<double> x, y;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      if (cluster[i] == c) x.push_back(across[i]), y.push_back(up[i]);
    }
    chart.points("cluster " + std::to_string(c), x, y);
  }
  chart.save("kmeans_and_pca.svg");
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
