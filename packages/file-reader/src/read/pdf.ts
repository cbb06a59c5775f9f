import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium';
import type { FileText, PagePicture } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { encodePixels } from './picture.js';
import { corrupt, ProblemError } from './problem.js';
import { readWasm } from './wasm.js';

const WHAT = 'PDF';

/** A page picture's longer side, in pixels. */
const PAGE_SIDE = 1_568;

/** Of FPDF_GetLastError. */
const ERROR_PASSWORD = 4;
const ERROR_SECURITY = 5;

/** Of FPDFBitmap_CreateEx and FPDF_RenderPageBitmap. */
const FORMAT_BGRX = 3;
const WITH_ANNOTATIONS = 1;
const WHITE = 0xffffffff;

/** Moves when it grows. Its type is in the types of Emscripten, which the package does not bring. */
function heap({ pdfium }: WrappedPdfiumModule): Uint8Array<ArrayBuffer> {
  return (pdfium as unknown as { HEAPU8: Uint8Array<ArrayBuffer> }).HEAPU8;
}

interface Pdf {
  pdfium: WrappedPdfiumModule;
  document: number;
  total: number;
}

async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  const pdfium = await init({ wasmBinary: readWasm(import.meta.resolve('@embedpdf/pdfium/pdfium.wasm')).buffer });
  pdfium.PDFiumExt_Init();
  // Is never freed: PDFium reads from it.
  const copy = pdfium.pdfium.wasmExports.malloc(bytes.length);
  heap(pdfium).set(bytes, copy);
  const document = pdfium.FPDF_LoadMemDocument(copy, bytes.length, '');
  if (document === 0) {
    const { FPDF_GetLastError: lastCode } = pdfium;
    const code = lastCode();
    if (code === ERROR_PASSWORD || code === ERROR_SECURITY)
      throw new ProblemError('encrypted', 'The PDF is protected by a password.');
    throw corrupt(WHAT);
  }
  const total = pdfium.FPDF_GetPageCount(document);
  if (total === 0) throw corrupt(WHAT);
  return { pdfium, document, total };
}

/** @param onLong called for a PDF with many pages */
export async function readPdf(
  bytes: Uint8Array,
  limits: { characters: number; pages: number },
  onLong: () => void,
): Promise<FileText> {
  const pdf = await openPdf(bytes);
  if (pdf.total > 100) onLong();
  const output = createOutput(limits.characters);
  const scanned: number[] = [];
  const broken: number[] = [];
  for (let page = 1; page <= pdf.total; page += 1) {
    if (page > limits.pages) {
      output.stop();
      break;
    }
    const text = pageText(pdf, page);
    if (text === undefined) broken.push(page);
    else if (text.trim() === '') scanned.push(page);
    if (!output.add(`Page ${page}`, text ?? '') && page < pdf.total) {
      output.stop();
      break;
    }
  }
  if (broken.length === output.parts.length) throw corrupt(WHAT);
  const notes = broken.length > 0 ? [`Damaged pages: ${broken.slice(0, 50).join(', ')}.`] : [];
  return textOf(output, { what: WHAT, kind: 'pages', title: titleOf(pdf), total: pdf.total, scanned, notes });
}

function pageText({ pdfium, document }: Pdf, number: number): string | undefined {
  const page = pdfium.FPDF_LoadPage(document, number - 1);
  if (page === 0) return undefined;
  const text = pdfium.FPDFText_LoadPage(page);
  const length = text === 0 ? 0 : Math.max(0, pdfium.FPDFText_CountChars(text));
  const characters = readUtf16(pdfium, length + 1, (target) => pdfium.FPDFText_GetText(text, 0, length, target) * 2);
  if (text !== 0) pdfium.FPDFText_ClosePage(text);
  pdfium.FPDF_ClosePage(page);
  // PDFium marks a hyphen at the end of a line by U+FFFE.
  return characters
    .replaceAll('\r\n', '\n')
    .replaceAll(/\uFFFE\n?/g, '')
    .replaceAll('\0', '');
}

function titleOf({ pdfium, document }: Pdf): string {
  return readUtf16(pdfium, 501, (target) => Math.min(1002, pdfium.FPDF_GetMetaText(document, 'Title', target, 1002)));
}

/** @param write writes zero-terminated text and returns its bytes */
function readUtf16(pdfium: WrappedPdfiumModule, characters: number, write: (target: number) => number): string {
  const { wasmExports } = pdfium.pdfium;
  const target = wasmExports.malloc(characters * 2);
  const bytes = write(target);
  // The memory may have grown and moved.
  const text = Buffer.from(heap(pdfium).buffer, target, Math.max(0, bytes - 2)).toString('utf16le');
  wasmExports.free(target);
  return text;
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
