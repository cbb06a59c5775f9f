import { isUtf8 } from 'node:buffer';
import { analyse } from 'chardet';
import iconv from 'iconv-lite';

/** Bytes that detection looks at; more do not change its answer. */
const SAMPLE_BYTES = 64 * 1024;

const MARKS: [encoding: string, mark: number[]][] = [
  ['utf-32le', [0xff, 0xfe, 0, 0]],
  ['utf-32be', [0, 0, 0xfe, 0xff]],
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** @returns undefined when the bytes are not text */
export function decodeText(bytes: Uint8Array): string | undefined {
  const text = iconv.decode(bytes, encodingOf(bytes));
  return looksLikeText(text) ? text.replaceAll('\r\n', '\n') : undefined;
}

function encodingOf(bytes: Uint8Array): string {
  const marked = MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte));
  if (marked !== undefined) return marked[0];
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const wide = wideEncoding(sample);
  if (wide !== undefined) return wide;
  if (isUtf8(bytes)) return 'utf-8';
  const named = namedEncoding(sample);
  if (named !== undefined) return named;
  const guesses = analyse(sample).filter(({ name }) => !/^(?:UTF|ISO-2022)/.test(name) && iconv.encodingExists(name));
  const [best] = guesses;
  // A broken UTF-8 file stays readable, except where it is broken.
  if (best === undefined || replacementShare(iconv.decode(sample, 'utf-8')) < 0.001) return 'utf-8';
  // Western texts with few accents look alike in both; the Windows variant contains the other.
  return best.name === 'ISO-8859-1' ? 'windows-1252' : best.name;
}

/** The encoding in the head of HTML or XML. */
function namedEncoding(sample: Uint8Array): string | undefined {
  const head = Buffer.from(sample.subarray(0, 2048)).toString('latin1');
  const name = /^\s*<[\s\S]*?\b(?:charset|encoding)\s*=\s*["']?([\w-]{2,40})/.exec(head)?.[1];
  return name !== undefined && !/^utf/i.test(name) && iconv.encodingExists(name) ? name : undefined;
}

/** UTF-16 and UTF-32 without a mark: ASCII characters have zeros at fixed places. */
function wideEncoding(sample: Uint8Array): string | undefined {
  const units = Math.floor(sample.length / 4);
  if (units === 0) return undefined;
  const [a, b, c, d] = [0, 1, 2, 3].map((place) => {
    let zeros = 0;
    for (let index = place; index < units * 4; index += 4) if (sample[index] === 0) zeros += 1;
    return zeros / units;
  }) as [number, number, number, number];
  const many = 0.9;
  const some = 0.2;
  if (c > many && d > many && a < some) return 'utf-32le';
  if (a > many && b > many && d < some) return 'utf-32be';
  if (b > some && d > some && a < 0.02 && c < 0.02) return 'utf-16le';
  if (a > some && c > some && b < 0.02 && d < 0.02) return 'utf-16be';
  return undefined;
}

function replacementShare(text: string): number {
  return count(text, /\uFFFD/g) / Math.max(1, text.length);
}

function looksLikeText(text: string): boolean {
  const sample = text.slice(0, SAMPLE_BYTES);
  const odd = count(sample, /[\u0000-\u0008\u000E-\u001A\u001C-\u001F\uFFFD]/g);
  return odd <= sample.length * 0.02;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
