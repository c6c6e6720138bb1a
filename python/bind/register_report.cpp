// Report: plain numbers, read-only.
#include <headrace/loader/report.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind/register.h"
#include "bind/text.h"

namespace headrace::python {
namespace {

std::string html_text(const std::string& text) {
  std::string html = "<pre>";
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html + "</pre>";
}

void register_stage(nb::class_<Report>& report) {
  nb::class_<Report::Stage>(report, "Stage", "One stage of the work, summed over threads.")
      .def_ro("name", &Report::Stage::name, "Name: \"plan\", \"read\", \"decode\", \"scatter\", \"cache\" or \"idle\".")
      .def_ro("seconds", &Report::Stage::seconds, "Time, summed over threads.")
      .def_ro("count", &Report::Stage::count, "Number of times it ran.")
      .def_ro("bytes", &Report::Stage::bytes,
              "Bytes handled; read: stored bytes; decode: decoded bytes; scatter: delivered bytes.")
      .def("__repr__", [](const Report::Stage& self) {
        return to_python("Stage(name='" + self.name + "', seconds=" + std::to_string(self.seconds) +
                         ", count=" + std::to_string(self.count) + ", bytes=" + std::to_string(self.bytes) + ")");
      });
}

void register_memory(nb::class_<Report>& report) {
  using Memory = Report::Memory;
  nb::class_<Memory>(report, "Memory", "Memory of the loader, in bytes.")
      .def_ro("budget_bytes", &Memory::budget_bytes, "The loader's limit.")
      .def_ro("planned_bytes", &Memory::planned_bytes, "Sum of the parts below, as resolved before the run.")
      .def_ro("peak_bytes", &Memory::peak_bytes, "Highest allocation of each part so far, added up.")
      .def_ro("slot_bytes", &Memory::slot_bytes, "Bytes of one slot (one batch).")
      .def_ro("slots", &Memory::slots, "Number of slots.")
      .def_ro("scratch_bytes", &Memory::scratch_bytes, "Decoded chunks in flight.")
      .def_ro("read_buffer_bytes", &Memory::read_buffer_bytes, "Stored bytes in flight.")
      .def_ro("resident_bytes", &Memory::resident_bytes, "Chunks kept decoded.")
      .def_ro("index_bytes", &Memory::index_bytes, "Chunk indexes.")
      .def_ro("staging_bytes", &Memory::staging_bytes, "Page-locked buffers for copies to a device.")
      .def_ro("cache_bytes", &Memory::cache_bytes, "Planned for decoded blocks that are kept.")
      .def_ro("peak_slot_bytes", &Memory::peak_slot_bytes, "Slots, measured.")
      .def_ro("peak_cache_bytes", &Memory::peak_cache_bytes, "Kept blocks, measured.")
      .def_ro("peak_scratch_bytes", &Memory::peak_scratch_bytes, "Decoded chunks in flight, measured.")
      .def_ro("peak_read_buffer_bytes", &Memory::peak_read_buffer_bytes, "Stored bytes in flight, measured.")
      .def_ro("peak_resident_bytes", &Memory::peak_resident_bytes, "Chunks kept decoded, measured.")
      .def_ro("process_peak_bytes", &Memory::process_peak_bytes, "Highest resident memory of the whole process.")
      .def_ro("held_over_bytes", &Memory::held_over_bytes, "Most that the caller held in batches beyond the budget.")
      .def(
          "__str__", [](const Memory& self) { return to_python(self.text()); }, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const Memory& self) { return to_python(self.text()); }, nb::sig("def __repr__(self) -> str"));
}

void register_row_sums(nb::class_<Report>& report) {
  using RowSums = Report::RowSums;
  nb::class_<RowSums>(report, "RowSums", "Which rows were delivered in the latest epoch, as sums that ranks add up.")
      .def_ro("epoch", &RowSums::epoch, "The epoch that is summed.")
      .def_ro("rows", &RowSums::rows, "Rows delivered.")
      .def_ro("sum_of_rows", &RowSums::sum_of_rows, "Sum of their numbers in the data set, modulo 2^64.")
      .def_ro("sum_of_squares", &RowSums::sum_of_squares, "Sum of the squares of these numbers, modulo 2^64.")
      .def_ro("sum_of_cubes", &RowSums::sum_of_cubes, "Sum of the cubes of these numbers, modulo 2^64.")
      .def("__repr__", [](const RowSums& self) {
        return to_python("RowSums(epoch=" + std::to_string(self.epoch) + ", rows=" + std::to_string(self.rows) +
                         ", sum_of_rows=" + std::to_string(self.sum_of_rows) +
                         ", sum_of_squares=" + std::to_string(self.sum_of_squares) +
                         ", sum_of_cubes=" + std::to_string(self.sum_of_cubes) + ")");
      });
}

void register_cache(nb::class_<Report>& report) {
  using Cache = Report::Cache;
  nb::class_<Cache>(report, "Cache", "The cache of decoded blocks between epochs.")
      .def_ro("kind", &Cache::kind,
              "What is kept: \"nothing\", \"blocks\", \"all rows\", \"shared rows\" or \"directory\".")
      .def_ro("coding", &Cache::coding,
              "How blocks are kept: \"decoded\", \"LZ4\", \"shuffle + LZ4\" or \"shuffle + zstd-1\".")
      .def_ro("capacity_bytes", &Cache::capacity_bytes, "Most it may hold.")
      .def_ro("bytes", &Cache::bytes, "Bytes kept now.")
      .def_ro("blocks", &Cache::blocks, "Blocks kept now.")
      .def_ro("all_blocks", &Cache::all_blocks, "Blocks of the data set.")
      .def_ro("hits", &Cache::hits, "Blocks served from it.")
      .def_ro("misses", &Cache::misses, "Blocks that were decoded from their file.")
      .def_ro("coded_share", &Cache::coded_share, "Encoded bytes divided by decoded bytes.")
      .def_ro("complete", &Cache::complete, "True if it holds everything: batches are gathered from it.")
      .def_ro("epochs_left", &Cache::epochs_left,
              "Epochs until the cache is full, at the present rate; 0: it grows no more; 100: 100 or more.")
      .def("__repr__", [](const Cache& self) {
        return to_python("Cache(kind='" + self.kind + "', coding='" + self.coding +
                         "', bytes=" + std::to_string(self.bytes) + ", blocks=" + std::to_string(self.blocks) +
                         ", all_blocks=" + std::to_string(self.all_blocks) + ", hits=" + std::to_string(self.hits) +
                         ", misses=" + std::to_string(self.misses) + ")");
      });
}

void register_decode_once(nb::class_<Report>& report) {
  using DecodeOnce = Report::DecodeOnce;
  nb::class_<DecodeOnce>(report, "DecodeOnce", "Settings that would decode every block once.")
      .def_ro("shuffle_buffer_bytes", &DecodeOnce::shuffle_buffer_bytes,
              "A shuffle_buffer= that does it within this budget; 0: none.")
      .def_ro("deff", &DecodeOnce::deff, "Deff with it, for a label that is constant in a block: the worst case.")
      .def_ro("deff_now", &DecodeOnce::deff_now, "Deff of the present order, for the same label.")
      .def_ro("speedup", &DecodeOnce::speedup, "Factor by which it would lower the work of the threads.")
      .def_ro("memory_bytes", &DecodeOnce::memory_bytes, "A memory= that does it with the present order; 0: none.")
      .def("__repr__", [](const DecodeOnce& self) {
        return "Report.DecodeOnce(shuffle_buffer_bytes=" + std::to_string(self.shuffle_buffer_bytes) +
               ", memory_bytes=" + std::to_string(self.memory_bytes) + ")";
      });
}

void register_mixing(nb::class_<Report>& report) {
  using Mixing = Report::Mixing;
  nb::class_<Mixing>(report, "Mixing",
                     "How well the order mixes: Deff, the variance of batch means over that of independent draws.")
      .def_ro("deff_blocks", &Mixing::deff_blocks, "Deff of a label that is constant in each block: the worst case.")
      .def_ro("deff_files", &Mixing::deff_files, "Deff of a label that is constant in each file.")
      .def_ro("mixed_bytes", &Mixing::mixed_bytes, "Decoded bytes of the blocks that are mixed at any time.")
      .def("__repr__", [](const Mixing& self) {
        return "Report.Mixing(deff_blocks=" + std::to_string(self.deff_blocks) +
               ", deff_files=" + std::to_string(self.deff_files) + ", mixed_bytes=" + std::to_string(self.mixed_bytes) +
               ")";
      });
}

void register_to_device(nb::class_<Report>& report) {
  using ToDevice = Report::ToDevice;
  nb::class_<ToDevice>(report, "ToDevice", "Copies of batches to a device.")
      .def_ro("name", &ToDevice::name, "Device: \"cuda:0\".")
      .def_ro("batches", &ToDevice::batches, "Batches copied.")
      .def_ro("bytes", &ToDevice::bytes, "Bytes copied.")
      .def_ro("copy_seconds", &ToDevice::copy_seconds, "Time of the copies on the device; 0: not measured.")
      .def_ro("stage_seconds", &ToDevice::stage_seconds, "Time of the copies into page-locked memory.")
      .def_ro("buffer_wait_seconds", &ToDevice::buffer_wait_seconds,
              "Time waited for a free buffer of page-locked memory.")
      .def_ro("batch_wait_seconds", &ToDevice::batch_wait_seconds, "Time waited for the loader's batches.")
      .def_ro("step_wait_seconds", &ToDevice::step_wait_seconds, "Time that training steps waited for their batches.")
      .def_ro("step_seconds", &ToDevice::step_seconds, "Time from the first batch to the last, within epochs.")
      .def_ro("by_events", &ToDevice::by_events,
              "True if waits were measured by the device's events; False: by the host's clock.")
      .def_ro("pinned_bytes_per_second", &ToDevice::pinned_bytes_per_second,
              "Rate of a copy from page-locked memory, tried at the start; 0: not tried.")
      .def_ro("pageable_bytes_per_second", &ToDevice::pageable_bytes_per_second,
              "Rate of a copy from other memory, tried at the start; 0: not tried.")
      .def_ro("buffers", &ToDevice::buffers, "Buffers of page-locked memory.")
      .def_ro("buffer_bytes", &ToDevice::buffer_bytes, "Size of each.")
      .def_ro("larger_batches", &ToDevice::larger_batches, "Batches larger than a buffer.");
}

}  // namespace

