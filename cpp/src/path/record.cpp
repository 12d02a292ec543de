#include "path/record.hpp"

#include "base/dispatch.hpp"
#include "simd/path_loops.hpp"

namespace alphapath {

void Recorder::begin(bool is_on, bool keeps_pieces) {
  is_on_ = is_on;
  keeps_pieces_ = keeps_pieces;
  pieces_ = {};
}

void Recorder::go_on_with(Recorder& other) {
  swap_pieces(other);
  is_on_ = true;
  keeps_pieces_ = other.keeps_pieces_;
}

void Recorder::score(std::span<const std::size_t> rows, std::span<const double> shares,
                     Metric metric, std::span<const double> targets) {
  std::vector<double> of_rows, values(rows.size());
  std::vector<std::size_t> position(targets.size());
  for (const std::size_t i : rows) {
    position[i] = of_rows.size();
    of_rows.push_back(targets[i]);
  }
  scores_ =
      Scores{{rows.begin(), rows.end()}, position, values, values, {metric, of_rows, shares}, {},
             metric == Metric::error};
}

void Recorder::write_change(std::uint32_t instance, Place place) {
  pieces_.change_piece.push_back(static_cast<std::int64_t>(pieces_.tau.size()));
  pieces_.change_instance.push_back(instance);
  pieces_.change_place.push_back(static_cast<std::int8_t>(place));
}

Recorder::Room Recorder::write_piece(double tau, double bias, double bias_rate,
                                     std::span<const double> beta_rate) {
  pieces_.tau.push_back(tau);
  pieces_.bias.push_back(bias);
  pieces_.bias_rate.push_back(bias_rate);
  pieces_.first.push_back(static_cast<std::int64_t>(pieces_.members.size()));
  const std::size_t first = pieces_.beta.size(), after = first + beta_rate.size();
  pieces_.reserve(after);
  pieces_.members.resize(pieces_.members.size() + beta_rate.size());
  pieces_.beta.resize(after);
  if (keeps_pieces_)
    pieces_.beta_rate.insert(pieces_.beta_rate.end(), beta_rate.begin(), beta_rate.end());
  return {pieces_.members.data() + pieces_.members.size() - beta_rate.size(),
          pieces_.beta.data() + first};
}

/// Errors are looked at only where a sign changes, which on most stretches none does.
void Recorder::write_scores(const Stretch& stretch, const MovingResiduals& residuals) {
  Scores& scores = *scores_;
  const auto [tau, at, end, shift, shift_rate] = stretch;
  const std::size_t width = residuals.e.size();
  if (at == 0 && shift == 0 && shift_rate == 0 && !scores.side.empty() &&
      ALPHAPATH_DISPATCH(keeps_sides)(residuals.e.data(), residuals.rate.data(),
                                      residuals.target.data(), scores.side.data(), width, end))
    return;
  for (std::size_t k = 0; k < scores.rows.size(); ++k) {
    const std::size_t i = scores.rows[k];
    scores.residual[k] = residuals.e[i] + at * residuals.rate[i] + shift;
    scores.rate[k] = residuals.rate[i] + shift_rate;
  }
  scores.sums.add(tau + at, tau + end, scores.residual.data(), scores.rate.data());
  if (!scores.are_errors)
    return;
  scores.side.resize(width, 0.0);
  for (std::size_t k = 0; k < scores.rows.size(); ++k)
    scores.side[scores.rows[k]] = scores.sums.sides()[k];
}

void Recorder::write_chord(double start, double end, const double* first, const double* last) {
  Scores& scores = *scores_;
  for (std::size_t k = 0; k < scores.rows.size(); ++k) {
    const std::size_t i = scores.rows[k];
    scores.residual[k] = first[i];
    scores.rate[k] = (last[i] - first[i]) / (end - start);
  }
  scores.sums.add(start, end, scores.residual.data(), scores.rate.data());
}

} // namespace alphapath
