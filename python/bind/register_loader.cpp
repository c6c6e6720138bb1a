// Loader and its iterator.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bind/dataset_handle.h"
#include "bind/epoch_iterator.h"
#include "bind/loader_words.h"
#include "bind/progress.h"
#include "bind/register.h"
#include "bind/row_numbers.h"
#include "bind/text.h"
#include "bind/values.h"
#include "bind/without_gil.h"
#include "loader/options/loader_settings.h"
#include "loader/report/report_fields.h"

namespace headrace::python {
namespace {

using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// {"weights": …, "replacement": …, "num_samples": …}, {"by": …, "num_samples": …}, {"fed_samples": …} or {"listed":
/// (rows, sizes of batches or None), "every_epoch": …}.
Order to_sampler(const nb::dict& words) {
  if (words.contains("weights")) {
    const auto weights = nb::cast<Weights>(words["weights"]);
    return Weighted{{weights.data(), weights.data() + weights.size()},
                    nb::cast<bool>(words["replacement"]),
                    nb::cast<std::uint64_t>(words["num_samples"])};
  }
  if (words.contains("by"))
    return Balanced{from_python(nb::cast<nb::str>(words["by"])), nb::cast<std::uint64_t>(words["num_samples"])};
  if (words.contains("fed_samples")) return OnlineSampler{nb::cast<std::uint64_t>(words["fed_samples"])};
  ListedNumbers listed = from_listed(words["listed"]);
  return Listed{std::move(listed.rows), nb::cast<bool>(words["every_epoch"]), std::move(listed.batch_rows)};
}

std::shared_ptr<LoaderHandle> make_loader(const DatasetHandle& dataset,
                                          const nb::typed<nb::dict, nb::str, nb::object>& words,
                                          const nb::object& sampler) {
  Order order;
  if (!sampler.is_none()) order = to_sampler(nb::cast<nb::dict>(sampler));
  const LoaderSettings settings = to_settings(words, sampler.is_none() ? nullptr : &order);
  return LoaderHandle::make(dataset.dataset, settings.options,
                            settings.framework == "torch" ? Framework::kTorch : Framework::kNumpy,
                            settings.batch_format == "tuple" ? BatchFormat::kTuple : BatchFormat::kDict);
}

/// Check the options before a sampler is asked for anything, and return them as they were understood.
nb::dict check_options_of(const nb::typed<nb::dict, nb::str, nb::object>& words,
                          const std::optional<std::string>& order) {
  const Order sampler = order == "batch_sampler" ? Order(Listed{{0}, true, {1}}) : Order(OnlineSampler{1});
  return settled_words(words, order ? &sampler : nullptr);
}

/// \param rows  Rows of the epoch, where the sampler was asked for them; else None.
nb::object batch_again(LoaderHandle& self, std::uint64_t epoch, std::uint64_t step, const nb::object& rows) {
  self.check_process();
  const ListedNumbers list = from_listed(rows);
  const auto make = [&] {
    const Turn turn(self, "batch()");
    return without_gil([&] { return self.loader().batch(epoch, step, list.rows, list.batch_rows); });
  };
  return self.exported(make());
}

/// \param copies  None; or what was measured of copies to a device: a value for each field of Report::ToDevice.
Report report_of(LoaderHandle& self, const nb::object& copies) {
  Report report = self.report();
  if (copies.is_none()) return report;
  Report::ToDevice measured;
  const Status status = spec<Report::ToDevice>().read(value_of(copies), At{nullptr, "to_device"}, &measured);
  if (!status.ok()) throw Error(ErrorCode::kInternal, status.error().what());
  report.add_to_device(std::move(measured));
  return report;
}

void preload(LoaderHandle& self, const nb::object& progress) {
  self.check_process();
  {
    Turn turn(self, "preload()");
    Progress reporter(progress);
    turn.run(reporter, [&](const auto& function) {
      self.loader().preload(function);
      return true;
    });
  }
  self.warn_of_notices();
}

}  // namespace

void register_loader(nb::module_& m) {
  m.attr("STAGED_BATCHES") = kStagedBatches;
  nb::class_<EpochIterator>(m, "EpochIterator", "One pass over the data; see headrace.Loader.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> EpochIterator"))
      .def("__next__", &EpochIterator::next, nb::sig("def __next__(self) -> typing.Any"))
      .def("check_current", &EpochIterator::check_current)
      .def_prop_ro("number", &EpochIterator::number, "Number of this epoch.")
      .def_prop_ro("taken", &EpochIterator::taken,
                   "Where the loader is once the program has what the last next() gave; None if that failed.");

