import { create } from 'content-disposition';
import { visibleText } from '../../platform/http/visible-text.js';

const MAX_NAME_CHARACTERS = 200;
/** File systems accept no more, and exports are ZIP files that users unpack. */
const MAX_NAME_BYTES = 255;

/** Removes path separators and invisible characters from the client's file name, and limits its length. */
export function cleanName(sent: string | undefined): string {
  const name = shortened(visibleText((sent ?? '').replaceAll(/[/\\]/g, '')));
  return /^\.*$/.test(name) ? 'file' : name;
}

/** Keeps the file extension. */
function shortened(name: string): string {
  const ending = /\.[^.]{1,15}$/u.exec(name)?.[0] ?? '';
  let characters = MAX_NAME_CHARACTERS - [...ending].length;
  let bytes = MAX_NAME_BYTES - Buffer.byteLength(ending);
  let start = '';
  for (const character of name.slice(0, name.length - ending.length)) {
    characters -= 1;
    bytes -= Buffer.byteLength(character);
    if (characters < 0 || bytes < 0) break;
    start += character;
  }
  return start + ending;
}

/** Returns a `Content-Disposition` that makes browsers save the file (RFC 6266). */
export function savedAs(name: string): string {
  return create(name, { type: 'attachment' });
}
