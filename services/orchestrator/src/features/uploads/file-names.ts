import { create } from 'content-disposition';
import { visibleText } from '../../http/visible-text.js';

const MAX_NAME_CHARACTERS = 200;

/** Removes path separators and invisible characters from the file name of a client, and limits its length. */
export function cleanName(sent: string | undefined): string {
  const name = visibleText((sent ?? '').replaceAll(/[/\\]/g, ''));
  const [...characters] = name;
  const short = characters.length <= MAX_NAME_CHARACTERS ? name : shortened(characters);
  return /^\.*$/.test(short) ? 'file' : short;
}

/** Keeps the file extension. */
function shortened(characters: string[]): string {
  const ending = /\.[^.]{1,15}$/u.exec(characters.join(''))?.[0] ?? '';
  return characters.slice(0, MAX_NAME_CHARACTERS - [...ending].length).join('') + ending;
}

/** The `Content-Disposition` that makes a browser save the file (RFC 6266). */
export function savedAs(name: string): string {
  return create(name, { type: 'attachment' });
}
