/** Characters of a part. */
export const MAX_PART = 12_000;

/** Cuts a block that is longer than a part. A table's header begins each of its pieces. */
function pieces(block: string, max: number): string[] {
  if (block.length <= max) return [block];
  const lines = block.split('\n');
  const [head = '', rule = ''] = lines;
  const isTable = head.startsWith('|') && /^\|[\s:|-]+\|$/.test(rule) && head.length + rule.length < max / 2;
  const header = isTable ? `${head}\n${rule}\n` : '';
  const cut: string[] = [];
  let piece = '';
  for (const line of isTable ? lines.slice(2) : lines) {
    const room = max - header.length;
    for (let start = 0; start < Math.max(1, line.length); start += room) {
      const part = line.slice(start, start + room);
      if (piece !== '' && piece.length + part.length + 1 > room) {
        cut.push(header + piece);
        piece = '';
      }
      piece = piece === '' ? part : `${piece}\n${part}`;
    }
  }
  return piece === '' ? cut : [...cut, header + piece];
}

/** Divides Markdown at its paragraphs into parts of at most `max` characters. There is at least one. Pure. */
export function partsOf(markdown: string, max = MAX_PART): string[] {
  const parts: string[] = [];
  let part = '';
  for (const piece of markdown.split(/\n{2,}/).flatMap((block) => pieces(block, max))) {
    if (part !== '' && part.length + piece.length + 2 > max) {
      parts.push(part);
      part = '';
    }
    part = part === '' ? piece : `${part}\n\n${piece}`;
  }
  return part === '' && parts.length > 0 ? parts : [...parts, part];
}
