import { posix } from 'node:path';
import type { FileText } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { corrupt } from './problem.js';
import { createParagraphs, readXml } from './xml.js';
import type { Zip } from './zip.js';

const WHAT = 'presentation';

/** Reads a .pptx file, with the speaker's notes. */
export async function readSlides(zip: Zip, limits: { characters: number; pages: number }): Promise<FileText> {
  const files = await zip.read((name) => /^ppt\/(?:_rels|slides|notesSlides|presentation\.xml)/.test(name));
  const xmlOf = (path: string) => {
    const bytes = files.get(path);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  };
  const presentation = xmlOf('ppt/presentation.xml');
  if (presentation === undefined) throw corrupt(WHAT);
  const targets = relations(xmlOf, 'ppt/presentation.xml');
  const slides: string[] = [];
  readXml(presentation, {
    open({ name, attributes }) {
      const target = name === 'p:sldId' ? targets.get(attributes['r:id'] ?? '')?.path : undefined;
      if (target !== undefined) slides.push(target);
    },
  });
  const output = createOutput(limits.characters);
  for (const [index, path] of slides.entries()) {
    const text = slideText(xmlOf(path) ?? '');
    const notesPath = [...relations(xmlOf, path).values()].find(({ type }) => type.endsWith('/notesSlide'))?.path;
    const notes = notesPath === undefined ? '' : slideText(xmlOf(notesPath) ?? '');
    const more = output.add(`Slide ${index + 1}`, notes === '' ? text : `${text}\nNotes: ${notes}`);
    if ((!more || index + 1 >= limits.pages) && index + 1 < slides.length) {
      output.stop();
      break;
    }
  }
  return textOf(output, { what: WHAT, kind: 'slides', total: slides.length });
}

function relations(xmlOf: (path: string) => string | undefined, path: string) {
  const folder = posix.dirname(path);
  const found = new Map<string, { path: string; type: string }>();
  const xml = xmlOf(posix.join(folder, '_rels', `${posix.basename(path)}.rels`));
  if (xml === undefined) return found;
  readXml(xml, {
    open({ name, attributes: { Id, Target, Type } }) {
      if (name !== 'Relationship' || Id === undefined || Target === undefined) return;
      found.set(Id, { path: posix.join('/', folder, Target).slice(1), type: Type ?? '' });
    },
  });
  return found;
}

function slideText(xml: string): string {
  const paragraphs = createParagraphs();
  let inText = false;
  let field = '';
  if (xml === '') return '';
  readXml(xml, {
    open({ name, attributes }) {
      if (name === 'a:t') inText = true;
      else if (name === 'a:fld') field = attributes['type'] ?? '';
      else if (name === 'a:br') paragraphs.add(' ');
      else if (name === 'a:tr') paragraphs.startRow();
    },
    text(text) {
      // The number of a slide is its label already.
      if (inText && field !== 'slidenum') paragraphs.add(text);
    },
    close(name) {
      if (name === 'a:t') inText = false;
      else if (name === 'a:fld') field = '';
      else if (name === 'a:p') paragraphs.endParagraph();
      else if (name === 'a:tc') paragraphs.endCell();
      else if (name === 'a:tr') paragraphs.endRow();
    },
  });
  return paragraphs.take();
}
