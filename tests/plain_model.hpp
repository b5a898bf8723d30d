#pragma once
/// \file
/// Models of the type "ropewalk", written to a folder number by number.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ropewalk::tests {

struct PlainModel {
  nlohmann::json config;
  struct Matrix {
    int rows = 0;
    int cols = 0;
    std::string bytes;
  };
  std::map<std::string, Matrix> tensors;

  PlainModel(int vocabulary, int hidden, int layers, const std::vector<std::string>& frequencies)
      : config({{"model_type", "ropewalk"},
                {"hidden_size", hidden},
                {"num_hidden_layers", layers},
                {"vocab_size", vocabulary},
                {"head_dim", 2 * frequencies.size()},
                {"frequencies", frequencies},
                {"dtype", "float64"}}) {}

  /// What a constructed model says of itself.
  void says(const std::string& rule, int hops, int letters, int numbers, int length) {
    config["ropewalk"] = {
        {"rule", rule},
        {"hops", std::to_string(hops)},
        {"letters", std::to_string(letters)},
        {"numbers", std::to_string(numbers)},
        {"length", std::to_string(length)},
        {"arithmetic", "real"},
    };
  }
  /// A matrix of float64, element by element.
  void matrix(const std::string& name, int rows, int cols,
              const std::function<double(int, int)>& element) {
    Matrix& m = tensors[name] = {rows, cols, ""};
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) {
        const double x = element(i, j);
        m.bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
      }
  }
  /// The path of `folder`, now with config.json and model.safetensors.
  std::string write(const std::string& folder) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/config.json") << config;
    nlohmann::json header;
    std::string data;
    for (const auto& [name, m] : tensors) {
      header[name] = {{"dtype", "F64"},
                      {"shape", {m.rows, m.cols}},
                      {"data_offsets", {data.size(), data.size() + m.bytes.size()}}};
      data += m.bytes;
    }
    const std::string text = header.dump();
    const std::uint64_t size = text.size();
    std::ofstream out(folder + "/model.safetensors", std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << text << data;
    return folder;
  }
};

/// One Index hop of P1 with one plane of angle 1: logits `sharpness` cos(t - m) for the integer m
/// at lag t, m = 0 for a letter; the letter found counts twice. Integers 1..16, then 120 letters;
/// `idle` layers behind it write nothing.
inline PlainModel index_model(double sharpness, int idle = 0) {
  constexpr int integers = 16;
  constexpr int letters = 120;
  constexpr int vocabulary = 1 + integers + letters;
  constexpr int hidden = vocabulary + 1;  // one-hot, and a constant
  PlainModel model(vocabulary, hidden, 1 + idle, {"1"});
  model.says("lag", 1, letters, integers, 20);
  const auto same = [](int i, int j) { return i == j ? 1.0 : 0.0; };
  model.matrix("embedding", vocabulary, hidden,
               [&](int i, int j) { return j == vocabulary ? 1.0 : same(i, j); });
  model.matrix("unembedding", vocabulary, hidden, same);
  for (int l = 0; l <= idle; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    model.matrix(at + "W_Q", 2, hidden, [&](int i, int j) {
      const double m = j <= integers ? j : 0;
      return j == vocabulary ? 0 : sharpness * (i == 0 ? std::cos(m) : -std::sin(m));
    });
    model.matrix(at + "W_K", 2, hidden,
                 [&](int i, int j) { return i == 0 && j == vocabulary ? 1.0 : 0.0; });
    model.matrix(at + "W_V", letters, hidden,
                 [&](int i, int j) { return 2 * same(1 + integers + i, j); });
    model.matrix(at + "W_O", hidden, letters,
                 [&](int i, int j) { return l == 0 ? same(i, 1 + integers + j) : 0; });
  }
  return model;
}

}  // namespace ropewalk::tests
