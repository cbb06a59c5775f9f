import { create } from 'content-disposition';
import { visibleText } from '../../http/visible-text.js';

const LONGEST_NAME = 200;

/** The name that a client gave its file, without what could deceive a reader or leave a folder. */
export function cleanName(sent: string | undefined): string {
  const name = visibleText((sent ?? '').replaceAll(/[/\\]/g, ''));
  const [...characters] = name;
  const short = characters.length <= LONGEST_NAME ? name : shortened(characters);
  return /^\.*$/.test(short) ? 'file' : short;
}

/** The end is kept where it tells the kind of file. */
function shortened(characters: string[]): string {
  const ending = /\.[^.]{1,15}$/u.exec(characters.join(''))?.[0] ?? '';
  return characters.slice(0, LONGEST_NAME - [...ending].length).join('') + ending;
}

/** `Content-Disposition` that has the file saved, whatever it is called (RFC 6266). */
export function savedAs(name: string): string {
  return create(name, { type: 'attachment' });
}
