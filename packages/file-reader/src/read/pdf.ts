import type { FileText, PagePicture } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { type FormReader, openForm } from './pdf-form.js';
import { heap, openPdf, type Pdf, readUtf16, WHAT } from './pdfium.js';
import { encodePixels } from './picture.js';
import { corrupt } from './problem.js';

/** Pixels on the longer side. */
const PAGE_SIDE = 1_568;

/** Of FPDFBitmap_CreateEx and FPDF_RenderPageBitmap. */
const FORMAT_BGRX = 3;
const WITH_ANNOTATIONS = 1;
const WHITE = 0xffffffff;

/** @param onLong called for a PDF with many pages */
export async function readPdf(
  bytes: Uint8Array,
  limits: { characters: number; pages: number },
  onLong: () => void,
): Promise<FileText> {
  const pdf = await openPdf(bytes);
  const form = openForm(pdf);
  if (pdf.total > 100) onLong();
  const output = createOutput(limits.characters);
  const scanned: number[] = [];
  const broken: number[] = [];
  for (let page = 1; page <= pdf.total; page += 1) {
    if (page > limits.pages) {
      output.stop();
      break;
    }
    const content = pageContent(pdf, page, form);
    if (content === undefined) broken.push(page);
    else if (content.text.trim() === '') scanned.push(page);
    const { text, fields } = content ?? { text: '', fields: '' };
    if (!output.add(`Page ${page}`, [text, fields].filter((each) => each !== '').join('\n\n')) && page < pdf.total) {
      output.stop();
      break;
    }
  }
  if (broken.length === output.parts.length) throw corrupt(WHAT);
  const notes = broken.length > 0 ? [`Damaged pages: ${broken.slice(0, 50).join(', ')}.`] : [];
  return textOf(output, { what: WHAT, kind: 'pages', title: titleOf(pdf), total: pdf.total, scanned, notes });
}

function pageContent({ pdfium, document }: Pdf, number: number, form: FormReader | undefined) {
  const page = pdfium.FPDF_LoadPage(document, number - 1);
  if (page === 0) return undefined;
  const text = pdfium.FPDFText_LoadPage(page);
  const length = text === 0 ? 0 : Math.max(0, pdfium.FPDFText_CountChars(text));
  const characters = readUtf16(pdfium, length + 1, (target) => pdfium.FPDFText_GetText(text, 0, length, target) * 2);
  if (text !== 0) pdfium.FPDFText_ClosePage(text);
  const fields = form?.(page) ?? '';
  pdfium.FPDF_ClosePage(page);
  return {
    // PDFium marks a hyphen at the end of a line by U+FFFE.
    text: characters
      .replaceAll('\r\n', '\n')
      .replaceAll(/\uFFFE\n?/g, '')
      .replaceAll('\0', ''),
    fields,
  };
}

function titleOf({ pdfium, document }: Pdf): string {
  return readUtf16(pdfium, 501, (target) => Math.min(1002, pdfium.FPDF_GetMetaText(document, 'Title', target, 1002)));
}

export async function renderPages(bytes: Uint8Array, numbers: readonly number[]): Promise<PagePicture[]> {
  const pdf = await openPdf(bytes);
  const pictures: PagePicture[] = [];
  for (const page of numbers) {
    if (!Number.isInteger(page) || page < 1 || page > pdf.total) continue;
    const pixels = renderPage(pdf, page);
    if (pixels !== undefined) pictures.push({ page, ...(await encodePixels(pixels)) });
  }
  return pictures;
}

function renderPage({ pdfium, document }: Pdf, number: number) {
  const page = pdfium.FPDF_LoadPage(document, number - 1);
  if (page === 0) return undefined;
  const size = { width: pdfium.FPDF_GetPageWidthF(page), height: pdfium.FPDF_GetPageHeightF(page) };
  const scale = PAGE_SIDE / Math.max(size.width, size.height, 1);
  const pixels = (points: number) => Math.min(PAGE_SIDE, Math.max(1, Math.round(points * scale)));
  const [width, height] = [pixels(size.width), pixels(size.height)];
  const bitmap = pdfium.FPDFBitmap_CreateEx(width, height, FORMAT_BGRX, 0, 0);
  pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, WHITE);
  pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, WITH_ANNOTATIONS);
  const start = pdfium.FPDFBitmap_GetBuffer(bitmap);
  const bgra = heap(pdfium).slice(start, start + pdfium.FPDFBitmap_GetStride(bitmap) * height);
  pdfium.FPDFBitmap_Destroy(bitmap);
  pdfium.FPDF_ClosePage(page);
  return { bgra, width, height };
}
