#include "checkpoints/tokenizer.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>

#include "theory/error.hpp"

namespace ropewalk::checkpoints {

using Json = nlohmann::json;

namespace {

constexpr std::int64_t most_pieces = 1 << 22;

[[noreturn]] void broken(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::parse, name + ": " + what);
}
[[noreturn]] void refused(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::unsupported, name + ": " + what);
}

// Length in bytes of the character that begins here; 1 for what is not UTF-8.
std::size_t character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t wanted = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead >= 0x80 && lead < 0xC0) return 1;
  if (wanted > text.size()) return 1;
  for (std::size_t i = 1; i < wanted; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 1;
  return wanted;
}

std::string byte_piece(unsigned char byte) {
  constexpr const char* digits = "0123456789ABCDEF";
  return std::string("<0x") + digits[byte >> 4U] + digits[byte & 15U] + ">";
}

std::optional<unsigned char> byte_of(std::string_view piece) {
  const std::string_view hex = "0123456789ABCDEF";
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const std::size_t high = hex.find(piece[3]);
  const std::size_t low = hex.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(16 * high + low);
}

// Byte-level pieces write every byte as one printable character: itself where it is one, else the
// next from U+0100 on.
const std::vector<std::string>& byte_letters() {
  static const std::vector<std::string> letters = [] {
    std::vector<std::string> result;
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const unsigned c = printable ? byte : next++;
      std::string letter;
      if (c < 0x80) {
        letter += static_cast<char>(c);
      } else {
        letter += static_cast<char>(0xC0U | (c >> 6U));
        letter += static_cast<char>(0x80U | (c & 0x3FU));
      }
      result.push_back(std::move(letter));
    }
    return result;
  }();
  return letters;
}

// The bytes that a byte-level piece writes.
std::string bytes_of(std::string_view piece) {
  static const std::unordered_map<std::string, char> bytes = [] {
    std::unordered_map<std::string, char> result;
    for (unsigned byte = 0; byte < 256; ++byte)
      result.emplace(byte_letters()[byte], static_cast<char>(static_cast<unsigned char>(byte)));
    return result;
  }();
  std::string text;
  while (!piece.empty()) {
    const std::string letter(piece.substr(0, character(piece)));
    piece.remove_prefix(letter.size());
    const auto at = bytes.find(letter);
    text += at == bytes.end() ? letter : std::string(1, at->second);
  }
  return text;
}

std::uint64_t both(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
         static_cast<std::uint32_t>(right);
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  while (!text.empty())
    if (text.starts_with(what)) {
      result += by;
      text.remove_prefix(what.size());
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  return result;
}

}  // namespace

void Tokenizer::index_pieces() {
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    index_.emplace(pieces_[i], static_cast<std::int32_t>(i));
  control_.resize(pieces_.size());
}

