// Character sets that untrusted text must not contain. They differ in what a text's reader needs; choose the set for
// the reader, and convert the text with `toWellFormed()` first.

/** Postgres does not store it in text. */
export const NUL = '\u0000';

/** Removes NUL, which databases reject, and replaces half characters, which also servers reject. */
export const storable = (text: string): string => text.toWellFormed().replaceAll(NUL, '');

/** Characters that do not occur in text files. Unlike `CONTROLS`, without white space, escape and C1. */
export const BINARY_CONTROLS = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/** All control characters, which includes line breaks. For text that is split into words. */
export const CONTROLS = /\p{Cc}/gu;

/** For several lines on a terminal. Keeps tabs and line feeds, and format characters, because emoji need joiners. */
export const CONTROLS_IN_LINES = /(?![\t\n])\p{Cc}/gu;

/** For one line on a terminal, in a header or in a log: no line breaks, and no format characters. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** For several lines that a model reads. Like `UNPRINTABLE`, plus variation selectors, which can encode hidden text. */
export const UNPRINTABLE_IN_LINES = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/**
 * For names that users choose: removes what hides, reorders or fills text. Keeps the joiners and variants that emoji
 * and some scripts need, and flag tags, such as Scotland's.
 */
export const DECEPTIVE_IN_NAMES =
  /(?![\u200c\u200d\p{Variation_Selector}\u{e0020}-\u{e007f}])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u200e\u200f\ufff9-\ufffb]|(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]{0,6})[\u{e0020}-\u{e007f}]/gu;

/** For texts that users approve or read in full. Like `DECEPTIVE_IN_NAMES` with line breaks, plus what can encode hidden text. */
export const DECEPTIVE_IN_TEXT =
  /(?!\t|\n|\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** For one line in a search result, which a model reads. Like `UNPRINTABLE`, plus private use, fillers and the like. */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/** For search queries: like `INVISIBLE` without controls, and keeps the joiners, which Persian, Hindi and emoji need. */
export const INVISIBLE_IN_QUERIES =
  /(?![\u200c\u200d])[\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/** A text without a shape. The Braille blank is a symbol for Unicode. */
export const BLANK = /^[\s\p{Cc}\p{Cf}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
