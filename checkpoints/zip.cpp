#include "checkpoints/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "checkpoints/bytes.hpp"

namespace ropewalk::checkpoints {

namespace {

constexpr std::uint64_t max_members = 1 << 16;
constexpr std::uint64_t max_unpacked_beyond_file = std::uint64_t{16} << 20;
/// Deflate turns no byte into more than 1,032.
constexpr std::uint64_t max_ratio = 1032;

constexpr std::uint32_t local_mark = 0x04034b50;
constexpr std::uint32_t central_mark = 0x02014b50;
constexpr std::uint32_t end_mark = 0x06054b50;
constexpr std::uint32_t end64_mark = 0x06064b50;
constexpr std::uint32_t locator64_mark = 0x07064b50;

constexpr std::uint32_t all32 = 0xFFFFFFFF;
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t end64_bytes = 56;
constexpr std::uint64_t locator64_bytes = 20;

constexpr unsigned encrypted = 1U | 0x40U;  // flags: encrypted, strongly
constexpr unsigned sizes_follow = 8U;       // flags: a data descriptor stands after the data

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t members = 0;
  std::uint64_t end = 0;  ///< where the end records begin
};

/// The field that the extra data of a 64-bit entry replaces, where it is all ones.
void widen(Reader& extra, std::uint64_t& field) {
  if (field == all32) field = extra.number<std::uint64_t>("a 64-bit size");
}

/// The extra field with number 1; empty where there is none.
std::span<const std::byte> extra64(std::span<const std::byte> extra, const std::string& name) {
  Reader reader(extra, name);
  while (reader.left() >= 4) {
    const auto id = reader.number<std::uint16_t>("an extra field");
    const auto size = reader.number<std::uint16_t>("an extra field");
    const auto body = reader.take(size, "an extra field");
    if (id == 1) return body;
  }
  return {};
}

bool has_locator64(Reader& reader, std::uint64_t end) {
  reader.seek(end - locator64_bytes, "the 64-bit locator");
  return reader.number<std::uint32_t>("the 64-bit locator") == locator64_mark;
}

Directory find_directory(std::span<const std::byte> bytes, const std::string& path) {
  Reader reader(bytes, path);
  if (bytes.size() < end_bytes) reader.fail("too short for a ZIP archive");
  // The end record is last but for a comment, whose length it gives; the comment must reach exactly
  // to the end of the file, or another record could hide in it.
  const std::uint64_t last = bytes.size() - end_bytes;
  const std::uint64_t first = last > 65535 ? last - 65535 : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    reader.seek(at, "the end record");
    if (reader.number<std::uint32_t>("the end record") != end_mark) continue;
    reader.seek(at + 20, "the end record");
    if (reader.number<std::uint16_t>("the end record") != last - at) continue;

    reader.seek(at + 4, "the end record");
    const auto disk = reader.number<std::uint16_t>("the end record");
    const auto directory_disk = reader.number<std::uint16_t>("the end record");
    const auto here = reader.number<std::uint16_t>("the end record");
    Directory d;
    d.members = reader.number<std::uint16_t>("the end record");
    d.bytes = reader.number<std::uint32_t>("the end record");
    d.offset = reader.number<std::uint32_t>("the end record");
    d.end = at;
    // 64-bit archives have a second end record before this one, which then repeats it or has all
    // ones where a number does not fit.
    const bool wide = at >= locator64_bytes + end64_bytes && has_locator64(reader, at);
    const bool fits = d.members != 0xFFFF && d.bytes != all32 && d.offset != all32;
    if (!wide && !fits) reader.fail("the 64-bit end record is missing");
    if (fits && (disk != 0 || directory_disk != 0 || here != d.members))
      reader.fail(ErrorCode::unsupported, "a ZIP archive in several parts is not read");
    if (!wide) return d;

    const Directory narrow = d;
    reader.seek(at - locator64_bytes + 8, "the 64-bit locator");
    const auto end64 = reader.number<std::uint64_t>("the 64-bit locator");
    if (end64 > at - locator64_bytes - end64_bytes)
      reader.fail("the 64-bit end record would lie at offset " + std::to_string(end64));
    reader.seek(end64, "the 64-bit end record");
    if (reader.number<std::uint32_t>("the 64-bit end record") != end64_mark)
      reader.fail("the 64-bit end record is missing");
    reader.seek(end64 + 32, "the 64-bit end record");
    d.members = reader.number<std::uint64_t>("the 64-bit end record");
    d.bytes = reader.number<std::uint64_t>("the 64-bit end record");
    d.offset = reader.number<std::uint64_t>("the 64-bit end record");
    d.end = end64;
    if (fits &&
        (d.members != narrow.members || d.bytes != narrow.bytes || d.offset != narrow.offset))
      reader.fail("the two end records of the ZIP archive differ");
    return d;
  }
  reader.seek(bytes.size(), "the end");
  reader.fail("a ZIP archive without its directory: the file is cut off");
}

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

