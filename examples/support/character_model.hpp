// The model of 56_character_lstm, which damo-bench times too.
#pragma once
#include <damo/nn.hpp>

namespace examples {

/// Scores of the next character: an embedding, an LSTM over the steps, a layer.
struct CharacterModel {
  damo::nn::Embedding letters;
  damo::nn::LSTM lstm;
  damo::nn::Linear scores;

  CharacterModel(damo::nn::Init& init, std::int64_t vocabulary, std::int64_t embedding, std::int64_t features)
      : letters(init, "letters", vocabulary, embedding), lstm(init, "lstm", embedding, features), scores(init, "scores", features, vocabulary) {}
  /// (steps, batch) -> (steps, batch, vocabulary)
  damo::Variable operator()(const damo::Variable& text) const { return scores(lstm(letters(text)).hidden); }
  std::vector<damo::Shared> parameters() const { return damo::nn::parameters(letters, lstm, scores); }
};

}  // namespace examples
