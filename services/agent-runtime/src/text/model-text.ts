import { UNPRINTABLE_IN_LINES } from '@uswarm/service-kit';

/** A regional flag, such as Scotland's: a black flag and a code in tag characters, which hide text elsewhere. */
const FLAG = String.raw`\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}`;
const CANDIDATES = new RegExp(`${FLAG}|${UNPRINTABLE_IN_LINES.source}`, 'gu');
/** A text end that can be the beginning of a flag, or half a character. */
const INCOMPLETE = /\u{1f3f4}[\u{e0030}-\u{e007a}]{0,6}[\ud800-\udbff]?$|[\ud800-\udbff]$/u;

const BLACK_FLAG = '\u{1f3f4}';
/** The joiners of emoji and of scripts such as Persian and Hindi. Between Latin letters, they only hide words. */
const JOINERS = /^[\u200c\u200d]$/;
const JOINABLE =
  /^(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{M}]|(?!\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic})\p{L})$/u;
/** Text or emoji presentation of the character before. Other selectors, and runs of them, can encode hidden text. */
const PRESENTATION = /^[\ufe0e\ufe0f]$/;
const PRESENTABLE = /^\p{Emoji}$/u;

/** The last code point in a text. */
const lastOf = (text: string): string => Array.from(text.slice(-2)).at(-1) ?? '';

/** @param before the code point before it */
function isNeeded(character: string, before: () => string): boolean {
  if (character.startsWith(BLACK_FLAG)) return true;
  if (JOINERS.test(character)) return JOINABLE.test(before());
  return PRESENTATION.test(character) && PRESENTABLE.test(before());
}

/** Cleans a model's streamed text for users. */
interface ModelText {
  /** @returns the clean text so far that was not returned before */
  add(piece: string): string;
  /** @returns the rest, when the text ends */
  end(): string;
}

/**
 * Removes characters that hide or reorder text, and keeps those that emoji and scripts need, also if a sequence is
 * split over several pieces.
 */
export function createModelText(): ModelText {
  let held = '';
  let last = '';

  function clean(sent: string): string {
    const text = sent.toWellFormed();
    const shown = text.replaceAll(CANDIDATES, (character: string, offset: number) =>
      isNeeded(character, () => (offset === 0 ? last : lastOf(text.slice(0, offset)))) ? character : '',
    );
    if (text !== '') last = lastOf(text);
    return shown;
  }

  return {
    add(piece) {
      const whole = held + piece;
      held = INCOMPLETE.exec(whole)?.[0] ?? '';
      return clean(whole.slice(0, whole.length - held.length));
    },
    end() {
      const rest = held;
      held = '';
      return clean(rest);
    },
  };
}

/** Cleans a whole text that agents wrote or quote. */
export function modelText(text: string): string {
  const cleaner = createModelText();
  return cleaner.add(text) + cleaner.end();
}
