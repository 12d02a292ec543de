// How a long computation asks whether to go on. The embedder supplies the question (Ctrl-C, a
// cancelled job); the core asks it at most every 20 ms and keeps the time limit itself.
#pragma once

#include <chrono>
#include <functional>

namespace alphapath {

class Watch {
public:
  using Clock = std::chrono::steady_clock;

  /// `limit_seconds` <= 0 means no limit; `wants_stop` may be empty.
  Watch(double limit_seconds, std::function<bool()> wants_stop)
      : start_(Clock::now()), last_asked_(start_), limit_(limit_seconds),
        wants_stop_(std::move(wants_stop)) {}

  bool is_out_of_time() const { return is_out_of_time_; }
  bool is_interrupted() const { return is_interrupted_; }
  double seconds() const { return seconds_between(start_, Clock::now()); }

  /// True once the computation should end. Reads the clock; call it every 100 microseconds or so.
  bool should_stop() {
    const auto now = Clock::now();
    if (limit_ > 0 && seconds_between(start_, now) >= limit_)
      is_out_of_time_ = true;
    if (wants_stop_ && seconds_between(last_asked_, now) >= 0.02) {
      last_asked_ = now;
      if (wants_stop_())
        is_interrupted_ = true;
    }
    return is_out_of_time_ || is_interrupted_;
  }

private:
  static double seconds_between(Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
  }

  Clock::time_point start_, last_asked_;
  double limit_;
  std::function<bool()> wants_stop_;
  bool is_out_of_time_ = false;
  bool is_interrupted_ = false;
};

} // namespace alphapath
