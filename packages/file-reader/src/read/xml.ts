import { SaxesParser } from 'saxes';

export interface Element {
  /** With its prefix, as all programs write it. */
  name: string;
  attributes: Record<string, string>;
}

export interface XmlHandler {
  open?(element: Element): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Reads XML element by element. Entities that a document declares are never expanded and nothing external is loaded:
 * saxes knows neither.
 *
 * @throws when the XML is not well-formed
 */
export function readXml(xml: string, { open, close, text }: XmlHandler): void {
  const parser = new SaxesParser();
  // Keeps handlers simple where documents have whitespace between elements.
  parser.on('error', (error) => {
    throw error;
  });
  if (open) parser.on('opentag', ({ name, attributes }) => open({ name, attributes }));
  if (close) parser.on('closetag', ({ name }) => close(name));
  if (text) {
    parser.on('text', text);
    parser.on('cdata', text);
  }
  parser.write(xml).close();
}

/** Collects paragraphs, where a table's row is a paragraph with its cells between ` | `. */
export function createParagraphs() {
  const lines: string[] = [];
  let line = '';
  let rows = 0;
  let cells: string[] = [];
  const flush = () => {
    if (line.trim() !== '') lines.push(line.trim());
    line = '';
  };
  return {
    add(text: string) {
      line += text;
    },
    endParagraph() {
      if (rows === 0) flush();
      else line += ' ';
    },
    startRow() {
      if (rows === 0) flush();
      rows += 1;
    },
    endCell() {
      if (rows !== 1) return;
      cells.push(line.replace(/\s+/g, ' ').trim());
      line = '';
    },
    endRow() {
      rows = Math.max(0, rows - 1);
      if (rows > 0) return;
      line = cells.join(' | ');
      cells = [];
      flush();
    },
    /** Returns the text since the last call. */
    take(): string {
      flush();
      return lines.splice(0).join('\n');
    },
  };
}
