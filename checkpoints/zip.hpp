#pragma once
/// \file
/// The members of a ZIP archive, as far as PyTorch writes them: stored ones where they lie,
/// deflated ones unpacked when asked for. What archives can do beyond (encryption, members that
/// overlap, two directories that disagree) is refused.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "checkpoints/tensor.hpp"

namespace ropewalk::checkpoints {

/// Bytes of a member, and who keeps them alive.
struct Member {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class ZipArchive {
 public:
  /// Reads and checks the directory. Throws Error(parse) for an archive that contradicts itself,
  /// Error(unsupported) for encryption and methods other than stored and deflated, Error(too_large)
  /// beyond 65,536 members.
  explicit ZipArchive(std::shared_ptr<const MappedFile> file);

  [[nodiscard]] bool contains(const std::string& name) const { return entries_.contains(name); }
  /// Names in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;
  /// A member; its checksum is compared with `checked`, and wherever it has to be unpacked.
  /// All unpacked members together may exceed the file by no more than 16 MiB.
  /// Throws Error(parse) where it is absent or damaged, Error(too_large) beyond that size.
  [[nodiscard]] Member member(const std::string& name, bool checked);

 private:
  struct Entry {
    std::uint64_t header = 0;  ///< offset of the local header
    std::uint64_t packed = 0;
    std::uint64_t unpacked = 0;
    std::uint32_t checksum = 0;
    std::uint16_t method = 0;
    std::span<const std::byte> data = {};
  };

  [[noreturn]] void fail(const std::string& what) const;
  void read_directory();
  Entry read_entry(class Reader& reader, std::string& name) const;
  std::uint64_t locate(const std::string& name, Entry& entry, std::uint64_t directory) const;

  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Member> unpacked_;
  std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace ropewalk::checkpoints
