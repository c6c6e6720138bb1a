#include "loader/report/report_fields.h"

namespace headrace {
namespace {

/// List a field of a report.
template <auto Pointer>
Member field(std::string_view name, std::string_view doc) {
  return member<Pointer, Shown>(name, doc);
}

/// List a field that a program measures.
template <auto Pointer>
Member measured(std::string_view name, std::string_view doc) {
  return field<Pointer>(name, doc).required();
}

}  // namespace

const Spec& spec_of(const Report::Stage*) {
  using S = Report::Stage;
  static const Spec spec = Spec::of<S>(
      "Stage", "One stage of the work, summed over threads.",
      {field<&S::name>("name", "Name: \"plan\", \"read\", \"decode\", \"scatter\", \"cache\", \"idle\" or \"python\""),
       field<&S::seconds>("seconds", "Time, summed over threads"), field<&S::count>("count", "Number of times it ran"),
       field<&S::bytes>("bytes", "Bytes handled; read: stored ones; decode: decoded ones; scatter: delivered ones")});
  return spec;
}

const Spec& spec_of(const Report::Memory*) {
  using S = Report::Memory;
  static const Spec spec = Spec::of<S>(
      "Memory", "Memory of the loader, in bytes.",
      {field<&S::budget_bytes>("budget_bytes", "The loader's limit"),
       field<&S::planned_bytes>("planned_bytes", "Sum of the parts below, as resolved before the run"),
       field<&S::peak_bytes>("peak_bytes", "Highest allocation of each part so far, added up"),
       field<&S::slot_bytes>("slot_bytes", "Bytes of one slot (one batch)"),
       field<&S::slots>("slots", "Number of slots"),
       field<&S::scratch_bytes>("scratch_bytes", "Decoded chunks in flight"),
       field<&S::read_buffer_bytes>("read_buffer_bytes", "Stored bytes in flight"),
       field<&S::resident_bytes>("resident_bytes", "Chunks kept decoded"),
       field<&S::index_bytes>("index_bytes", "Chunk indexes"),
       field<&S::staging_bytes>("staging_bytes", "Page-locked buffers for copies to a device"),
       field<&S::cache_bytes>("cache_bytes", "Planned for decoded blocks that are kept"),
       field<&S::peak_slot_bytes>("peak_slot_bytes", "Slots, measured"),
       field<&S::peak_cache_bytes>("peak_cache_bytes", "Kept blocks, measured"),
       field<&S::peak_scratch_bytes>("peak_scratch_bytes", "Decoded chunks in flight, measured"),
       field<&S::peak_read_buffer_bytes>("peak_read_buffer_bytes", "Stored bytes in flight, measured"),
       field<&S::peak_resident_bytes>("peak_resident_bytes", "Chunks kept decoded, measured"),
       field<&S::process_peak_bytes>("process_peak_bytes", "Highest resident memory of the whole process"),
       field<&S::held_over_bytes>("held_over_bytes", "Most that the caller held in batches beyond the budget")});
  return spec;
}

const Spec& spec_of(const Report::RowSums*) {
  using S = Report::RowSums;
  static const Spec spec =
      Spec::of<S>("RowSums", "Which rows were delivered in the latest epoch, as sums that ranks add up.",
                  {field<&S::epoch>("epoch", "The epoch that is summed"), field<&S::rows>("rows", "Rows delivered"),
                   field<&S::sum_of_rows>("sum_of_rows", "Sum of their numbers in the data set, modulo 2^64"),
                   field<&S::sum_of_squares>("sum_of_squares", "Sum of the squares of these numbers, modulo 2^64"),
                   field<&S::sum_of_cubes>("sum_of_cubes", "Sum of the cubes of these numbers, modulo 2^64")});
  return spec;
}

const Spec& spec_of(const Report::Cache*) {
  using S = Report::Cache;
  static const Spec spec = Spec::of<S>(
      "Cache", "The cache of decoded blocks between epochs.",
      {field<&S::kind>("kind", "What is kept: \"nothing\", \"blocks\", \"all rows\", \"shared rows\" or \"directory\""),
       field<&S::coding>("coding",
                         "Form of the blocks: \"decoded\", \"LZ4\", \"shuffle + LZ4\" or \"shuffle + zstd-1\""),
       field<&S::capacity_bytes>("capacity_bytes", "Most it may hold"), field<&S::bytes>("bytes", "Bytes kept now"),
       field<&S::blocks>("blocks", "Blocks kept now"), field<&S::all_blocks>("all_blocks", "Blocks of the data set"),
       field<&S::hits>("hits", "Blocks served from it"),
       field<&S::misses>("misses", "Blocks that were decoded from their file"),
       field<&S::coded_share>("coded_share", "Encoded bytes divided by decoded bytes"),
       field<&S::complete>("complete", "True if it holds everything: batches are gathered from it"),
       field<&S::epochs_left>("epochs_left",
                              "Epochs until it is full, at the present rate; 0: it grows no more; 100: 100 or more")});
  return spec;
}

const Spec& spec_of(const Report::Mixing*) {
  using S = Report::Mixing;
  static const Spec spec = Spec::of<S>(
      "Mixing", "How well the order mixes: Deff, the variance of batch means over that of independent draws.",
      {field<&S::deff_blocks>("deff_blocks", "Deff of a label that is constant in each block: the worst case"),
       field<&S::deff_files>("deff_files", "Deff of a label that is constant in each file"),
       field<&S::mixed_bytes>("mixed_bytes", "Decoded bytes of the blocks that are mixed at any time")});
  return spec;
}

const Spec& spec_of(const Report::DecodeOnce*) {
  using S = Report::DecodeOnce;
  static const Spec spec =
      Spec::of<S>("DecodeOnce", "Settings that would decode every block once.",
                  {field<&S::shuffle_buffer_bytes>("shuffle_buffer_bytes",
                                                   "A shuffle_buffer= that does it within this budget; 0: none"),
                   field<&S::deff>("deff", "Deff with it, for a label that is constant in a block: the worst case"),
                   field<&S::deff_now>("deff_now", "Deff of the present order, for the same label"),
                   field<&S::speedup>("speedup", "Factor by which it would lower the work of the threads"),
                   field<&S::memory_bytes>("memory_bytes", "A memory= that does it with the present order; 0: none")});
  return spec;
}

const Spec& spec_of(const Report::Reading*) {
  using S = Report::Reading;
  static const Spec spec =
      Spec::of<S>("Reading", "Reads that were made ahead of decoding, because files answered late.",
                  {field<&S::reads>("reads", "Reads made"), field<&S::bytes>("bytes", "Stored bytes read"),
                   field<&S::seconds_a_read>("seconds_a_read", "Time of a read, on average"),
                   field<&S::in_flight>("in_flight", "Reads at once, on average while there were any"),
                   field<&S::most_in_flight>("most_in_flight", "Most reads at once"),
                   field<&S::ready_share>("ready_share",
                                          "Share of the blocks that were read before a thread came to decode them")});
  return spec;
}

const Spec& spec_of(const Report::ToDevice*) {
  using S = Report::ToDevice;
  static const Spec spec = Spec::of<S>(
      "ToDevice", "Copies of batches to a device.",
      {measured<&S::name>("name", "Device: \"cuda:0\""), measured<&S::batches>("batches", "Batches copied"),
       measured<&S::bytes>("bytes", "Bytes copied"),
       measured<&S::copy_seconds>("copy_seconds", "Time of the copies on the device; 0: not measured"),
       measured<&S::stage_seconds>("stage_seconds", "Time of the copies into page-locked memory"),
       measured<&S::buffer_wait_seconds>("buffer_wait_seconds", "Time waited for a free buffer of page-locked memory"),
       measured<&S::batch_wait_seconds>("batch_wait_seconds", "Time waited for the loader's batches"),
       measured<&S::step_wait_seconds>("step_wait_seconds", "Time that training steps waited for their batches"),
       measured<&S::step_seconds>("step_seconds", "Time from the first batch to the last, within epochs"),
       measured<&S::by_events>("by_events",
                               "True if waits were measured by the device's events; False: by the host's clock"),
       measured<&S::pinned_bytes_per_second>(
           "pinned_bytes_per_second", "Rate of a copy from page-locked memory, tried at the start; 0: not tried"),
       measured<&S::pageable_bytes_per_second>("pageable_bytes_per_second",
                                               "Rate of a copy from other memory, tried at the start; 0: not tried"),
       measured<&S::buffers>("buffers", "Buffers of page-locked memory"),
       measured<&S::buffer_bytes>("buffer_bytes", "Size of each"),
       measured<&S::larger_batches>("larger_batches", "Batches larger than a buffer")});
  return spec;
}

const Spec& spec_of(const Report*) {
  using S = Report;
  static const Spec spec = Spec::of<S>(
      "Report", "What a loader did, in numbers; print() shows one screen.",
      {field<&S::verdict>("verdict", "One sentence: is loading the limit, and which part"),
       field<&S::data_summary>("data_summary", "Files, samples, bytes a sample and codecs, in one line"),
       field<&S::epochs_started>("epochs_started", "Epochs that were started"),
       field<&S::epochs_finished>("epochs_finished", "Epochs that were delivered to their end"),
       field<&S::batches>("batches", "Batches delivered"),
       field<&S::samples>("samples", "Samples delivered"),
       field<&S::tokens>(
           "tokens", "Rows of ragged fields delivered, padding included, where batches have a token budget; else 0"),
       field<&S::token_budget>("token_budget", "Most rows of a batch on this rank; 0: no token budget"),
       field<&S::delivered_bytes>("delivered_bytes", "Bytes delivered"),
       field<&S::wall_seconds>("wall_seconds", "Time from the first epoch's start until now, or to the last batch"),
       field<&S::first_batch_seconds>("first_batch_seconds", "Time from the first epoch's start to its first batch"),
       field<&S::consumer_wait_seconds>("consumer_wait_seconds", "Time the caller waited for batches"),
       field<&S::consumer_work_seconds>("consumer_work_seconds", "Time between one batch and asking for the next"),
       field<&S::batch_wait_p99_seconds>("batch_wait_p99_seconds",
                                         "99th percentile of the time a batch was waited for, to an eighth"),
       field<&S::threads>("threads", "Decode threads"),
       field<&S::rank>("rank", "This loader's rank among the data-parallel processes"),
       field<&S::world_size>("world_size", "Number of data-parallel processes; 1 without ranks"),
       field<&S::row_sums>("row_sums", "Which rows the latest epoch delivered on this rank, as sums"),
       field<&S::exactly_once>("exactly_once",
                               "True once an epoch ended whose sums are those of every sample once: one rank, begun at "
                               "its start, with no dropped tail"),
       field<&S::stages>("stages", "Where the time went, one Stage each"),
       field<&S::chunks_decoded>("chunks_decoded", "Chunks decoded, each time counted"),
       field<&S::read_amplification>("read_amplification",
                                     "Decoded bytes, divided by those of the distinct chunks that each epoch needed; "
                                     "above 1.0: some chunks were decoded more than once, below: some came from memory")
           .detail("Of patches: decoded bytes, divided by the stored bytes of what was delivered."),
       field<&S::waste>("waste", "Share of decoded bytes that no field needed"),
       field<&S::slow_path_chunks>("slow_path_chunks", "Chunks read by a format's own library, one at a time"),
       field<&S::slow_fields>("slow_fields", "Fields read or converted by a format's own library, and why"),
       field<&S::memory>("memory", "Memory, planned and measured"),
       field<&S::cache>("cache", "What is kept of decoded blocks"),
       field<&S::mixing>(
           "mixing",
           "How well the order mixes; None if the data are not shuffled: file order, samplers, groups, mixtures"),
       field<&S::decode_once>(
           "decode_once",
           "Settings that would decode every block once, if the memory is too small for the order; else None"),
       field<&S::reading>("reading", "Reads made ahead of decoding; None where reads came from memory, or quickly"),
       field<&S::to_device>("to_device", "Copies to a device; None where batches stay in the host's memory"),
       field<&S::notices>("notices", "Warnings that were given: settings that hurt, a cache that is not used"),
       field<&S::advice>("advice", "What to change, best first")});
  return spec;
}

}  // namespace headrace
