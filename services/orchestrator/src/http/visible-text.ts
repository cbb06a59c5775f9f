/** Control characters, and what is not seen or reorders what is. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;

/** A name as people see it: nothing in it deceives a reader. */
export function visibleText(sent: string): string {
  return sent.toWellFormed().replace(INVISIBLE, '').normalize('NFC').trim();
}
