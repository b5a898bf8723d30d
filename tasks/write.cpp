#include "tasks/write.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ropewalk::tasks {

namespace {

std::string identity(const Task& task, std::int64_t k, const Sample& sample) {
  const Options& o = task.options();
  return fmt::format(R"("task":"{}","seed":{},"sample":{},"hops":{},"length":{},"added":{})",
                     name(o.kind), o.seed, k, sample.hops, task.length(), o.added);
}

std::string answer(const Task& task, const Sample& sample) {
  return fmt::format(R"("answer":{},"answer_text":"{}")", sample.answer,
                     task.token_text(sample.answer));
}

void append(std::string& bytes, std::int32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>((static_cast<std::uint32_t>(value) >> shift) & 0xFFU);
}

// Blanks at the end, before `last`, to a multiple of `unit`.
void pad(std::string& text, std::size_t before, std::size_t unit, const std::string& last = "") {
  while ((before + text.size() + last.size()) % unit != 0) text += ' ';
  text += last;
}

}  // namespace

std::string json_line(const Task& task, std::int64_t k, const Sample& sample) {
  return fmt::format("{{{},\"tokens\":[{}],\"text\":\"{}\",{},\"path\":[{}]}}\n",
                     identity(task, k, sample), fmt::join(sample.tokens, ","),
                     task.text(sample.tokens), answer(task, sample), fmt::join(sample.path, ","));
}

std::string prompt_line(const Task& task, const Prompter& prompter, std::int64_t k,
                        const Sample& sample) {
  return fmt::format("{{{},\"prompt\":{},{}}}\n", identity(task, k, sample),
                     nlohmann::json(prompter.prompt(sample)).dump(), answer(task, sample));
}

Arrays::Arrays(const Task& task, Range samples, Format format)
    : task_(task), samples_(samples), format_(format) {}

std::string Arrays::head() const {
  const std::int64_t n = samples_.count;
  if (format_ == Format::npy) {
    // https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0
    std::string header = fmt::format(
        "{{'descr': '<i4', 'fortran_order': False, 'shape': ({}, {}), }}", n, task_.length() + 1);
    pad(header, 10, 64, "\n");
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 0xFFU) +
           static_cast<char>(header.size() >> 8U) + header;
  }
  // https://huggingface.co/docs/safetensors: length of the header, header, elements without gaps.
  const Options& o = task_.options();
  nlohmann::ordered_json header;
  header["__metadata__"] = {
      {"task", name(o.kind)},
      {"seed", std::to_string(o.seed)},
      {"first_sample", std::to_string(samples_.first)},
      {"hops", fmt::format("{}-{}", o.hops_min, o.hops_max)},
      {"window", std::to_string(o.window)},
      {"added", std::to_string(o.added)},
      {"vocabulary", std::to_string(task_.vocabulary())},
  };
  std::int64_t end = 0;
  const auto array = [&](const char* what, const std::vector<std::int64_t>& shape) {
    std::int64_t size = sizeof(std::int32_t);
    for (const std::int64_t dimension : shape) size *= dimension;
    header[what] = {{"dtype", "I32"}, {"shape", shape}, {"data_offsets", {end, end + size}}};
    end += size;
  };
  array("tokens", {n, task_.length()});
  array("answer", {n});
  array("hops", {n});
  array("path", {n, o.hops_max + 1});
  std::string text = header.dump();
  pad(text, 8, 8);
  std::string bytes;
  append(bytes, static_cast<std::int32_t>(text.size()));
  append(bytes, 0);
  return bytes + text;
}

std::string Arrays::row(const Sample& sample) {
  std::string bytes;
  bytes.reserve(sizeof(std::int32_t) * (sample.tokens.size() + 1));
  for (const std::int32_t t : sample.tokens) append(bytes, t);
  if (format_ == Format::npy) {
    append(bytes, sample.answer);
    return bytes;
  }
  answers_.push_back(sample.answer);
  hops_.push_back(sample.hops);
  paths_.insert(paths_.end(), sample.path.begin(), sample.path.end());
  paths_.insert(paths_.end(), static_cast<std::size_t>(task_.options().hops_max - sample.hops), -1);
  return bytes;
}

std::string Arrays::tail() const {
  std::string bytes;
  for (const auto* array : {&answers_, &hops_, &paths_})
    for (const std::int32_t value : *array) append(bytes, value);
  return bytes;
}

}  // namespace ropewalk::tasks
