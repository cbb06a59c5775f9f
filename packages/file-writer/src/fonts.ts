import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { create, type Font } from 'fontkit';

/** They have Latin, Greek, Cyrillic, Armenian and Georgian letters, and many symbols. */
const FONTS = {
  normal: 'DejaVuSans.ttf',
  bold: 'DejaVuSans-Bold.ttf',
  italic: 'DejaVuSans-Oblique.ttf',
  monospaced: 'DejaVuSansMono.ttf',
} as const;

export type FontName = keyof typeof FONTS;

/** An image has the fonts beside its programs. */
export function readFont(name: FontName): Buffer {
  const beside = new URL(`../fonts/${FONTS[name]}`, import.meta.url);
  if (existsSync(beside)) return readFileSync(beside);
  return readFileSync(createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${FONTS[name]}`));
}

/** Symbols that say nothing in print without their colours, and characters without a picture. */
const DROPPED =
  /[\u{1F000}-\u{1FAFF}\u{200B}-\u{200F}\u{2060}-\u{206F}\u{FEFF}\u{E0000}-\u{E007F}]|\p{Variation_Selector}/u;
/** Written from right to left, which the layout does not do. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
/** Above this part of all letters, the file would be unreadable. */
const MAX_MISSING = 0.1;
const LISTED = 10;

/** Replaces what a font lacks. */
export interface Coverage {
  covered(text: string, font: FontName): string;
  /** Characters that were replaced, and symbols that were dropped. */
  report(): { missing: string[]; dropped: boolean; isUnreadable: boolean };
}

export function createCoverage(files: Record<FontName, Buffer>): Coverage {
  const fonts = new Map<FontName, Font>();
  const fontOf = (name: FontName): Font => {
    const font = fonts.get(name) ?? (create(files[name]) as Font);
    fonts.set(name, font);
    return font;
  };
  const missing = new Set<string>();
  let [letters, replaced, dropped] = [0, 0, false];

  function shown(character: string, font: Font): string {
    if (/\s/.test(character)) return character;
    letters += 1;
    if (!RIGHT_TO_LEFT.test(character) && font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0)) return character;
    if (DROPPED.test(character)) {
      dropped = true;
      return '';
    }
    replaced += 1;
    if (missing.size < LISTED) missing.add(character);
    return '?';
  }

  return {
    covered(text, name) {
      if (/^[\x20-\x7E\n\t]*$/.test(text)) {
        letters += text.length;
        return text;
      }
      const font = fontOf(name);
      return Array.from(text.normalize('NFC'), (character) => shown(character, font)).join('');
    },
    report: () => ({ missing: [...missing], dropped, isUnreadable: replaced > letters * MAX_MISSING }),
  };
}
