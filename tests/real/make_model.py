#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make_model.py DIR: a random Llama (541 MB, bf16, three shards) and a tokenizer, made on the spot."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<s>", "</s>", "<unk>", "<pad>"]
TEXT = [
    "the quick brown fox jumps over the lazy dog",
    "a cold start is counted from exec to the first answer",
    "weights are read, kernels are compiled, graphs are captured",
] * 50
CHAT = "{% for m in messages %}{{ m['content'] }}{% endfor %}"


def save_tokenizer(path):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
    )
    fast.chat_template = CHAT
    fast.save_pretrained(path)


def save_model(path):
    torch.manual_seed(1)
    config = LlamaConfig(
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=16,
        num_attention_heads=16,
        num_key_value_heads=16,
        vocab_size=1024,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=3,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(path, max_shard_size="200MB")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    save_tokenizer(sys.argv[1])
    save_model(sys.argv[1])


if __name__ == "__main__":
    main()