void ZipArchive::fail(const std::string& what) const {
  throw Error(ErrorCode::parse, file_->path() + ": " + what);
}

ZipArchive::ZipArchive(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {
  read_directory();
}

void ZipArchive::read_directory() {
  const Directory d = find_directory(file_->bytes(), file_->path());
  if (d.members > max_members)
    throw Error(ErrorCode::too_large, file_->path() + ": " + std::to_string(d.members) +
                                          " members; at most " + std::to_string(max_members) +
                                          " are read");
  if (d.offset > d.end || d.bytes != d.end - d.offset)
    fail("the ZIP directory does not end where its end record begins");
  Reader reader(file_->bytes().subspan(d.offset, d.bytes), file_->path(), d.offset);
  for (std::uint64_t i = 0; i < d.members; ++i) {
    std::string name;
    const Entry entry = read_entry(reader, name);
    if (!is_name(name)) fail("a member has the name " + in_quotes(name) + ", which cannot be one");
    if (!entries_.emplace(name, entry).second) fail("two members have the name " + in_quotes(name));
  }
  if (reader.left() != 0) reader.fail("the ZIP directory has more members than it says");

  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (auto& [name, entry] : entries_)
    places.emplace_back(entry.header, locate(name, entry, d.offset));
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].first < places[i - 1].second)
      fail("two members overlap at offset " + std::to_string(places[i].first));
}

/// One entry of the directory.
ZipArchive::Entry ZipArchive::read_entry(Reader& reader, std::string& name) const {
  constexpr const char* what = "the ZIP directory";
  if (reader.number<std::uint32_t>(what) != central_mark)
    reader.fail("not an entry of a ZIP directory");
  (void)reader.take(4, what);
  const auto flags = reader.number<std::uint16_t>(what);
  Entry entry;
  entry.method = reader.number<std::uint16_t>(what);
  (void)reader.take(4, what);
  entry.checksum = reader.number<std::uint32_t>(what);
  entry.packed = reader.number<std::uint32_t>(what);
  entry.unpacked = reader.number<std::uint32_t>(what);
  const auto name_bytes = reader.number<std::uint16_t>(what);
  const auto extra_bytes = reader.number<std::uint16_t>(what);
  const auto comment_bytes = reader.number<std::uint16_t>(what);
  (void)reader.take(8, what);
  entry.header = reader.number<std::uint32_t>(what);
  name = reader.text(name_bytes, what);
  Reader extra(extra64(reader.take(extra_bytes, what), file_->path()), file_->path());
  (void)reader.take(comment_bytes, what);
  widen(extra, entry.unpacked);
  widen(extra, entry.packed);
  widen(extra, entry.header);
  if ((flags & encrypted) != 0)
    reader.fail(ErrorCode::unsupported, "member " + in_quotes(name) + " is encrypted");
  if (entry.method != 0 && entry.method != 8)
    reader.fail(ErrorCode::unsupported, "member " + in_quotes(name) + " is compressed by method " +
                                            std::to_string(entry.method) + ", which is not read");
  if (entry.method == 0 && entry.packed != entry.unpacked)
    reader.fail("member " + in_quotes(name) + " is stored, yet has two sizes");
  if (entry.unpacked / max_ratio > entry.packed)
    reader.fail("member " + in_quotes(name) + " would unpack to more than deflate can");
  return entry;
}

