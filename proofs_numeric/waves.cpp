#include "proofs_numeric/waves.hpp"

namespace ropewalk::proofs_numeric {

namespace {

constexpr Eigen::Index offsets = 512;
constexpr double unit = 0x1p-53;

}  // namespace

Waves::Waves(const std::vector<theory::Formula>& frequencies) {
  for (const theory::Formula& theta : frequencies) steps_.push_back(fixed_turns(theta));
  const auto planes = static_cast<Eigen::Index>(steps_.size());
  cosines_.resize(planes, offsets);
  sines_.resize(planes, offsets);
  for (Eigen::Index f = 0; f < planes; ++f)
    for (Eigen::Index j = 0; j < offsets; ++j) {
      const FixedTurns angle = steps_[static_cast<std::size_t>(f)] * static_cast<FixedTurns>(j);
      cosines_(f, j) = cosine(angle);
      sines_(f, j) = sine(angle);
    }
}

void Waves::sum(const std::vector<Amplitude>& head, std::int64_t start, std::span<double> re,
                std::span<double> im) const {
  std::vector<Eigen::Index> carrying;
  for (std::size_t f = 0; f < head.size(); ++f)
    if (head[f] != Amplitude()) carrying.push_back(static_cast<Eigen::Index>(f));
  const auto count = static_cast<Eigen::Index>(re.size());
  const Eigen::Index rows = (count + offsets - 1) / offsets;
  const auto planes = static_cast<Eigen::Index>(carrying.size());
  Matrix starts_re(rows, planes);
  Matrix starts_im(rows, planes);
  for (Eigen::Index i = 0; i < rows; ++i)
    for (Eigen::Index k = 0; k < planes; ++k) {
      const auto f = static_cast<std::size_t>(carrying[static_cast<std::size_t>(k)]);
      const FixedTurns angle = steps_[f] * static_cast<FixedTurns>(start + i * offsets);
      const double c = cosine(angle);
      const double s = sine(angle);
      starts_re(i, k) = head[f].real() * c - head[f].imag() * s;
      starts_im(i, k) = head[f].real() * s + head[f].imag() * c;
    }
  const bool all = planes == cosines_.rows();
  Matrix few_cosines(all ? 0 : planes, offsets);
  Matrix few_sines(all ? 0 : planes, offsets);
  if (!all)
    for (Eigen::Index k = 0; k < planes; ++k) {
      few_cosines.row(k) = cosines_.row(carrying[static_cast<std::size_t>(k)]);
      few_sines.row(k) = sines_.row(carrying[static_cast<std::size_t>(k)]);
    }
  const Matrix& c = all ? cosines_ : few_cosines;
  const Matrix& s = all ? sines_ : few_sines;
  Matrix values(rows, offsets);
  const auto copy = [&](std::span<double> to) {
    std::copy(values.data(), values.data() + count, to.begin());
  };
  values.noalias() = starts_re * c;
  values.noalias() -= starts_im * s;
  copy(re);
  if (im.empty()) return;
  values.noalias() = starts_re * s;
  values.noalias() += starts_im * c;
  copy(im);
}

double Waves::error(const std::vector<Amplitude>& head) {
  double total = 0;
  double carrying = 0;
  for (const Amplitude& b : head) {
    total += std::abs(b.real()) + std::abs(b.imag());
    if (b != Amplitude()) ++carrying;
  }
  return total * unit * (256.0 + 12.0 * carrying);
}

void Waves::gather(std::int64_t start, std::span<const double> weights,
                   std::vector<Amplitude>& into) const {
  const auto count = static_cast<Eigen::Index>(weights.size());
  const Eigen::Index rows = (count + offsets - 1) / offsets;
  Matrix block = Matrix::Zero(rows, offsets);
  std::copy(weights.begin(), weights.end(), block.data());
  Matrix c(rows, cosines_.rows());
  Matrix s(rows, cosines_.rows());
  c.noalias() = block * cosines_.transpose();
  s.noalias() = block * sines_.transpose();
  for (std::size_t f = 0; f < steps_.size(); ++f) {
    Amplitude sum;
    for (Eigen::Index i = 0; i < rows; ++i) {
      const FixedTurns angle = steps_[f] * static_cast<FixedTurns>(start + i * offsets);
      const auto k = static_cast<Eigen::Index>(f);
      sum += Amplitude(cosine(angle), sine(angle)) * Amplitude(c(i, k), s(i, k));
    }
    into[f] += sum;
  }
}

}  // namespace ropewalk::proofs_numeric