  nb::class_<Loader::Place>(m, "Place", "Where a loader is once the program has what was taken of an epoch.")
      .def_ro("samples", &Loader::Place::samples, "Samples of the epoch that all ranks were handed out.")
      .def_ro("last", &Loader::Place::last, "True if no batch of the epoch follows.");

  nb::class_<LoaderHandle>(m, "Loader", "Delivers epochs of batches; see headrace.Loader.")
      .def(nb::new_(&make_loader), nb::arg("dataset"), nb::arg("words"), nb::arg("sampler").none())
      .def(
          "epoch",
          [](LoaderHandle& self, bool ahead) {
            return EpochIterator(self.shared_from_this(), self.start_epoch(), ahead);
          },
          nb::arg("ahead") = false,
          "Start the next epoch; ahead: its batches are taken before hand_out() says that the program has them.")
      .def(
          "epoch_of",
          [](LoaderHandle& self, const Loader::Place& place) {
            return EpochIterator(self.shared_from_this(), self.epoch_of(place), true);
          },
          nb::arg("place"), "Return the epoch of a place once more, where load_state() sent it.")
      .def(
          "hand_out", [](LoaderHandle& self, const Loader::Place& place) { self.loader().hand_out(place); },
          nb::arg("place"), "Tell that the program has what was taken up to there. Waits for nothing.")
      .def(
          "set_epoch",
          [](LoaderHandle& self, std::uint64_t number) {
            self.check_process();
            const Turn turn(self, "set_epoch()");
            self.loader().set_epoch(number);
          },
          nb::arg("number"))
      .def(
          "state_at",
          [](LoaderHandle& self, std::uint64_t epoch, std::uint64_t samples) {
            self.check_process();
            const Turn turn(self, "state_at()");
            const WithoutGil nogil;
            return self.loader().state_at(epoch, samples);
          },
          nb::arg("epoch"), nb::arg("samples"), "Return the state of another place.")
      .def("state",
           [](LoaderHandle& self) {
             self.check_process();
             // Inside a call of this thread the loader stands still: nothing to wait for.
             if (self.is_mine()) return self.loader().state();
             const Turn turn(self, "state_dict()");
             return self.loader().state();
           })
      .def(
          "load_state",
          [](LoaderHandle& self, const std::string& json, bool accept_changed_data, const nb::object& rows) {
            self.check_process();
            const Turn turn(self, "load_state_dict()");
            ResumeOptions options{accept_changed_data, {}, {}};
            if (!rows.is_none()) {
              ListedNumbers list = from_listed(rows);
              options.rows = std::move(list.rows);
              options.batch_rows = std::move(list.batch_rows);
            }
            const WithoutGil nogil;
            self.loader().load_state(json, options);
          },
          nb::arg("json"), nb::arg("accept_changed_data"), nb::arg("rows").none(),
          nb::sig("def load_state(self, json: str, accept_changed_data: bool, rows: typing.Any) -> None"))
      .def(
          "check_state",
          [](LoaderHandle& self, const std::string& json, bool accept_changed_data) {
            self.check_process();
            const Turn turn(self, "load_state_dict()");
            const WithoutGil nogil;
            self.loader().check_state(json, {accept_changed_data, {}, {}});
          },
          nb::arg("json"), nb::arg("accept_changed_data"))
      .def("batch", &batch_again, nb::arg("epoch"), nb::arg("step"), nb::arg("rows").none(),
           nb::sig("def batch(self, epoch: int, step: int, rows: typing.Any) -> typing.Any"))
      .def("next_epoch", [](LoaderHandle& self) { return self.loader().next_epoch(); })
      .def("next_epoch_sample", [](LoaderHandle& self) { return self.loader().next_epoch_sample(); })
      .def(
          "set_rank",
          [](LoaderHandle& self, std::uint32_t rank, std::uint32_t world_size) {
            self.check_process();
            const Turn turn(self, "set_rank()");
            self.loader().set_rank(rank, world_size);
          },
          nb::arg("rank"), nb::arg("world_size"))
      .def(
          "set_rows",
          [](LoaderHandle& self, std::uint64_t epoch, const nb::object& rows) {
            self.check_process();
            const Turn turn(self, "set_rows()");
            ListedNumbers list = from_listed(rows);
            const WithoutGil nogil;
            self.loader().set_rows(epoch, std::move(list.rows), list.batch_rows);
          },
          nb::arg("epoch"), nb::arg("rows"), nb::sig("def set_rows(self, epoch: int, rows: typing.Any) -> None"))
      .def(
          "feed",
          [](LoaderHandle& self, const nb::object& rows) {
            self.check_process();
            const Turn turn(self, "feed()");
            self.loader().feed(from_row_numbers(rows));
          },
          nb::arg("rows"), nb::sig("def feed(self, rows: typing.Any) -> None"))
      .def("preload", &preload, nb::arg("progress").none(), nb::sig("def preload(self, progress: typing.Any) -> None"))
      .def("epoch_samples", [](LoaderHandle& self) { return self.loader().epoch_samples(); })
      .def("global_batch_rows", [](LoaderHandle& self) { return self.loader().global_batch_rows(); })
      .def("batch_rows", [](LoaderHandle& self) { return self.loader().batch_rows(); })
      .def("num_batches", [](LoaderHandle& self) { return self.loader().num_batches(); })
      .def("num_groups", [](LoaderHandle& self) { return self.loader().num_groups(); })
      .def(
          "step_end",
          [](LoaderHandle& self, std::uint64_t epoch, std::uint64_t position) {
            return self.loader().step_end(epoch, position);
          },
          nb::arg("epoch"), nb::arg("position"))
      .def(
          "step_begin",
          [](LoaderHandle& self, std::uint64_t epoch, std::uint64_t step) {
            return self.loader().step_begin(epoch, step);
          },
          nb::arg("epoch"), nb::arg("step"))
      .def(
          "batches_after",
          [](LoaderHandle& self, std::uint64_t epoch, std::uint64_t position) {
            return self.loader().batches_after(epoch, position);
          },
          nb::arg("epoch"), nb::arg("position"))
      .def(
          "explain", [](LoaderHandle& self) { return to_python(self.loader().explain()); },
          nb::sig("def explain(self) -> str"))
      .def("warn_of_notices", &LoaderHandle::warn_of_notices)
      .def("report", &report_of, nb::arg("to_device") = nb::none(),
           nb::sig("def report(self, to_device: dict[str, typing.Any] | None = None) -> Report"))
      .def("staging_bytes", [](LoaderHandle& self) { return self.loader().report().memory.staging_bytes; })
      .def("add_python_ns", &LoaderHandle::add_python_ns, nb::arg("ns"),
           "Count time that Python functions took of a batch.")
      .def("close",
           [](LoaderHandle& self) {
             self.close();
             if (!self.forked()) self.warn_of_notices();  // a cache may have failed in its last moment
           })
      .def("closed", [](LoaderHandle& self) { return self.closing() || self.loader().closed(); })
      .def("holds_memory", [](LoaderHandle& self) { return self.loader().holds_memory(); });

  static const std::string described = "The options of Loader, of which this is the list:\n" + options_json();
  m.def("loader_options", &describe_options, described.c_str(),
        nb::sig("def loader_options() -> list[dict[str, typing.Any]]"));
  m.def(
      "check_options", &check_options_of, nb::arg("words"), nb::arg("order").none(),
      nb::sig("def check_options(words: dict[str, typing.Any], order: str | None) -> dict[str, typing.Any]"),
      "Check options of Loader against each other, and return them as they were understood; order: None, 'sampler' or "
      "'batch_sampler'.");
  m.def(
      "options_replaced_by",
      [](const nb::dict& given) {
        std::set<std::string> names;
        for (const std::string_view name : options_replaced_by(*value_of_words(given).map())) names.emplace(name);
        return names;
      },
      nb::arg("given"), nb::sig("def options_replaced_by(given: dict[str, typing.Any]) -> set[str]"),
      "Return the names of options of a run that give way where others are given over them.");
  m.def("close_all_loaders", &LoaderHandle::close_all, "Close every loader that is alive.");
}

}  // namespace headrace::python
