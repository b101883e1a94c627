// Attention in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// x: (n, features), perhaps a batch of them; y: (m, features). numbers: whether two heads share y, whether values are twice as deep, whether a batch of one is in front.
template <class T>
std::vector<T> attention_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T x = tamed(in[0]), y = tamed(in[1]);
  const int heads = x.rank() - 2;
  T query = numbers[0] != 0 ? stack({x, x * -0.5}, heads) : expand_dims(x, heads), key = expand_dims(y, heads);
  if (numbers[2] != 0 && heads == 0) query = expand_dims(query, 0), key = expand_dims(key, 0);
  const T value = numbers[1] != 0 ? concatenate({key, key * 0.25}, -1) : key;
  nn::AttentionOptionsOf<T> options{.causal = how == "causal", .scale = 0.25};
  if (how == "masked_attention") {  // of which the first query may look at no key that a third of them are
    const auto number = [](const T& of) { return subtensor(index_along(of, -2), {ellipsis, 0}); };
    const auto plain = [&](const T& of) { return of.rank() > 2 ? subtensor(number(of), {0}) : number(of); };
    options.mask = neq(mod(expand_dims(plain(x), 1) + expand_dims(plain(y), 0) * 2, 3), 0);
  }
  return {nn::attention(query, key, value, options)};
}

}  // namespace damo::testing
