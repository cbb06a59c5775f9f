import type { FileText } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { corrupt, ProblemError } from './problem.js';
import { createParagraphs, readXml } from './xml.js';
import type { Zip } from './zip.js';

/** Comments, deleted text and the like. */
const SKIPPED = new Set(['office:annotation', 'text:tracked-changes', 'text:note-citation', 'office:scripts']);

/** Reads an .odt or .odp file. */
export async function readOpenDocument(zip: Zip, slides: boolean, characters: number): Promise<FileText> {
  const what = slides ? 'presentation' : 'document';
  const files = await zip.read((name) => name === 'content.xml' || name === 'META-INF/manifest.xml');
  const manifest = Buffer.from(files.get('META-INF/manifest.xml') ?? []).toString('utf8');
  if (manifest.includes('encryption-data'))
    throw new ProblemError('encrypted', `The ${what} is protected by a password.`);
  const content = files.get('content.xml');
  if (content === undefined) throw corrupt(what);
  const output = createOutput(characters);
  let number = 0;
  let heading = '';
  readBody(Buffer.from(content).toString('utf8'), {
    slides,
    part(text, nextHeading) {
      if (slides) output.add(`Slide ${(number += 1)}`, text);
      else if (text !== '') output.add(heading, text);
      heading = nextHeading;
    },
  });
  return textOf(output, { what, kind: slides ? 'slides' : 'sections', total: output.parts.length });
}

interface Body {
  slides: boolean;
  /** The text of a slide, or of everything before a main heading. */
  part(text: string, nextHeading: string): void;
}

function readBody(xml: string, { slides, part }: Body): void {
  const paragraphs = createParagraphs();
  let skipped = 0;
  let inBody = false;
  let paragraph = 0;
  let heading: string | undefined;
  readXml(xml, {
    open({ name, attributes }) {
      if (name === 'office:body') inBody = true;
      if (SKIPPED.has(name)) skipped += 1;
      if (skipped > 0 || !inBody) return;
      if (name === 'text:p' || name === 'text:h') paragraph += 1;
      if (name === 'text:h' && !slides && Number(attributes['text:outline-level'] ?? 1) <= 2) heading = '';
      if (name === 'text:s') paragraphs.add(' ');
      if (name === 'text:tab' || name === 'text:line-break') paragraphs.add(' ');
      if (name === 'table:table-row') paragraphs.startRow();
      if (name === 'presentation:notes') paragraphs.add('Notes: ');
    },
    text(text) {
      if (skipped > 0 || paragraph === 0) return;
      if (heading !== undefined) heading += text;
      else paragraphs.add(text);
    },
    close(name) {
      if (SKIPPED.has(name)) skipped -= 1;
      if (skipped > 0 || !inBody) return;
      if (name === 'text:h' && heading !== undefined) {
        part(paragraphs.take(), heading.slice(0, 200));
        paragraphs.add(heading);
        heading = undefined;
      }
      if (name === 'text:p' || name === 'text:h') {
        paragraph -= 1;
        paragraphs.endParagraph();
      }
      if (name === 'table:table-cell') paragraphs.endCell();
      if (name === 'table:table-row') paragraphs.endRow();
      if (name === 'draw:page' || name === 'office:body') {
        const text = paragraphs.take();
        if (name === 'draw:page' || !slides) part(text, '');
      }
    },
  });
}
