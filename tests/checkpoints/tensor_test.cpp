#include "checkpoints/tensor.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "checkpoints/dequantize.hpp"
#include "tests/checkpoints/support.hpp"

using namespace ropewalk;
using namespace ropewalk::tests;

namespace {

/// A tensor over these bytes, which the caller keeps.
Tensor over(const std::string& bytes, DType dtype, std::vector<std::int64_t> shape) {
  Tensor t;
  t.name = "t";
  t.dtype = dtype;
  t.strides = row_major(shape);
  t.shape = std::move(shape);
  t.data = std::as_bytes(std::span(bytes));
  return t;
}

DType type_named(const std::string& wanted) {
  for (int i = 0; i <= static_cast<int>(DType::groups_i8); ++i)
    if (wanted == name(static_cast<DType>(i))) return static_cast<DType>(i);
  FAIL("no type " << wanted);
  return DType::f32;
}

std::string from_hex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

}  // namespace

TEST_CASE("dequantised blocks are those of an independent computation, bit by bit") {
  const auto cases =
      nlohmann::json::parse(content(ROPEWALK_SOURCE_DIR "/tests/data/dequantized.json"));
  REQUIRE(cases.size() == 11);
  for (const auto& one : cases) {
    const DType dtype = type_named(one["dtype"]);
    const std::string bytes = from_hex(one["bytes"]);
    const auto expected = one["values"].get<std::vector<double>>();
    CAPTURE(name(dtype));
    const auto elements = static_cast<std::int64_t>(expected.size());
    REQUIRE(static_cast<std::int64_t>(bytes.size()) ==
            elements / block_elements(dtype) * block_bytes(dtype));
    const Tensor t = over(bytes, dtype, {3, elements / 3});
    CHECK(values(t) == expected);
    // In one dimension a row is one element, wherever it lies in a block.
    const Tensor line = over(bytes, dtype, {elements});
    CHECK(values(line) == expected);
    std::vector<double> some(20);
    read_rows(line, 21, 20, some.data());
    CHECK(some == std::vector<double>(expected.begin() + 21, expected.begin() + 41));
    // One row alone, as float.
    std::vector<float> row(static_cast<std::size_t>(t.row_size()));
    read_rows(t, 1, 1, row.data());
    for (std::size_t i = 0; i < row.size(); ++i)
      REQUIRE(static_cast<double>(row[i]) == expected[row.size() + i]);
  }
}

TEST_CASE("every code of the short floating-point types has the value that its definition gives") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto code = static_cast<std::uint16_t>(bits);
    const int exponent = code >> 10 & 31;
    const int fraction = code & 1023;
    const double sign = code >> 15 != 0 ? -1 : 1;
    const float half = from_f16(code);
    if (exponent == 31) {
      REQUIRE((fraction == 0 ? std::isinf(half) : std::isnan(half)));
    } else {
      const double expected =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      REQUIRE(static_cast<double>(half) == sign * expected);
    }
    REQUIRE(std::signbit(half) == (sign < 0));
    REQUIRE(std::bit_cast<std::uint32_t>(from_bf16(code)) == std::uint32_t{code} << 16);
  }
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    const int exponent = code >> 3 & 15;
    const int fraction = code & 7;
    const double sign = code >> 7 != 0 ? -1 : 1;
    const float x = from_f8_e4m3(code);
    if (exponent == 15 && fraction == 7) {
      REQUIRE(std::isnan(x));
    } else {
      REQUIRE(static_cast<double>(x) == sign * (exponent == 0
                                                    ? std::ldexp(fraction, -9)
                                                    : std::ldexp(8 + fraction, exponent - 10)));
    }
    const float y = from_f8_e5m2(code);
    const int wide = code >> 2 & 31;
    if (wide == 31) {
      REQUIRE(((code & 3) == 0 ? std::isinf(y) : std::isnan(y)));
    } else {
      REQUIRE(static_cast<double>(y) == sign * (wide == 0 ? std::ldexp(code & 3, -16)
                                                          : std::ldexp(4 + (code & 3), wide - 17)));
    }
  }
  CHECK(from_f8_e4m3(0x7e) == 448);
}