Tokenizer Tokenizer::from_json(const Json& content, const std::string& name) {
  Tokenizer result;
  try {
    const Json& model = content.at("model");
    const std::string type = model.value("type", std::string("BPE"));
    const Json& vocabulary = model.at("vocab");
    if (!vocabulary.is_object()) refused(name, "a vocabulary of type " + type + " is not read");
    const Json added = content.value("added_tokens", Json::array());
    const auto place = [&](const Json& id) {
      if (!id.is_number_integer()) broken(name, "the id of a piece is not a whole number");
      const auto at = id.get<std::int64_t>();
      // Ids may have gaps, but not many.
      const auto most = static_cast<std::int64_t>(2 * (vocabulary.size() + added.size()) + 1024);
      if (at < 0 || at >= std::min(most, most_pieces))
        broken(name, "the id " + std::to_string(at) + " of a piece is out of range");
      return static_cast<std::size_t>(at);
    };
    const auto put = [&](const std::string& piece, std::size_t at) {
      if (at >= result.pieces_.size()) result.pieces_.resize(at + 1);
      result.pieces_[at] = piece;
    };
    for (const auto& [piece, id] : vocabulary.items()) put(piece, place(id));
    for (const Json& token : added)
      put(token.at("content").get<std::string>(), place(token.at("id")));
    result.index_pieces();
    for (const Json& token : added)
      if (token.value("special", false)) result.control_[place(token.at("id"))] = true;
    if (const auto unknown = model.find("unk_token");
        unknown != model.end() && unknown->is_string())
      if (const auto at = result.index_.find(*unknown); at != result.index_.end())
        result.unknown_ = at->second;

    if (type == "WordLevel") {
      result.words_ = true;
    } else if (type == "BPE") {
      const std::string normalizer = content.value("normalizer", Json()).dump();
      const Json pre_tokenizer = content.value("pre_tokenizer", Json());
      if (pre_tokenizer.dump().find("ByteLevel") != std::string::npos) {
        result.split_.emplace(pre_tokenizer, name);
        result.whole_words_ = model.value("ignore_merges", false);
      } else if (normalizer.find("Prepend") == std::string::npos ||
                 normalizer.find("\xE2\x96\x81") == std::string::npos)
        refused(name, "only a BPE that writes '\xE2\x96\x81' for the space is read");
      double rank = 0;
      for (const Json& pair : model.at("merges")) {
        std::string left;
        std::string right;
        if (pair.is_array()) {
          left = pair.at(0);
          right = pair.at(1);
        } else {
          const auto text = pair.get<std::string>();
          const std::size_t gap = text.find(' ');
          if (gap == std::string::npos) broken(name, "a merge without a space between its parts");
          left = text.substr(0, gap);
          right = text.substr(gap + 1);
        }
        const auto l = result.index_.find(left);
        const auto r = result.index_.find(right);
        const auto merged = result.index_.find(left + right);
        if (l == result.index_.end() || r == result.index_.end() || merged == result.index_.end())
          broken(name, "a merge of pieces that are not in the vocabulary");
        result.merges_.emplace(both(l->second, r->second), Merge{rank++, merged->second});
      }
    } else {
      refused(name, "a model of type " + type + " is not read");
    }
    Json processor = content.value("post_processor", Json());
    if (processor.is_object() && processor.value("type", std::string()) == "Sequence")
      for (const Json& one : Json(processor.at("processors")))
        if (one.value("type", std::string()) == "TemplateProcessing") processor = one;
    if (processor.is_object() && processor.value("type", std::string()) == "TemplateProcessing")
      if (const Json& first = processor.at("single").at(0); first.contains("SpecialToken"))
        if (const auto at = result.index_.find(first["SpecialToken"].at("id").get<std::string>());
            at != result.index_.end())
          result.begin_ = at->second;
  } catch (const Json::exception& error) {
    broken(name, std::string("not a tokenizer.json: ") + error.what());
  }
  return result;
}

Tokenizer Tokenizer::from_llama2c(std::span<const std::byte> bytes, std::int64_t vocabulary,
                                  const std::string& name) {
  Tokenizer result;
  std::size_t at = 0;
  const auto take = [&](void* out, std::size_t count) {
    if (count > bytes.size() - at) broken(name, "ends at byte " + std::to_string(bytes.size()));
    std::memcpy(out, bytes.data() + at, count);
    at += count;
  };
  std::int32_t longest = 0;
  take(&longest, sizeof longest);
  for (std::int64_t i = 0; i < vocabulary; ++i) {
    float score = 0;
    std::int32_t length = 0;
    take(&score, sizeof score);
    take(&length, sizeof length);
    if (length < 0 || length > longest)
      broken(name, "piece " + std::to_string(i) + " has length " + std::to_string(length) +
                       ", the longest is " + std::to_string(longest));
    if (static_cast<std::size_t>(length) > bytes.size() - at)
      broken(name, "ends at byte " + std::to_string(bytes.size()));
    std::string piece(static_cast<std::size_t>(length), '\0');
    take(piece.data(), piece.size());
    result.pieces_.push_back(std::move(piece));
    result.scores_.push_back(score);
  }
  if (at != bytes.size())
    broken(name, "has bytes after the " + std::to_string(vocabulary) + " pieces of the model");
  result.index_pieces();
  result.space_ = " ";
  if (vocabulary > 2) {
    result.unknown_ = 0;
    result.begin_ = 1;
    for (const std::size_t i : {0U, 1U, 2U}) result.control_[i] = true;
  }
  return result;
}

