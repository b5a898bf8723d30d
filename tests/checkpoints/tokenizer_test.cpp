// Tokenizers, by hand and against trained ones.
#include "checkpoints/tokenizer.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "checkpoints/checkpoint.hpp"
#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::checkpoints;
using namespace ropewalk::tests;
using Json = nlohmann::json;
using Ids = std::vector<std::int32_t>;

namespace {

const std::string shared = ROPEWALK_SHARED_DIR "/checkpoints/";

// Space-marked BPE over a, b, c with bytes for the rest.
Json small() {
  Json vocabulary = {{"<unk>", 0}, {"<s>", 1}, {"\u2581", 2}, {"a", 3},   {"b", 4},
                     {"c", 5},     {"ab", 6},  {"bc", 7},     {"abc", 8}, {"\u2581a", 9}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocabulary[name] = 10 + byte;
  }
  return {{"normalizer",
           {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}}}}},
          {"added_tokens", {{{"id", 1}, {"content", "<s>"}, {"special", true}}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"vocab", vocabulary},
            {"merges", {"b c", "a bc", "a b", "\u2581 a"}}}}};
}

std::string refusal(const Json& content) {
  try {
    (void)Tokenizer::from_json(content, "t.json");
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("tokenizer.json: merges by rank, bytes as the last resort, the beginning first") {
  const Tokenizer t = Tokenizer::from_json(small(), "t.json");
  CHECK(t.vocabulary() == 266);
  // b c merges before a b, so abc is one piece.
  CHECK(t.encode("abc") == Ids{1, 2, 8});
  CHECK(t.encode("ab") == Ids{1, 2, 6});
  CHECK(t.encode("a") == Ids{1, 9});
  CHECK(t.encode("a a") == Ids{1, 9, 9});
  CHECK(t.encode("\xC3\xA9") == Ids{1, 2, 10 + 0xC3, 10 + 0xA9});
  CHECK(t.encode("") == Ids{1});
  for (const char* text : {"abc", "a cab  b", "\xC3\xA9t\xC3\xA9", "a\nb", " a"})
    CHECK(t.decode(t.encode(text)) == text);
  CHECK_THROWS_AS(t.decode(Ids{266}), Error);
  CHECK_THROWS_AS(t.decode(Ids{-1}), Error);
}

TEST_CASE("tokenizer.json: merges as pairs, words, and what is refused") {
  Json pairs = small();
  pairs["model"]["merges"] = Json::array({Json::array({"b", "c"}), Json::array({"a", "bc"})});
  CHECK(Tokenizer::from_json(pairs, "t.json").encode("abc") == Ids{1, 2, 8});

  const Json words = {
      {"model", {{"type", "WordLevel"}, {"vocab", {{"a1", 1}, {"b2", 2}, {"<pad>", 0}}}}}};
  const Tokenizer t = Tokenizer::from_json(words, "t.json");
  CHECK(t.encode("b2 a1\n b2") == Ids{2, 1, 2});
  CHECK(t.decode(Ids{2, 1}) == "b2 a1");
  CHECK_THROWS_AS(t.encode("c3"), Error);

  Json bytes = small();
  bytes["pre_tokenizer"] = {{"type", "Metaspace"}, {"then", "ByteLevel"}};
  CHECK(refusal(bytes) ==
        "t.json: a pre_tokenizer of type 'Metaspace' as it is here is not read; "
        "give token ids with --tokens");
  const Json byte_level = {{"type", "ByteLevel"}};
  const auto sequence = [&](const Json& first, const Json& second) {
    Json all = Json::array();
    all.push_back(first);
    all.push_back(second);
    bytes["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", all}};
    return refusal(bytes);
  };
  CHECK(sequence(byte_level, byte_level).find("after ByteLevel") != std::string::npos);
  const auto split = [](const std::string& regex) -> Json {
    return {{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", {{"Regex", regex}}}};
  };
  CHECK(sequence(split("("), byte_level).find("is not one at character") != std::string::npos);
  CHECK(sequence({{"type", "Digits"}}, byte_level).find("before every part") != std::string::npos);
  Json plain = small();
  plain.erase("normalizer");
  CHECK(refusal(plain).find("only a BPE that writes") != std::string::npos);
  Json merges = small();
  merges["model"]["merges"] = {"a d"};
  CHECK(refusal(merges).find("not in the vocabulary") != std::string::npos);
  merges["model"]["merges"] = {"ad"};
  CHECK(refusal(merges).find("without a space") != std::string::npos);
  Json unigram = small();
  unigram["model"]["type"] = "WordPiece";
  CHECK(refusal(unigram).find("WordPiece") != std::string::npos);
  CHECK(refusal(Json::object()).find("not a tokenizer.json") != std::string::npos);
  Json huge = small();
  huge["model"]["vocab"]["x"] = 1'000'000'000'000;
  CHECK(refusal(huge).find("out of range") != std::string::npos);
  for (const auto id : {-1LL, std::numeric_limits<long long>::min(), 1LL << 60}) {
    Json added = small();
    added["added_tokens"][0]["id"] = id;
    CHECK(refusal(added).find("out of range") != std::string::npos);
  }
}

TEST_CASE("a llama2.c tokenizer that ends early or late is refused") {
  std::string file("\x02\0\0\0", 4);
  for (const char* piece : {"u", "s", "e", " ", "a", "b", " a"}) {
    const float score = std::strlen(piece) == 2 ? -1.0F : 0.0F;
    const auto length = static_cast<std::int32_t>(std::strlen(piece));
    file.append(reinterpret_cast<const char*>(&score), 4);
    file.append(reinterpret_cast<const char*>(&length), 4);
    file += piece;
  }
  const auto read = [&](std::size_t size, std::int64_t pieces) {
    return Tokenizer::from_llama2c(std::as_bytes(std::span(file.data(), size)), pieces, "t.bin");
  };
  CHECK(read(file.size(), 7).encode("ab") == Ids{1, 6, 5});
  for (std::size_t size = 0; size < file.size(); ++size) CHECK_THROWS_AS(read(size, 7), Error);
  CHECK_THROWS_AS(read(file.size(), 6), Error);
  CHECK_THROWS_AS(read(file.size(), 8), Error);
}

TEST_CASE("trained tokenizers: a text comes back, in few pieces") {
  if (!std::filesystem::exists(shared))
    return skipped("trained models are not beside the checkout");
  std::ifstream file(shared + "tinystories-656k/tokenizer.json");
  const Tokenizer t = Tokenizer::from_json(Json::parse(file), "tokenizer.json");
  const std::string text =
      "Once upon a time, there was a little girl named Lily.\nShe said: \"Hi!\"";
  const Ids ids = t.encode(text);
  CHECK(ids.front() == 1);
  CHECK(ids.size() < 30);
  CHECK(t.decode(ids) == text);
}

TEST_CASE("byte-level tokenizers give the recorded ids of the library `tokenizers`") {
  std::ifstream in(ROPEWALK_SOURCE_DIR "/tests/data/tokenizers.json");
  const Json recorded = Json::parse(in);
  REQUIRE(recorded["cases"].size() == 4);
  for (const Json& tokenizer : recorded["cases"]) {
    CAPTURE(tokenizer["name"].get<std::string>());
    const Tokenizer t = Tokenizer::from_json(tokenizer["tokenizer"], "t.json");
    for (const Json& one : tokenizer["texts"]) {
      const auto text = one["text"].get<std::string>();
      CAPTURE(text);
      const Ids ids = t.encode(text);
      CHECK(ids == one["ids"].get<Ids>());
      CHECK(t.decode(ids) == one["decoded"].get<std::string>());
    }
    CHECK_THROWS_AS(t.encode("\xff"), Error);
  }
  // An expression that would take for ever is stopped.
  Json hostile = recorded["cases"][0]["tokenizer"];
  hostile["pre_tokenizer"] = Json::parse(
      R"({"type": "Sequence", "pretokenizers": [{"type": "Split", "behavior": "Isolated",
          "pattern": {"Regex": "(a+)+$"}}, {"type": "ByteLevel", "add_prefix_space": false}]})");
  try {
    (void)Tokenizer::from_json(hostile, "t.json").encode(std::string(200, 'a') + "b");
    FAIL("not stopped");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("too many steps") != std::string::npos);
  }
}
