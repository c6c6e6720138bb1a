"""Train the small tokenizer beside this: 5,000 tokens of GPT-2's kind, from this repository and words of other scripts.

usage: make_small_bpe.py

It was made once, with tokenizers 0.23.3, and is kept as it is: other text makes another.
"""

from __future__ import annotations

import random
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
WORDS = [
    *["été", "über", "Straße", "данные", "модель", "データ", "模型", "中文字符", "한국어"],
    *["αβγ", "naïve", "😀", "👍🏽", "ñandú", "čeština", "١٢٣", "हिन्दी"],
]


def main() -> None:
    paths = [*ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.cpp"), *ROOT.glob("python/headrace/*.py")]
    texts = [path.read_text(encoding="utf-8") for path in sorted(paths) if path.name != "unicode_classes.cpp"]
    draw = random.Random(7)
    texts.append(" ".join(draw.choice(WORDS) for _ in range(20_000)))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=5000, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"])
    )
    tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)


if __name__ == "__main__":
    main()
