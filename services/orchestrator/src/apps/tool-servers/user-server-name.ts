import { oneLine } from '../../records/one-line.js';
import { looks } from './tool-definition.js';

/** Non-Latin letters, each before the Latin one that it looks like. */
const LOOK_ALIKES =
  'аa вb ьb сc ԁd еe гr һh нh іi ӏi јj кk мm оo рp ԛq ѕs тt уy хx ԝw αa βb γy εe ηn ιi κk νv οo ρp σo ' +
  'τt υu χx ωw ϲc ϳj օo սu հh ոn ıi ɑa ɡg ɩi ǀi łi øo đd';
const LATIN = new Map(LOOK_ALIKES.split(' ').map(([letter = '', latin = '']) => [letter, latin]));

/** Equal for server names that look alike on a card, such as `GitHub`, `Git-Hub` and `GіtHub` with a Cyrillic і. */
export const lookOfName = (name: string): string =>
  looks(
    [...name.normalize('NFKD').toLowerCase()]
      .map((letter) => LATIN.get(letter) ?? letter)
      .join('')
      .replaceAll(/[|!]/g, 'i')
      .replaceAll(/[^\p{L}\p{Nd}]/gu, ''),
  );

/** A name as it is stored: one line without invisible characters. Empty if nothing that can be told apart is left. */
export function cleanName(name: string): string {
  const clean = oneLine(name.normalize('NFC'));
  return lookOfName(clean) === '' ? '' : clean;
}