void register_report(nb::module_& m) {
  nb::class_<Report> report(m, "Report", "What a loader did, in numbers; print() shows one screen.");
  register_stage(report);
  register_memory(report);
  register_row_sums(report);
  register_cache(report);
  register_mixing(report);
  register_decode_once(report);
  register_to_device(report);
  report.def_ro("epochs_started", &Report::epochs_started, "Epochs that were started.")
      .def_ro("epochs_finished", &Report::epochs_finished, "Epochs that were delivered to their end.")
      .def_ro("batches", &Report::batches, "Batches delivered.")
      .def_ro("samples", &Report::samples, "Samples delivered.")
      .def_ro("tokens", &Report::tokens, "Rows of ragged fields delivered, where batches have a token budget; else 0.")
      .def_ro("token_budget", &Report::token_budget, "Most rows of a batch on this rank; 0: no token budget.")
      .def_ro("delivered_bytes", &Report::delivered_bytes, "Bytes delivered.")
      .def_ro("wall_seconds", &Report::wall_seconds,
              "Time from the first epoch's start until now, or to the last batch.")
      .def_prop_ro("samples_per_second", &Report::samples_per_second, "Samples delivered, divided by wall_seconds.")
      .def_prop_ro("bytes_per_second", &Report::bytes_per_second, "Bytes delivered, divided by wall_seconds.")
      .def_ro("consumer_wait_seconds", &Report::consumer_wait_seconds, "Time the caller waited for batches.")
      .def_ro("consumer_work_seconds", &Report::consumer_work_seconds,
              "Time between one batch and asking for the next.")
      .def_prop_ro("batch_wait_seconds", &Report::batch_wait_seconds, "Time a batch was waited for, on average.")
      .def_ro("batch_wait_p99_seconds", &Report::batch_wait_p99_seconds,
              "99th percentile of the time a batch was waited for, to an eighth.")
      .def_ro("first_batch_seconds", &Report::first_batch_seconds,
              "Time from the first epoch's start to its first batch.")
      .def_ro(
          "read_amplification", &Report::read_amplification,
          "Decoded bytes, divided by those of the distinct chunks that each epoch needed; above 1.0: some chunks were "
          "decoded more than once, below: some came from memory. Of patches: decoded bytes, divided by the stored "
          "bytes "
          "of what was delivered.")
      .def_ro("waste", &Report::waste, "Share of decoded bytes that no field needed.")
      .def_ro("chunks_decoded", &Report::chunks_decoded, "Chunks decoded, each time counted.")
      .def_ro("slow_path_chunks", &Report::slow_path_chunks, "Chunks read by a format's own library, one at a time.")
      .def_prop_ro(
          "slow_fields", [](const Report& self) { return to_python(self.slow_fields); },
          nb::sig("def slow_fields(self) -> list[str]"), "Fields read or converted by a format's own library, and why.")
      .def_ro("threads", &Report::threads, "Decode threads.")
      .def_ro("rank", &Report::rank, "This loader's rank among the data-parallel processes.")
      .def_ro("world_size", &Report::world_size, "Number of data-parallel processes; 1 without ranks.")
      .def_ro("row_sums", &Report::row_sums, "Which rows the latest epoch delivered on this rank, as sums.")
      .def_ro("exactly_once", &Report::exactly_once,
              "True once an epoch ended whose sums are those of every row once: one rank, begun at its start, with no "
              "dropped tail.")
      .def_ro("stages", &Report::stages, "Where the time went, one Stage each.")
      .def_ro("memory", &Report::memory, "Memory, planned and measured.")
      .def_ro("cache", &Report::cache, "What is kept of decoded blocks.")
      .def_ro("mixing", &Report::mixing,
              "How well the order mixes; None if the data are not shuffled: file order, samplers, groups, mixtures.")
      .def_ro("decode_once", &Report::decode_once,
              "Settings that would decode every block once, if the memory is too small for the order; else None.")
      .def_ro("to_device", &Report::to_device, "Copies to a device; None where batches stay in the host's memory.")
      .def_prop_ro(
          "verdict", [](const Report& self) { return to_python(self.verdict); }, nb::sig("def verdict(self) -> str"),
          "One sentence: is loading the limit, and which part.")
      .def_prop_ro(
          "notices", [](const Report& self) { return to_python(self.notices); },
          nb::sig("def notices(self) -> list[str]"),
          "Warnings that were given: settings that hurt, a cache that is not used.")
      .def_prop_ro(
          "advice", [](const Report& self) { return to_python(self.advice); }, nb::sig("def advice(self) -> list[str]"),
          "What to change, best first.")
      .def_prop_ro(
          "data_summary", [](const Report& self) { return to_python(self.data_summary); },
          nb::sig("def data_summary(self) -> str"), "Files, samples, bytes a sample and codecs, in one line.")
      .def(
          "__str__", [](const Report& self) { return to_python(self.text()); }, nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__", [](const Report& self) { return to_python(self.text()); }, nb::sig("def __repr__(self) -> str"))
      .def(
          "_repr_html_", [](const Report& self) { return to_python(html_text(self.text())); },
          nb::sig("def _repr_html_(self) -> str"))
      .def(
          "to_json", [](const Report& self) { return to_python(self.json()); }, nb::sig("def to_json(self) -> str"),
          "Return the report as JSON text.")
      .def(
          "to_dict",
          [](const Report& self) { return nb::module_::import_("json").attr("loads")(to_python(self.json())); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "Return the report as plain Python objects.");
}

}  // namespace headrace::python