Tokenizer Tokenizer::from_gguf(const Json& metadata, const std::string& name) {
  Tokenizer result;
  try {
    const std::string model = metadata.value("tokenizer.ggml.model", std::string());
    if (model.empty()) refused(name, "has no tokenizer; give token ids with --tokens");
    if (model != "llama")
      refused(name,
              "a tokenizer of type '" + model + "' is not read; give token ids with --tokens");
    result.pieces_ = metadata.at("tokenizer.ggml.tokens").get<std::vector<std::string>>();
    result.scores_ = metadata.at("tokenizer.ggml.scores").get<std::vector<float>>();
    if (result.pieces_.size() != result.scores_.size())
      broken(name, "tokenizer.ggml.tokens and .scores differ in length");
    result.index_pieces();
    const auto types =
        metadata.value("tokenizer.ggml.token_type", std::vector<int>(result.pieces_.size(), 1));
    for (std::size_t i = 0; i < std::min(types.size(), result.pieces_.size()); ++i)
      result.control_[i] = types[i] == 2 || types[i] == 3;  // unknown, control
    const auto id = [&](const char* key, std::int32_t otherwise) -> std::optional<std::int32_t> {
      const auto value = metadata.value(key, otherwise);
      if (value < 0 || static_cast<std::size_t>(value) >= result.pieces_.size())
        return std::nullopt;
      return value;
    };
    result.begin_ = id("tokenizer.ggml.bos_token_id", 1);
    result.unknown_ = id("tokenizer.ggml.unknown_token_id", 0);
    if (!metadata.value("tokenizer.ggml.add_bos_token", true)) result.begin_.reset();
  } catch (const Json::exception& error) {
    broken(name, std::string("tokenizer: ") + error.what());
  }
  return result;
}

std::optional<Tokenizer::Merge> Tokenizer::merge(std::int32_t left, std::int32_t right) const {
  if (scores_.empty()) {
    const auto at = merges_.find(both(left, right));
    return at == merges_.end() ? std::nullopt : std::optional(at->second);
  }
  const auto at = index_.find(pieces_[static_cast<std::size_t>(left)] +
                              pieces_[static_cast<std::size_t>(right)]);
  if (at == index_.end()) return std::nullopt;
  return Merge{-static_cast<double>(scores_[static_cast<std::size_t>(at->second)]), at->second};
}

