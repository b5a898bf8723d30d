#pragma once
/// \file
/// Text to token ids and back, for the tokenizers that small Llamas and the tasks have:
///
///   tokenizer.json   BPE over whole words with "▁" for the space and bytes as the last resort
///                    (SentencePiece style); byte-level BPE (GPT-2, Pythia, Llama 3, Qwen); and
///                    WordLevel
///   llama2.c         its tokenizer file: pieces with scores
///   GGUF             tokenizer.ggml.tokens and .scores, model "llama"
///
/// Texts are taken as they are: not normalised (NFC), and without special tokens in them. What is
/// not read is refused by name: pass token ids instead.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoints/word_split.hpp"

namespace ropewalk::checkpoints {

class Tokenizer {
 public:
  /// The content of a tokenizer.json. Throws Error(parse) or Error(unsupported), beginning with
  /// `name`, for what is not one, or of another kind.
  [[nodiscard]] static Tokenizer from_json(const nlohmann::json& content, const std::string& name);
  /// The bytes of a llama2.c tokenizer of `vocabulary` pieces. Throws Error(parse).
  [[nodiscard]] static Tokenizer from_llama2c(std::span<const std::byte> bytes,
                                              std::int64_t vocabulary, const std::string& name);
  /// The metadata of a GGUF file. Throws as from_json.
  [[nodiscard]] static Tokenizer from_gguf(const nlohmann::json& metadata, const std::string& name);

  /// Ids of the text, the token of the beginning first where the tokenizer has one. Every text has
  /// ids where bytes or an unknown token are there; else Error(bad_value) names the character.
  /// Cost: n log n.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;
  /// Text of the ids, without the tokens of beginning and end. Throws Error(bad_value) for an id
  /// that is not in the vocabulary.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const;
  [[nodiscard]] std::int64_t vocabulary() const {
    return static_cast<std::int64_t>(pieces_.size());
  }

 private:
  struct Merge {
    double order = 0;  // the smallest first
    std::int32_t piece = 0;
  };
  [[nodiscard]] std::optional<Merge> merge(std::int32_t left, std::int32_t right) const;
  void index_pieces();
  /// Neighbours merge, the best pair first, and what is left is appended to ids.
  void merge_all(std::vector<std::int32_t> piece, std::vector<std::int32_t>& ids) const;
  [[nodiscard]] std::vector<std::int32_t> encode_bytes(std::string_view text) const;
  [[nodiscard]] std::vector<std::int32_t> encode_words(std::string_view text) const;

  std::vector<std::string> pieces_;
  std::unordered_map<std::string, std::int32_t> index_;
  std::vector<float> scores_;                        // pieces with scores, or
  std::unordered_map<std::uint64_t, Merge> merges_;  // pairs with ranks
  std::vector<bool> control_;                        // no text of their own
  std::string space_ = "\xE2\x96\x81";               // what stands for a space: U+2581
  std::optional<std::int32_t> begin_, unknown_;
  bool words_ = false;
  std::optional<WordSplit> split_;  // byte-level
  bool whole_words_ = false;        // a word that is a piece is not put together from others
};

}  // namespace ropewalk::checkpoints
