#include <gtest/gtest.h>
#include <headrace/bytes.h>
#include <headrace/tools.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temporary_folder.h"
#include "dataset/recipe/data_tree.h"
#include "dataset/recipe/verb_options.h"
#include "tools/runs/run_file_text.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

class RunFile : public ::testing::Test {
 protected:
  RunConfig load(const std::string& text) const {
    std::ofstream(root_ + "/run.yaml") << text;
    return load_run(root_ + "/run.yaml");
  }
  /// The whole text of the refusal.
  std::string refusal(const std::string& text) const {
    try {
      load(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
      EXPECT_EQ(error.file(), root_ + "/run.yaml");
      return error.what();
    }
    ADD_FAILURE() << "accepted: " << text;
    return "";
  }
  /// A loader section around one line.
  static std::string with(const std::string& line) {
    return "data: {files: a.h5}\nloader:\n  batch_size: 8\n  " + line + "\n";
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

TEST_F(RunFile, TheExampleOfTheManual) {
  const RunConfig run = load(
      "data:   {files: \"train_*.h5\", fields: {x: feature_matrix, y: labels}}\n"
      "loader: {batch_size: 512, shuffle: true, seed: 7, memory: 8GiB}\n");
  EXPECT_EQ(flow_text(data_value(*run.data)),
            "{files: \"" + root_ + "/train_*.h5\", fields: {x: \"feature_matrix\", \"y\": \"labels\"}}");
  EXPECT_EQ(std::get<Samples>(run.loader.batch).size, 512U);
  EXPECT_TRUE(run.loader.order.is<BlockShuffle>());
  EXPECT_EQ(run.loader.seed, 7U);
  EXPECT_EQ(run.loader.memory, gibibytes(8));
  EXPECT_EQ(tail_of(run.loader.batch), Tail::kPartial);
}

TEST_F(RunFile, ListsOfFilesAndFields) {
  const RunConfig run = load(
      "data:\n  files: [b.h5, /abs/a.h5, ~/c.h5]\n  fields: [feature_matrix, labels]\n"
      "loader:\n  batch_size: 4\n  shuffle: exact\n  tail: drop\n  threads: 3\n  timeout: 1.5\n");
  const FilesNode& files = *options_of<FilesNode>(*run.data);
  EXPECT_EQ(files.paths, (std::vector<std::string>{root_ + "/b.h5", "/abs/a.h5", "~/c.h5"}));
  EXPECT_EQ(files.options.fields[1].path, "labels");
  EXPECT_TRUE(run.loader.order.is<ExactShuffle>());
  EXPECT_EQ(tail_of(run.loader.batch), Tail::kDrop);
  EXPECT_EQ(run.loader.threads, 3U);
  EXPECT_EQ(run.loader.timeout, std::chrono::milliseconds(1500));
}

TEST_F(RunFile, UnknownKeysNameTheNearest) {
  const std::string text = refusal("data: {files: a.h5}\nloader:\n  batchsize: 512\n");
  expect_contains(text, "line 3");
  expect_contains(text, "loader.batchsize");
  expect_contains(text, "Did you mean batch_size?");
  expect_contains(refusal("data: {filse: a.h5}\n"), "Did you mean files?");
  expect_contains(refusal("date: {files: a.h5}\n"), "Did you mean data?");
}

TEST_F(RunFile, DuplicateKeysAreRefused) {
  expect_contains(refusal(with("batch_size: 9")), "given twice, first on line 3");
  expect_contains(refusal("data: {files: a.h5}\ndata: {files: b.h5}\nloader: {batch_size: 1}\n"), "given twice");
  expect_contains(refusal("data: {files: a.h5, fields: {x: a, x: b}}\nloader: {batch_size: 1}\n"), "given twice");
}

TEST_F(RunFile, BothWordsForTheBatchSize) {
  EXPECT_EQ(std::get<GlobalSamples>(load("data: {files: a.h5}\nloader: {global_batch_size: 64}\n").loader.batch).size,
            64U);
  expect_contains(refusal(with("global_batch_size: 8")), "batch_size and global_batch_size exclude each other");
  expect_contains(refusal(with("global_batch_size: 8")), "Give one of them");
}

TEST_F(RunFile, ContradictionsAreRefused) {
  expect_contains(refusal("data: {files: a.h5}\nloader: {batch_size: 8, drop_last: true, tail: partial}\n"),
                  "contradict");
  EXPECT_EQ(tail_of(load("data: {files: a.h5}\nloader: {batch_size: 8, drop_last: true, tail: drop}\n").loader.batch),
            Tail::kDrop);
}

TEST_F(RunFile, KnownWordsOfLaterVersionsSayWhatIsTaken) {
  expect_contains(refusal(with("device: cuda:0")), "framework is numpy");
  expect_contains(refusal(with("device: Cuda\n  framework: torch")), "must be cpu, or a device of torch");
  expect_contains(refusal(with("device: 'cuda:'\n  framework: torch")), "must be cpu, or a device of torch");
  EXPECT_EQ(load(with("device: cuda:0\n  framework: torch")).loader.staged_batches, 3U);
  expect_contains(refusal(with("sampler: mine")), "given in code");
}

TEST_F(RunFile, Caches) {
  EXPECT_EQ(load(with("cache: ram")).loader.cache.mode, CacheChoice::kRam);
  EXPECT_EQ(load(with("cache: ram\n  share: host")).loader.share, Share::kHost);
  expect_contains(refusal(with("cache: none\n  share: host")), "Leave one of them out");
  const CacheChoice choice = load(with("cache: some/where")).loader.cache;
  EXPECT_EQ(choice.mode, CacheChoice::kDirectory);
  EXPECT_EQ(choice.directory, root_ + "/some/where");  // beside the run file
  expect_contains(refusal(with("cache: rma")), "./rma");
  expect_contains(refusal(with("share: node")), "must be host");
}

TEST_F(RunFile, OrderRanksAndTails) {
  const LoaderOptions options =
      load(with("rank: 1\n  world_size: 4\n  tail: pad\n  shuffle: true\n  shuffle_buffer: 1GiB\n  provenance: true"))
          .loader;
  EXPECT_EQ(options.rank, 1U);
  EXPECT_EQ(options.world_size, 4U);
  EXPECT_EQ(tail_of(options.batch), Tail::kPad);
  EXPECT_EQ(options.order.get<BlockShuffle>()->shape.bytes, std::uint64_t{1} << 30);
  EXPECT_TRUE(options.provenance);
  expect_contains(refusal(with("world_size: 4")), "Give both");
  expect_contains(refusal(with("tail: repeat")), "partial, drop or pad");
}

TEST_F(RunFile, SaysAllThatPythonDoes) {
  const RunConfig run = load(
      with("framework: torch\n  batch_format: tuple\n  shuffle: block\n  shuffle_buffer: 64x4\n  on_error: raise"));
  EXPECT_EQ(run.framework, "torch");
  EXPECT_EQ(run.batch_format, "tuple");
  EXPECT_EQ(run.loader.order.get<BlockShuffle>()->shape, (ShuffleShape{64, 4, 0}));
  expect_contains(refusal(with("framework: jax")), "must be numpy or torch");
  expect_contains(refusal(with("shuffle_buffer: 64x")), "64x4");
  expect_contains(refusal(with("shuffle_buffer: 0x4")), "64x4");
}

TEST_F(RunFile, ValuesOfTheWrongKind) {
  for (const char* line :
       {"seed: 1e3", "seed: -1", "seed: 010", "seed: [1]", "seed: 99999999999999999999", "memory: much", "memory: 0",
        "threads: 0", "shuffle: yes", "shuffle: 1", "drop_last: \"true\"", "timeout: -1", "timeout: nan", "seed:"})
    expect_contains(refusal(with(line)), "line 4");
  expect_contains(refusal("data: a.h5\nloader: {batch_size: 1}\n"), "a map");
  expect_contains(refusal("data: {files: []}\nloader: {batch_size: 1}\n"), "empty");
  expect_contains(refusal("data: {files: a.h5, fields: {}}\nloader: {batch_size: 1}\n"), "no field");
}

TEST_F(RunFile, WhatIsMissingIsNamed) {
  expect_contains(refusal(""), "empty");
  expect_contains(refusal("loader: {batch_size: 1}\n"), "data.files is missing");
  expect_contains(refusal("data: {files: a.h5}\n"), "loader is missing");
  expect_contains(refusal("data: {files: a.h5}\nloader: {seed: 1}\n"), "batch_size is missing");
}

TEST_F(RunFile, WhatCouldBeABombIsRefused) {
  expect_contains(refusal("data: &a {files: x}\nloader: *a\n"), "anchors");
  expect_contains(refusal("data: {files: *a}\n"), "");
  expect_contains(refusal("data: !python/object {files: x}\n"), "tag");
  expect_contains(refusal("data: " + std::string(40, '[') + std::string(40, ']')), "deeper");
  expect_contains(refusal("data: " + std::string(20000, '[')), "");
  expect_contains(refusal("data: {files: [" +
                          [] {
                            std::string items;
                            for (int i = 0; i < 1500000; ++i) items += "a,";
                            return items;
                          }() +
                          "a]}\n"),
                  "more than 1000000");
  expect_contains(refusal("# " + std::string(20 << 20, 'x') + "\n"), "too many");
  expect_contains(refusal("data: {files: a}\nloader: {batch_size: 1}\n---\ndata: 1\n"), "more than one document");
  expect_contains(refusal("data: {files: \"a\n"), "line");
}

TEST_F(RunFile, ADirectoryWithGlobCharactersIsTakenLiterally) {
  fs::create_directory(root_ + "/set[1]");
  std::ofstream(root_ + "/set[1]/run.yaml") << "data: {files: [\"*.h5\", a.h5]}\nloader: {batch_size: 1}\n";
  const RunConfig run = load_run(root_ + "/set[1]/run.yaml");
  EXPECT_EQ(options_of<FilesNode>(*run.data)->paths,
            (std::vector<std::string>{root_ + "/set[[]1]/*.h5", root_ + "/set[1]/a.h5"}));
}

TEST_F(RunFile, WhatIsWrittenMeansTheSameElsewhere) {
  const auto text = [](const std::string& run) { return run_file_text(parse_run(run, "/runs/run.yaml").value()); };
  for (const std::string run :
       {"data: {files: a.h5}\nloader: {group_by: 'event: id # 7', max_items: 100}\n",
        "data: {files: a.h5}\nloader: {group_by: 'null'}\n", "data: {files: a.h5}\nloader: {group_by: 0}\n",
        "data: {files: a.h5, sample_by: {key: 'keys.h5::event'}}\nloader: {batch_size: 1}\n",
        "data: {files: a.h5, sample_by: {offsets: 'keys.h5::ends'}}\nloader: {batch_size: 1, timeout: 0.3}\n",
        "data: {files: a.h5}\nloader: {batch_size: 1, timeout: 8.999999999}\n"}) {
    const std::string written = text(run);
    const auto again = parse_run(written, "/elsewhere/run.yaml");
    ASSERT_TRUE(again.ok()) << written << again.error().what();
    EXPECT_EQ(run_file_text(*again), written);
  }
  expect_contains(text("data: {files: a.h5, sample_by: {key: 'k.h5::id'}}\nloader: {batch_size: 1}\n"),
                  "\"/runs/k.h5::id\"");
}

TEST_F(RunFile, ClassesKeepTheirOrder) {
  const std::string patches = "data: {files: a, volume: {}, patches: {shape: 8, samples_per_epoch: 1, ";
  const RunConfig run = load(patches + "balance: {b: [2, 1], a: [3]}}}\nloader: {batch_size: 1}\n");
  const auto again = parse_run(run_file_text(run), "run.yaml");
  ASSERT_TRUE(again.ok()) << again.error().what();
  EXPECT_EQ(recipe_of(*again->data), recipe_of(*run.data));
  EXPECT_EQ(options_of<PatchOptions>(*again->data)->balance[1].value->text(), "1");
  for (const char* key : {"balance", "context"})
    expect_contains(refusal(patches + key + ": {b: [2], b: [1]}}}\nloader: {batch_size: 1}\n"), "given twice");
}

TEST_F(RunFile, AShortTimeoutIsALimit) {
  EXPECT_EQ(load(with("timeout: 1e-10")).loader.timeout.count(), 1);
  EXPECT_EQ(load(with("timeout: 0.3")).loader.timeout.count(), 300'000'000);
}

TEST_F(RunFile, AConfigurationOfATextProgramIsToldSo) {
  std::string text = refusal("data_config: {batch_size: 8, tokenizer_name: gpt2}\n");
  expect_contains(text, "a configuration for headrace.jax.load_text_dataset");
  expect_contains(text, "the path of the data and the sequence length are missing");
  expect_contains(text, "data_path");
  expect_contains(text, "seq_len");
  expect_contains(refusal("data: {path: a.bin, tokenizer_name: gpt2, batch_size: 8}\n"),
                  "the sequence length is missing");
  const auto run = parse_run("data: {path: 'c/*.jsonl', tokenizer_name: gpt2, batch_size: 8, seq_len: 64}\n", "c.yaml");
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().code(), ErrorCode::kUnsupported);
  text = run.error().what();
  expect_contains(text, "data.path: c/*.jsonl is text");
  expect_contains(text, "headrace.jax.load_text_dataset");
  expect_contains(text, "headrace tokenize 'c/*.jsonl' --tokenizer gpt2 --to FOLDER");
  expect_contains(text, "headrace bench text --path 'c/*.jsonl'");
}

TEST_F(RunFile, LinksInACircleAreThere) {
  fs::create_symlink("loop.yaml", root_ + "/loop.yaml");
  try {
    load_run(root_ + "/loop.yaml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kReadFailed) << error.what();
    expect_contains(error.what(), "ELOOP (too many symbolic links)");
    expect_contains(error.what(), "links lead in a circle");
  }
}

TEST_F(RunFile, AMissingRunFile) {
  try {
    load_run(root_ + "/none.yaml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST(Versions, NamesEveryLibrary) {
  std::vector<std::string> names;
  for (const auto& [name, version] : versions()) {
    EXPECT_FALSE(version.empty()) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names.front(), "headrace");
  EXPECT_GE(names.size(), 7U);
}

TEST_F(RunFile, ANameThatCouldNotBeWrittenAgainIsNotRead) {
  const auto with_name = [](std::size_t length) {
    return parse_run("data: {files: a.h5, fields: {" + std::string(length, 'n') + ": x}}\nloader: {batch_size: 1}\n",
                     "/runs/run.yaml");
  };
  const auto read = with_name(400);
  ASSERT_TRUE(read.ok());
  EXPECT_NE(run_file_text(*read).find(std::string(400, 'n')), std::string::npos);
  const auto refused = with_name(600);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("a name is too long"), std::string::npos) << refused.error().what();
}

TEST_F(RunFile, EscapesOfWhichYamlCppMakesOneByteAreRefused) {
  const auto with_escape = [](const std::string& escape) {
    return parse_run("data: {files: a.h5,\n  fields: {x: \"a" + escape + "b\"}}\nloader: {batch_size: 1}\n",
                     "/runs/run.yaml");
  };
  for (const char* escape : {R"(\N)", R"(\_)"}) {
    const auto refused = with_escape(escape);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message().find("line 2: the escapes"), std::string::npos) << refused.error().what();
  }
  EXPECT_TRUE(with_escape(R"(\u0085\u00a0)").ok());
}

}  // namespace
}  // namespace headrace