std::vector<std::int32_t> Tokenizer::encode_words(std::string_view text) const {
  std::vector<std::int32_t> ids;
  if (begin_) ids.push_back(*begin_);
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const auto at = index_.find(word);
    if (at == index_.end() && !unknown_)
      throw Error(ErrorCode::bad_value, "'" + word + "' is not in the vocabulary");
    ids.push_back(at == index_.end() ? *unknown_ : at->second);
  }
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  if (words_) return encode_words(text);
  if (split_) return encode_bytes(text);
  std::vector<std::int32_t> ids;
  if (begin_) ids.push_back(*begin_);
  if (text.empty()) return ids;

  // Characters, as a list in which neighbours merge.
  const std::string spaced = space_ + replaced(text, " ", space_);
  std::vector<std::int32_t> piece;
  for (std::string_view rest = spaced; !rest.empty();) {
    const std::string_view c = rest.substr(0, character(rest));
    rest.remove_prefix(c.size());
    if (const auto at = index_.find(std::string(c)); at != index_.end()) {
      piece.push_back(at->second);
      continue;
    }
    for (const char byte : c) {
      const auto at = index_.find(byte_piece(static_cast<unsigned char>(byte)));
      if (at == index_.end() && !unknown_)
        throw Error(ErrorCode::bad_value, "'" + std::string(c) + "' is not in the vocabulary");
      piece.push_back(at == index_.end() ? *unknown_ : at->second);
      if (at == index_.end()) break;
    }
  }
  merge_all(std::move(piece), ids);
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_bytes(std::string_view text) const {
  std::vector<std::int32_t> ids;
  if (begin_) ids.push_back(*begin_);
  const bool space = split_->prefixes_space() && !text.empty() && !text.starts_with(' ');
  const std::string spaced = space ? " " + std::string(text) : std::string(text);
  for (const std::string_view word : split_->parts(spaced)) {
    std::vector<std::int32_t> piece;
    std::string letters;
    for (const char byte : word) {
      const std::string& letter = byte_letters()[static_cast<unsigned char>(byte)];
      letters += letter;
      const auto at = index_.find(letter);
      if (at == index_.end() && !unknown_)
        throw Error(ErrorCode::bad_value, "byte " +
                                              std::to_string(static_cast<unsigned char>(byte)) +
                                              " is not in the vocabulary");
      piece.push_back(at == index_.end() ? *unknown_ : at->second);
    }
    if (const auto at = index_.find(letters); whole_words_ && at != index_.end())
      ids.push_back(at->second);
    else
      merge_all(std::move(piece), ids);
  }
  return ids;
}

void Tokenizer::merge_all(std::vector<std::int32_t> piece, std::vector<std::int32_t>& ids) const {
  const auto count = static_cast<std::int64_t>(piece.size());
  std::vector<std::int64_t> next(piece.size());
  std::vector<std::int64_t> previous(piece.size());
  struct Candidate {
    double order;
    std::int64_t left, right;
    std::int32_t first, second, merged;
    bool operator<(const Candidate& other) const {
      return order != other.order ? order > other.order : left > other.left;
    }
  };
  std::priority_queue<Candidate> candidates;
  const auto at = [&](std::int64_t i) -> std::int32_t& {
    return piece[static_cast<std::size_t>(i)];
  };
  const auto consider = [&](std::int64_t left, std::int64_t right) {
    if (left < 0 || right >= count) return;
    if (const auto m = merge(at(left), at(right)))
      candidates.push({m->order, left, right, at(left), at(right), m->piece});
  };
  for (std::int64_t i = 0; i < count; ++i) {
    next[static_cast<std::size_t>(i)] = i + 1;
    previous[static_cast<std::size_t>(i)] = i - 1;
    consider(i, i + 1);
  }
  constexpr std::int32_t gone = -1;
  while (!candidates.empty()) {
    const Candidate c = candidates.top();
    candidates.pop();
    if (at(c.left) != c.first || at(c.right) != c.second ||
        next[static_cast<std::size_t>(c.left)] != c.right)
      continue;  // one of them has merged since
    at(c.left) = c.merged;
    at(c.right) = gone;
    const std::int64_t after = next[static_cast<std::size_t>(c.right)];
    next[static_cast<std::size_t>(c.left)] = after;
    if (after < count) previous[static_cast<std::size_t>(after)] = c.left;
    consider(previous[static_cast<std::size_t>(c.left)], c.left);
    consider(c.left, after);
  }
  for (const std::int32_t id : piece)
    if (id != gone) ids.push_back(id);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= pieces_.size())
      throw Error(ErrorCode::bad_value, "token " + std::to_string(id) +
                                            " is outside the vocabulary of " +
                                            std::to_string(pieces_.size()));
    const auto at = static_cast<std::size_t>(id);
    if (control_[at]) continue;
    if (words_) {
      text += (text.empty() ? "" : " ") + pieces_[at];
    } else if (split_) {
      text += bytes_of(pieces_[at]);
    } else if (const auto byte = byte_of(pieces_[at])) {
      text += static_cast<char>(*byte);
    } else {
      text += replaced(pieces_[at], space_, " ");
    }
  }
  // The space that every text begins with is no part of it.
  if (!words_ && !split_ && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace ropewalk::checkpoints
