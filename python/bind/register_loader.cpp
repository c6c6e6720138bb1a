// Loader and its iterator.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "bind/dataset_handle.h"
#include "bind/epoch_iterator.h"
#include "bind/register.h"
#include "bind/text.h"

namespace headrace::python {
namespace {

std::shared_ptr<LoaderHandle> make_loader(const DatasetHandle& dataset, std::uint64_t batch_size,
                                          const std::string& shuffle, std::uint64_t seed, bool drop_tail,
                                          std::uint64_t memory, std::uint32_t threads, double timeout_seconds,
                                          bool torch, bool as_tuple) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.shuffle = shuffle == "block" ? Shuffle::kBlock : shuffle == "exact" ? Shuffle::kExact : Shuffle::kNone;
  options.seed = seed;
  options.tail = drop_tail ? Tail::kDrop : Tail::kPartial;
  options.memory = memory;
  options.threads = threads;
  options.timeout =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(timeout_seconds));
  return LoaderHandle::make(dataset.dataset, options, torch ? Framework::kTorch : Framework::kNumpy,
                            as_tuple ? BatchFormat::kTuple : BatchFormat::kDict);
}

}  // namespace

void register_loader(nb::module_& m) {
  nb::class_<EpochIterator>(m, "EpochIterator", "One pass over the data; see headrace.Loader.")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> EpochIterator"))
      .def("__next__", &EpochIterator::next, nb::sig("def __next__(self) -> typing.Any"))
      .def_prop_ro("number", &EpochIterator::number, "Number of this epoch.");

  nb::class_<LoaderHandle>(m, "Loader", "Delivers epochs of batches; see headrace.Loader.")
      .def(nb::new_(&make_loader), nb::arg("dataset"), nb::kw_only(), nb::arg("batch_size"), nb::arg("shuffle"),
           nb::arg("seed"), nb::arg("drop_tail"), nb::arg("memory"), nb::arg("threads"), nb::arg("timeout_seconds"),
           nb::arg("torch"), nb::arg("as_tuple"))
      .def("epoch", [](LoaderHandle& self) { return EpochIterator(self.shared_from_this(), self.start_epoch()); })
      .def(
          "set_epoch",
          [](LoaderHandle& self, std::uint64_t number) {
            self.check_process();
            const Turn turn(self);
            self.loader().set_epoch(number);
          },
          nb::arg("number"))
      .def("next_epoch", [](LoaderHandle& self) { return self.loader().next_epoch(); })
      .def("num_batches", [](LoaderHandle& self) { return self.loader().num_batches(); })
      .def(
          "explain", [](LoaderHandle& self) { return to_python(self.loader().explain()); },
          nb::sig("def explain(self) -> str"))
      .def("report", [](LoaderHandle& self) { return self.loader().report(); })
      .def("close", &LoaderHandle::close)
      .def("closed", [](LoaderHandle& self) { return self.loader().closed(); });

  m.def("close_all_loaders", &LoaderHandle::close_all, "Close every loader that is alive.");
}

}  // namespace headrace::python
