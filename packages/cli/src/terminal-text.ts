import { styleText } from 'node:util';
import { CONTROLS_IN_LINES, DECEPTIVE_IN_TEXT, UNPRINTABLE } from '@uswarm/service-kit';

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** True on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function wantsColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === '';
}

export const createPaint =
  (colour: boolean): Paint =>
  (style, text) =>
    colour ? styleText(style, text, { validateStream: false }) : text;

/** Removes control characters except tabs and line breaks: an answer can quote untrusted text. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS_IN_LINES, '');
}

/** Untrusted text as one line, such as a title. */
export function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(UNPRINTABLE, '').trim();
}

/** Untrusted text that the user decides on, as lines. Without characters that hide or reorder text. */
export function visibleLines(text: string): string[] {
  return text.toWellFormed().replaceAll(DECEPTIVE_IN_TEXT, '').split('\n');
}

const ZERO_WIDTH = /^\p{M}$|^\u200d$|^[\ufe00-\ufe0f]$/u;
const WIDE =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]$|^\p{Emoji_Presentation}$|^[\u{20000}-\u{3fffd}]$/u;

const widthOf = (character: string): number => (ZERO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** The beginning of a line that has at most this many columns; a cut line ends with an ellipsis. */
export function fit(line: string, columns: number): string {
  let width = 0;
  let kept = '';
  let whole = '';
  for (const character of line) {
    width += widthOf(character);
    if (width <= columns - 1) kept += character;
    if (width > columns) return `${kept}…`;
    whole += character;
  }
  return whole;
}
