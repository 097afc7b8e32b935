// Labelled sequences in batches, as arrays of Python's: what chains and lattices work on.
#pragma once
#include <nanobind/stl/optional.h>

#include <optional>

#include "chain/layout.hpp"
#include "python/arrays.hpp"

namespace proxqn::python {

struct Batches {
  using Int32s = Array<const std::int32_t>;
  using Int32Table = Array<const std::int32_t, 2>;

  Batches(Array<const std::int64_t> first, Int32s width, Int32s length, Int32Table lane_length,
          Int32Table lane_sequence, Array<const std::int64_t> chunk, std::optional<Int32s> labels,
          std::optional<Array<const double>> weights)
      : first(first), width(width), length(length), lane_length(lane_length),
        lane_sequence(lane_sequence), chunk(chunk), labels(labels), weights(weights) {
    expect(lane_length.shape(0) == first.shape(0) && lane_length.shape(1) == kLanes,
           "lane_length must have shape (n_batches, 8)");
  }

  void check_labels(std::int64_t stride) const {
    expect(!labels || static_cast<std::int64_t>(labels->shape(0)) == stride,
           "one label a slot expected");
  }

  template <class S>
  chain::ChainOf<S> chain(std::int64_t n_labels, std::int64_t stride, const S* scores, S* alpha,
                          S* scale, std::uint8_t* log_domain, const double* transitions) const {
    return {n_labels,
            stride,
            static_cast<std::int64_t>(first.shape(0)),
            static_cast<std::int64_t>(chunk.shape(0)) - 1,
            first.data(),
            width.data(),
            length.data(),
            lane_length.data(),
            lane_sequence.data(),
            chunk.data(),
            labels ? labels->data() : nullptr,
            weights ? weights->data() : nullptr,
            scores,
            alpha,
            scale,
            log_domain,
            transitions};
  }

  Array<const std::int64_t> first;
  Int32s width, length;
  Int32Table lane_length, lane_sequence;
  Array<const std::int64_t> chunk;
  std::optional<Int32s> labels;
  std::optional<Array<const double>> weights;
};

}  // namespace proxqn::python
