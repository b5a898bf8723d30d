#include "tasks/write.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "theory/error.hpp"

using namespace ropewalk;
using namespace ropewalk::tasks;

namespace {

std::uint64_t little_endian(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8U | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

std::int32_t element(const std::string& bytes, std::size_t base, std::size_t index) {
  return static_cast<std::int32_t>(
      static_cast<std::uint32_t>(little_endian(bytes, base + 4 * index, 4)));
}

std::string file(const Task& task, Range samples, Arrays::Format format) {
  Arrays arrays(task, samples, format);
  std::string bytes = arrays.head();
  for (std::int64_t k = samples.first; k < samples.first + samples.count; ++k)
    bytes += arrays.row(task.sample(k));
  return bytes + arrays.tail();
}

}  // namespace

TEST_CASE("a line of JSON holds the sample") {
  for (const Kind kind : {Kind::number, Kind::letter}) {
    const Task task({.kind = kind, .added = 3, .seed = 11});
    const Sample s = task.sample(42);
    const std::string line = json_line(task, 42, s);
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    CHECK(line.back() == '\n');
    const auto j = nlohmann::json::parse(line);
    CHECK(j.size() == 11);
    CHECK(j["task"] == name(kind));
    CHECK(j["seed"] == 11);
    CHECK(j["sample"] == 42);
    CHECK(j["hops"] == s.hops);
    CHECK(j["length"] == 20);
    CHECK(j["added"] == 3);
    CHECK(j["tokens"] == s.tokens);
    CHECK(j["text"] == task.text(s.tokens));
    CHECK(j["answer"] == s.answer);
    CHECK(j["answer_text"] == task.token_text(s.answer));
    CHECK(j["path"] == s.path);
  }
}

TEST_CASE("safetensors: header, offsets and elements") {
  const Task task({.kind = Kind::letter, .hops_min = 2, .hops_max = 3, .added = 2, .seed = 8});
  const Range samples{5, 7};
  const std::string bytes = file(task, samples, Arrays::Format::safetensors);
  const auto length = static_cast<std::size_t>(little_endian(bytes, 0, 8));
  CHECK((8 + length) % 8 == 0);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  CHECK(header["__metadata__"]["task"] == "letter");
  CHECK(header["__metadata__"]["first_sample"] == "5");
  for (const auto& value : header["__metadata__"]) CHECK(value.is_string());
  CHECK(header["tokens"]["dtype"] == "I32");
  CHECK(header["tokens"]["shape"] == nlohmann::json({7, 19}));
  CHECK(header["tokens"]["data_offsets"] == nlohmann::json({0, 532}));
  CHECK(header["answer"]["data_offsets"] == nlohmann::json({532, 560}));
  CHECK(header["hops"]["data_offsets"] == nlohmann::json({560, 588}));
  CHECK(header["path"]["shape"] == nlohmann::json({7, 4}));
  CHECK(header["path"]["data_offsets"] == nlohmann::json({588, 700}));
  REQUIRE(bytes.size() == 8 + length + 700);
  const std::size_t base = 8 + length;
  for (std::size_t row = 0; row < 7; ++row) {
    const Sample s = task.sample(5 + static_cast<std::int64_t>(row));
    for (std::size_t p = 0; p < 19; ++p) CHECK(element(bytes, base, row * 19 + p) == s.tokens[p]);
    CHECK(element(bytes, base + 532, row) == s.answer);
    CHECK(element(bytes, base + 560, row) == s.hops);
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(element(bytes, base + 588, row * 4 + i) == (i < s.path.size() ? s.path[i] : -1));
  }
}

TEST_CASE(".npy: header and rows") {
  const Task task({.kind = Kind::number, .seed = 8});
  const std::string bytes = file(task, {0, 3}, Arrays::Format::npy);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::size_t>(little_endian(bytes, 8, 2));
  CHECK((10 + length) % 64 == 0);
  const std::string header = bytes.substr(10, length);
  CHECK(header.find("{'descr': '<i4', 'fortran_order': False, 'shape': (3, 18), }") == 0);
  CHECK(header.back() == '\n');
  REQUIRE(bytes.size() == 10 + length + std::size_t{4} * 3 * 18);
  for (std::size_t row = 0; row < 3; ++row) {
    const Sample s = task.sample(static_cast<std::int64_t>(row));
    for (std::size_t p = 0; p < 17; ++p)
      CHECK(element(bytes, 10 + length, row * 18 + p) == s.tokens[p]);
    CHECK(element(bytes, 10 + length, row * 18 + 17) == s.answer);
  }
}

TEST_CASE("prompts: instruction, three worked examples, the input, one token to say") {
  for (const Kind kind : {Kind::number, Kind::letter, Kind::index, Kind::retrieval, Kind::mixed}) {
    for (const std::int32_t window : prompt_windows) {
      const Task task({.kind = kind, .hops_max = 1, .window = window, .seed = 2});
      const Prompter prompter(task);
      CAPTURE(name(kind), window);
      for (std::int64_t k = 0; k < 5; ++k) {
        const Sample s = task.sample(k);
        const std::string prompt = prompter.prompt(s);
        std::vector<std::string> lines;
        for (std::size_t at = 0; at <= prompt.size();) {
          const auto end = std::min(prompt.find('\n', at), prompt.size());
          lines.push_back(prompt.substr(at, end - at));
          at = end + 1;
        }
        REQUIRE(lines.size() == 13);
        CHECK(lines[0].find("Reply with that token and nothing else.") != std::string::npos);
        for (std::size_t i = 0; i < 4; ++i) {
          // The examples are other samples, and their answers are right.
          const Sample shown = i < 3 ? task.example(static_cast<std::int64_t>(i)) : s;
          CHECK(lines[2 + 3 * i] == "Sequence: " + task.text(shown.tokens));
          CHECK(
              lines[3 + 3 * i] ==
              (i < 3 ? "Answer: " + task.token_text(task.solve(shown.tokens)->token) : "Answer:"));
          if (i < 3) CHECK(shown.tokens != s.tokens);
        }
        CHECK(lines[11].substr(0, 10) == "Sequence: ");
        CHECK(std::count(lines[11].begin(), lines[11].end(), ' ') == window + 1);
        CHECK(task.token_text(s.answer).find(' ') == std::string::npos);
        const auto j = nlohmann::json::parse(prompt_line(task, prompter, k, s));
        CHECK(j["prompt"] == prompt);
        CHECK(j["answer_text"] == task.token_text(s.answer));
        CHECK_FALSE(j.contains("path"));
      }
    }
  }
  const Task two({.hops_max = 2});
  CHECK_THROWS_WITH(Prompter(two), Catch::Matchers::ContainsSubstring("--hops"));
}

TEST_CASE("the first sample of seeds 0 to 9 is what it was") {
  std::ifstream file(ROPEWALK_SOURCE_DIR "/tests/data/tasks.jsonl");
  std::string line;
  int lines = 0;
  for (const Kind kind : {Kind::number, Kind::letter, Kind::index, Kind::retrieval, Kind::mixed}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      REQUIRE(std::getline(file, line));
      const Task task({.kind = kind, .seed = seed});
      CHECK(json_line(task, 0, task.sample(0)) == line + "\n");
      ++lines;
    }
  }
  CHECK(lines == 50);
  CHECK_FALSE(std::getline(file, line));
}
