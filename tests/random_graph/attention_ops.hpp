// Attention in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// x: (n, features), perhaps a batch of them; y: (m, features). numbers: whether two heads share y, whether values are twice as deep, whether a batch of one is in front.
template <class T>
std::vector<T> attention_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  if constexpr (std::is_same_v<T, Variable>) {
    const Variable x = tamed(in[0]), y = tamed(in[1]);
    const int heads = x.rank() - 2;
    Variable query = numbers[0] != 0 ? stack({x, x * -0.5}, heads) : expand_dims(x, heads), key = expand_dims(y, heads);
    if (numbers[2] != 0 && heads == 0) query = expand_dims(query, 0), key = expand_dims(key, 0);
    const Variable value = numbers[1] != 0 ? concatenate({key, key * 0.25}, -1) : key;
    nn::AttentionOptions options{.causal = how == "causal", .scale = 0.25};
    if (how == "masked_attention") {  // of which the first query may look at no key that a third of them are
      const auto number = [](const Variable& of) { return subtensor(index_along(of, -2), {ellipsis, 0}); };
      const auto plain = [&](const Variable& of) { return of.rank() > 2 ? subtensor(number(of), {0}) : number(of); };
      options.mask = neq(mod(expand_dims(plain(x), 1) + expand_dims(plain(y), 0) * 2, 3), 0);
    }
    return {nn::attention(query, key, value, options)};
  }
  return {};
}

}  // namespace damo::testing