TEST_CASE("whole numbers become the nearest float, booleans 0 and 1") {
  const auto same = [](const std::string& bytes, DType dtype, std::vector<double> expected) {
    CHECK(values(over(bytes, dtype, {static_cast<std::int64_t>(expected.size())})) == expected);
  };
  same(raw(std::int8_t{-5}, std::int8_t{127}), DType::i8, {-5, 127});
  same(raw(std::uint8_t{250}), DType::u8, {250});
  same(raw(std::int16_t{-300}), DType::i16, {-300});
  same(raw(std::uint16_t{65535}), DType::u16, {65535});
  same(raw(std::int32_t{-70000}), DType::i32, {-70000});
  same(raw(std::uint32_t{4000000000U}), DType::u32, {4e9});
  same(raw(std::int64_t{1} << 60), DType::i64, {0x1p60});
  same(raw(~std::uint64_t{0}), DType::u64, {0x1p64});
  same(raw(std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{7}), DType::boolean, {0, 1, 1});
  same(raw(0.1, -0.0), DType::f64, {0.1, -0.0});
  const std::string bytes = raw(0.1, std::nextafter(1.0, 2.0));
  float narrow[2];
  read_rows(over(bytes, DType::f64, {2}), 0, 2, narrow);
  CHECK(narrow[0] == 0.1F);
  CHECK(narrow[1] == 1.0F);
}

TEST_CASE("groups of llama2.c: each scale multiplies its own elements") {
  const std::string q = raw(std::int8_t{1}, std::int8_t{-2}, std::int8_t{3}, std::int8_t{-128});
  const std::string s = raw(0.5F, 0.25F);
  Tensor t = over(q, DType::groups_i8, {2, 2});
  t.scales = std::as_bytes(std::span(s));
  t.group = 2;
  CHECK(values(t) == std::vector<double>{0.5, -1, 0.75, -32});
  t.shape = {4};  // a group need not end with a row
  t.strides = {1};
  float last = 0;
  read_rows(t, 3, 1, &last);
  CHECK(last == -32);
}

TEST_CASE("rows of a tensor that lies otherwise than row by row") {
  std::string bytes;
  for (int i = 0; i < 24; ++i) bytes += raw(static_cast<float>(i));
  Tensor t = over(bytes, DType::f32, {2, 3, 4});
  CHECK(t.contiguous());
  CHECK(in_place(t).size() == 24);
  t.strides = {1, 2, 6};  // as Fortran keeps it
  CHECK_FALSE(t.contiguous());
  CHECK(in_place(t).empty());
  std::vector<double> expected;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c) expected.push_back(a + 2 * b + 6 * c);
  CHECK(values(t) == expected);
  t.shape = {1, 24};  // a stride that is never taken does not matter
  t.strides = {7, 1};
  CHECK(t.contiguous());
  t.shape = {};
  t.strides = {};
  CHECK(t.rows() == 1);
  CHECK(values(t) == std::vector<double>{0});
}

TEST_CASE("rows that are not there are refused") {
  const std::string bytes = raw(1.0F, 2.0F);
  const Tensor t = over(bytes, DType::f32, {2, 1});
  float out[4] = {};
  for (const auto& [first, count] :
       {std::pair{2, 1}, {-1, 1}, {0, 3}, {0, -1}, {std::numeric_limits<int>::max(), 2}})
    refuses(ErrorCode::bad_value, "t: rows",
            [&, f = first, c = count] { read_rows(t, f, c, out); });
  read_rows(t, 2, 0, out);
  const Tensor empty = over(bytes, DType::f32, {0, 4});
  read_rows(empty, 0, 0, out);
  CHECK(empty.elements() == 0);
}

TEST_CASE("float32 is used in place only where it is aligned") {
  const std::string bytes = "x" + raw(1.5F, 2.5F);
  Tensor t = over(bytes, DType::f32, {2});
  const bool odd = reinterpret_cast<std::uintptr_t>(bytes.data()) % 4 != 3;
  t.data = t.data.subspan(1);
  CHECK(in_place(t).empty() == odd);
  CHECK(values(t) == std::vector<double>{1.5, 2.5});
  t.dtype = DType::i32;
  CHECK(in_place(t).empty());
}

TEST_CASE("what is no regular file is not opened") {
  const Folder folder;
  refuses(ErrorCode::file, "is a folder", [&] { const MappedFile file(folder.path()); });
  refuses(ErrorCode::file, "nothing: cannot be opened",
          [&] { const MappedFile file(folder / "nothing"); });
  refuses(ErrorCode::file, "not a regular file", [] { const MappedFile file("/dev/zero"); });
  const MappedFile empty(folder.write("empty", ""));
  CHECK(empty.bytes().empty());
}
