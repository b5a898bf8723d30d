#include "sweeps/export.hpp"

#include <zlib.h>

#include <bit>
#include <cmath>
#include <limits>
#include <ostream>

namespace ropewalk::sweeps {

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void append_little(std::string& out, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
}

// A NumPy array file, version 1.0: magic, header padded to 64 bytes, data.
std::string array_file(const std::string& type, std::size_t size, const std::string& data) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(size) + ",), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  append_little(out, header.size(), 2);
  return out + header + data;
}

std::string array_of(const std::vector<double>& values) {
  std::string data;
  for (const double x : values) append_little(data, std::bit_cast<std::uint64_t>(x), 8);
  return array_file("<f8", values.size(), data);
}

// UTF-8 as bytes of one length.
std::string array_of(const std::vector<std::string>& values) {
  std::size_t width = 1;
  for (const std::string& text : values) width = std::max(width, text.size());
  std::string data;
  for (const std::string& text : values) data += text + std::string(width - text.size(), '\0');
  return array_file("|S" + std::to_string(width), values.size(), data);
}

// A zip archive of files that are stored as they are.
class Archive {
 public:
  void add(const std::string& name, const std::string& content) {
    const auto start = bytes_.size();
    std::string fields;
    append_little(fields, 20, 2);         // version needed
    append_little(fields, 0, 2);          // flags
    append_little(fields, 0, 2);          // stored
    append_little(fields, 0x21'0000, 4);  // 1 January 1980, midnight
    append_little(
        fields, crc32_z(0, reinterpret_cast<const unsigned char*>(content.data()), content.size()),
        4);
    append_little(fields, content.size(), 4);
    append_little(fields, content.size(), 4);
    append_little(fields, name.size(), 2);
    append_little(fields, 0, 2);  // no extra field
    bytes_ += "PK\x03\x04" + fields + name + content;
    directory_ += "PK\x01\x02";
    append_little(directory_, 20, 2);  // made by
    directory_ += fields;
    directory_ += std::string(10, '\0');  // comment, disk, attributes
    append_little(directory_, start, 4);
    directory_ += name;
    ++files_;
    if (bytes_.size() > std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorCode::too_large, "more than 4 GiB: export as csv or jsonl");
  }
  [[nodiscard]] std::string finish() const {
    std::string out = bytes_ + directory_ + "PK\x05\x06";
    append_little(out, 0, 4);
    append_little(out, files_, 2);
    append_little(out, files_, 2);
    append_little(out, directory_.size(), 4);
    append_little(out, bytes_.size(), 4);
    append_little(out, 0, 2);
    return out;
  }

 private:
  std::string bytes_;
  std::string directory_;
  std::size_t files_ = 0;
};

// The double on the far side of a decimal that is a bound.
double bound(const std::string& text, bool upper) {
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto exact = *theory::Formula::parse(text).rational();
  const double x = theory::nearest_double(exact);
  if (upper ? theory::Rational(x) < exact : theory::Rational(x) > exact)
    return std::nextafter(x, upper ? HUGE_VAL : -HUGE_VAL);
  return x;
}

}  // namespace

void export_csv(const Store& store, const std::string& sweep, std::ostream& out) {
  out << "sweep,table,coordinates,quantity,parameters,length,status,lo,hi,detail,method,seconds,"
         "certificate\n";
  store.rows(sweep, [&](const Row& r) {
    for (const std::string* field : {&r.sweep, &r.table, &r.coordinates, &r.quantity, &r.parameters,
                                     &r.length, &r.status, &r.lo, &r.hi, &r.detail, &r.method})
      out << csv_field(*field) << ',';
    out << Json(r.seconds).dump() << ',' << csv_field(r.certificate) << '\n';
  });
}

void export_jsonl(const Store& store, const std::string& sweep, std::ostream& out) {
  store.rows(sweep, [&](const Row& r) {
    Json line;
    line["sweep"] = r.sweep;
    line["table"] = r.table;
    line["coordinates"] = Json::parse(r.coordinates);
    line["quantity"] = r.quantity;
    line["parameters"] = Json::parse(r.parameters);
    line["length"] = r.length;
    line["status"] = r.status;
    line["value"] = r.lo.empty() ? Json(nullptr) : Json{{"lo", r.lo}, {"hi", r.hi}};
    line["detail"] = Json::parse(r.detail);
    line["method"] = r.method;
    line["seconds"] = r.seconds;
    line["certificate"] = r.certificate.empty() ? Json(nullptr) : Json(r.certificate);
    out << line.dump() << '\n';
  });
}

std::string export_npz(const Store& store, const std::string& sweep) {
  std::vector<double> lo;
  std::vector<double> hi;
  std::vector<double> length;
  std::vector<double> seconds;
  const std::vector<std::pair<std::string, std::string Row::*>> columns{
      {"sweep", &Row::sweep},
      {"table", &Row::table},
      {"coordinates", &Row::coordinates},
      {"quantity", &Row::quantity},
      {"parameters", &Row::parameters},
      {"status", &Row::status},
      {"detail", &Row::detail},
      {"method", &Row::method},
      {"certificate", &Row::certificate}};
  std::vector<std::vector<std::string>> texts(columns.size());
  store.rows(sweep, [&](const Row& r) {
    lo.push_back(bound(r.lo, false));
    hi.push_back(bound(r.hi, true));
    length.push_back(theory::nearest_double(*theory::Formula::parse(r.length).rational()));
    seconds.push_back(r.seconds);
    for (std::size_t i = 0; i < columns.size(); ++i) texts[i].push_back(r.*columns[i].second);
  });
  Archive archive;
  archive.add("lo.npy", array_of(lo));
  archive.add("hi.npy", array_of(hi));
  archive.add("length.npy", array_of(length));
  archive.add("seconds.npy", array_of(seconds));
  for (std::size_t i = 0; i < columns.size(); ++i)
    archive.add(columns[i].first + ".npy", array_of(texts[i]));
  return archive.finish();
}

}  // namespace ropewalk::sweeps
