/** Longer output is sent in parts, so that it is not lost when the process is killed. */
const PART_CHARACTERS = 8_192;
const PART_MS = 100;

const CUT = '\n[The output is longer and was cut.]\n';

/** Passes on the first `maxBytes` of all output. */
export function createOutput(maxBytes: number, send: (text: string) => void) {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let left = maxBytes;
  let isCut = false;
  let pending = '';
  let sentAt = performance.now();

  function flush(): void {
    if (pending !== '') send(pending.toWellFormed());
    pending = '';
    sentAt = performance.now();
  }

  return {
    write(output: Uint8Array | string): void {
      if (isCut) return;
      const bytes = typeof output === 'string' ? encoder.encode(output) : output;
      pending += decoder.decode(bytes.subarray(0, left), { stream: true });
      left -= bytes.length;
      if (left < 0) {
        isCut = true;
        pending += CUT;
      }
      if (isCut || pending.length > PART_CHARACTERS || performance.now() - sentAt > PART_MS) flush();
    },
    end: flush,
  };
}
