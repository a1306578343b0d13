"""Instruction data: find responses that do not fit their prompts, and keep a part, by a causal language model.

The model is a tiny GPT-2 that is trained here in seconds. Any folder of a causal model will do as hf:PATH.
"""

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import winnow as wn

names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
sums = [(names[a], names[b], names[a + b]) for a in range(6) for b in range(5)]
pairs = [(f"case {case} : what is {a} plus {b} ?", f"{a} plus {b} is {c}") for case in names[:8] for a, b, c in sums]
wrong = np.random.default_rng(0).choice(len(pairs), 20, replace=False)  # these get the response of another
given = [(prompt, pairs[k - 77][1] if k in wrong else response) for k, (prompt, response) in enumerate(pairs)]
source = wn.open(given, ids=np.arange(len(pairs)))  # a JSONL file with these two columns will do as well

words = ["<s>", *sorted({word for pair in pairs for word in " ".join(pair).split()})]
tokens = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<s>"))
tokens.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, bos_token="<s>", pad_token="<s>")
sizes = {"vocab_size": len(words), "n_positions": 32, "n_embd": 64, "n_layer": 2, "n_head": 4}
torch.manual_seed(0)
gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-3)
batch = tokenizer([f"<s> {' '.join(pair)}" for pair in pairs[::2]], return_tensors="pt")  # all have one length
for _ in range(150):
    optimizer.zero_grad()
    gpt(**batch, labels=batch["input_ids"]).loss.backward()
    optimizer.step()
gpt.save_pretrained("gpt"), tokenizer.save_pretrained("gpt")

scores = wn.score("instruction_difficulty", wn.observe(source, "hf:gpt", want="token_losses"))
hardest = scores.ids[np.argsort(-scores.values)[:20]]
print(f"of the 20 responses that their prompts help least, {len(set(hardest) & set(wrong))} belong to another prompt")
subset = wn.prune(source, keep=0.25, method="token_loss+strata(drop=0.1)", model="hf:gpt")
print(f"kept {len(subset)}, with {len(set(subset.ids) & set(wrong))} of them")
