import { zipSync } from 'fflate';
import mammoth from 'mammoth';
import type { FileText } from '../file-reader.js';
import { htmlToText } from './html.js';
import { createOutput, textOf } from './output.js';
import type { Zip } from './zip.js';

const WHAT = 'Word document';

/** Reads a .docx file in sections by its main headings. */
export async function readWord(zip: Zip, characters: number): Promise<FileText> {
  // Only the text, and without compression: what mammoth decompresses has passed the limits.
  const files = await zip.read((name) => /\.(?:xml|rels)$/.test(name) && !/\/(?:media|embeddings)\//.test(name));
  const buffer = Buffer.from(zipSync(Object.fromEntries(files), { level: 0 }));
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }));
  const { value: html } = await mammoth.convertToHtml({ buffer }, { convertImage, includeEmbeddedStyleMap: false });
  const output = createOutput(characters);
  // mammoth writes headings without attributes other than `id`, which comes in an anchor within.
  for (const section of html.split(/(?=<h[12]>)/)) {
    const text = htmlToText(section);
    if (text === '') continue;
    const [first = ''] = text.split('\n', 1);
    if (!output.add(/^<h[12]>/.test(section) ? first.slice(0, 200) : '', text)) break;
  }
  return textOf(output, { what: WHAT, kind: 'sections', total: output.parts.length });
}
