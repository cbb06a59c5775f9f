/** Characters that hide or reorder text. Joiners and marks of direction are part of scripts and emoji. */
const INVISIBLE = /[\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Replaces what would be invisible, so that a text shows what it contains. */
export const visibleText = (text: string): string => text.replaceAll(INVISIBLE, '␣');

/** Splits Markdown at blank lines outside fences, so that finished blocks are not parsed again with each chunk. */
export function blocksOf(markdown: string): string[] {
  const blocks: string[] = [];
  let [block, fence] = ['', undefined as string | undefined];
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (mark?.startsWith(fence ?? ' ') && line.trim() === mark) fence = undefined;
    if (
      line.trim() === '' &&
      fence === undefined &&
      !/^(?: {2,}|\t|[-*+] |\d+[.)] )/.test(block.split('\n').at(-2) ?? '')
    ) {
      if (block !== '') blocks.push(block);
      block = '';
    } else block += `${line}\n`;
  }
  return block === '' ? blocks : [...blocks, block];
}
