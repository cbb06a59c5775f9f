import { posix } from 'node:path';
import type { FileText } from '../file-reader.js';
import { htmlTitle, htmlToText } from './html.js';
import { createOutput, textOf } from './output.js';
import { corrupt, ProblemError } from './problem.js';
import { readXml } from './xml.js';
import type { Zip } from './zip.js';

const WHAT = 'book';

/** Only fonts are encrypted, which does not concern the text. */
const FONTS = /http:\/\/(?:www\.idpf\.org\/2008\/embedding|ns\.adobe\.com\/pdf\/enc#RC)/;

/** Reads the chapters of an EPUB file in reading order. */
export async function readBook(zip: Zip, characters: number): Promise<FileText> {
  const files = await zip.read((name) => /\.(?:opf|xml|x?html?)$/i.test(name));
  const text = (path: string) => {
    const bytes = files.get(path);
    return bytes === undefined
      ? undefined
      : Buffer.from(bytes)
          .toString('utf8')
          .replace(/^\uFEFF/, '');
  };
  const container = text('META-INF/container.xml');
  let packagePath: string | undefined;
  if (container !== undefined)
    readXml(container, {
      open({ name, attributes }) {
        if (name.endsWith('rootfile')) packagePath ??= attributes['full-path'];
      },
    });
  const description = text(packagePath ?? '');
  if (packagePath === undefined || description === undefined) throw corrupt(WHAT);
  const encryption = text('META-INF/encryption.xml') ?? '';
  const algorithms = [...encryption.matchAll(/Algorithm="([^"]{0,200})"/g)].map(([, uri = '']) => uri);
  if (algorithms.some((uri) => !FONTS.test(uri)))
    throw new ProblemError('encrypted', 'The book is protected against copying.');
  const { title, chapters } = readPackage(description);
  const output = createOutput(characters);
  for (const chapter of chapters) {
    const html = text(posix.join('/', posix.dirname(packagePath), safeDecode(chapter)).slice(1)) ?? '';
    const content = htmlToText(html);
    if (content === '') continue;
    if (!output.add(chapterTitle(html) ?? `Chapter ${output.parts.length + 1}`, content)) break;
  }
  return textOf(output, { what: WHAT, kind: 'sections', title, total: output.parts.length });
}

function readPackage(xml: string): { title: string; chapters: string[] } {
  const items = new Map<string, string>();
  const chapters: string[] = [];
  let title = '';
  let inTitle = false;
  readXml(xml, {
    open({ name, attributes: { id, href, idref } }) {
      const local = name.replace(/^.*:/, '');
      inTitle = local === 'title' && title === '';
      if (local === 'item' && id !== undefined && href !== undefined) items.set(id, href);
      const chapter = local === 'itemref' ? items.get(idref ?? '') : undefined;
      if (chapter !== undefined) chapters.push(chapter);
    },
    text(text) {
      if (inTitle) title += text;
    },
    close() {
      inTitle = false;
    },
  });
  return { title, chapters };
}

function chapterTitle(html: string): string | undefined {
  const heading = /<h[1-3][^>]{0,1000}>([\s\S]{1,2000}?)<\/h[1-3]>/i.exec(html.slice(0, 200_000))?.[1];
  const title = heading === undefined ? htmlTitle(html) : htmlToText(heading).replaceAll(/\s+/g, ' ');
  return title?.slice(0, 200) || undefined;
}

function safeDecode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
