/** English has about 4 bytes per token, other scripts and JSON fewer: an estimate must not be below what is billed. */
const BYTES_PER_TOKEN = 3;

/** Estimates the tokens of a text by its UTF-8 bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
