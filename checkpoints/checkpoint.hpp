#pragma once
/// \file
/// From a path to tensors: what users have on disk, whatever wrote it.
///
///   folder      config.json with model.safetensors, or its index and shards, or pytorch_model.bin
///               (index and shards too)
///   file        safetensors, GGUF v2/v3, PyTorch (ZIP or legacy pickle), llama2.c (legacy, float,
///               int8), told apart by their first bytes
///
/// Every count, size and offset is checked before it is used; a file is data and never code: a
/// pickle may name tensors, dictionaries and numbers and nothing else.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoints/tensor.hpp"
#include "theory/pairing.hpp"

namespace ropewalk::checkpoints {

/// Something seen in a file that its user should know.
struct Finding {
  std::string id;        ///< "config.absent", "tensor.nan", ...
  std::string severity;  ///< "note", "warning" or "error"
  std::string message;   ///< one line
};

struct Checkpoint {
  std::string path;    ///< as given
  std::string format;  ///< "safetensors", "gguf", "pytorch", "llama2.c"
  /// By name, in the names of the file.
  std::map<std::string, Tensor> tensors;
  /// config.json in the spelling of Hugging Face: the file beside the weights, or made from the
  /// header where the format has one (GGUF, llama2.c). Null where there is none.
  nlohmann::json config;
  std::string config_source;  ///< path of config.json, or "header of FILE"; empty where absent
  /// Which coordinates the format itself says form a plane, where it does: GGUF by architecture,
  /// llama2.c always interleaved. Absent: the architecture of the config decides.
  std::optional<theory::Pairing> pairing;
  /// Metadata as the file has it: GGUF keys (arrays above 1,000 elements only by their length, but
  /// for a vocabulary), safetensors' __metadata__.
  nlohmann::json metadata;
  std::vector<std::string> files;  ///< what was opened
  std::vector<Finding> findings;   ///< what reading alone could see

  /// Throws Error(bad_value) "PATH: no tensor NAME".
  [[nodiscard]] const Tensor& tensor(const std::string& name) const;
  [[nodiscard]] const Tensor* find(const std::string& name) const;
};

/// Opens a model. Throws Error(file) for what cannot be opened, Error(parse) for what is not the
/// format it claims to be, Error(unsupported) for what is understood and refused (TorchScript, an
/// element type, a pickle that would call something), Error(too_large) beyond a cap; each names
/// file and offset or key. Without config.json there is a finding "config.absent".
/// Cost: that of the headers; memory: headers only, and for a PyTorch archive whose members are
/// compressed those members. No file makes it use more than its own size and 64 MiB.
[[nodiscard]] Checkpoint open_checkpoint(const std::string& path);

/// The readers themselves, one source file each. They find no config.json.
[[nodiscard]] Checkpoint read_safetensors(const std::shared_ptr<const MappedFile>& file);
[[nodiscard]] Checkpoint read_gguf(const std::shared_ptr<const MappedFile>& file);
[[nodiscard]] Checkpoint read_pytorch(const std::shared_ptr<const MappedFile>& file);
[[nodiscard]] Checkpoint read_llama2c(const std::shared_ptr<const MappedFile>& file);

}  // namespace ropewalk::checkpoints
