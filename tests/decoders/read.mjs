// Prints the sha256 of what Node's built-in zstd reads from a file: `node read.mjs FILE sync` as a whole,
// `node read.mjs FILE N` streamed in pieces of N bytes.
import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";

const [file, how] = process.argv.slice(2);
const hash = createHash("sha256");
if (how === "sync") {
  hash.update(zlib.zstdDecompressSync(readFileSync(file), { maxOutputLength: 2 ** 32 }));
} else {
  const highWaterMark = Number(how);
  const decoder = zlib.createZstdDecompress({ chunkSize: Math.max(64, highWaterMark) });
  await pipeline(createReadStream(file, { highWaterMark }), decoder, async (source) => {
    for await (const piece of source) hash.update(piece);
  });
}
console.log(hash.digest("hex"));
