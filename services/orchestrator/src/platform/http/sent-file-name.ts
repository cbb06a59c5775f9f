import { parse } from 'content-disposition';

/** Parts of a form's `Content-Disposition` header (RFC 7578). */
export interface SentDisposition {
  field: string | undefined;
  /** The file name that the client means, without its folders. */
  fileName: string | undefined;
}

/** @param header its bytes as Latin-1 text, as header parsers return them */
export function sentDisposition(header: string): SentDisposition | undefined {
  // Browsers write `%22` for a quote and leave backslashes alone, others escape a quote with a backslash.
  const parameters = readParameters(header, !header.includes(String.raw`\"`));
  if (parameters === undefined) return undefined;
  const plain = parameters['filename'];
  const names = [
    extendedName(parameters['filename*'] ?? continuedName(parameters)),
    plain === undefined ? undefined : decodedName(textOf(latin1(plain))),
  ].filter((name) => name !== undefined);
  const readable = names.find((name) => name !== '' && !name.includes('\ufffd'));
  return { field: parameters['name'], fileName: withoutFolders(readable ?? names[0]) };
}

function readParameters(header: string, multipart: boolean): Record<string, string | undefined> | undefined {
  const { type, parameters } = parse(header, { multipart, extended: false });
  return type === 'form-data' ? parameters : undefined;
}

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

function withoutFolders(path: string | undefined): string | undefined {
  return path === undefined ? undefined : /[^/\\]*$/.exec(path)?.[0];
}

/** Tries UTF-8 first, then the encoding that old Windows programs use. */
function textOf(bytes: Uint8Array): string {
  return decoded(bytes, 'utf-8', true) ?? decoded(bytes, 'windows-1252') ?? '';
}

/** Undefined if the encoding is not known, or the bytes are not in it. */
function decoded(bytes: Uint8Array, charset: string, fatal = false): string | undefined {
  try {
    return new TextDecoder(charset, { fatal }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Each `%` without two hexadecimal digits is text. */
function percentDecoded(text: string): Uint8Array {
  return latin1(text.replaceAll(/%([\da-f]{2})/gi, (_escape, code: string) => String.fromCharCode(parseInt(code, 16))));
}

/** RFC 8187: `UTF-8''%C3%9Cber.pdf`. Some clients leave out the encoding, or do not escape the name. */
function extendedName(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const [, charset = '', encoded = value] = /^([\w.:+-]*)'[\w-]*'(.*)$/s.exec(value) ?? [];
  const bytes = percentDecoded(encoded);
  return (charset === '' ? undefined : decoded(bytes, charset, true)) ?? textOf(bytes);
}

/** RFC 2231: a long name in parts, `filename*0*=UTF-8''%C3; filename*1*=%9Cber.pdf`. */
function continuedName(parameters: Record<string, string | undefined>): string | undefined {
  let name: string | undefined;
  for (let n = 0; ; n += 1) {
    const part = parameters[`filename*${n}*`] ?? parameters[`filename*${n}`]?.replaceAll('%', '%25');
    if (part === undefined) return name;
    name = (name ?? '') + part;
  }
}

function decodedName(name: string): string {
  return withoutEncodedWords(uriDecoded(name));
}

/** React Native sends names that `encodeURIComponent` has returned. In other names, the user has written the `%`. */
function uriDecoded(name: string): string {
  try {
    const text = decodeURIComponent(name);
    return encodeURIComponent(text) === name ? text : name;
  } catch {
    return name;
  }
}

const WORD = String.raw`=\?([\w.:+-]+)(?:\*[\w-]*)?\?([BQ])\?([^?]*)\?=`;
/** White space between words is not part of the name. */
const WORDS = new RegExp(`${WORD.replaceAll(/\((?!\?)/g, '(?:')}(?:\\s*${WORD.replaceAll(/\((?!\?)/g, '(?:')})*`, 'gi');
const EACH_WORD = new RegExp(WORD, 'gi');

/** RFC 2047, as .NET sends names that are not ASCII: `=?utf-8?B?w5xiZXIucGRm?=`. */
function withoutEncodedWords(name: string): string {
  return name.replaceAll(WORDS, (words) => {
    const runs: { charset: string; bytes: Uint8Array }[] = [];
    for (const [, charset = '', encoding = '', text = ''] of words.matchAll(EACH_WORD)) {
      const bytes = wordBytes(encoding, text);
      const last = runs.at(-1);
      // A character can be divided between two words.
      if (last?.charset === charset) last.bytes = Buffer.concat([last.bytes, bytes]);
      else runs.push({ charset, bytes });
    }
    const texts = runs.map(({ charset, bytes }) => decoded(bytes, charset));
    return texts.includes(undefined) ? words : texts.join('');
  });
}

function wordBytes(encoding: string, text: string): Uint8Array {
  if (encoding.toUpperCase() === 'B') return Buffer.from(text, 'base64');
  const escaped = text.replaceAll('%', '%25').replaceAll('_', ' ');
  return percentDecoded(escaped.replaceAll(/=([\da-f]{2})/gi, '%$1'));
}