/// Finds the data behind the local header, which has to tell the same; returns where they end.
std::uint64_t ZipArchive::locate(const std::string& name, Entry& entry,
                                 std::uint64_t directory) const {
  constexpr const char* what = "the header of a member";
  Reader reader(file_->bytes().first(directory), file_->path());
  reader.seek(entry.header, what);
  if (reader.number<std::uint32_t>(what) != local_mark)
    reader.fail("member " + in_quotes(name) + " does not begin here");
  (void)reader.take(2, what);
  const auto flags = reader.number<std::uint16_t>(what);
  const auto method = reader.number<std::uint16_t>(what);
  (void)reader.take(4, what);
  const auto checksum = reader.number<std::uint32_t>(what);
  std::uint64_t packed = reader.number<std::uint32_t>(what);
  std::uint64_t unpacked = reader.number<std::uint32_t>(what);
  const auto name_bytes = reader.number<std::uint16_t>(what);
  const auto extra_bytes = reader.number<std::uint16_t>(what);
  const auto local_name = reader.text(name_bytes, what);
  const auto extra_field = reader.take(extra_bytes, what);
  if (local_name != name || method != entry.method || (flags & encrypted) != 0)
    reader.fail("member " + in_quotes(name) + " and its entry in the directory differ");
  if ((flags & sizes_follow) == 0) {
    if (packed == all32 || unpacked == all32) {
      Reader extra(extra64(extra_field, file_->path()), file_->path());
      widen(extra, unpacked);
      widen(extra, packed);
    }
    if (packed != entry.packed || unpacked != entry.unpacked || checksum != entry.checksum)
      reader.fail("member " + in_quotes(name) + " and its entry in the directory differ");
  }
  entry.data = reader.take(entry.packed, "a member");
  return reader.offset();
}

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> result;
  for (const auto& [name, entry] : entries_) result.push_back(name);
  return result;
}

Member ZipArchive::member(const std::string& name, bool checked) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) fail("the archive has no member " + in_quotes(name));
  const Entry& entry = found->second;
  const auto damaged = [&] { fail("member " + in_quotes(name) + " is damaged"); };
  if (entry.method == 0) {
    if (checked && checksum_of(entry.data) != entry.checksum) damaged();
    return {entry.data, file_};
  }
  if (const auto known = unpacked_.find(name); known != unpacked_.end()) return known->second;
  const std::uint64_t most = file_->bytes().size() + max_unpacked_beyond_file;
  if (entry.unpacked > most - unpacked_bytes_)
    throw Error(ErrorCode::too_large, file_->path() + ": member " + in_quotes(name) +
                                          " would unpack to " + std::to_string(entry.unpacked) +
                                          " bytes, too many for this file");
  unpacked_bytes_ += entry.unpacked;

  // One byte more, as zlib wants an address even for nothing.
  const auto buffer = std::make_shared<std::vector<std::byte>>(entry.unpacked + 1);
  const std::span<const std::byte> result(buffer->data(), entry.unpacked);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    throw Error(ErrorCode::file, file_->path() + ": no memory to unpack " + in_quotes(name));
  // The library counts in 32 bits: both sides go in pieces.
  constexpr std::uint64_t piece = std::uint64_t{1} << 30;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    const auto give = std::min(piece, entry.packed - in);
    const auto room = std::min(piece, entry.unpacked - out);
    // zlib does not write through next_in.
    stream.next_in = const_cast<Bytef*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        reinterpret_cast<const Bytef*>(entry.data.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    stream.next_out = reinterpret_cast<Bytef*>(buffer->data() + out);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    out += room - stream.avail_out;
    if (state == Z_OK && give == stream.avail_in && room == stream.avail_out) break;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || in != entry.packed || out != entry.unpacked ||
      checksum_of(result) != entry.checksum)
    damaged();
  return unpacked_.emplace(name, Member{result, buffer}).first->second;
}

}  // namespace ropewalk::checkpoints
